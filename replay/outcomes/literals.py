"""JSON, Python reprs and server-sent events read as values: one linear pass, bounded; what is cut off is closed."""

from __future__ import annotations

import ast
import re
from typing import Any

from replay.json_values import bounded, decode, known_json, unbounded_json

MAX_DEPTH = 64
MAX_JSON_LENGTH = 60_000
MAX_SCANNED = 1_000_000
_EVENT = re.compile(r"\s*(?:(?:event|id|retry): ?[^\n]*\n){0,3}data: ?[{\[\"]")
_NEXT_OBJECT = re.compile(r"\}[ \t\r]*\n\s*\{")
CLASS = "__class__"
"""The key under which a repr's class name stands beside its fields."""

_REPR_TOKEN = re.compile(
    r"\s*+(?:(?P<string>[bBuUrR]{0,2}+(?P<quote>['\"]))|(?P<name>[A-Za-z_][\w.]*+)|(?P<number>[-+]?\d[\w.+-]*+)"
    r"|(?P<mark>[\[\](){},=:<>])|(?P<end>\Z)|(?P<other>.))",
    re.DOTALL,
)
_STRING_BODY = {
    "'": re.compile(r"(?:[^'\\]++|\\.)*+", re.DOTALL),
    '"': re.compile(r'(?:[^"\\]++|\\.)*+', re.DOTALL),
}
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{1,3}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "\n": ""}
_CONSTANTS = {"None": None, "True": True, "False": False, "null": None, "true": True, "false": False}
_CLOSES = {"[": "]", "(": ")", "{": "}", "<": ">"}
_NOTHING = object()


def structure_in(text: str, max_length: int = MAX_JSON_LENGTH) -> Any:
    """The JSON value, or the dict or list of Python, that a whole text is; None where it is none, or longer.

    Objects one below the other, as of several content blocks, are a list.
    """
    stripped = text.strip()
    if len(stripped) > max_length or stripped[:1] not in ("{", "[", '"'):
        return None
    in_turn = _NEXT_OBJECT.sub("},{", stripped) if stripped[0] == "{" else stripped
    try:
        return known_json(stripped if in_turn == stripped else f"[{in_turn}]")
    except ValueError:
        pass
    if not stripped.startswith(("{'", "[{", "['", "[(")) or len(stripped) > MAX_JSON_LENGTH // 4:
        return None
    try:
        return bounded(ast.literal_eval(stripped))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def json_at_end(text: str) -> Any:
    """The JSON object at the end of a text; None where there is none."""
    start = text.find("{", 0, 600)
    return structure_in(text[start:]) if start >= 0 and text.rstrip().endswith("}") else None


def load_json(text: str) -> Any:
    """The JSON value that a text is.

    Raises:
        ValueError: it is not JSON, or is nested too deeply to be read.
    """
    try:
        return decode(text, unbounded_json)
    except RecursionError:
        raise ValueError("nested too deeply") from None


class _Frame:
    """A bracket that is open: what was read in it so far."""

    def __init__(self, opened: str, name: str | None = None) -> None:
        self.opened, self.name = opened, name
        self.items: list[Any] = []
        self.fields: dict[str, Any] = {}
        self.key: str | None = None
        self.value: Any = _NOTHING

    def commit(self) -> None:
        """Put the value that was read last in its place."""
        if self.value is not _NOTHING:
            if self.key is not None:
                self.fields[self.key] = self.value
            else:
                self.items.append(self.value)
        self.key, self.value = None, _NOTHING

    def close(self) -> Any:
        """The value of the whole bracket."""
        self.commit()
        if self.opened == "<":
            return self.items[-1] if self.items else next(iter(self.fields.values()), None)
        if self.fields or self.opened == "{":
            return ({CLASS: self.name} if self.name else {}) | self.fields
        if self.name or self.opened == "":
            return self.items[0] if len(self.items) == 1 else self.items
        return self.items


def load_repr(text: str) -> Any:
    """The value whose Python repr a text is, or begins: an object becomes a dict of its fields, with its `CLASS`.

    Raises:
        ValueError: it is not a repr.
    """
    text = text[:MAX_SCANNED]
    frames = [_Frame("")]
    place = 0
    while len(frames) <= MAX_DEPTH:
        found = _REPR_TOKEN.match(text, place)
        if found is None or found["other"]:
            raise ValueError("not a repr")
        place = found.end()
        if found["end"] is not None:
            break
        if found["string"]:
            place = _read_string(frames[-1], text, place, found["quote"])
        elif found["name"] or found["number"]:
            _read_word(frames[-1], found["name"] or found["number"])
        else:
            _read_mark(frames, found["mark"])
    while len(frames) > 1:
        value = frames.pop().close()
        frames[-1].value = value
    return frames[0].close()


def _read_string(frame: _Frame, text: str, place: int, quote: str) -> int:
    body = _STRING_BODY[quote].match(text, place)
    end = body.end() if body else place
    read = _ESCAPE.sub(_unescape, text[place:end])
    adjacent = isinstance(frame.value, str) and frame.opened not in ("", "<")
    frame.value = frame.value + read if adjacent else read
    return min(end + 1, len(text))


def _unescape(found: re.Match[str]) -> str:
    escape = found[1]
    if escape[0] in "xuU" and len(escape) > 1:
        number = int(escape[1:], 16)
        return chr(number) if number < 0x110000 else ""
    if escape[0] in "01234567":
        return chr(int(escape, 8))
    return _ESCAPED.get(escape, escape)


def _read_word(frame: _Frame, word: str) -> None:
    if frame.value is not _NOTHING:
        frame.commit()
    frame.value = _CONSTANTS.get(word, word)


def _read_mark(frames: list[_Frame], mark: str) -> None:
    frame = frames[-1]
    if mark in "[({<":
        name = frame.value if mark == "(" and isinstance(frame.value, str) else None
        if frame.value is not _NOTHING and name is None:
            raise ValueError("not a repr")
        frame.value = _NOTHING
        frames.append(_Frame(mark, name))
    elif mark in "])}>":
        if len(frames) == 1 or _CLOSES[frame.opened] != mark:
            raise ValueError("not a repr")
        value = frames.pop().close()
        frames[-1].value = value
    elif mark == ",":
        frame.commit()
    elif frame.key is not None or not isinstance(frame.value, str):
        raise ValueError("not a repr")
    else:
        frame.key, frame.value = frame.value, _NOTHING


def last_event(text: str) -> str | None:
    """The last message of a stream of server-sent events; None where a text is no such stream."""
    if _EVENT.match(text) is None:
        return None
    messages = [
        "\n".join(line[5:].removeprefix(" ") for line in event.splitlines() if line.startswith("data:"))
        for event in re.split(r"\r?\n\r?\n", text.strip())
    ]
    return next((message for message in reversed(messages) if message.strip() not in ("", "[DONE]")), None)
