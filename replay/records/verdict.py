"""What was found out about one call, and how."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal, TypeAlias

from replay.records.base import Record


class Outcome(StrEnum):
    """The five outcomes of the M3-Bench paper, and one more for honesty. An inconclusive call counts in no category."""

    ILLEGAL_FORMAT = "illegal_format"
    UNKNOWN_TOOL = "unknown_tool"
    INVALID_ARGUMENTS = "invalid_arguments"
    NOT_FOUND = "not_found"
    SUCCESS = "success"
    INCONCLUSIVE = "inconclusive"

    @property
    def label(self) -> str:
        """The outcome in words, as tables and sentences show it."""
        return self.value.replace("_", " ")


FAILURES = (Outcome.ILLEGAL_FORMAT, Outcome.UNKNOWN_TOOL, Outcome.INVALID_ARGUMENTS, Outcome.NOT_FOUND)
"""The outcomes that are the model's failures, in the order in which tables show them."""


class Reason(StrEnum):
    """Why a call is inconclusive; `state-gap` also where the recorded answer had to decide."""

    SERVER_UNAVAILABLE = "server-unavailable"
    NOT_IN_FLEET = "not-in-fleet"
    TIMEOUT = "timeout"
    RATE_LIMITED = "rate-limited"
    UNAUTHORIZED = "unauthorized"
    NETWORK = "network"
    SERVER_FAULT = "server-fault"
    WITHHELD = "withheld"
    STATE_GAP = "state-gap"
    INTERRUPTED = "interrupted"
    BEYOND_LIMITS = "beyond-limits"
    REPLAY_FAULT = "replay-fault"


Evidence: TypeAlias = Literal["format", "registry", "schema", "replay", "stored", "recorded"]
Certainty: TypeAlias = Literal["certain", "likely", "fallback"]
Drift: TypeAlias = Literal["same", "volatile", "different"]
Divergence: TypeAlias = Literal["state-gap", "environment", "volatile", "server-version"]


class SchemaViolation(Record):
    """One way in which the arguments break the tool's inputSchema."""

    pointer: str
    """JSON pointer in the arguments; empty for the arguments as a whole."""
    keyword: str
    """The JSON Schema keyword that failed: `required`, `type`, `enum`, ..."""
    message: str
    expected: Any = None
    """The keyword's value in the schema: the required names, the type, the choices."""
    schema_pointer: str = ""


class Judgement(Record):
    """An outcome and the rule that gave it: what is said of one answer, or of a call before it is sent."""

    outcome: Outcome
    reason: Reason | None = None
    rule: str
    evidence: Evidence
    certainty: Certainty = "certain"
    message: str
    """One sentence."""
    nearest: tuple[str, ...] = ()
    """Nearest names that exist, best first (unknown tool)."""
    violations: tuple[SchemaViolation, ...] = ()
    findings: tuple[str, ...] = ()
    """Short flags beside the outcome: `empty`, `accepted-though-invalid`, `rebound`, ..."""


class Rebinding(Record):
    """A value in the arguments that was replaced because its producer's new answer holds another one."""

    pointer: str
    recorded: Any
    replayed: Any
    producer: str


class Verdict(Judgement):
    """A judgement of a call, with what the recording said and how the two differ."""

    recorded: Outcome | None = None
    """Outcome of the recorded answer; None without one."""
    replayed: Outcome | None = None
    """Outcome of the answer that came when the call was re-issued, or that an earlier run stored; None without one."""
    recorded_rule: str | None = None
    replayed_rule: str | None = None
    drift: Drift | None = None
    """Replayed answer against recorded one; None where there are not both."""
    difference: str | None = None
    """The first difference, in words."""
    divergence: Divergence | None = None
    """Why the recorded and the replayed outcome differ; None where they agree, or there are not both."""
    caused_by: str | None = None
    """Position of the root cause: the call whose failure made this one fail."""
    gap: str | None = None
    """Position of the call that could not be re-issued and tainted the replay."""
    rebound: tuple[Rebinding, ...] = ()
    trials: dict[str, int] | None = None
    """With `--trials`: how often each outcome came."""
    volatile: tuple[str, ...] = ()
    """With `--trials`: what moved from trial to trial, as JSON pointers in the answer."""
    seconds: float | None = None
    """How long the re-issued call took."""
