"""What a rule is, and the rules for calls that got no answer: the server or the network failed, not the call."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from replay.outcomes.answer import Condition, fault_is, fault_status_is
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
    matches: Condition
    reason: Reason | None = None
    certainty: Certainty = "certain"


FAULT_RULES: tuple[Rule, ...] = (
    Rule(
        "fault.timeout",
        Outcome.INCONCLUSIVE,
        "No answer came within the time limit.",
        Example(TransportFault(fault="timeout", message="no answer within 30 s")),
        fault_is("timeout"),
        Reason.TIMEOUT,
    ),
    Rule(
        "fault.closed",
        Outcome.INCONCLUSIVE,
        "The connection ended before the answer.",
        Example(TransportFault(fault="closed", message="the server exited with code 1")),
        fault_is("closed"),
        Reason.SERVER_FAULT,
    ),
    Rule(
        "fault.not-started",
        Outcome.INCONCLUSIVE,
        "The server never ran.",
        Example(TransportFault(fault="not-started", message="command not found: uvx")),
        fault_is("not-started"),
        Reason.SERVER_UNAVAILABLE,
    ),
    Rule(
        "fault.unauthorized",
        Outcome.INCONCLUSIVE,
        "The server refused the request over HTTP for want of credentials (401, 403, 407).",
        Example(TransportFault(fault="unreadable", message="HTTP 401 Unauthorized")),
        fault_status_is(401, 403, 407),
        Reason.UNAUTHORIZED,
    ),
    Rule(
        "fault.rate-limited",
        Outcome.INCONCLUSIVE,
        "The server refused the request over HTTP because there were too many (429).",
        Example(TransportFault(fault="unreadable", message="HTTP 429 Too Many Requests")),
        fault_status_is(429),
        Reason.RATE_LIMITED,
    ),
    Rule(
        "fault.unreadable",
        Outcome.INCONCLUSIVE,
        "What came back was not a valid answer.",
        Example(TransportFault(fault="unreadable", message="content: expected a list")),
        fault_is("unreadable"),
        Reason.SERVER_FAULT,
    ),
)
"""For transport faults, before all other rules."""
