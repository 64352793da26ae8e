"""New values for old: what a producer's replayed answer holds where its recorded answer held a value.

The same place is the same pointer, the list item that is the same in all else, or in a text what stands between the
same words.
"""

from __future__ import annotations

import copy
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from itertools import accumulate
from typing import Any, Final
from urllib.parse import quote

from replay.dag.documents import (
    Document,
    answer_tree,
    as_json,
    as_text,
    index_in,
    is_number,
    leaves,
    occurrences,
    parts,
    resolve,
    with_value_at,
)
from replay.records import (
    Answer,
    Call,
    DataEdge,
    JsonObject,
    Rebinding,
    RpcError,
    TextAnswer,
    ToolResult,
    TransportFault,
    blocks_of,
    texts_of,
)

_MAX_ITEMS: Final = 2000
_MAX_LEAVES: Final = 60
_MAX_CONTEXT: Final = 32
_MAX_TOKENS: Final = 4000
_MAX_VALUE_LENGTH: Final = 200
"""Characters of a new value, unless the old one was long: without a bound every place would be read to its end."""
_MIN_SIMILARITY: Final = 0.6
"""Share of two texts that must be the same before a difference between them means anything."""
_TOKEN: Final = re.compile(r"\w+|\s+|[^\w\s]")


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


def new_values(call: Call, edges: Iterable[DataEdge], recorded: Answer, replayed: Answer) -> Iterator[tuple[str, str]]:
    """The ids that later calls take from the recorded answer of a call, each with what its server drew in its place."""
    own = [edge for edge in edges if edge.producer == call.position and edge.producer_place == "answer"]
    pair = _producer_answers(recorded, replayed) if own else None
    if pair is None:
        return
    for edge in own:
        old, new = as_text(edge.value).strip(), as_text(pair.new_value(edge) or "").strip()
        if len(old) == len(new) and not any(map(str.isspace, old + new)):
            yield old, new


def with_rebound(arguments: JsonObject, rebound: Iterable[Rebinding]) -> JsonObject:
    """The arguments as they were sent, from those that were recorded and what was replaced in them."""
    sent = copy.deepcopy(arguments)
    for value in rebound:
        old = resolve(sent, value.pointer)
        new = value.replayed
        if old != value.recorded:
            new = as_text(old).replace(as_text(value.recorded), as_text(new))
        sent = with_value_at(sent, value.pointer, new)
    return sent


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
    return _ProducerAnswers(recorded, _as_recorded(replayed, recorded))


def _as_recorded(replayed: Answer, recorded: Answer) -> Answer:
    """The replayed answer as one text where the recording is one, as hosts join the text blocks of a result."""
    if not isinstance(recorded, TextAnswer) or not isinstance(replayed, ToolResult):
        return replayed
    texts = texts_of(replayed)
    joined = len(texts) == len(replayed.content) > len(blocks_of(recorded)) == 1
    return TextAnswer(text="\n".join(texts)) if joined else replayed


class _ProducerAnswers:
    """A producer's recorded and replayed answer."""

    def __init__(self, recorded: Answer, replayed: Answer) -> None:
        self._old, self._new = answer_tree(recorded), answer_tree(replayed)
        self._old_document, self._new_document = Document(self._old), Document(self._new)

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
    return with_value_at(arguments, pointer, new), rebindings


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
        return as_text(new).strip()
    if isinstance(new, str):
        try:
            return type(old)(new)
        except ValueError:
            return None
    return new


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


def replacement_in(old: str, new: str, value: str) -> str | None:
    """What stands in `new` where `value` stands in `old`; None where that is not certain."""
    start = next(iter(occurrences(old, value)), None)
    if start is None:
        return None
    for pattern in _anchored(old, start, value):
        old_matches = list(pattern.finditer(old))
        new_values = [match["value"] for match in pattern.finditer(new)]
        place = next((number for number, match in enumerate(old_matches) if match.start("value") == start), None)
        if place is None or not new_values:
            continue
        same_number = len(new_values) == len(old_matches)
        found = new_values[place] if same_number else new_values[0] if len(set(new_values)) == 1 else None
        if found is not None and is_same_kind(value, found):
            return found
    return _by_word_alignment(old, new, start, value)


def _anchored(old: str, start: int, value: str) -> Iterator[re.Pattern[str]]:
    """Patterns for the value's surroundings, the whole line first, then less and less of it."""
    end = start + len(value)
    line_start = old.rfind("\n", 0, start) + 1
    line_end = old.find("\n", end)
    line_end = len(old) if line_end < 0 else line_end
    before, after = old[line_start:start], old[end:line_end]
    shape = _shape(value)
    if before.strip() or after.strip():
        yield re.compile(rf"(?m)^{re.escape(before)}(?P<value>{shape}){re.escape(after)}$")
    above = old[max(line_start - _MAX_CONTEXT, 0) : line_start]
    if not before.strip() and above.strip():
        yield re.compile(rf"{re.escape(above + before)}(?P<value>{shape})")
    words_before = re.search(r"\S+\s*\S*$|\s+$", before[-_MAX_CONTEXT:])
    words_after = re.match(r"\S*\s*\S*", after[:_MAX_CONTEXT])
    near, beyond = (words_before[0] if words_before else ""), (words_after[0] if words_after else "")
    if near.strip():
        if beyond.strip():
            yield re.compile(rf"{re.escape(near)}(?P<value>{shape}){re.escape(beyond)}")
        yield re.compile(rf"{re.escape(near)}(?P<value>{shape})(?!\w)")
    elif beyond.strip():
        yield re.compile(rf"(?m)^(?P<value>{shape}){re.escape(beyond)}")


def _shape(value: str) -> str:
    """A pattern for other values of the same kind."""
    max_length = max(_MAX_VALUE_LENGTH, 4 * len(value))
    if is_number(value):
        return rf"-?\d{{1,{max_length}}}(?:\.\d{{1,{max_length}}})?"
    if any(map(str.isspace, value)):
        return rf"[^\n]{{1,{max_length}}}?"
    if "/" in value:
        return rf"[^\s\"'<>,;]{{1,{max_length}}}"
    if re.fullmatch(r"\w+", value):
        return rf"\w{{1,{max_length}}}"
    joined = rf"\w(?:[\w.:@+-]{{0,{max_length}}}\w)?"
    return joined if re.fullmatch(r"\w[\w.:@+-]*", value) else rf"\S{{1,{max_length}}}?"


def _by_word_alignment(old: str, new: str, start: int, value: str) -> str | None:
    """Align word by word; what replaced exactly the value's words is its new value."""
    old_tokens, new_tokens = _TOKEN.findall(old), _TOKEN.findall(new)
    if max(len(old_tokens), len(new_tokens)) > _MAX_TOKENS:
        return None
    starts = list(accumulate(map(len, old_tokens), initial=0))
    if start not in starts or start + len(value) not in starts:
        return None
    first, last = starts.index(start), starts.index(start + len(value))
    matcher = SequenceMatcher(None, old_tokens, new_tokens, autojunk=False)
    if matcher.ratio() < _MIN_SIMILARITY:
        return None
    for kind, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if kind == "replace" and old_from >= first and old_to <= last:
            kept_before, kept_after = "".join(old_tokens[first:old_from]), "".join(old_tokens[old_to:last])
            found = kept_before + "".join(new_tokens[new_from:new_to]) + kept_after
            return found if re.fullmatch(_shape(value), found) and is_same_kind(value, found) else None
    return None


def is_same_kind(value: str, found: str) -> bool:
    """Whether a text can be another value of the same kind: words for words, an id for an id, with digits again."""
    if not found or any(map(str.isspace, found)) > any(map(str.isspace, value)):
        return False
    return len(value) == len(found) or any(map(str.isdigit, value)) == any(map(str.isdigit, found))
