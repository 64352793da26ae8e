"""Answer against answer: the same, different and where, or the same but for values that differ from run to run.

Such volatile values are times, durations, random ids and temporary paths: they mean nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from replay.dag.documents import answer_tree, as_json, join, split_truncation_marker, truncated_block_text
from replay.records import Answer, Drift, TextAnswer, ToolResult, TransportFault, texts_of
from replay.safety.redaction import clean
from replay.safety.text import one_line

_TOLERANCE: Final = 1e-9
_MAX_VALUE_LENGTH: Final = 200
"""No volatile value is longer."""
_MAX_DIFFERENCE_LENGTH: Final = 300_000
"""Characters between the first and the last difference beyond which two texts are simply different."""
_MONTH: Final = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_WEEKDAY: Final = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,?[ ]+)?"
_CLOCK: Final = r"\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?"
_VOLATILE: Final = re.compile(
    rf"""
      (?P<uuid>\b[0-9a-fA-F]{{8}}-(?:[0-9a-fA-F]{{4}}-){{3}}[0-9a-fA-F]{{12}}\b)
    | (?P<when>\b\d{{4}}[-/]\d\d[-/]\d\d(?:[T ]{_CLOCK}(?:[ ]?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?)?
        | \b{_WEEKDAY}{_MONTH}[ ]+\d{{1,2}}(?:,?[ ]+\d{{4}}\b|[ ]+{_CLOCK}(?:[ ]+(?:[A-Z]{{3,4}}[ ]+)?\d{{4}})?|(?!\w))
        | \b{_WEEKDAY}\d{{1,2}}[ ]+{_MONTH}[ ]+\d{{4}}(?:[ ]+{_CLOCK}(?:[ ]+GMT)?)?
        | \b\d{{1,2}}:\d\d:\d\d(?:[.,]\d+)?\b | \b[012]?\d:[0-5]\d\b)
    | (?P<temp>(?:/private)?(?:/var)?/tmp/[\w.+-]+|/var/folders/\w+/\w+/T/[\w.+-]+|\btmp[a-z0-9_]{{6,}}\b)
    | (?P<address>\b0x[0-9a-fA-F]{{6,}}\b)
    | (?P<took>\b\d+(?:\.\d+)?[ ]?(?:ns|µs|us|ms|s|secs?|seconds?|minutes?)\b)
    | (?P<process>\b(?:pid|PID|process|port|Port)(?:[ ]id)?[ =:#]+\d+)
    | (?P<host>(?:\blocalhost|\b127\.0\.0\.1|\b0\.0\.0\.0):\d{{2,5}})
    | (?P<stamp>['"]?\b(?:mtime|ctime|atime|modified|created|accessed|timestamp|updated)\w*['"]?\s*[:=]\s*\d+(?:\.\d+)?)
    | (?P<epoch>\b1[5-9]\d{{8}}(?:\d{{3}}|\.\d+)?\b)
    | (?P<random>(?:\b|(?<=_))(?=\w{{0,64}}\b)(?=[a-fA-F]*\d)(?=\d*[a-fA-F])[0-9a-fA-F]{{8,64}}\b
        | (?:\b|(?<=_))(?=[A-Za-z0-9]{{8,64}}\b)(?:[A-Za-z]+\d+[A-Za-z]+\d|\d+[A-Za-z]+\d+[A-Za-z])[A-Za-z0-9]*\b
        | \b(?=[A-Za-z0-9]{{16,64}}\b)(?=[A-Z]*[a-z0-9])(?=[a-zA-Z]*\d)(?=[A-Z0-9]*[a-z])
            (?=[a-z0-9]*[A-Z])[A-Za-z0-9]+\b)
    | (?P<float>\b\d+\.\d{{9,}}\b)
    """,
    re.VERBOSE,
)
_VOLATILE_NAMES: Final = re.compile(
    r"(^|_|[a-z])(time|timestamp|at|date|modified|created|updated|accessed|mtime|ctime|atime|duration|elapsed|took|ms"
    r"|seconds|latency|uptime|pid|port|expires|Time|Timestamp|At|Date|Modified|Created|Duration|Elapsed|Ms|Seconds)$"
)
Differences: TypeAlias = Iterator[tuple[Drift, str]]
_MAX_SHOWN_LENGTH: Final = 60
_MIN_DRAWN_LENGTH: Final = 4
"""A shorter value stands in too many words by chance."""
_MIN_CUT_LENGTH: Final = 200
"""A recording that is shorter was hardly cut for length."""
_KINDS: Final = {"result": "a result", "error": "a JSON-RPC error", "fault": "no answer", "text": "a text"}


@dataclass(frozen=True)
class AnswerComparison:
    """How far an answer moved.

    Args:
        drift: `same`, `volatile` (only values that differ from run to run, such as times and ids) or `different`.
        difference: the first difference in words, or that a recording was cut; None where there is neither.
    """

    drift: Drift
    difference: str | None = None


SAME: Final = AnswerComparison("same")


def compare_answers(
    recorded: Answer, replayed: Answer, drawn: Mapping[str, str] = MappingProxyType({})
) -> AnswerComparison:
    """How a replayed answer differs from the recorded one.

    Members of JSON objects have no order; items of lists and lines of texts have. Where the recording kept only text,
    texts are compared, and a recording that was cut for length is compared as far as it goes.

    Args:
        recorded: the answer of then.
        replayed: the new one.
        drawn: recorded values, each with what the server is known to have drawn in its place: those are volatile.
    """
    comparison = _compare_as_they_are(recorded, replayed)
    known = {old: new for old, new in drawn.items() if len(old) >= _MIN_DRAWN_LENGTH}
    if comparison.drift != "different" or not known or isinstance(recorded, TransportFault):
        return comparison
    values = re.compile("|".join(map(re.escape, sorted(known, key=len, reverse=True))))
    fields = [name for name in ("content", "structured", "text", "message", "data") if hasattr(recorded, name)]
    update = {name: _with_drawn(getattr(recorded, name), values, known) for name in fields}
    rest = _compare_as_they_are(recorded.model_copy(update=update), replayed)
    if rest.drift == "different" and not _differ_where_drawn(recorded, replayed, known):
        return comparison
    return AnswerComparison("volatile", comparison.difference)


def _differ_where_drawn(recorded: Answer, replayed: Answer, drawn: Mapping[str, str]) -> bool:
    """Whether two JSON answers differ in ids alone: where one item of a list has a drawn value, so have the others."""
    if isinstance(recorded, TextAnswer) or isinstance(replayed, TextAnswer):
        then, now = (as_json("\n".join(texts_of(answer)).strip()) for answer in (recorded, replayed))
    else:
        then, now = _comparable(recorded), _comparable(replayed)
    changed = [(re.sub(r"/\d+(?=/|$)", "/*", place), old, new) for place, old, new in _changed_places(then, now, "")]
    places = {place for place, old, _ in changed if isinstance(old, str) and old in drawn}
    return bool(places) and all(
        (place in places and isinstance(new, str) and len(old) == len(new)) or _is_volatile(place, old, new)
        for place, old, new in changed
    )


def _with_drawn(value: Any, values: re.Pattern[str], drawn: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return values.sub(lambda match: drawn[match[0]], value)
    if isinstance(value, dict):
        return {key: _with_drawn(member, values, drawn) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_with_drawn(member, values, drawn) for member in value)
    return value


def _compare_as_they_are(recorded: Answer, replayed: Answer) -> AnswerComparison:
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


def changed_texts(recorded: Answer, replayed: Answer) -> Iterator[tuple[str, str]]:
    """What stood and what stands in each place where both answers have a text, and not the same one."""
    for _, old, new in _changed_places(answer_tree(recorded), answer_tree(replayed), ""):
        if isinstance(old, str) and isinstance(new, str):
            yield old, new


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
            words = f"{place or 'the answer'}: {_both_shown(recorded, replayed)}"
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
        where = f"{place}: line {number}" if place else f"line {number}"
        if recorded_line is None or replayed_line is None:
            yield "different", f"{where}: {_line(recorded_line)} then, {_line(replayed_line)} now"
        elif recorded_line.rstrip() != replayed_line.rstrip():
            volatile = same_but_volatile(recorded_line.rstrip(), replayed_line.rstrip())
            yield "volatile" if volatile else "different", f"{where}: {_both_shown(recorded_line, replayed_line)}"


def _line(text: str | None) -> str:
    return "no line" if text is None else _shown(text)


def _both_shown(recorded: Any, replayed: Any) -> str:
    """What stands on either side; of long texts from where they part, secrets taken out of them as a whole."""
    if isinstance(recorded, str) and isinstance(replayed, str):
        recorded, replayed = clean(recorded), clean(replayed)
        same = _common_prefix_length(recorded, replayed)
        start = recorded.rfind(" ", 0, same) + 1 if same > _MAX_SHOWN_LENGTH // 2 else 0
        recorded, replayed = ("…" * bool(start) + text[start:] for text in (recorded, replayed))
    return f"{_shown(recorded)} then, {_shown(replayed)} now"


def _shown(value: Any) -> str:
    if value is MISSING:
        return "nothing"
    return (
        f"'{one_line(value, _MAX_SHOWN_LENGTH)}'"
        if isinstance(value, str)
        else one_line(repr(value), _MAX_SHOWN_LENGTH)
    )


def masked(text: str) -> str:
    """A text with each volatile value replaced by its kind."""
    return _VOLATILE.sub(_mask, text)


def same_but_volatile(recorded: str, replayed: str) -> bool:
    """Whether two texts are the same when their volatile values are masked.

    Only the part between the first and the last difference is looked at, with what a value there could reach into.
    """
    start = max(_common_prefix_length(recorded, replayed) - _MAX_VALUE_LENGTH, 0)
    start = max(recorded.rfind(" ", 0, start) + 1, start - _MAX_VALUE_LENGTH) if start else 0
    tail = max(_common_prefix_length(recorded[start:][::-1], replayed[start:][::-1]) - _MAX_VALUE_LENGTH, 0)
    old, new = recorded[start : len(recorded) - tail], replayed[start : len(replayed) - tail]
    return max(len(old), len(new)) <= _MAX_DIFFERENCE_LENGTH and masked(old) == masked(new)


def _common_prefix_length(first: str, second: str) -> int:
    differing = (number for number, (one, other) in enumerate(zip(first, second, strict=False)) if one != other)
    return next(differing, min(len(first), len(second)))


def is_noise(name: str, recorded: Any, replayed: Any) -> bool:
    """Whether two numbers differ by the noise of floating point, or stand under a name like `elapsed_ms` or `pid`."""
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in (recorded, replayed)):
        return False
    if _VOLATILE_NAMES.search(name):
        return True
    return bool(abs(recorded - replayed) <= _TOLERANCE * max(abs(recorded), abs(replayed), 1.0))


def _mask(match: re.Match[str]) -> str:
    kind = match.lastgroup or ""
    return f"{float(match[0]):.9g}" if kind == "float" else f"<{kind}>"
