"""Answer against answer: the same, the same but for volatile values, or different, and where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final, TypeAlias

from replay.dag.documents import answer_tree
from replay.dag.pointers import as_json, join
from replay.dag.truncation import split_truncation_marker, truncated_block_text
from replay.dag.volatile import is_noise, masked, same_but_volatile
from replay.records import Answer, Drift, TextAnswer, ToolResult, TransportFault, texts_of
from replay.safety.redaction import clean
from replay.safety.text import one_line

__all__ = ["AnswerComparison", "compare", "volatile_pointers"]


@dataclass(frozen=True)
class AnswerComparison:
    """How far an answer moved.

    Args:
        drift: `same`, `volatile` (only values that differ from run to run, such as times and ids) or `different`.
        difference: the first difference in words, or that a recording was cut; None where there is neither.
    """

    drift: Drift
    difference: str | None = None


Differences: TypeAlias = Iterator[tuple[Drift, str]]

SAME: Final = AnswerComparison("same")
_MAX_SHOWN_LENGTH: Final = 60
_MIN_CUT_LENGTH: Final = 200
"""A recording that is shorter was hardly cut for length."""
_KINDS: Final = {"result": "a result", "error": "a JSON-RPC error", "fault": "no answer", "text": "a text"}


def compare(recorded: Answer, replayed: Answer) -> AnswerComparison:
    """How a replayed answer differs from the recorded one.

    Members of JSON objects have no order; items of lists and lines of texts have. Where the recording kept only text,
    texts are compared, and a recording that was cut for length is compared as far as it goes.
    """
    if isinstance(recorded, TextAnswer) or isinstance(replayed, TextAnswer):
        return _compare_texts(recorded, replayed)
    if recorded.kind != replayed.kind:
        return AnswerComparison("different", f"{_kind(recorded)} then, {_kind(replayed)} now")
    for name in ("is_error", "code", "fault"):
        old, new = getattr(recorded, name, None), getattr(replayed, name, None)
        if old != new:
            return AnswerComparison("different", f"{'isError' if name == 'is_error' else name}: {old} then, {new} now")
    if isinstance(recorded, TransportFault):
        return SAME
    return _first(_differences(_comparable(recorded), _comparable(replayed), ""))


def volatile_pointers(answers: Sequence[Answer]) -> tuple[str, ...]:
    """Pointers of what is not the same in every answer, in the order of the first one."""
    trees = [answer_tree(answer) for answer in answers]
    found: dict[str, None] = {}
    for tree in trees[1:]:
        for pointer, _, _ in _changed_places(trees[0], tree, ""):
            found.setdefault(pointer)
    return tuple(found)


def _comparable(answer: Answer) -> Any:
    """What of an answer is compared: of a result with structured content, not the text that only repeats it."""
    if isinstance(answer, ToolResult):
        blocks = [{key: part for key, part in block.items() if key != "annotations"} for block in answer.content]
        return {"content": blocks, "structured": answer.structured}
    return answer_tree(answer)


def _kind(answer: Answer) -> str:
    return f"no answer ({answer.fault})" if isinstance(answer, TransportFault) else _KINDS[answer.kind]


def _first(differences: Differences) -> AnswerComparison:
    volatile: AnswerComparison | None = None
    for drift, words in differences:
        if drift == "different":
            return AnswerComparison(drift, words)
        volatile = volatile or AnswerComparison(drift, words)
    return volatile or SAME


def _compare_texts(recorded: Answer, replayed: Answer) -> AnswerComparison:
    if isinstance(replayed, TransportFault):
        return AnswerComparison("different", f"{_kind(recorded)} then, {_kind(replayed)} now")
    old, new = texts_of(recorded), texts_of(replayed)
    if len(old) == len(new) and len(old) > 1:
        pairs = ((_text_differences(old_text.strip(), new_text.strip(), f"/content/{n}/text"))
                 for n, (old_text, new_text) in enumerate(zip(old, new, strict=True)))  # fmt: skip
        return _first(difference for pair in pairs for difference in pair)
    recorded_text, replayed_text = "\n".join(old).strip(), "\n".join(new).strip()
    if recorded_text == replayed_text:
        return SAME
    return _compare_cut(recorded_text, replayed_text) or _first(_text_differences(recorded_text, replayed_text, ""))


def _compare_cut(recorded: str, replayed: str) -> AnswerComparison | None:
    """A recording that was cut, against as much of the replayed text; None where it was not cut."""
    kept, marker = truncated_block_text(recorded)
    if not marker:
        kept, marker = split_truncation_marker(kept)
    kept = kept.strip()
    if not marker and not (len(kept) >= _MIN_CUT_LENGTH and replayed.startswith(kept)):
        return None
    if marker and masked(replayed[-len(marker) :]) == masked(marker):
        return None
    note = AnswerComparison("same", f"the recording was cut after {len(kept)} characters; the same so far")
    if replayed.startswith(kept):
        return note
    whole = kept.split("\n")[:-1]
    if not whole:
        return None
    found = _first(_lines(whole, replayed.split("\n")[: len(whole)], ""))
    return note if found.drift == "same" else found


def _text_differences(recorded: str, replayed: str, place: str) -> Differences:
    old, new = as_json(recorded), as_json(replayed)
    if old is not None and new is not None:
        return _differences(old, new, place)
    return _text_lines(recorded, replayed, place)


def _differences(old: Any, new: Any, base: str) -> Differences:
    for place, recorded, replayed in _changed_places(old, new, base):
        if (
            isinstance(recorded, str)
            and isinstance(replayed, str)
            and ("\n" in recorded.strip() or "\n" in replayed.strip())
        ):
            yield from _text_lines(recorded.strip(), replayed.strip(), place)
        else:
            volatile = _is_volatile(place, recorded, replayed)
            words = f"{place or 'the answer'}: {_shown(recorded)} then, {_shown(replayed)} now"
            yield "volatile" if volatile else "different", words


def _changed_places(old: Any, new: Any, base: str) -> Iterator[tuple[str, Any, Any]]:
    """The places where two values are not the same, with what stands there."""
    stack = [(base, old, new)]
    while stack:
        place, recorded, replayed = stack.pop()
        if isinstance(recorded, str) and isinstance(replayed, str) and recorded != replayed:
            inner_recorded, inner_replayed = as_json(recorded), as_json(replayed)
            if inner_recorded is not None and inner_replayed is not None:
                recorded, replayed = inner_recorded, inner_replayed
        if isinstance(recorded, dict) and isinstance(replayed, dict):
            keys = [*recorded, *(key for key in replayed if key not in recorded)]
            stack += [
                (join(place, key), recorded.get(key, MISSING), replayed.get(key, MISSING)) for key in reversed(keys)
            ]
        elif isinstance(recorded, list) and isinstance(replayed, list):
            pairs = list(enumerate(zip_longest(recorded, replayed, fillvalue=MISSING)))
            stack += [
                (join(place, number), recorded_item, replayed_item)
                for number, (recorded_item, replayed_item) in reversed(pairs)
            ]
        elif not _equal(recorded, replayed):
            yield place, recorded, replayed


class _Missing:
    """Stands where one side has nothing, which null is not."""


MISSING: Final = _Missing()


def _equal(recorded: Any, replayed: Any) -> bool:
    if isinstance(recorded, bool) or isinstance(replayed, bool):
        return recorded is replayed
    if isinstance(recorded, str) and isinstance(replayed, str):
        return recorded == replayed or recorded.strip() == replayed.strip()
    return bool(recorded == replayed)


def _is_volatile(place: str, recorded: Any, replayed: Any) -> bool:
    if isinstance(recorded, str) and isinstance(replayed, str):
        return same_but_volatile(recorded.strip(), replayed.strip())
    return is_noise(place.rpartition("/")[2], recorded, replayed)


def _text_lines(recorded: str, replayed: str, place: str) -> Differences:
    """The lines that differ. Secrets are taken out of the whole texts: a line of a private key is not known as one."""
    old, new = clean(recorded), clean(replayed)
    if old == new and recorded != replayed:
        return iter([("different", f"{place or 'the answer'}: a secret differs")])
    return _lines(old.split("\n"), new.split("\n"), place)


def _lines(recorded: Sequence[str], replayed: Sequence[str], place: str) -> Differences:
    for number, (recorded_line, replayed_line) in enumerate(zip_longest(recorded, replayed), 1):
        if recorded_line is not None and replayed_line is not None:
            if recorded_line.rstrip() == replayed_line.rstrip():
                continue
            drift: Drift = (
                "volatile" if same_but_volatile(recorded_line.rstrip(), replayed_line.rstrip()) else "different"
            )
        else:
            drift = "different"
        where = f"{place}: line {number}" if place else f"line {number}"
        yield drift, f"{where}: {_line(recorded_line)} then, {_line(replayed_line)} now"


def _line(text: str | None) -> str:
    return "no line" if text is None else _shown(text)


def _shown(value: Any) -> str:
    if value is MISSING:
        return "nothing"
    return (
        f"'{one_line(value, _MAX_SHOWN_LENGTH)}'"
        if isinstance(value, str)
        else one_line(repr(value), _MAX_SHOWN_LENGTH)
    )
