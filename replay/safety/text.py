"""Text from servers and models is hostile: what a terminal would act on is shown instead as the escape it is."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable
from typing import Any, Final
from unicodedata import normalize

from replay.safety.redaction import clean

__all__ = ["csv_line", "cut", "one_line", "printable", "printable_json", "shortened", "without_colours"]

_UNSAFE: Final = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but tab and newline, DEL, C1
    "\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890-\u0891\u08e2\u115f-\u1160\u17b4-\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\ud800-\udfff"  # lone surrogates cannot be encoded
    "]"
)
"""The categories Cc, Cf, Zl and Zp, the property Default_Ignorable_Code_Point (DerivedCoreProperties.txt of
Unicode 17), and the blank Braille pattern. A test holds this to `unicodedata`."""
_UNSAFE_ASCII: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
"""The same for what is ASCII, as most is: three times as fast."""
_SYMBOL: Final = "©®\u203c\u2049\u2122\u2139\u2190-\u27ff\u2900-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_PART_OF_EMOJI: Final = re.compile(
    f"(?<=[{_SYMBOL}\ufe0f])\u200d(?=[{_SYMBOL}])|(?<=[{_SYMBOL}])\ufe0f|(?<=[0-9#*])\ufe0f(?=\u20e3)"
)
"""The joiner inside one emoji, such as a family, and the sign that it is to be drawn in colour."""
_KEPT: Final = {"\u200d": "\ue000", "\ufe0f": "\ue001"}
"""What stands for these while the rest is escaped."""
_COLOURS: Final = re.compile(r"\x1b(?:\[[0-?]{0,40}[ -/]{0,4}[@-~]|[()*+][0-9A-Za-z]|[=>78])")
"""What moves a terminal's cursor, colours what follows, or chooses its letters: nothing that could be read."""
_FORMULA_STARTS: Final = ("=", "+", "-", "@")
_HAS_DIGIT: Final = re.compile(r"[^\s\d]*\d")
_WHITESPACE: Final = re.compile(r"\s+")
_ELLIPSIS: Final = "…"
_MAX_SEARCHED: Final = 65_536
"""Characters of a text that are searched for secrets before it is cut."""
_MAX_SECRET: Final = 16_384
"""More characters than a secret has: what was searched may end in half of one."""


def printable(text: str) -> str:
    r"""Text that is safe to print: control, bidirectional and invisible characters stand as `\x1b`, `\u202e`.

    Tabs and newlines stay.
    """
    if text.isascii():
        return _UNSAFE_ASCII.sub(_escape, text)
    if not any(part in text for part in _KEPT) or any(stand_in in text for stand_in in _KEPT.values()):
        return _UNSAFE.sub(_escape, text)
    text = _UNSAFE.sub(_escape, _PART_OF_EMOJI.sub(lambda match: _KEPT[match[0]], text))
    for part, stand_in in _KEPT.items():
        text = text.replace(stand_in, part)
    return text


def one_line(text: str, limit: int | None = None) -> str:
    """`printable` text on a single line: each run of white space is one space.

    Where a limit is given, what is longer ends in an ellipsis: see `shortened`.
    """
    if limit is None:
        return printable(_WHITESPACE.sub(" ", text).strip())
    return shortened(printable(_WHITESPACE.sub(" ", cut(text, 8 * limit + 64)).strip()), limit)


def shortened(text: str, limit: int) -> str:
    """A text of at most so many characters; what is longer ends in an ellipsis.

    Of a last word with a digit in it nothing stays, unless it is half of the text: the beginning of a random id would
    be another one in each run.
    """
    if len(text) <= limit:
        return text
    head = text[: max(limit - 1, 0)]
    before = head.rpartition(" ")[0]
    is_id = _HAS_DIGIT.match(text, len(before) + 1) is not None
    return (before if is_id and 2 * len(before) > limit else head).rstrip() + _ELLIPSIS


def without_colours(text: str) -> str:
    """Text for a sentence: without what a program printed for the eyes of a terminal alone."""
    return _COLOURS.sub("", text) if "\x1b" in text else text


def cut(text: str, length: int) -> str:
    """The beginning of a text, its secrets taken out before: half a token would not be known as one."""
    searched = max(length, _MAX_SEARCHED) + _MAX_SECRET
    cleaned = clean(text[:searched])
    return (cleaned if len(text) <= searched else cleaned[:-_MAX_SECRET])[:length]


def printable_json(value: Any) -> str:
    r"""A value as JSON that is safe to print: what `printable` shows as an escape stands as JSON's own, `\u202e`."""
    return _UNSAFE.sub(_escape_in_json, json.dumps(value, ensure_ascii=False))


def _escape_in_json(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1] if match[0] != "\x7f" else "\\u007f"


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
    first = normalize("NFKC", text.lstrip()[:1])  # a full-width sign is a sign
    return f"'{text}" if first.startswith(_FORMULA_STARTS) or text.startswith(("\t", "\n")) else text
