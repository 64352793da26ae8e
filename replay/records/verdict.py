"""What was found out about one call, and how."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, Literal, TypeAlias

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

    @property
    def letter(self) -> str:
        """The one letter that stands for it wherever there is little room."""
        return _LETTERS[self]

    @property
    def paper_name(self) -> str | None:
        """What the M3-Bench paper calls it (figure 6); None for inconclusive, which the paper does not have."""
        return _PAPER_NAMES.get(self)


_PAPER_NAMES = {
    Outcome.ILLEGAL_FORMAT: "Illegal calling format",
    Outcome.UNKNOWN_TOOL: "Unknown Tool Invocation",
    Outcome.INVALID_ARGUMENTS: "Invalid Invocation Arguments",
    Outcome.NOT_FOUND: "Successful (Resource Not Found)",
    Outcome.SUCCESS: "Successful Call",
}
_LETTERS = {
    Outcome.SUCCESS: "S",
    Outcome.NOT_FOUND: "N",
    Outcome.INVALID_ARGUMENTS: "A",
    Outcome.UNKNOWN_TOOL: "U",
    Outcome.ILLEGAL_FORMAT: "F",
    Outcome.INCONCLUSIVE: "?",
}
FAILURES = (Outcome.ILLEGAL_FORMAT, Outcome.UNKNOWN_TOOL, Outcome.INVALID_ARGUMENTS, Outcome.NOT_FOUND)
"""The outcomes that are the model's failures, in the order in which tables show them."""


class Fault(StrEnum):
    """Whose it is that a call did not do what it was to do."""

    MODEL = "model"
    ENVIRONMENT = "environment"
    """The server, what is behind it, or the way to it."""
    POLICY = "policy"
    """What the fleet file or the harness lets be sent."""
    UNKNOWN = "unknown"


class Reason(StrEnum):
    """Why a call is inconclusive; `state-gap` also where the recorded answer had to decide."""

    SERVER_UNAVAILABLE = "server-unavailable"
    NOT_IN_FLEET = "not-in-fleet"
    LOCAL_TOOL = "local-tool"
    TIMEOUT = "timeout"
    RATE_LIMITED = "rate-limited"
    UNAUTHORIZED = "unauthorized"
    NETWORK = "network"
    SERVER_FAULT = "server-fault"
    UNEXPLAINED = "unexplained"
    NO_ANSWER = "no-answer"
    WITHHELD = "withheld"
    STATE_GAP = "state-gap"
    INTERRUPTED = "interrupted"
    BEYOND_LIMITS = "beyond-limits"
    REPLAY_FAULT = "replay-fault"

    @property
    def fault(self) -> Fault:
        """Whose it is: never the model's."""
        if self in ENVIRONMENT_REASONS:
            return Fault.ENVIRONMENT
        return Fault.POLICY if self in _POLICY_REASONS else Fault.UNKNOWN


ERRORS_OF_TOOLS: Final = frozenset({Reason.UNEXPLAINED, Reason.SERVER_FAULT})
"""Why a call is inconclusive that met an error of the tool's own: as a failure is, it can be shown again."""


ENVIRONMENT_REASONS = (
    Reason.SERVER_UNAVAILABLE,
    Reason.TIMEOUT,
    Reason.RATE_LIMITED,
    Reason.UNAUTHORIZED,
    Reason.NETWORK,
    Reason.SERVER_FAULT,
)
"""Reasons that may be gone the next time: such calls are tried again when a run goes on."""
_POLICY_REASONS = (Reason.NOT_IN_FLEET, Reason.LOCAL_TOOL, Reason.WITHHELD, Reason.INTERRUPTED)


def fault_of(outcome: Outcome, reason: Reason | None) -> Fault | None:
    """Whose fault a verdict tells; None of a success. Every table that tells them apart takes it from here."""
    if outcome is Outcome.SUCCESS:
        return None
    return Fault.MODEL if outcome in FAILURES else reason.fault if reason is not None else Fault.UNKNOWN


def faults_of(outcomes: Mapping[Outcome, int], reasons: Mapping[Reason, int]) -> dict[Fault, int]:
    """How many of the calls that did not succeed are whose fault.

    Args:
        outcomes: how many calls have which.
        reasons: why those are inconclusive that are; one without a reason is of nobody known.
    """
    faults = dict.fromkeys(Fault, 0)
    faults[Fault.MODEL] = sum(outcomes.get(outcome, 0) for outcome in FAILURES)
    for reason, count in reasons.items():
        faults[reason.fault] += count
    faults[Fault.UNKNOWN] += max(0, outcomes.get(Outcome.INCONCLUSIVE, 0) - sum(reasons.values()))
    return faults


Evidence: TypeAlias = Literal["format", "registry", "schema", "replay", "stored", "recorded"]
Certainty: TypeAlias = Literal["certain", "likely", "fallback"]
UNFOUNDED: Final[Certainty] = "fallback"
"""Of a verdict that rests on nothing but the absence of an error, or of an error's cause."""
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


EnvelopeKind: TypeAlias = Literal["result", "blocks", "repr", "string", "fence", "tag", "heading", "label"]


class EnvelopeLayer(Record):
    """One envelope that an answer's content came in."""

    kind: EnvelopeKind
    """`result`: a whole `CallToolResult`; `blocks`: content blocks as JSON; `repr`: the Python repr of either;
    `string`: a JSON string; the others are words or marks before the content."""
    flag: bool | None = None
    """Whether this layer says that the answer is an error; None where it says nothing of it."""
    label: str | None = None
    """The words of a label, heading or tag."""


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
    layers: tuple[EnvelopeLayer, ...] = ()
    """The envelopes that were opened to reach the answer's content, from the outside in; empty where it had none."""


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
    """Position of the call that did not happen again as recorded and tainted the replay."""
    absent_path: str | None = None
    """A path in the arguments that was there when the call was recorded, and is not in the workspace here."""
    stderr: str | None = None
    """The last lines that the server wrote to stderr during the call, where it did not succeed."""
    rebound: tuple[Rebinding, ...] = ()
    trials: dict[str, int] | None = None
    """With `--trials`: how often each outcome came."""
    volatile: tuple[str, ...] = ()
    """With `--trials`: what moved from trial to trial, as JSON pointers in the answer."""
    seconds: float | None = None
    """How long the re-issued call took."""


class RuleSpec(Record):
    """`servers.NAME.rules[]`: an answer whose text matches `pattern` has this outcome."""

    id: str
    pattern: str
    """Regular expression, searched in the whole text of the answer."""
    tool: str | None = None
    """Glob on the tool's name, bare or as the call writes it; all tools where absent."""
    outcome: Outcome
    reason: Reason | None = None
    sentence: str = ""
    """What the verdict says; the matched text where empty."""
