"""The same place in another answer: the same pointer, or the list item that is the same in all else."""

from __future__ import annotations

from typing import Any, Final

from replay.dag.pointers import as_json, index_in, leaves, parts

__all__ = ["counterpart"]

_MAX_ITEMS: Final = 2000
_MAX_LEAVES: Final = 60


def counterpart(pointer: str, old: Any, new: Any) -> Any:
    """What stands in `new` at the place that a pointer names in `old`; None where there is no such place, or several.

    A list may come in another order, or longer: the item whose other members agree best is the same item.
    """
    for number, part in enumerate(path := parts(pointer)):
        old, new = _parsed(old), _parsed(new)
        if isinstance(old, dict) and isinstance(new, dict) and part in old and part in new:
            old, new = old[part], new[part]
        elif isinstance(old, list) and isinstance(new, list) and (place := index_in(old, part)) is not None:
            index = _same_item(old, new, place, path[number + 1 :])
            if index is None:
                return None
            old, new = old[place], new[index]
        else:
            return None
    return new


def _parsed(value: Any) -> Any:
    inner = as_json(value) if isinstance(value, str) else None
    return value if inner is None else inner


def _same_item(old: list[Any], new: list[Any], index: int, below: list[str]) -> int | None:
    wanted = _identity(old[index], below)
    if not wanted:
        return index if len(old) == len(new) else None
    scores = [len(wanted & _identity(item, below)) for item in new[:_MAX_ITEMS]]
    best = max(scores, default=0)
    if best == 0:
        return index if len(old) == len(new) else None
    if index < len(scores) and scores[index] == best and (len(old) == len(new) or scores.count(best) == 1):
        return index
    return scores.index(best) if scores.count(best) == 1 else None


def _identity(item: Any, below: list[str]) -> frozenset[tuple[str, Any]]:
    """What else an item holds, beside the place that is looked for."""
    own = "".join("/" + part for part in below)
    found: list[tuple[str, Any]] = []
    for pointer, value in leaves(item):
        if pointer != own and isinstance(value, str | int | float):
            found.append((pointer, value))
        if len(found) >= _MAX_LEAVES:
            break
    return frozenset(found) if isinstance(item, dict | list) else frozenset()
