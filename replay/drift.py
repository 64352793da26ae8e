"""Answer against answer: the same, the same but for volatile values, or different, and where."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final

from replay.dag.documents import answer_tree
from replay.dag.pointers import join, opened, resolve
from replay.records import Answer, Drift, RpcError, TextAnswer, ToolResult, TransportFault, texts_of
from replay.text import one_line

__all__ = ["Comparison", "compare", "volatile_pointers"]


@dataclass(frozen=True)
class Comparison:
    """How far an answer moved.

    Args:
        drift: `same`, `volatile` (only values that differ from run to run, such as times and ids) or `different`.
        difference: the first difference in words; None where there is none.
    """

    drift: Drift
    difference: str | None = None


SAME: Final = Comparison("same")
_SHOWN: Final = 60
_TOLERANCE: Final = 1e-9
_CUT: Final = re.compile(
    r"\s*(?:\.{3}|…|\[?\(?\W{0,3}(?:output |content |response |result )?(?:was |has been )?(?:truncated|cut off|omitted)"
    r"[^\n]{0,200})\s*\Z",
    re.IGNORECASE,
)
_LEAST_CUT: Final = 200


def compare(recorded: Answer, replayed: Answer) -> Comparison:
    """How a replayed answer differs from the recorded one."""
    if isinstance(recorded, RpcError | TransportFault) or isinstance(replayed, RpcError | TransportFault):
        return _compare_failures(recorded, replayed)
    if isinstance(recorded, ToolResult) and isinstance(replayed, ToolResult):
        if recorded.is_error != replayed.is_error:
            return Comparison("different", f"isError: {recorded.is_error} then, {replayed.is_error} now")
        return _first(_differences(answer_tree(recorded), answer_tree(replayed), ""))
    return _compare_texts(recorded, replayed)


def volatile_pointers(answers: Sequence[Answer]) -> tuple[str, ...]:
    """Pointers of what is not the same in every answer, in the order of the first one."""
    trees = [answer_tree(answer) for answer in answers]
    found: dict[str, None] = {}
    for tree in trees[1:]:
        for pointer, _ in _moved(trees[0], tree, ""):
            found.setdefault(pointer)
    return tuple(found)


def _first(differences: Iterator[tuple[Drift, str]]) -> Comparison:
    volatile: Comparison | None = None
    for drift, words in differences:
        if drift == "different":
            return Comparison(drift, words)
        volatile = volatile or Comparison(drift, words)
    return volatile or SAME


def _compare_failures(recorded: Answer, replayed: Answer) -> Comparison:
    if recorded.kind != replayed.kind and not isinstance(recorded, TextAnswer):
        return Comparison("different", f"{_kind(recorded)} then, {_kind(replayed)} now")
    if isinstance(recorded, RpcError) and isinstance(replayed, RpcError):
        if recorded.code != replayed.code:
            return Comparison("different", f"code: {recorded.code} then, {replayed.code} now")
        return _first(_differences(answer_tree(recorded), answer_tree(replayed), ""))
    if isinstance(recorded, TransportFault) and isinstance(replayed, TransportFault):
        if recorded.fault == replayed.fault:
            return SAME
        return Comparison("different", f"{recorded.fault} then, {replayed.fault} now")
    return _compare_texts(recorded, replayed)


def _kind(answer: Answer) -> str:
    names = {"result": "a result", "error": "a JSON-RPC error", "fault": "no answer", "text": "a text"}
    return f"no answer ({answer.fault})" if isinstance(answer, TransportFault) else names[answer.kind]


def _compare_texts(recorded: Answer, replayed: Answer) -> Comparison:
    then, now = "\n".join(texts_of(recorded)).strip(), "\n".join(texts_of(replayed)).strip()
    if then == now:
        return SAME
    kept = _CUT.sub("", then)
    if (kept != then or len(then) >= _LEAST_CUT) and len(kept) >= 1 and now.startswith(kept):
        return Comparison("same", f"the recording was cut after {len(kept)} characters")
    if kept != then and len(kept) < len(now):
        now = now[: len(kept)].rpartition("\n")[0] or now[: len(kept)]
        then = kept.rpartition("\n")[0] or kept
    old, new = opened(then), opened(now)
    if old is not None and new is not None:
        return _first(_differences(old, new, ""))
    return _first(_lines(then, now, ""))


def _differences(old: Any, new: Any, pointer: str) -> Iterator[tuple[Drift, str]]:
    for place, (then, now) in _moved(old, new, pointer):
        yield from _describe(then, now, place)


def _moved(old: Any, new: Any, pointer: str) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """The places where two values are not the same, with what stands there."""
    stack = [(pointer, old, new)]
    while stack:
        place, then, now = stack.pop()
        if isinstance(then, str) and isinstance(now, str) and then != now:
            inner = opened(then), opened(now)
            if inner[0] is not None and inner[1] is not None:
                then, now = inner
        if isinstance(then, dict) and isinstance(now, dict):
            keys = [*then, *(key for key in now if key not in then)]
            stack += [(join(place, key), then.get(key, MISSING), now.get(key, MISSING)) for key in reversed(keys)]
        elif isinstance(then, list) and isinstance(now, list):
            pairs = list(enumerate(zip_longest(then, now, fillvalue=MISSING)))
            stack += [(join(place, number), one, other) for number, (one, other) in reversed(pairs)]
        elif not _equal(then, now):
            yield place, (then, now)


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


MISSING: Final = _Missing()


def _equal(then: Any, now: Any) -> bool:
    if isinstance(then, bool) or isinstance(now, bool):
        return then is now
    if isinstance(then, str) and isinstance(now, str):
        return then == now or then.strip() == now.strip()
    return bool(then == now)


def _describe(then: Any, now: Any, place: str) -> Iterator[tuple[Drift, str]]:
    if isinstance(then, str) and isinstance(now, str):
        if "\n" in then.strip() or "\n" in now.strip():
            yield from _lines(then.strip(), now.strip(), place)
            return
        drift: Drift = "volatile" if masked(then.strip()) == masked(now.strip()) else "different"
    else:
        drift = "volatile" if _same_number(then, now) or _volatile_member(place, then, now) else "different"
    yield drift, f"{place or 'the whole'}: {_shown(then)} then, {_shown(now)} now"


def _lines(then: str, now: str, place: str) -> Iterator[tuple[Drift, str]]:
    for number, (one, other) in enumerate(zip_longest(then.splitlines(), now.splitlines()), 1):
        if one is None or other is None or one.rstrip() != other.rstrip():
            same = one is not None and other is not None and masked(one.rstrip()) == masked(other.rstrip())
            where = f"{place}: line {number}" if place else f"line {number}"
            yield "volatile" if same else "different", f"{where}: {_shown(one)} then, {_shown(other)} now"


def _shown(value: Any) -> str:
    if value is None or value is MISSING:
        return "nothing" if value is MISSING else "no line"
    return f"'{one_line(value, _SHOWN)}'" if isinstance(value, str) else one_line(repr(value), _SHOWN)


def _same_number(then: Any, now: Any) -> bool:
    """Equal but for the noise of floating point."""
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (then, now))
    return numbers and abs(then - now) <= _TOLERANCE * max(abs(then), abs(now), 1.0)


_CLOCKS: Final = re.compile(
    r"(^|_|[a-z])(time|timestamp|at|date|modified|created|updated|accessed|mtime|ctime|atime|duration|elapsed|took|ms"
    r"|seconds|latency|uptime|pid|port|expires|Time|Timestamp|At|Date|Modified|Created|Duration|Elapsed)$"
)


def _volatile_member(place: str, then: Any, now: Any) -> bool:
    """A number under a name such as `modified`, `elapsed_ms` or `pid`."""
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (then, now))
    return numbers and _CLOCKS.search(place.rpartition("/")[2]) is not None


_VOLATILE: Final = re.compile(
    r"""
      (?P<uuid>\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b)
    | (?P<when>\b\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:\ ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?)?)
    | (?P<day>\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,?\ +)?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\ +
        \d{1,2}(?:,?\ +\d{4}\b|\ +\d\d:\d\d(?::\d\d)?(?:\ +(?:[A-Z]{3,4}\ +)?\d{4})?|(?!\w)))
    | (?P<clock>\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b|\b[012]?\d:[0-5]\d\b)
    | (?P<temp>(?:/private)?(?:/var)?/tmp/[\w.+-]+|/var/folders/\w+/\w+/T/[\w.+-]+|\btmp[a-z0-9_]{6,}\b)
    | (?P<address>\b0x[0-9a-fA-F]{6,}\b)
    | (?P<took>\b\d+(?:\.\d+)?\ ?(?:ns|µs|us|ms|s|secs?|seconds?|minutes?)\b)
    | (?P<process>\b(?:pid|PID|process|port|Port)(?:\ id)?[ =:#]+\d+)
    | (?P<host>(?:\blocalhost|\b127\.0\.0\.1|\b0\.0\.0\.0):\d{2,5})
    | (?P<stamp>['"]?\b(?:mtime|ctime|atime|modified|created|accessed|timestamp|updated)\w*['"]?\s*[:=]\s*\d+(?:\.\d+)?)
    | (?P<epoch>\b1[5-9]\d{8}(?:\d{3}|\.\d+)?\b)
    | (?P<random>\b(?=[a-z_-]*\d)(?=\d*[a-z])(?=(?:[a-z]*\d+){2})[0-9a-f]{8,64}\b|\b(?=\w*\d)(?=\w*[a-z])(?=\w*[A-Z])[A-Za-z0-9]{16,64}\b)
    | (?P<float>\b\d+\.\d{9,}\b)
    """,
    re.VERBOSE,
)


def masked(text: str) -> str:
    """A text with each volatile value replaced by its kind."""
    return _VOLATILE.sub(_mask, text)


def _mask(match: re.Match[str]) -> str:
    kind = match.lastgroup or ""
    if kind == "float":
        return f"{float(match[0]):.9g}"
    return f"<{kind}>"


def value_at(answer: Answer, pointer: str) -> Any:
    """What stands at a pointer that `volatile_pointers` gave; None where nothing does."""
    try:
        return resolve(answer_tree(answer), pointer)
    except LookupError:
        return None
