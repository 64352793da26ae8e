"""docs/formats.md says of each format what it keeps, how to get a file, and on what its reader was tried."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay.formats.readers import READERS

PAGE = (Path(__file__).parents[2] / "docs" / "formats.md").read_text("utf-8")
KEPT, _, TRIED = PAGE.partition("## Tried again")[0].partition("## What was tried")


@pytest.mark.parametrize("name", [reader.name for reader in READERS])
def test_each_format_has_its_rows_on_the_page(name: str) -> None:
    for part in (KEPT, TRIED):
        (row,) = [line for line in part.splitlines() if line.startswith(f"| `{name}`")]
        assert row.count(" |") == 5
