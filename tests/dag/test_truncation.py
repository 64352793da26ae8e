"""Where the marker of a cut answer begins."""

from __future__ import annotations

import random

import pytest

from replay.dag import documents as truncation

_PIECES = ["\n", "  ", "...", "…", "[", "(", "abc ", "x" * 130, "Truncated", "output omitted", "more lines", "too long"]


@pytest.mark.parametrize("seed", range(60))
def test_a_marker_begins_where_a_search_of_the_whole_end_finds_it(seed: int) -> None:
    text = "".join(random.Random(seed).choices(_PIECES, k=12)).strip()
    whole = truncation._MARKER.search(text, max(len(text) - 900, 0)) or truncation._ELLIPSIS.search(text)

    kept, marker = truncation.split_truncation_marker(text)

    assert (kept, bool(marker)) == ((text, False) if whole is None else (text[: whole.start()], True))
