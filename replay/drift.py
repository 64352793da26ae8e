"""Answer against answer: the same, the same but for volatile values, or different, and where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final, TypeAlias

from replay.dag.documents import answer_tree
from replay.dag.pointers import join, opened
from replay.dag.truncation import split_cut, uncut_text
from replay.records import Answer, Drift, TextAnswer, ToolResult, TransportFault, texts_of
from replay.text import one_line
from replay.volatile import is_noise, masked, same_but_volatile

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
_SHOWN: Final = 60
_LEAST_CUT: Final = 200
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
        then, now = getattr(recorded, name, None), getattr(replayed, name, None)
        if then != now:
            return AnswerComparison("different", f"{'isError' if name == 'is_error' else name}: {then} then, {now} now")
    if isinstance(recorded, TransportFault):
        return SAME
    return _first(_differences(_compared(recorded), _compared(replayed), ""))


def volatile_pointers(answers: Sequence[Answer]) -> tuple[str, ...]:
    """Pointers of what is not the same in every answer, in the order of the first one."""
    trees = [answer_tree(answer) for answer in answers]
    found: dict[str, None] = {}
    for tree in trees[1:]:
        for pointer, _, _ in _moved(trees[0], tree, ""):
            found.setdefault(pointer)
    return tuple(found)


def _compared(answer: Answer) -> Any:
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
        pairs = ((_text_differences(then.strip(), now.strip(), f"/content/{n}/text"))
                 for n, (then, now) in enumerate(zip(old, new, strict=True)))  # fmt: skip
        return _first(difference for pair in pairs for difference in pair)
    then, now = "\n".join(old).strip(), "\n".join(new).strip()
    if then == now:
        return SAME
    return _compare_cut(then, now) or _first(_text_differences(then, now, ""))


def _compare_cut(then: str, now: str) -> AnswerComparison | None:
    """A recording that was cut, against as much of the replayed text; None where it was not cut."""
    kept, marker = uncut_text(then)
    if not marker:
        kept, marker = split_cut(kept)
    kept = kept.strip()
    if not marker and not (len(kept) >= _LEAST_CUT and now.startswith(kept)):
        return None
    if marker and masked(now[-len(marker) :]) == masked(marker):
        return None
    note = AnswerComparison("same", f"the recording was cut after {len(kept)} characters; the same so far")
    if now.startswith(kept):
        return note
    whole = kept.split("\n")[:-1]
    if not whole:
        return None
    found = _first(_lines(whole, now.split("\n")[: len(whole)], ""))
    return note if found.drift == "same" else found


def _text_differences(then: str, now: str, place: str) -> Differences:
    old, new = opened(then), opened(now)
    if old is not None and new is not None:
        return _differences(old, new, place)
    return _lines(then.split("\n"), now.split("\n"), place)


def _differences(old: Any, new: Any, base: str) -> Differences:
    for place, then, now in _moved(old, new, base):
        if isinstance(then, str) and isinstance(now, str) and ("\n" in then.strip() or "\n" in now.strip()):
            yield from _lines(then.strip().split("\n"), now.strip().split("\n"), place)
        else:
            volatile = _is_volatile(place, then, now)
            words = f"{place or 'the answer'}: {_shown(then)} then, {_shown(now)} now"
            yield "volatile" if volatile else "different", words


def _moved(old: Any, new: Any, base: str) -> Iterator[tuple[str, Any, Any]]:
    """The places where two values are not the same, with what stands there."""
    stack = [(base, old, new)]
    while stack:
        place, then, now = stack.pop()
        if isinstance(then, str) and isinstance(now, str) and then != now:
            inner_then, inner_now = opened(then), opened(now)
            if inner_then is not None and inner_now is not None:
                then, now = inner_then, inner_now
        if isinstance(then, dict) and isinstance(now, dict):
            keys = [*then, *(key for key in now if key not in then)]
            stack += [(join(place, key), then.get(key, MISSING), now.get(key, MISSING)) for key in reversed(keys)]
        elif isinstance(then, list) and isinstance(now, list):
            pairs = list(enumerate(zip_longest(then, now, fillvalue=MISSING)))
            stack += [(join(place, number), one, other) for number, (one, other) in reversed(pairs)]
        elif not _equal(then, now):
            yield place, then, now


class _Missing:
    """Stands where one side has nothing, which null is not."""


MISSING: Final = _Missing()


def _equal(then: Any, now: Any) -> bool:
    if isinstance(then, bool) or isinstance(now, bool):
        return then is now
    if isinstance(then, str) and isinstance(now, str):
        return then == now or then.strip() == now.strip()
    return bool(then == now)


def _is_volatile(place: str, then: Any, now: Any) -> bool:
    if isinstance(then, str) and isinstance(now, str):
        return same_but_volatile(then.strip(), now.strip())
    return is_noise(place.rpartition("/")[2], then, now)


def _lines(then: Sequence[str], now: Sequence[str], place: str) -> Differences:
    for number, (one, other) in enumerate(zip_longest(then, now), 1):
        if one is not None and other is not None:
            if one.rstrip() == other.rstrip():
                continue
            drift: Drift = "volatile" if same_but_volatile(one.rstrip(), other.rstrip()) else "different"
        else:
            drift = "different"
        where = f"{place}: line {number}" if place else f"line {number}"
        yield drift, f"{where}: {_line(one)} then, {_line(other)} now"


def _line(text: str | None) -> str:
    return "no line" if text is None else _shown(text)


def _shown(value: Any) -> str:
    if value is MISSING:
        return "nothing"
    return f"'{one_line(value, _SHOWN)}'" if isinstance(value, str) else one_line(repr(value), _SHOWN)
