"""Arguments and answers as texts: their words, and where a recording was cut."""

from __future__ import annotations

import random

import pytest

from replay.dag import documents
from replay.dag.documents import Document


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("job_8f3a2b.txt, total=12", "job 8f3a2b txt total 12"),
        ("naïve café — “quoted”word…next", "naïve café quoted word next"),
        ("表の漢字\u3000と かな,word", "表の漢字 と かな word"),
        ("x²½ ٣ İstanbul ſtraße 😀smile\u0301", "x²½ ٣ İstanbul ſtraße smile"),
        ("half a pair \ud800 here", "half a pair here"),
        ("", ""),
    ],
)
def test_words_end_at_every_mark_in_any_alphabet(text: str, words: str) -> None:
    assert set(Document([text, "plain"]).words()) == {*words.split(), "plain"}


_PIECES = ["\n", "  ", "...", "…", "[", "(", "abc ", "x" * 130, "Truncated", "output omitted", "more lines", "too long"]


@pytest.mark.parametrize("seed", range(60))
def test_a_marker_begins_where_a_search_of_the_whole_end_finds_it(seed: int) -> None:
    text = "".join(random.Random(seed).choices(_PIECES, k=12)).strip()
    whole = documents._MARKER.search(text, max(len(text) - 900, 0)) or documents._ELLIPSIS.search(text)

    kept, marker = documents.split_truncation_marker(text)

    assert (kept, bool(marker)) == ((text, False) if whole is None else (text[: whole.start()], True))


@pytest.mark.parametrize(
    ("text", "value", "found"),
    [
        ("id 4711 is open", "4711", [3]),
        ("id 14711 is open", "4711", []),
        ("v4711.5", "4711", []),
        ("see notes.txt", "notes", []),
        ("job_8f3a2b.txt", "8f3a2b", [4]),
    ],
)
def test_a_value_flows_only_where_it_stands_as_a_whole(text: str, value: str, found: list[int]) -> None:
    assert list(documents.occurrences(text, value)) == found
