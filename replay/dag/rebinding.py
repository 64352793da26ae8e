"""New values for old: what a producer's replayed answer holds where its recorded answer held a value."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from replay.dag.documents import answer_tree, document_of, spelled
from replay.dag.json_counterpart import counterpart
from replay.dag.pointers import parts, resolve
from replay.dag.text_substitution import is_alike, replacement_in
from replay.dag.value_matching import occurrences
from replay.records import Answer, Call, DataEdge, JsonObject, Rebinding, RpcError, ToolResult, TransportFault

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
    pairs: dict[str, _Pair | None] = {}
    for edge in edges:
        if edge.consumer != call.position or edge.producer_place != "answer":
            continue
        if edge.producer not in pairs:
            pairs[edge.producer] = _pair(recorded.get(edge.producer), replayed.get(edge.producer))
        pair = pairs[edge.producer]
        value = pair.new_value(edge) if pair else None
        if value is not None:
            news[edge.consumer_pointer].setdefault(spelled(edge.value).strip(), (value, edge.producer))
    arguments: JsonObject = copy.deepcopy(call.arguments or {}) if news else call.arguments or {}
    done: list[Rebinding] = []
    for pointer, values in news.items():
        arguments, rebindings = _replace(arguments, pointer, values)
        done.extend(rebindings)
    return arguments, tuple(done)


def _pair(then: Answer | None, now: Answer | None) -> _Pair | None:
    """The two answers of a producer, where the new one can hold anything new."""
    if then is None or now is None or isinstance(now, RpcError | TransportFault) or then == now:
        return None
    if isinstance(now, ToolResult) and now.is_error and not (isinstance(then, ToolResult) and then.is_error):
        return None
    return _Pair(then, now)


class _Pair:
    """A producer's recorded and replayed answer."""

    def __init__(self, then: Answer, now: Answer) -> None:
        self._old, self._new = answer_tree(then), answer_tree(now)
        self._old_document, self._new_document = document_of(then), document_of(now)

    def new_value(self, edge: DataEdge) -> Any:
        """What stands now where the edge's value stood; None where nothing is certain, or it still stands anywhere."""
        value = spelled(edge.value).strip()
        if value in self._new_document:
            return None
        for pointer in self._places(edge.producer_pointer, value):
            found = self._at(pointer, value)
            if found is not None and spelled(found).strip() != value:
                return found
        return None

    def _places(self, pointer: str, value: str) -> Iterator[str]:
        yield pointer
        for other in (self._old_document.scalar(value), self._old_document.mention(value)):
            if other is not None and other != pointer:
                yield other

    def _at(self, pointer: str, value: str) -> Any:
        try:
            old = resolve(self._old, pointer)
        except LookupError:
            return None
        new = counterpart(pointer, self._old, self._new)
        if new is None or isinstance(new, dict | list | bool):
            return None
        if spelled(old).strip() == value:
            alike = isinstance(old, str) == isinstance(new, str) and is_alike(value, spelled(new).strip())
            return new if alike else None
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
            return new.strip()
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
