"""JSON pointers (RFC 6901) into arguments and answers.

A text that is itself a JSON document is entered: `/content/0/text/items/2/id` is the id of the third item of the
document in the first content block.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

from replay.json_values import parse_json, unbounded_json

Leaf = tuple[str, Any]
"""A pointer, and the string or number that stands there."""
_Place = tuple[Any, str | int]
"""The place of the container, or None at the root, and the key in it."""
_OpenContainer = tuple[Iterator[tuple[str | int, Any]], _Place | None, int, int]
"""What is left of its members, its place, how deep it lies, and in how many documents inside texts."""
_CONTAINERS: Final = (dict, list)
_NUMBERS: Final = frozenset({int, float})
_EMPTY: Final = frozenset({bool, type(None)})
"""Types of what has no text: no leaves."""
_JSON_STARTS: Final = frozenset("{[ \t\r\n")
_MAX_DEPTH: Final = 64
_MAX_NESTED_DOCUMENTS: Final = 3
_MAX_INDEX_DIGITS: Final = 9
_MISSING: Final = object()


def join(base: str, part: str | int) -> str:
    """The pointer of a member of what stands at `base`."""
    return f"{base}/{part if isinstance(part, int) else _escaped(part)}"


@lru_cache(maxsize=4096)
def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


@lru_cache(maxsize=4096)
def _is_like_an_id(key: str) -> bool:
    return any(map(str.isdigit, key))


def parts(pointer: str) -> list[str]:
    """The unescaped reference tokens of a pointer."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def as_json(text: str) -> Any:
    """The JSON object or array that a text is, else None."""
    found = _like_json(text)
    try:
        return None if found is None else parse_json(found)
    except ValueError:
        return None


def _opened(text: str) -> Any:
    """As `as_json`, for a look alone: the value may be shared, and what lies too deep for any pointer is as it was."""
    found = _like_json(text)
    try:
        return None if found is None else unbounded_json(found)
    except (ValueError, TypeError):
        return as_json(text)


def _like_json(text: str) -> str | None:
    """A text that begins and ends as an object or an array does, without the space around it; None for another."""
    if text[:1] not in _JSON_STARTS:
        return None
    stripped = text.strip()
    return stripped if stripped and stripped[0] + stripped[-1] in {"{}", "[]"} else None


def leaves(value: Any, base: str = "", *, enter_texts: bool = True, id_keys: bool = True) -> Iterator[Leaf]:
    """Every string and number below a value, in document order.

    Args:
        value: any JSON value.
        base: the pointer of the value itself.
        enter_texts: a text that is itself a JSON document is entered.
        id_keys: keys that look like ids are yielded too; their pointer is that of their member.
    """
    stack: list[tuple[str, Any, int, int]] = [(base, value, 0, 0)]
    while stack:
        pointer, item, depth, documents = stack.pop()
        if isinstance(item, str):
            inner = _opened(item) if enter_texts and documents < _MAX_NESTED_DOCUMENTS else None
            if inner is None:
                yield pointer, item
            else:
                stack.append((pointer, inner, depth + 1, documents + 1))
        elif isinstance(item, int | float) and not isinstance(item, bool):
            yield pointer, item
        elif isinstance(item, _CONTAINERS) and depth < _MAX_DEPTH:
            members = list(item.items()) if isinstance(item, dict) else list(enumerate(item))
            for key, member in reversed(members):
                stack.append((join(pointer, key), member, depth + 1, documents))
            if id_keys and isinstance(item, dict):
                yield from ((join(pointer, key), key) for key in item if _is_like_an_id(key))


def leaf_values(value: Any, *, enter_texts: bool = True) -> list[Any]:
    """What `leaves` finds, without the pointers, and several times as fast."""
    found: list[Any] = []
    _collect(value, found, 0, 0 if enter_texts else _MAX_NESTED_DOCUMENTS)
    return found


def _collect(item: Any, found: list[Any], depth: int, documents: int) -> None:
    if isinstance(item, str):
        inner = _opened(item) if documents < _MAX_NESTED_DOCUMENTS else None
        if inner is None:
            found.append(item)
        else:
            _collect(inner, found, depth + 1, documents + 1)
    elif isinstance(item, _CONTAINERS):
        if depth < _MAX_DEPTH:
            if isinstance(item, dict):
                found += filter(_is_like_an_id, item)
                item = item.values()
            for member in item:
                kind = type(member)
                if member[:1] not in _JSON_STARTS if kind is str else kind in _NUMBERS:
                    found.append(member)
                elif kind not in _EMPTY:
                    _collect(member, found, depth + 1, documents)
    elif isinstance(item, int | float) and not isinstance(item, bool):
        found.append(item)


class LeafPlaces:
    """The pointers of all that `leaves` finds, looked for as far as they are asked for."""

    def __init__(self, value: Any, *, enter_texts: bool = True) -> None:
        self._places: list[_Place | None] = []
        self._open: list[_OpenContainer] = []
        self._enter(value, None, 0, 0 if enter_texts else _MAX_NESTED_DOCUMENTS)

    def __getitem__(self, number: int) -> str:
        while number >= len(self._places):
            self._go_on(*self._open[-1])
        keys: list[str | int] = []
        place: _Place | None = self._places[number]
        while place is not None:
            place, key = place
            keys.append(key)
        return "".join([join("", key) for key in reversed(keys)])

    def _go_on(self, members: Iterator[tuple[str | int, Any]], place: _Place | None, depth: int, docs: int) -> None:
        """Go on with the container that was entered last, to its end or to the next one that is entered."""
        for key, member in members:
            kind = type(member)
            if member[:1] not in _JSON_STARTS if kind is str else kind in _NUMBERS:
                self._places.append((place, key))
            elif kind not in _EMPTY and self._enter(member, (place, key), depth + 1, docs):
                return
        self._open.pop()

    def _enter(self, item: Any, place: _Place | None, depth: int, documents: int) -> bool:
        """Note what stands at a place; whether it is a container, which is entered."""
        if isinstance(item, str):
            inner = _opened(item) if documents < _MAX_NESTED_DOCUMENTS else None
            if inner is None:
                self._places.append(place)
                return False
            return self._enter(inner, place, depth + 1, documents + 1)
        if isinstance(item, _CONTAINERS):
            if depth >= _MAX_DEPTH:
                return False
            if isinstance(item, dict):
                self._places += [(place, key) for key in filter(_is_like_an_id, item)]
            members: Iterable[tuple[str | int, Any]] = item.items() if isinstance(item, dict) else enumerate(item)
            self._open.append((iter(members), place, depth, documents))
            return True
        if isinstance(item, int | float) and not isinstance(item, bool):
            self._places.append(place)
        return False


def index_in(items: Sequence[Any], part: str) -> int | None:
    """The place in a list that a part of a pointer names; None where there is none."""
    index = int(part) if part.isdecimal() and len(part) <= _MAX_INDEX_DIGITS else len(items)
    return index if index < len(items) else None


def resolve(value: Any, pointer: str) -> Any:
    """What stands at a pointer.

    Raises:
        LookupError: nothing does.
    """
    for part in parts(pointer):
        if isinstance(value, str):
            value = as_json(value)
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list | tuple) and (index := index_in(value, part)) is not None:
            value = value[index]
        else:
            raise LookupError(pointer)
    return value
