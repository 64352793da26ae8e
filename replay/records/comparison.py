"""Comparisons: what is different between two runs, and many models with intervals and tests."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from pydantic import Field

from replay.records.base import Record
from replay.records.summary import Spending, Unread
from replay.records.verdict import FAILURES, Certainty, Fault, Outcome


class SideSummary(Record):
    """How one side did."""

    name: str
    calls: int
    judged: int
    """Calls that count in one of the five categories."""
    failed: int
    outcomes: dict[Outcome, int]
    faults: dict[Fault, int] = Field(default_factory=dict)
    """Whose fault the calls without success are."""
    certainties: dict[Certainty, int] = Field(default_factory=dict)
    """How many verdicts are how certain."""


class Change(Record):
    """One call that came out otherwise, or that only one side has."""

    model: str
    trajectory: str
    call: str
    tool: str | None
    before: Outcome | None
    """None for a call that only the second side has."""
    after: Outcome | None
    """None for a call that only the first side has."""
    message: str


class ToolChange(Record):
    """How the failures of a tool changed."""

    tool: str
    before: int
    after: int
    calls_before: int
    calls_after: int


class MetricChange(Record):
    """One alignment metric on both sides."""

    model: str
    metric: str
    before: float
    after: float


class DefinitionChange(Record):
    """What a server's list says of a tool otherwise than it did."""

    server: str
    tool: str
    change: Literal["added", "removed", "changed"]
    """Of the tool; one that is changed has a line for each place."""
    pointer: str = ""
    """JSON pointer in the tool's definition, such as `/inputSchema/required`."""
    before: Any = None
    after: Any = None
    """What stands there; None where nothing does."""


class PartingSide(Record):
    """One of two trajectories where they part."""

    trajectory: str
    """`MODEL:TRAJECTORY`."""
    call: str | None
    """Position of the call at which they part; None where it has no further call."""
    did: tuple[str, ...]
    """This call and the next ones, with their tools and outcomes."""


class Parting(Record):
    """The first call that differs in what matters between two trajectories of one task."""

    task: str
    first: PartingSide
    second: PartingSide
    why: str
    """In what the calls differ, a sentence."""

    @property
    def sides(self) -> tuple[PartingSide, PartingSide]:
        """Both, the first one first."""
        return self.first, self.second


class RunDiff(Record):
    """What is different between two runs, or two models of one run."""

    first: SideSummary
    second: SideSummary
    common: int
    """Calls that both sides have: of the same model, trajectory and tool, and paired as the alignment pairs calls."""
    worse: tuple[Change, ...]
    better: tuple[Change, ...]
    unjudged: tuple[Change, ...]
    """Calls that one side could judge and the other could not."""
    new: tuple[Change, ...]
    gone: tuple[Change, ...]
    tools: tuple[ToolChange, ...]
    metrics: tuple[MetricChange, ...]
    definitions: tuple[DefinitionChange, ...] = ()
    """What the servers of two runs say of their tools otherwise."""
    p_value: float | None
    """Of no difference in the shares of failed calls: of two runs by McNemar's exact test over the calls that both
    judged, of two models by task; None where there is nothing to test."""
    test_summary: str = Field(serialization_alias="words")
    """What the test says."""
    parting: Parting | None = None
    """Of two single sessions, the first call that differs in what matters."""

    @property
    def new_failures(self) -> tuple[Change, ...]:
        """Failed calls that only the second side has."""
        return tuple(change for change in self.new if change.after in FAILURES)


MeasureKind: TypeAlias = Literal["share", "mean"]


class Measure(Record):
    """What models are compared by."""

    id: str
    label: str
    """At the head of a column."""
    kind: MeasureKind
    """A `share` lies between 0 and 1."""
    about: str
    """What it is, in a sentence, with what it is a share or a mean of."""
    lower_is_better: bool = False


class Figure(Record):
    """A value with its 95 % interval."""

    value: float
    n: int
    """Of what the share is, or over how many tasks the mean is."""
    low: float | None = None
    """None where there are too few to tell."""
    high: float | None = None
    deviation: float | None = None
    """Of a mean: the standard deviation over its tasks, as of a sample."""


class Spread(Record):
    """One figure over several runs of the same tasks."""

    values: tuple[float, ...]
    """Run by run."""
    mean: float
    deviation: float
    """Standard deviation from run to run."""


class ComparedModel(Record):
    """One model over all its files."""

    model: str
    files: tuple[str, ...]
    tasks: int
    trajectories: int
    """Runs of these tasks; sub-agents count with the task that started them."""
    runs: int
    """The most runs of a task, all by the same configuration as far as folders tell."""
    repeated: int = 0
    """Tasks that have as many runs."""
    calls: int
    outcomes: dict[Outcome, int]
    figures: dict[str, Figure]
    """By the id of the measure; what is not known is left out."""
    spread: dict[str, Spread] | None = None
    """Of the tasks that have all the runs, where these are more than half and were run several times."""
    missing: int = 0
    """Tasks of the reference for which it has no result."""
    correlation: float | None = None
    """MCPEval: Pearson's, of the recorded scores of trajectory and completion over the tasks."""


class ModelStratum(Record):
    """What one model did in one stratum."""

    model: str
    stratum: str
    tasks: int
    figures: dict[str, Figure]


class Strata(Record):
    """The models, stratum by stratum."""

    by: str
    names: tuple[str, ...]
    rows: tuple[ModelStratum, ...]


class ModelDifference(Record):
    """Two models in one measure, over the tasks that both have."""

    measure: str
    first: str
    second: str
    tasks: int
    difference: float
    """First minus second."""
    low: float | None = None
    high: float | None = None
    p_value: float
    corrected_p_value: float
    """After Holm, over all pairs."""
    beyond_chance: bool


class Association(Record):
    """How an outcome, a tool's failure or a kind of finding goes with tasks that were lost."""

    subject: Literal["outcome", "tool", "finding"]
    name: str
    lost_with: int
    """Trajectories: lost, and with at least one such call."""
    passed_with: int
    lost_without: int
    passed_without: int
    odds_ratio: float
    low: float
    high: float
    p_value: float
    corrected_p_value: float
    """After Holm, over all of the same subject."""
    beyond_chance: bool


class Recovery(Record):
    """What became of failed calls."""

    subject: Literal["model", "tool", "finding"]
    name: str
    failed: int
    recovered: int
    open: int
    share: Figure | None = None


class FailedInTasks(Record):
    """Calls in the tasks that passed, and in those that were lost."""

    model: str
    passed_tasks: int
    failed_calls_in_passed: int
    calls_in_passed: int
    lost_tasks: int
    failed_calls_in_lost: int
    calls_in_lost: int


class FindingOfModel(Record):
    """How often one model shows a kind of finding."""

    model: str
    kind: str
    n: int
    trajectories: int


class ErrorClassOfModels(Record):
    """How many task runs show one class of a published taxonomy of failures."""

    category: str
    name: str
    kinds: tuple[str, ...]
    """The kinds of finding that show it."""
    task_runs: dict[str, int]
    """By model; empty where nothing here shows it."""
    left_to_judges: str | None = None
    """What of it nobody can tell without a judge."""


class Taxonomy(Record):
    """The findings of a run by the classes of a published taxonomy."""

    name: str
    classes: tuple[ErrorClassOfModels, ...]


class ModelComparison(Record):
    """What `replay compare --json` prints."""

    format: Literal["replay.compare"] = "replay.compare"
    version: Literal[1] = 1
    measures: tuple[Measure, ...]
    """Those that any model has a figure of."""
    sorted_by: str
    metric: str
    """The measure that strata and differences are about."""
    models: tuple[ComparedModel, ...]
    """Best first."""
    common_tasks: int
    """Tasks that all models have."""
    strata: Strata | None = None
    differences: tuple[ModelDifference, ...] = ()
    """Every pair of models, the surest first."""
    associations: tuple[Association, ...] = ()
    """None where the recording does not say which tasks passed."""
    recoveries: tuple[Recovery, ...] = ()
    failed_in_tasks: tuple[FailedInTasks, ...] = ()
    findings: tuple[FindingOfModel, ...] = ()
    taxonomy: Taxonomy | None = None
    """The findings by a published taxonomy, where it was asked for."""
    spending: tuple[Spending, ...] = ()
    """What calls took, of all models together and by model, tool and task."""
    unread: Unread | None = None
    """Files that stand in no number; None where all were read."""
    notes: tuple[str, ...] = ()
    """What cannot be shown, and why."""
