"""What an alignment found: scores, pairs of calls, and why a call has no partner."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Final, Literal, NamedTuple, TypeAlias

from replay.records.base import Record
from replay.records.summary import Unread
from replay.records.verdict import Certainty, Outcome, SchemaViolation

Definitions: TypeAlias = Literal["published", "equations"]
"""`published`: what the released evaluator computes and the paper's tables hold; `equations`: the paper's own 2-6."""

TieChoice: TypeAlias = Literal["rule", "published"]
"""Of equally good assignments that of our rule, or that which the released evaluator would take on this machine."""

MatchTriple: TypeAlias = tuple[int, int, float]
"""Reference call, predicted call (both counted from 0 over the trajectory's steps in order), similarity."""

Why: TypeAlias = Literal["no-such-tool", "below-threshold", "taken", "illegal"]
"""Why a call has no partner: its tool is not on the other side; the best candidate's similarity is below tau_weak;
every candidate that is similar enough went to another call; or it is not a call at all."""


class CallClass(StrEnum):
    """A predicted call, as the M3-Bench site names them; `unmatched` where no outcome tells the last two apart."""

    CORRECT = "correct"
    PARTIALLY_CORRECT = "partially_correct"
    HALLUCINATED = "hallucinated"
    REDUNDANT = "redundant"
    UNMATCHED = "unmatched"


class Metric(NamedTuple):
    """What is said of a metric wherever it is shown, and how it is summed over tasks."""

    label: str
    """At the head of a column."""
    about: str
    whole: Literal["total_gt_calls", "total_pred_calls", "tasks"] = "total_gt_calls"
    """What tasks are weighted by; by `tasks` all weigh the same."""
    counts_matches: bool = False
    """The part is the number of matched calls; else it is the metric times the weight."""
    short: str = ""
    """At the head of a column where there is little room; by default the label."""

    def weight(self, task: object) -> int:
        """Of a task that has the counts of its calls."""
        return 1 if self.whole == "tasks" else int(getattr(task, self.whole))


ToolArgsMatchMode: TypeAlias = Literal["exact", "ignore", "subset", "superset"]
"""When a predicted call's arguments fit a reference call's of the same tool, as `agentevals` has it: equal; always;
all of them stand in the reference's with the same value (`subset`), or all of the reference's in them (`superset`)."""


class M3BenchScores(Record):
    """M3-Bench's metrics."""

    recall: Annotated[float, Metric("recall", "Reference calls matched", counts_matches=True)]
    precision: Annotated[float, Metric("precision", "Predicted calls matched", "total_pred_calls", True, "prec.")]
    argument_similarity: Annotated[float, Metric("arg.sim", "Argument similarity")]
    argument_similarity_strong: Annotated[float, Metric("arg.sim strong", "Argument similarity, strong matches alone")]
    step_coherence: Annotated[float, Metric("step coh.", "Step coherence", short="coher.")]
    order_consistency: Annotated[float, Metric("order", "Order consistency")]
    merge_purity: Annotated[float, Metric("purity", "Merge purity")]


class TrajectoryMatchScores(Record):
    """The trajectory matches of `agentevals`, each 0 or 1 for one task, and the tool-call F1 of `ragas`.

    None in runs of older versions.
    """

    trajectory_strict_match: Annotated[
        float | None, Metric("strict", "Trajectory match, strict: the reference's calls, step by step", "tasks")
    ] = None
    trajectory_unordered_match: Annotated[
        float | None, Metric("unordered", "Trajectory match, unordered: the reference's calls and no others", "tasks")
    ] = None
    trajectory_subset_match: Annotated[
        float | None, Metric("subset", "Trajectory match, subset: no calls but the reference's", "tasks")
    ] = None
    trajectory_superset_match: Annotated[
        float | None, Metric("superset", "Trajectory match, superset: all of the reference's calls", "tasks")
    ] = None
    tool_call_f1: Annotated[
        float | None, Metric("tool-call F1", "Tool-call F1 over the sets of calls, arguments equal", "tasks")
    ] = None


class Scores(TrajectoryMatchScores, M3BenchScores):
    """The metrics of one task, or of many; each in [0, 1]. All that lists metrics takes them from here."""


METRICS: Final[Mapping[str, Metric]] = {
    name: metric
    for name, field in Scores.model_fields.items()
    for metric in field.metadata
    if isinstance(metric, Metric)
}
"""By the names of their fields."""
COLUMNS: Final = tuple(name for name in M3BenchScores.model_fields if name != "argument_similarity_strong")
"""The columns of the leaderboard that need no judge, in the order of the paper's tables."""
TRAJECTORY_MATCH: Final = tuple(TrajectoryMatchScores.model_fields)
"""The metrics that stand in no average."""


class Aggregate(Scores):
    """The metrics over several tasks."""

    num_ids: int
    total_gt_calls: int
    total_pred_calls: int
    matched: int
    average_steps: float
    """Predicted steps a task, those without a call included."""
    average_calls: float
    """Predicted calls a task."""


class Candidate(Record):
    """The most similar call on the other side."""

    call: int
    similarity: float
    taken_by: int | None = None
    """The call on this side that it went to instead."""


class AlignedCall(Record):
    """One predicted call and what became of it."""

    index: int | None = None
    """Counted from 0; None for an illegal call, which stands in no step and enters no metric."""
    position: str
    name: str | None = None
    kind: CallClass
    why: Why | None = None
    """Why it has no partner; None where it has one."""
    best: Candidate | None = None
    outcome: Outcome | None = None
    """From the run, where it has one."""


class MissedCall(Record):
    """A reference call that no predicted call was matched with."""

    index: int
    position: str
    name: str | None = None
    why: Why
    best: Candidate | None = None


class McpEvalScores(Record):
    """MCPEval's scores of one task, or their means; the rates of success are 0 or 1 for one task."""

    strict_name: float
    strict_parameters: float
    strict_order: float
    strict_overall: float
    strict_success: float
    flexible_name: float
    flexible_parameters: float
    flexible_order: float
    flexible_overall: float
    flexible_success: float


class McpBenchRates(Record):
    """MCP-Bench's three rates; None where no call counts in the rate's denominator."""

    valid_tool_names: float | None = None
    schema_compliance: float | None = None
    execution_success: float | None = None
    calls: int
    inconclusive: int
    """Calls left out of the last rate because the environment failed, not the model."""


class JudgeScores(Record):
    """What a judge gave, each in [0, 1]; None where the file does not say."""

    completion_rate: float | None = None
    information_grounding_rate: float | None = None


class MetricRange(Record):
    """The values of a metric over equally good assignments."""

    least: float
    greatest: float


class StepRanges(Record):
    """The metrics that hang on which of several equally good assignments is taken."""

    step_coherence: MetricRange
    order_consistency: MetricRange
    merge_purity: MetricRange


class TaskTies(StepRanges):
    """A task with several optimal assignments that match different steps."""

    assignments: int
    """How many the metrics tell apart, the one taken included; of the scored ones, where not all could be."""
    complete: bool
    """The ranges are over all of them; else they are at least so wide."""


class ModelTies(StepRanges):
    """The ties of all tasks, and the range of the aggregate over all choices together."""

    tasks: int
    """Tasks with a tie."""
    incomplete: int
    """Tasks of which not every optimal assignment was scored; with any, the ranges are at least so wide."""


class AlignedTask(Scores):
    """One task of one results file against the reference."""

    id: str
    type: str | None = None
    total_gt_calls: int
    total_pred_calls: int
    matched: int
    steps: int
    matches: tuple[MatchTriple, ...]
    calls: tuple[AlignedCall, ...] = ()
    missed: tuple[MissedCall, ...] = ()
    ties: TaskTies | None = None
    """None where the optimal assignment is the only one that the metrics can tell."""
    mcpeval: McpEvalScores
    judge: JudgeScores | None = None


class TypeRow(Record):
    """The tasks of one type together."""

    type: str
    aggregate: Aggregate
    judge: JudgeScores | None = None
    average_score: float


class AlignedModel(Record):
    """One results file against the reference, or several of one model that have no task in common."""

    file: str
    files: tuple[str, ...] | None = None
    """All of them, where there are several; `file` is the first."""
    model: str
    definitions: Definitions
    tau_strong: float
    tau_weak: float
    tool_args_match_mode: ToolArgsMatchMode = "exact"
    """Of the trajectory matches."""
    tie_choice: TieChoice = "rule"
    encoder: str
    aggregate: Aggregate
    average_score: float
    """Mean of the table's columns that are known: seven with a judge's grounding, else six."""
    aggregate_with_missing: Aggregate
    """The same, a missing prediction counted as nothing found."""
    average_score_with_missing: float
    ties: ModelTies | None = None
    """None in runs of older versions."""
    missing: tuple[str, ...]
    """Ids that only the reference has."""
    extra: tuple[str, ...]
    """Ids that only the results have."""
    types: tuple[TypeRow, ...]
    """Worst average score first."""
    classes: dict[CallClass, int]
    mcpeval: McpEvalScores
    mcpbench: McpBenchRates | None = None
    """None without a run."""
    judge: JudgeScores | None = None
    judge_with_missing: JudgeScores | None = None
    """Where a missing prediction counts as nothing found."""


class ReferenceFault(Record):
    """A call of the reference that no model can be scored against."""

    task: str
    position: str
    name: str | None = None
    outcome: Outcome
    message: str
    violations: tuple[SchemaViolation, ...] = ()


class SweepRow(Record):
    """What one threshold gives."""

    threshold: Literal["tau_weak", "tau_strong"]
    value: float
    pairs: int
    """Matched at this tau_weak; or, for tau_strong, matched at the tau_weak in use and at least this similar."""
    recall: float
    precision: float


class AlignedFile(AlignedModel):
    """One entry of the alignment document, with its tasks."""

    sweep: tuple[SweepRow, ...] | None = None
    """With `--sweep`."""
    tasks: tuple[AlignedTask, ...]


class AlignmentDocument(Record):
    """What `replay align --json` prints."""

    format: Literal["replay.alignment"] = "replay.alignment"
    version: Literal[1] = 1
    models: tuple[AlignedFile, ...]
    reference_faults: tuple[ReferenceFault, ...] = ()
    certainties: dict[Certainty, int] | None = None
    """How many verdicts, from which calls have their classes, are how certain; `fallback` rests on nothing. None where
    there is no run."""
    unread: Unread | None = None
    """Files that stand in no number; None where all were read."""
