"""The words of an answer, by which a value is looked up."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from replay.dag.documents import Document


@pytest.mark.parametrize(
    "text",
    [
        "job_8f3a2b.txt, total=12",
        "naïve café — “quoted”word…next",
        "表の漢字\u3000と かな,word",
        "x²½ ٣ İstanbul ſtraße 😀smile\u0301",
        "half a pair \ud800 here",
        "",
    ],
)
def test_words_end_at_every_mark_in_any_alphabet(text: str) -> None:
    document = Document([text, "plain"])

    words = re.findall(r"[^\W_]+", document.text)
    plain = filter(str.isascii, words)
    assert Counter(filter(bytes.isascii, document.words())) == Counter(map(str.encode, plain))
    assert set(document.words()) >= set(map(str.encode, words))
