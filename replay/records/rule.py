"""A rule that a user adds for one server in the fleet file."""

from __future__ import annotations

from replay.records.base import Record
from replay.records.verdict import Outcome, Reason


class RuleSpec(Record):
    """`servers.NAME.rules[]`: an answer whose text matches `pattern` has this outcome."""

    id: str
    pattern: str
    """Regular expression, searched in the whole text of the answer."""
    outcome: Outcome
    reason: Reason | None = None
    sentence: str = ""
    """What the verdict says; the matched text where empty."""
