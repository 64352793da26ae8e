"""How a harness says that it did not make a call: its user said no, or something else ended it first.

All expressions are linear: no nested repetition, every gap bounded.
"""

from __future__ import annotations

import re

from replay.outcomes.answer import ParsedAnswer
from replay.outcomes.words.patterns import any_of

_MAX_LENGTH = 600
_GIVES = r"(?:grant|approv|permit|authori[sz]|confirm|accept|consent|allow)"
_ACT = r"(?:tool|call|use|action|operation|request|command|edit|write|change|execution|run|this|it)"
_PERSON = r"(?:the |your |our |a )?(?:user|human|person|operator|owner|reviewer|administrator|admin|you)"

_NOT_YET = r"(?:not|n't|never)(?: yet)?(?: been)?"
_SAID_NO = r"(?:denied|refused|rejected|declined|disallowed|blocked|withheld|vetoed)"
_STOPPED = r"(?:cancel+ed|interrupted|aborted|stopped|skipped|dismissed)"
_HAS_BEEN = r"(?:was |were |has been |have been |is )?"

_NOT_GIVEN = any_of(
    rf"\b(?:permissions?|approval|consent|authori[sz]ation|confirmation)\b[^\n]{{0,200}}"
    rf"(?:{_NOT_YET} {_GIVES}|\b(?:was|were|is|been) (?:\w{{1,20}}[- ])?{_SAID_NO}\b)",
    rf"\b{_PERSON} (?:has |have )?(?:{_SAID_NO}|(?:did|do|does|has|have) ?{_NOT_YET} (?:want|wish|{_GIVES}))"
    rf"[^\n]{{0,80}}\b(?:{_ACT}|proceed|permission)\b",
    rf"\b{_ACT} (?:\w{{1,20}} )?{_HAS_BEEN}{_SAID_NO} by {_PERSON}\b",
    rf"\b(?:needs?|requires?|awaits?|awaiting|waiting for|pending) (?:the )?(?:{_PERSON}(?:'s)? )?"
    r"(?:manual |explicit |further )?(?:approval|permission|consent|confirmation)\b",
)
"""Somebody who must permit the call did not."""

_CANCELLED = any_of(
    rf"\b{_PERSON} (?:has |have )?{_STOPPED}\b|\b{_STOPPED} by {_PERSON}\b",
    rf"\b(?:tool|call|execution|tool use|request)s? (?:\w{{1,20}} )?{_HAS_BEEN}(?:cancel+ed|interrupted|skipped)\b",
    r"\b(?:sibling|parallel|another|other|previous|earlier|preceding)(?: \w{1,20}){0,2} calls? "
    rf"(?:\w{{1,20}} )?{_HAS_BEEN}(?:errored|failed|cancel+ed)",
    r"^\W*(?:\w{1,20} ){0,3}(?:cancel+ed|interrupted)\W*$",
)
"""The call was ended, or never begun, for a reason that lies outside it."""


def permission_not_given(parsed: ParsedAnswer) -> bool:
    """The report says that the one who must permit the call did not."""
    return _says(parsed, _NOT_GIVEN)


def call_was_cancelled(parsed: ParsedAnswer) -> bool:
    """The report says that the call was cancelled, or skipped because of another one."""
    return _says(parsed, _CANCELLED)


def _says(parsed: ParsedAnswer, pattern: re.Pattern[str]) -> bool:
    error = parsed.error
    if error is None or error.basis == "exit" or len(error.text) > _MAX_LENGTH:
        return False
    return pattern.search(parsed.arguments.without_values(error.text)) is not None
