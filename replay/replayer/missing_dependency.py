"""What an answer says that the machine lacks: a failure of the replay's own environment."""

from __future__ import annotations

import re

from replay.records import Answer, TransportFault, texts_of

_MISSING = (
    re.compile(r"(?:^|[\n:] ?)(?:\d+: )?(?P<name>[\w.+-]+): (?:command )?not found\s*$", re.MULTILINE),
    re.compile(r"(?:zsh: )?command not found: (?P<name>[\w.+-]+)"),
    re.compile(r"No module named '?(?P<name>[\w.]+)'?"),
    re.compile(r"Cannot find (?:module|package) '(?P<name>[^'\n]{1,80})'"),
    re.compile(r"'(?P<name>[\w.+-]+)' is not recognized as an internal or external command"),
    re.compile(r"error while loading shared libraries: (?P<name>[\w.+-]+)"),
    re.compile(r"[Ee]xecutable (?:file )?(?:`|'|\")?(?P<name>[\w.+-]+)(?:`|'|\")?:? (?:file )?not found"),
)
_MAX_SEARCHED = 20_000
"""Characters that are looked at; such a message stands near the end or the beginning."""


def missing_program(answer: Answer) -> str | None:
    """The program, module or library that an answer says is missing; None where it says no such thing."""
    if isinstance(answer, TransportFault):
        return None
    text = "\n".join(texts_of(answer))
    if len(text) > 2 * _MAX_SEARCHED:
        text = text[:_MAX_SEARCHED] + "\n" + text[-_MAX_SEARCHED:]
    found = (pattern.search(text) for pattern in _MISSING)
    return next((match["name"] for match in found if match), None)
