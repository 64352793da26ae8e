"""New values for old: what a producer's replayed answer holds where its recorded answer held a value."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from replay.dag.documents import answer_tree, as_text, document_of
from replay.dag.json_counterpart import counterpart
from replay.dag.pointers import parts, resolve
from replay.dag.text_substitution import is_same_kind, replacement_in
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
    new_values: dict[str, dict[str, tuple[Any, str]]] = defaultdict(dict)
    pairs: dict[str, _ProducerAnswers | None] = {}
    for edge in edges:
        if edge.consumer != call.position or edge.producer_place != "answer":
            continue
        if edge.producer not in pairs:
            pairs[edge.producer] = _producer_answers(recorded.get(edge.producer), replayed.get(edge.producer))
        pair = pairs[edge.producer]
        value = pair.new_value(edge) if pair else None
        if value is not None:
            new_values[edge.consumer_pointer].setdefault(as_text(edge.value).strip(), (value, edge.producer))
    arguments: JsonObject = copy.deepcopy(call.arguments or {}) if new_values else call.arguments or {}
    done: list[Rebinding] = []
    for pointer, values in new_values.items():
        arguments, rebindings = _replace(arguments, pointer, values)
        done.extend(rebindings)
    return arguments, tuple(done)


def _producer_answers(recorded: Answer | None, replayed: Answer | None) -> _ProducerAnswers | None:
    """The two answers of a producer, where the new one can hold anything new."""
    if recorded is None or replayed is None or isinstance(replayed, RpcError | TransportFault) or recorded == replayed:
        return None
    if (
        isinstance(replayed, ToolResult)
        and replayed.is_error
        and not (isinstance(recorded, ToolResult) and recorded.is_error)
    ):
        return None
    return _ProducerAnswers(recorded, replayed)


class _ProducerAnswers:
    """A producer's recorded and replayed answer."""

    def __init__(self, recorded: Answer, replayed: Answer) -> None:
        self._old, self._new = answer_tree(recorded), answer_tree(replayed)
        self._old_document, self._new_document = document_of(recorded), document_of(replayed)

    def new_value(self, edge: DataEdge) -> Any:
        """What stands now where the edge's value stood; None where nothing is certain, or it still stands anywhere."""
        value = as_text(edge.value).strip()
        if value in self._new_document:
            return None
        for pointer in self._places(edge.producer_pointer, value):
            found = self._at(pointer, value)
            if found is not None and as_text(found).strip() != value:
                return found
        return None

    def _places(self, pointer: str, value: str) -> Iterator[str]:
        yield pointer
        for other_pointer in (self._old_document.scalar(value), self._old_document.mention(value)):
            if other_pointer is not None and other_pointer != pointer:
                yield other_pointer

    def _at(self, pointer: str, value: str) -> Any:
        try:
            old = resolve(self._old, pointer)
        except LookupError:
            return None
        new = counterpart(pointer, self._old, self._new)
        if new is None or isinstance(new, dict | list | bool):
            return None
        if as_text(old).strip() == value:
            alike = isinstance(old, str) == isinstance(new, str) and is_same_kind(value, as_text(new).strip())
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
    replaced: dict[str, tuple[Any, str]] = {}
    new: Any = old
    whole = values.get(as_text(old).strip())
    if whole is not None:
        new, replaced = _typed_as(old, whole[0]), {as_text(old).strip(): whole}
    elif isinstance(old, str):
        new, replaced = _replaced_within(old, values)
    if not replaced or new is None:
        return arguments, []
    rebindings = [
        Rebinding(
            pointer=pointer,
            recorded=_typed_as(old, old_value) if whole else old_value,
            replayed=replayed,
            producer=producer,
        )
        for old_value, (replayed, producer) in replaced.items()
    ]
    return _with_value_at(arguments, parts(pointer), new), rebindings


def _replaced_within(text: str, values: Mapping[str, tuple[Any, str]]) -> tuple[str, dict[str, tuple[Any, str]]]:
    """All replacements at once, the longest first, so that no new value is replaced again."""
    places: list[tuple[int, int, str, str]] = []
    for value in sorted(values, key=len, reverse=True):
        new = as_text(values[value][0]).strip()
        for old_value, replayed in ((value, new), (quote(value, safe=""), quote(new, safe=""))):
            for start in occurrences(text, old_value):
                end = start + len(old_value)
                if not any(
                    start < end_of_other and start_of_other < end for start_of_other, end_of_other, _, _ in places
                ):
                    places.append((start, end, replayed, value))
    pieces, last = [], 0
    for start, end, replayed, _ in sorted(places):
        pieces += [text[last:start], replayed]
        last = end
    replaced = {value: values[value] for value in values if any(place[3] == value for place in places)}
    return "".join([*pieces, text[last:]]), replaced


def _typed_as(old: Any, new: Any) -> Any:
    """The new value in the type that the argument had; None where it cannot be."""
    if isinstance(old, str):
        if isinstance(new, str):
            return new.strip()
        return as_text(new)
    if isinstance(new, str):
        try:
            return type(old)(new)
        except ValueError:
            return None
    return new


def _with_value_at(value: Any, path: list[str], new: Any) -> Any:
    """A JSON value with another one at a path; the value was copied before."""
    if not path:
        return new
    key: Any = int(path[0]) if isinstance(value, list) else path[0]
    value[key] = _with_value_at(value[key], path[1:], new)
    return value
