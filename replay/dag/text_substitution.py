"""Where a value of one text stands in another text that says the same: by what stands before and after it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Final

from replay.dag.value_matching import is_number, occurrences

__all__ = ["is_same_kind", "replacement_in"]

_MAX_CONTEXT: Final = 32
_MAX_TOKENS: Final = 4000
_MAX_VALUE_LENGTH: Final = 200
"""Characters of a new value, unless the old one was long: without a bound every place would be read to its end."""
_MIN_SIMILARITY: Final = 0.6
"""Share of two texts that must be the same before a difference between them means anything."""
_TOKEN: Final = re.compile(r"\w+|\s+|[^\w\s]")


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
    first = last = -1
    position = 0
    for number, token in enumerate(old_tokens):
        if position == start:
            first = number
        position += len(token)
        if position == start + len(value):
            last = number + 1
    if first < 0 or last <= first:
        return None
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
