"""JSON from outside: read in one way, and held as far as everything behind the door can hold it.

A server, a file or a model may nest values deeper than any JSON library writes back, escape halves of surrogate pairs,
which no file and no terminal can hold, write integers that Python refuses, or break off in the middle. pydantic-core
reads all but the odd ones; those `json` reads. `json_value` gives the value as it is, `parse_json` puts right what
cannot be held: what lies deeper than `MAX_DEPTH` becomes its JSON text. A lone surrogate becomes U+FFFD in both.
`encode` and `canonical` write.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeVar

import pydantic_core

MAX_DEPTH: Final = 100
"""Levels of nesting that are kept as they are; pydantic writes 255, and our records add some of their own."""

MAX_DIGITS: Final = 4_300
"""Longer integers Python does not read; they stay text."""

TOO_DEEP: Final = "[nested too deeply to be kept]"
"""Stands for what not even its JSON text can be had of."""

_Text = TypeVar("_Text", str, bytes, str | bytes)
_CONTAINERS: Final = (dict, list, tuple)
_SCALARS: Final = frozenset({str, int, float, bool, type(None)})
_MAX_REMEMBERED_TEXT: Final = 64_000
_TOO_DEEP_AT: Final = re.compile(r"recursion limit exceeded at line (\d+) column (\d+)")
_LONE_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
_ESCAPED_SURROGATES: Final = re.compile(
    r"(?<!\\)((?:\\\\)*)(?:(\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2})|\\u[dD][89a-fA-F][\da-fA-F]{2})"
)
"""In JSON text: a pair, or one half of it alone."""
_DECODER: Final = json.JSONDecoder(parse_int=lambda digits: int(digits) if len(digits) <= MAX_DIGITS else digits)


class TooDeepError(ValueError):
    """JSON that is nested too deeply to be read."""


def json_value(text: str | bytes) -> Any:
    """The JSON value of a text, with nothing of it left out.

    Args:
        text: JSON; bytes are read as UTF-8.

    Raises:
        TooDeepError: it is nested too deeply to be read.
        ValueError: it is not JSON.
    """
    try:
        return pydantic_core.from_json(text)
    except TypeError:  # halves of surrogate pairs in a text
        return json_value(without_lone_surrogates(str(text)))
    except ValueError as error:
        if not _may_be_json_all_the_same(text, error):
            raise
    text = with_whole_pairs(text if isinstance(text, str) else text.decode("utf-8-sig"))
    try:
        return pydantic_core.from_json(text)
    except ValueError:
        value, end = first_json(text, len(text) - len(text.lstrip()))
    if text[end:].strip():
        raise ValueError(f"Extra data at column {end + 1}")
    return value


def first_json(text: str, start: int) -> tuple[Any, int]:
    """The JSON value that begins at an offset of a text, and the offset behind it; slower than `json_value`.

    Raises:
        TooDeepError: it is nested too deeply to be read.
        json.JSONDecodeError: it is not JSON, with the offset where it breaks.
    """
    try:
        return _DECODER.raw_decode(text, start)
    except RecursionError:
        raise TooDeepError("nested too deeply") from None


def begun_json(text: str, *, cut_texts: bool = False) -> Any:
    """The JSON value that begins a text which may end in the middle of it; None without any.

    Args:
        text: of which what is complete is read.
        cut_texts: read a string that is cut off, too, as far as it goes.
    """
    partly: Any = "trailing-strings" if cut_texts else True
    try:
        return pydantic_core.from_json(text, allow_partial=partly)
    except ValueError:
        repaired = with_whole_pairs(text)
    try:
        return None if repaired == text else pydantic_core.from_json(repaired, allow_partial=partly)
    except ValueError:
        return None


def cut_json(text: str) -> Any:
    """The value that a text begins which ends in the middle of it, or nests it too deeply; None where neither is so."""
    try:
        pydantic_core.from_json(text)
    except ValueError as error:
        if "EOF while parsing" in str(error):
            return begun_json(text, cut_texts=True)
        depth = _TOO_DEEP_AT.search(str(error))
    else:
        return None
    if depth is None:
        return None
    line, column = int(depth[1]), int(depth[2])
    lines = text.split("\n", line)
    return begun_json("\n".join([*lines[: line - 1], lines[line - 1][: column - 1]]))


def parse_json(text: str | bytes) -> Any:
    """The JSON value of a text, bounded.

    Args:
        text: JSON; bytes are read as UTF-8, with or without a byte order mark, broken ones as U+FFFD.

    Raises:
        ValueError: it is not JSON, or is nested too deeply to be read.
    """
    return _parsed(text, pydantic_core.from_json)


def known_json(text: str) -> Any:
    """As `parse_json`; the value is remembered for a while, and nobody may change it.

    The same answers are opened for the values that flow from them, for where those stand, and for their verdict.
    """
    return _parsed(text, unbounded_json)


def unbounded_json(text: str) -> Any:
    """As `known_json`, however deep it is, and without the odd JSON that `json` alone reads.

    Raises:
        ValueError, TypeError: it is not JSON, or is odd.
    """
    if len(text) > _MAX_REMEMBERED_TEXT:
        return pydantic_core.from_json(text)
    value, refusal = _remembered(text)
    if refusal is not None:
        raise refusal.kind(refusal.message)
    return value


def decode(text: _Text, parse: Callable[[_Text], Any] = pydantic_core.from_json) -> Any:
    """The JSON value of a text of our own, exactly as `json.loads` reads it, and faster.

    Args:
        text: JSON.
        parse: `unbounded_json` where others look at the same text, and nobody changes the value.

    Raises:
        ValueError: it is not JSON.
    """
    try:
        return parse(text)
    except TypeError:  # halves of surrogate pairs in a text
        return json.loads(text)
    except ValueError as error:
        if not _may_be_json_all_the_same(text, error):
            raise
        return json.loads(text)


def encode(value: Any) -> bytes:
    """A JSON value as JSON text in UTF-8 without spaces, faster than `json.dumps`."""
    try:
        return pydantic_core.to_json(value)
    except ValueError:  # halves of surrogate pairs, which `json` escapes
        return json.dumps(value, separators=(",", ":")).encode()


def bounded(value: Any) -> Any:
    """The JSON value without lone surrogates and without what is nested too deeply; the same object where all is well.

    Two keys of an object that differ only in lone surrogates become one, and the last one stands.
    """
    return value if _is_bounded(value) else _rebuilt(value, MAX_DEPTH)


def is_too_deep(value: Any) -> bool:
    """Whether a JSON value is nested deeper than `MAX_DEPTH` levels."""
    level = [value] if isinstance(value, _CONTAINERS) else []
    for _ in range(MAX_DEPTH + 1):
        level = [
            item
            for container in level
            for item in (container.values() if isinstance(container, dict) else container)
            if type(item) not in _SCALARS and isinstance(item, _CONTAINERS)
        ]
        if not level:
            return False
    return True


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values give equal text."""
    return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def digest(value: Any) -> str:
    """SHA-256 of the canonical JSON, hexadecimal."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def without_lone_surrogates(text: str) -> str:
    """The text with each half of a surrogate pair as U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return _LONE_SURROGATE.sub("\ufffd", text)
    return text


def with_whole_pairs(text: str) -> str:
    """JSON text with each half of a surrogate pair that is escaped in it as U+FFFD; as long as it was."""
    if "\\ud" not in text and "\\uD" not in text:
        return text
    return _ESCAPED_SURROGATES.sub(lambda match: match[0] if match[2] else f"{match[1]}\\ufffd", text)


def json_text(value: Any) -> str:
    """The value as JSON text, however deep it is."""
    try:
        return json.dumps(value, default=str)
    except RecursionError:
        return TOO_DEEP


class _Refusal(NamedTuple):
    """Why a text is not JSON; the error itself would keep everything alive that it went through."""

    kind: type[ValueError | TypeError]
    message: str


@lru_cache(maxsize=64)
def _remembered(text: str) -> tuple[Any, _Refusal | None]:
    """The value of a text, or why it has none."""
    try:
        return pydantic_core.from_json(text), None
    except ValueError as error:
        return None, _Refusal(ValueError, str(error))
    except TypeError as error:
        return None, _Refusal(TypeError, str(error))


def _parsed(text: _Text, parse: Callable[[_Text], Any]) -> Any:
    try:
        value = parse(text)
    except TypeError:  # halves of surrogate pairs in a text
        value = json_value(text)
    except ValueError as error:
        if not _may_be_json_all_the_same(text, error):
            raise
        value = json_value(text if isinstance(text, str) else text.decode("utf-8-sig", "replace"))
    return bounded(value) if _may_be_deep(text) and is_too_deep(value) else value


def _may_be_json_all_the_same(text: str | bytes, error: ValueError) -> bool:
    """`json` reads what pydantic refuses: halves of surrogate pairs, deep nesting, long integers, bytes with a BOM."""
    said = str(error)
    return isinstance(text, bytes) or "escape" in said or said.startswith(("recursion limit", "number out of range"))


def _may_be_deep(text: str | bytes) -> bool:
    brackets = (b"[", b"{") if isinstance(text, bytes) else ("[", "{")
    return sum(map(text.count, brackets)) > MAX_DEPTH  # type: ignore[arg-type]


def _is_bounded(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        deeper: list[Any] = []
        for item in level:
            if isinstance(item, str):
                if not item.isascii() and _LONE_SURROGATE.search(item):
                    return False
            elif isinstance(item, dict):
                deeper.extend(item)
                deeper.extend(item.values())
            elif isinstance(item, _CONTAINERS):
                deeper.extend(item)
        if not deeper:
            return True
        level = deeper
    return False


def _rebuilt(value: Any, levels: int) -> Any:
    if isinstance(value, str):
        return without_lone_surrogates(value)
    if not isinstance(value, dict | list | tuple):
        return value
    if levels == 0:
        return json_text(value)
    if isinstance(value, dict):
        return {_rebuilt(key, 0): _rebuilt(item, levels - 1) for key, item in value.items()}
    return type(value)(_rebuilt(item, levels - 1) for item in value)
