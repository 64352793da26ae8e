"""A cell of comma-separated values."""

from __future__ import annotations

from typing import Final

from replay.safety.text import printable

_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")


def safe_cell(value: object) -> str:
    """A value as text; what a spreadsheet would take for a formula is marked as text."""
    text = "" if value is None else printable(str(value))
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
