"""Where a value of one text stands in another text that says the same: by what stands before and after it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Final

from replay.dag.value_matching import is_number, occurrences

__all__ = ["is_alike", "replacement_in"]

_NEAR: Final = 32
_MOST_TOKENS: Final = 4000
_LONGEST: Final = 200
"""Characters of a new value, unless the old one was long: without a bound every place would be read to its end."""
_ALIKE: Final = 0.6
"""Share of two texts that must be the same before a difference between them means anything."""
_TOKEN: Final = re.compile(r"\w+|\s+|[^\w\s]")


def replacement_in(old: str, new: str, value: str) -> str | None:
    """What stands in `new` where `value` stands in `old`; None where that is not certain."""
    start = next(iter(occurrences(old, value)), None)
    if start is None:
        return None
    for pattern in _anchored(old, start, value):
        then = list(pattern.finditer(old))
        now = [match["value"] for match in pattern.finditer(new)]
        place = next((number for number, match in enumerate(then) if match.start("value") == start), None)
        if place is None or not now:
            continue
        found = now[place] if len(now) == len(then) else now[0] if len(set(now)) == 1 else None
        if found is not None and is_alike(value, found):
            return found
    return _by_difference(old, new, start, value)


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
    above = old[max(line_start - _NEAR, 0) : line_start]
    if not before.strip() and above.strip():
        yield re.compile(rf"{re.escape(above + before)}(?P<value>{shape})")
    words_before = re.search(r"\S+\s*\S*$|\s+$", before[-_NEAR:])
    words_after = re.match(r"\S*\s*\S*", after[:_NEAR])
    near, beyond = (words_before[0] if words_before else ""), (words_after[0] if words_after else "")
    if near.strip():
        if beyond.strip():
            yield re.compile(rf"{re.escape(near)}(?P<value>{shape}){re.escape(beyond)}")
        yield re.compile(rf"{re.escape(near)}(?P<value>{shape})(?!\w)")
    elif beyond.strip():
        yield re.compile(rf"(?m)^(?P<value>{shape}){re.escape(beyond)}")


def _shape(value: str) -> str:
    """A pattern for other values of the same kind."""
    longest = max(_LONGEST, 4 * len(value))
    if is_number(value):
        return rf"-?\d{{1,{longest}}}(?:\.\d{{1,{longest}}})?"
    if any(map(str.isspace, value)):
        return rf"[^\n]{{1,{longest}}}?"
    if "/" in value:
        return rf"[^\s\"'<>,;]{{1,{longest}}}"
    if re.fullmatch(r"\w+", value):
        return rf"\w{{1,{longest}}}"
    joined = rf"\w(?:[\w.:@+-]{{0,{longest}}}\w)?"
    return joined if re.fullmatch(r"\w[\w.:@+-]*", value) else rf"\S{{1,{longest}}}?"


def _by_difference(old: str, new: str, start: int, value: str) -> str | None:
    """Align word by word; what replaced exactly the value's words is its new value."""
    then, now = _TOKEN.findall(old), _TOKEN.findall(new)
    if max(len(then), len(now)) > _MOST_TOKENS:
        return None
    first = last = -1
    position = 0
    for number, token in enumerate(then):
        if position == start:
            first = number
        position += len(token)
        if position == start + len(value):
            last = number + 1
    if first < 0 or last <= first:
        return None
    matcher = SequenceMatcher(None, then, now, autojunk=False)
    if matcher.ratio() < _ALIKE:
        return None
    for kind, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if kind == "replace" and old_from >= first and old_to <= last:
            kept_before, kept_after = "".join(then[first:old_from]), "".join(then[old_to:last])
            found = kept_before + "".join(now[new_from:new_to]) + kept_after
            return found if re.fullmatch(_shape(value), found) and is_alike(value, found) else None
    return None


def is_alike(one: str, other: str) -> bool:
    """Whether a text can be another value of the same kind: words for words, an id for an id, with digits again."""
    if not other or any(map(str.isspace, other)) > any(map(str.isspace, one)):
        return False
    return len(one) == len(other) or any(map(str.isdigit, one)) == any(map(str.isdigit, other))
