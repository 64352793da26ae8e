"""Long lists of phrases, looked for in two goes: RE2 says at once that a text holds none, Python's `re` says the rest.

Python's engine tries each phrase at each character: hundreds of phrases take milliseconds on one line. RE2 tries all
of them at once, but knows no look-around. It gets a pattern that takes in a little more.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, Final

_MAX_MEMORY: Final = 64 << 20
_WORTH_A_PROBE: Final = 30
"""Searches before RE2's pattern is made, which takes some milliseconds."""
_MAX_REPEAT: Final = 20
"""RE2 writes a repetition out; one of more is as good as one without an end, where only a first look is wanted."""
_CLASSES: Final = {
    op.CATEGORY_DIGIT: r"\d",
    op.CATEGORY_NOT_DIGIT: r"\D",
    op.CATEGORY_WORD: r"\w",
    op.CATEGORY_NOT_WORD: r"\W",
    op.CATEGORY_SPACE: r"\x09-\x0d\x1c-\x20",
    op.CATEGORY_NOT_SPACE: r"\x00-\x08\x0e-\x1b\x21-\x7f",
}
"""The same characters in ASCII text; what a space is they do not agree on."""


class QuickSearch:
    """A pattern that is searched for often, and seldom found.

    Args:
        pattern: of any kind; one that RE2 has no like of is searched for as ever.
    """

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self._probe: Any = None
        self._searches = 0

    def search(self, text: str) -> re.Match[str] | None:
        """What the pattern's own `search` gives."""
        if self._searches < _WORTH_A_PROBE:
            self._searches += 1
            if self._searches == _WORTH_A_PROBE:
                self._probe = _probe_for(self._pattern)
        elif self._probe is not None and text.isascii() and self._probe.search(text.encode()) is None:
            return None
        return self._pattern.search(text)


def _probe_for(pattern: re.Pattern[str]) -> Any:
    """A pattern of RE2 that is found wherever this one is, in ASCII text; None where there is none."""
    import re2  # not at the top: a short run needs none

    options = re2.Options()
    options.never_capture = True
    options.log_errors = False
    options.max_mem = _MAX_MEMORY
    flags = "s" + ("i" if pattern.flags & re.IGNORECASE else "")
    try:
        return re2.compile(f"(?{flags}){_wider(parser.parse(pattern.pattern, pattern.flags))}", options)
    except (re2.error, KeyError):
        return None


def _wider(parsed: Any) -> str:
    return "".join(_part(kind, value) for kind, value in parsed)


def _part(kind: Any, value: Any) -> str:
    """One element of a parsed pattern; raises KeyError for what has no like in RE2."""
    return _PARTS[kind](value)


def _set(members: Any) -> str:
    return f"[{''.join(_member(*member) for member in members)}]"


def _group(value: Any) -> str:
    _, added, removed, inner = value
    flags = ("i" if added & re.IGNORECASE else "") + ("-i" if removed & re.IGNORECASE else "")
    return f"(?{flags}:{_wider(inner)})"


def _repeated(value: Any) -> str:
    least, most, inner = value
    times = f"{{{least},{most}}}" if most <= _MAX_REPEAT else f"{{{min(least, _MAX_REPEAT)},}}"
    return f"(?:{_wider(inner)}){times}"


def _place(value: Any) -> str:
    """A place in the text; of those that the two see differently any will do."""
    return {op.AT_BOUNDARY: r"\b", op.AT_BEGINNING_STRING: r"\A"}.get(value, "")


_PARTS: Final[dict[Any, Callable[[Any], str]]] = {
    op.LITERAL: lambda value: f"[{_character(value)}]",
    op.NOT_LITERAL: lambda value: f"[^{_character(value)}]",
    op.ANY: lambda _: ".",
    op.IN: _set,
    op.BRANCH: lambda value: f"(?:{'|'.join(map(_wider, value[1]))})",
    op.SUBPATTERN: _group,
    op.MAX_REPEAT: _repeated,
    op.MIN_REPEAT: _repeated,
    op.AT: _place,
    op.ASSERT: lambda _: "",
    op.ASSERT_NOT: lambda _: "",
}


def _member(kind: Any, value: Any) -> str:
    """One member of a set of characters."""
    if kind is op.NEGATE:
        return "^"
    if kind is op.LITERAL:
        return _character(value)
    if kind is op.RANGE:
        return f"{_character(value[0])}-{_character(value[1])}"
    return _CLASSES[value]


def _character(code: int) -> str:
    return rf"\x{{{code:x}}}"
