"""What an answer rule is."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from replay.outcomes.matching import Match
from replay.records import Certainty, Outcome, Reason, TransportFault


class Example(NamedTuple):
    """An answer that a rule decides, and the call that it answers."""

    answer: str | TransportFault
    arguments: Mapping[str, object] = MappingProxyType({})
    tool: str = "get_item"
    flagged: bool = True
    """Whether the answer has `isError`."""


class Rule(NamedTuple):
    """One way in which an answer says how a call went."""

    id: str
    outcome: Outcome
    sentence: str
    example: Example
    match: Match
    reason: Reason | None = None
    certainty: Certainty = "certain"
