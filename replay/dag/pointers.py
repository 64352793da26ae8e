"""JSON pointers (RFC 6901) into arguments and answers.

A text that is itself a JSON document is entered: `/content/0/text/items/2/id` is the id of the third item of the
document in the first content block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

from replay.json_values import parse_json, unbounded_json

Leaf = tuple[str, Any]
"""A pointer, and the string or number that stands there."""
Path = tuple[Any, str | int] | None
"""Where something stands: the path of its container and the key in it; None at the root."""
_CONTAINERS: Final = (dict, list)
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


def leaves(value: Any, *, enter_texts: bool = True, id_keys: bool = True) -> Iterator[Leaf]:
    """Every string and number below a value with its pointer, in document order; for the rest see `leaf_paths`."""
    return ((pointer_of(path), leaf) for path, leaf in leaf_paths(value, enter_texts=enter_texts, id_keys=id_keys))


def leaf_paths(value: Any, *, enter_texts: bool = True, id_keys: bool = True) -> Iterator[tuple[Path, Any]]:
    """As `leaves`, with what a pointer can be made of: few pointers are ever asked for.

    Args:
        value: any JSON value.
        enter_texts: a text that is itself a JSON document is entered.
        id_keys: keys that look like ids are yielded too; their path is that of their member.
    """
    stack: list[tuple[Path, Any, int, int]] = [(None, value, 0, 0 if enter_texts else _MAX_NESTED_DOCUMENTS)]
    while stack:
        path, item, depth, documents = stack.pop()
        if isinstance(item, str):
            inner = _opened(item) if documents < _MAX_NESTED_DOCUMENTS else None
            if inner is None:
                yield path, item
            else:
                stack.append((path, inner, depth + 1, documents + 1))
        elif isinstance(item, int | float) and not isinstance(item, bool):
            yield path, item
        elif isinstance(item, _CONTAINERS) and depth < _MAX_DEPTH:
            members = item.items() if isinstance(item, dict) else enumerate(item)
            stack += [((path, key), member, depth + 1, documents) for key, member in members][::-1]
            if id_keys and isinstance(item, dict):
                yield from (((path, key), key) for key in item if _is_like_an_id(key))


def pointer_of(path: Path) -> str:
    """The pointer of what `leaf_paths` found."""
    keys: list[str | int] = []
    while path is not None:
        path, key = path
        keys.append(key)
    return "".join([join("", key) for key in reversed(keys)])


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
