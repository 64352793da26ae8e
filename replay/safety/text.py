"""Text from servers and models is hostile: what a terminal would act on is shown instead as the escape it is."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable
from typing import Any, Final

from replay.safety.redaction import clean

__all__ = ["csv_line", "cut", "one_line", "printable", "printable_json"]

_UNSAFE: Final = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but tab and newline, DEL, C1
    "\u00ad\u0600-\u0605\u061c\u06dd\u070f\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff"  # lone surrogates cannot be encoded
    "\U000e0000-\U000e007f"  # tags: invisible text
    "]"
)
_SYMBOL: Final = "\u2190-\u2bff\U0001f000-\U0001faff"
_JOINED: Final = re.compile(f"(?<=[{_SYMBOL}\ufe0f])\u200d(?=[{_SYMBOL}])")
"""The joiner inside one emoji, such as a family, is part of it."""
_KEPT: Final = "\ue000"
"""Stands for such a joiner while the rest is escaped."""
_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")
_WHITESPACE: Final = re.compile(r"\s+")
_ELLIPSIS: Final = "…"
_MAX_SEARCHED: Final = 65_536
"""Characters of a text that are searched for secrets before it is cut: far more than a token has."""


def printable(text: str, limit: int | None = None) -> str:
    r"""Text that is safe to print: control, bidirectional and invisible characters stand as `\x1b`, `\u202e`.

    Tabs and newlines stay.

    Args:
        text: anything.
        limit: greatest length of the result; what is longer ends in an ellipsis.
    """
    shown = _escaped(text if limit is None else cut(text, limit + 1))
    if limit is None or len(shown) <= limit:
        return shown
    return shown[: max(limit - 1, 0)] + _ELLIPSIS


def one_line(text: str, limit: int | None = None) -> str:
    """`printable` text on a single line: each run of white space is one space."""
    head = text if limit is None else cut(text, 8 * limit + 64)
    return printable(_WHITESPACE.sub(" ", head).strip(), limit)


def cut(text: str, length: int) -> str:
    """The beginning of a text, its secrets taken out before: half a token would not be known as one."""
    return clean(text[: max(length, _MAX_SEARCHED)])[:length]


def printable_json(value: Any) -> str:
    r"""A value as JSON that is safe to print: what `printable` shows as an escape stands as JSON's own, `\u202e`."""
    return _UNSAFE.sub(_escape_in_json, json.dumps(value, ensure_ascii=False))


def _escape_in_json(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1] if match[0] != "\x7f" else "\\u007f"


def _escaped(text: str) -> str:
    if "\u200d" not in text or _KEPT in text:
        return _UNSAFE.sub(_escape, text)
    return _UNSAFE.sub(_escape, _JOINED.sub(_KEPT, text)).replace(_KEPT, "\u200d")


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def csv_line(cells: Iterable[object]) -> str:
    """A line of comma-separated values; what a spreadsheet would take for a formula is marked as text."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow([_csv_cell(cell) for cell in cells])
    return out.getvalue()


def _csv_cell(cell: object) -> object:
    if not isinstance(cell, str):
        return cell
    text = printable(str(cell))
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
