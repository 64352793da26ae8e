"""What the calls of a run say of each tool: how it is called, what goes wrong, and what could be written better."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from pydantic import Field

from replay.records.base import Record
from replay.records.finding import CallRef
from replay.records.verdict import Certainty, Outcome

FieldFault: TypeAlias = Literal["missing", "misnamed", "unexpected"]
SchemaFault: TypeAlias = Literal["too-lax", "too-strict"]
AdviceTarget: TypeAlias = Literal["name", "description", "inputSchema", "error"]


class ModelCalls(Record):
    """How the calls of one model to a tool came out."""

    model: str
    calls: int
    outcomes: dict[Outcome, int]
    """All six, in the order of the stages."""


class Sighting(Record):
    """How often something was seen, in which models, and one call that shows it."""

    calls: int
    models: tuple[str, ...]
    example: CallRef


class NameInstead(Sighting):
    """A name that was called where this tool seems to have been meant."""

    name: str
    shown_by: Literal["later-call", "nearest-name"]
    """A later call that did what this one was to do; or the nearest name that exists."""


class FieldProblem(Sighting):
    """A field that calls left out, wrote under another name, or gave although the tool has none."""

    fault: FieldFault
    pointer: str
    """JSON pointer in the arguments of where it belongs; places in lists stand as `*`."""
    field: str
    """The tool's name of it; for `unexpected`, the one that was given."""
    written: str | None = None
    """For `misnamed`: what the calls have instead."""
    accepted: int
    """How many of these calls the server took all the same."""


class RefusedValue(Sighting):
    """Values of one field that the server, or its schema, refused."""

    pointer: str
    """JSON pointer in the arguments; places in lists stand as `*`."""
    kind: str
    """Kind of finding, such as `not-a-choice`."""
    keyword: str | None = None
    """The JSON Schema keyword that they break; None where no keyword says what the server demands."""
    expected: Any = None
    """The keyword's value: the type, the choices, the bound."""
    by_server: bool
    """The server's own check refused them, and the schema allows them, or is not known."""
    values: tuple[str, ...]
    """Those seen most often, as JSON, cut where they are long."""
    message: str
    """What the first of them was told."""


class SchemaDisagreement(Sighting):
    """Schema and server say different things."""

    fault: SchemaFault
    """`too-strict`: the server took what the schema forbids; `too-lax`: it refused what the schema allows."""
    pointer: str
    """JSON pointer in the inputSchema, as near as it is known."""
    keyword: str | None
    """The keyword that the server does not hold to; None where it refused what no keyword forbids."""
    sentence: str


class FailureCause(Sighting):
    """Why calls of a tool failed: those of one fingerprint. An error that nothing explains is one too."""

    kind: str
    """Kind of finding; the outcome where there is none."""
    sentence: str
    """Of the first of them."""


class SharedCause(FailureCause):
    """Why calls failed, whatever tool they were to: the same finding, place and words of the error."""

    tools: tuple[str, ...]
    """Those of most such calls first."""


class RepeatedCall(Sighting):
    """The same call, made again in one trajectory."""

    kind: Literal["repeated-call", "repeated-failure"]
    """It gave the same answer each time; or it failed each time."""
    trajectories: int
    sentence: str
    """Of the first of them."""


class Advice(Record):
    """One line of the tool's description or schema that would better be written otherwise, and why."""

    target: AdviceTarget
    pointer: str
    """JSON pointer in the inputSchema; empty for its root, for a name and for a tool's description."""
    current: Any = None
    """What stands there now; None where nothing does."""
    rewrite: str
    """What to write, in a sentence."""
    why: str
    """What the calls show, in a sentence."""
    calls: int
    """How many calls speak for it."""
    models: tuple[str, ...]
    example: CallRef | None
    """None where the schema alone shows it."""


class ToolUsage(Record):
    """One tool, over all the calls of the run that name it."""

    server: str
    """Empty where the calls name none."""
    tool: str
    listed: bool
    """Whether it stands in a tools/list of the run; else nothing is known of its description and schema."""
    description: str | None = None
    calls: int
    outcomes: dict[Outcome, int]
    models: tuple[ModelCalls, ...]
    causes: tuple[FailureCause, ...]
    """Why its calls failed, the most frequent first."""
    repeats: tuple[RepeatedCall, ...] = ()
    names_instead: tuple[NameInstead, ...]
    fields: tuple[FieldProblem, ...]
    values: tuple[RefusedValue, ...]
    schema_faults: tuple[SchemaDisagreement, ...]
    advice: tuple[Advice, ...]
    """What most calls speak for first."""

    @property
    def name(self) -> str:
        """`server/tool`."""
        return f"{self.server}/{self.tool}" if self.server else self.tool

    @property
    def judged(self) -> int:
        """Calls that count in one of the five categories."""
        return self.calls - self.outcomes.get(Outcome.INCONCLUSIVE, 0)

    @property
    def succeeded(self) -> int:
        """Calls that succeeded."""
        return self.outcomes.get(Outcome.SUCCESS, 0)

    @property
    def failed(self) -> int:
        """Calls that are failures of the model."""
        return self.judged - self.succeeded


class StrayName(Sighting):
    """A name that is no tool, and of which nobody can say which tool was meant."""

    name: str
    nearest: tuple[str, ...]


class UncalledTools(Record):
    """Tools of a server that no call of the run names."""

    server: str
    tools: tuple[str, ...]


class ToolReport(Record):
    """The tools of a run as their authors may want to see them."""

    tools: tuple[ToolUsage, ...]
    """Those with most failures first."""
    causes: tuple[SharedCause, ...] = ()
    """Why calls failed, over all tools, the most frequent first."""
    stray_names: tuple[StrayName, ...]
    uncalled: tuple[UncalledTools, ...]
    models: tuple[str, ...]
    """Those whose calls were looked at."""
    calls: int
    certainties: dict[Certainty, int] = Field(default_factory=dict)
    """How many of the verdicts are how certain."""
