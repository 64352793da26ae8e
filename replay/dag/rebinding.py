"""New values for old: what a producer's replayed answer holds where its recorded answer held a value."""

from __future__ import annotations

import copy
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from replay.dag.alignment import replacement_in
from replay.dag.documents import Document, answer_tree, document_of, occurrences, spelled
from replay.dag.pointers import parts, resolve
from replay.dag.siblings import counterpart
from replay.records import Answer, Call, DataEdge, JsonObject, Rebinding, RpcError, TransportFault

__all__ = ["rebind"]


def rebind(
    call: Call, edges: Iterable[DataEdge], recorded: Mapping[str, Answer], replayed: Mapping[str, Answer]
) -> tuple[JsonObject, tuple[Rebinding, ...]]:
    """A call's arguments with the values that its producers now give.

    A value stays where the new answer still holds it anywhere, or where its new place is missing or not certain.

    Args:
        call: as recorded.
        edges: of its trajectory; those into other calls are passed over.
        recorded: answers by position.
        replayed: answers of the calls that were re-issued, by position.

    Returns:
        The arguments, and what was replaced in them; the arguments of the call itself where nothing was.
    """
    news: dict[str, dict[str, tuple[Any, str]]] = defaultdict(dict)
    for edge in edges:
        if edge.consumer != call.position or edge.producer_place != "answer":
            continue
        then, now = recorded.get(edge.producer), replayed.get(edge.producer)
        if then is None or now is None:
            continue
        value = new_value(edge, then, now)
        if value is not None:
            news[edge.consumer_pointer].setdefault(spelled(edge.value).strip(), (value, edge.producer))
    arguments: JsonObject = copy.deepcopy(call.arguments or {}) if news else call.arguments or {}
    done: list[Rebinding] = []
    for pointer, values in news.items():
        arguments, rebindings = _replace(arguments, pointer, values)
        done.extend(rebindings)
    return arguments, tuple(done)


def new_value(edge: DataEdge, then: Answer, now: Answer) -> Any:
    """What the new answer holds at the place where the old one held the edge's value; None where nothing is certain."""
    if isinstance(now, RpcError | TransportFault):
        return None
    value = spelled(edge.value).strip()
    if value in document_of(now):
        return None
    old_tree, new_tree = answer_tree(then), answer_tree(now)
    for pointer in _places(edge, then, value):
        found = _at(pointer, value, old_tree, new_tree)
        if found is not None and spelled(found).strip() != value:
            return found
    return None


def _places(edge: DataEdge, then: Answer, value: str) -> Iterable[str]:
    yield edge.producer_pointer
    document: Document = document_of(then)
    for pointer in (document.scalar(value), document.mention(value)):
        if pointer is not None and pointer != edge.producer_pointer:
            yield pointer


def _at(pointer: str, value: str, old_tree: Any, new_tree: Any) -> Any:
    try:
        old = resolve(old_tree, pointer)
    except LookupError:
        return None
    new = counterpart(pointer, old_tree, new_tree)
    if new is None or isinstance(new, dict | list | bool):
        return None
    if spelled(old).strip() == value:
        return new if isinstance(old, str) == isinstance(new, str) and spelled(new).strip() else None
    if isinstance(old, str) and isinstance(new, str):
        return replacement_in(old, new, value)
    return None


def _replace(
    arguments: JsonObject, pointer: str, values: Mapping[str, tuple[Any, str]]
) -> tuple[JsonObject, list[Rebinding]]:
    try:
        old = resolve(arguments, pointer)
    except LookupError:
        return arguments, []
    used: dict[str, tuple[Any, str]] = {}
    new: Any = old
    whole = values.get(spelled(old).strip())
    if whole is not None:
        new, used = _typed_as(old, whole[0]), {spelled(old).strip(): whole}
    elif isinstance(old, str):
        new, used = _within(old, values)
    if not used or new is None:
        return arguments, []
    rebindings = [
        Rebinding(pointer=pointer, recorded=_typed_as(old, was) if whole else was, replayed=now, producer=producer)
        for was, (now, producer) in used.items()
    ]
    return _with(arguments, parts(pointer), new), rebindings


def _within(text: str, values: Mapping[str, tuple[Any, str]]) -> tuple[str, dict[str, tuple[Any, str]]]:
    """All replacements at once, the longest first, so that no new value is replaced again."""
    spots: list[tuple[int, int, str, str]] = []
    for value in sorted(values, key=len, reverse=True):
        new = spelled(values[value][0]).strip()
        for was, now in ((value, new), (quote(value, safe=""), quote(new, safe=""))):
            for start in occurrences(text, was):
                end = start + len(was)
                if not any(start < other_end and other < end for other, other_end, _, _ in spots):
                    spots.append((start, end, now, value))
    pieces, last = [], 0
    for start, end, now, _ in sorted(spots):
        pieces += [text[last:start], now]
        last = end
    used = {value: values[value] for value in values if any(spot[3] == value for spot in spots)}
    return "".join([*pieces, text[last:]]), used


def _typed_as(old: Any, new: Any) -> Any:
    """The new value in the type that the argument had; None where it cannot be."""
    if isinstance(old, str):
        if isinstance(new, str):
            return re.sub(r"^\s*|\s*$", "", new)
        return spelled(new)
    if isinstance(new, str):
        try:
            return type(old)(new)
        except ValueError:
            return None
    return new


def _with(value: Any, path: list[str], new: Any) -> Any:
    """A JSON value with another one at a path; the value was copied before."""
    if not path:
        return new
    key: Any = int(path[0]) if isinstance(value, list) else path[0]
    value[key] = _with(value[key], path[1:], new)
    return value
