"""Plain tables for people: the leaderboard, the tasks by type, the classes of the calls, the sweep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from replay.alignment.aligner import Alignment
from replay.alignment.matching import Block
from replay.alignment.metrics import BY_TASK, OVERALL, averaged
from replay.alignment.tasks import Reference, SignedTask
from replay.alignment.ties import STEP_METRICS
from replay.records.alignment import (
    COLUMNS,
    METRICS,
    TRAJECTORY_MATCH,
    Aggregate,
    AlignedCall,
    AlignedModel,
    AlignedTask,
    CallClass,
    Candidate,
    JudgeScores,
    McpEvalScores,
    MissedCall,
    ReferenceFault,
    SweepRow,
)
from replay.safety.text import one_line

_HEADINGS = tuple(METRICS[name].label for name in COLUMNS)
_NAME_WIDTH = 40
_LISTED = 20


def score_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Columns two spaces apart, the first to the left and the others to the right."""
    lines = [list(head), *map(list, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]

    def laid(line: Sequence[str]) -> str:
        rest = (cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))
        return "  ".join([line[0].ljust(widths[0]), *rest]).rstrip()

    return "\n".join(map(laid, lines))


class _Line(NamedTuple):
    """A line of scores."""

    name: str
    scores: Aggregate
    judge: JudgeScores | None
    average: float
    width: int
    """Over how many columns the average is."""


def leaderboard_text(models: Sequence[AlignedModel]) -> str:
    """A line a model, best average first; a second one counts missing predictions as nothing found, where some are."""
    widths = {model.file: len(averaged(model.aggregate, model.judge, OVERALL)) for model in models}
    lines: list[_Line] = []
    for model in sorted(models, key=lambda model: (-widths[model.file], -model.average_score)):
        name, width = one_line(model.model, _NAME_WIDTH), widths[model.file]
        lines.append(_Line(name, model.aggregate, model.judge, model.average_score, width))
        if model.missing:
            label, judge = f"  with {len(model.missing)} missing", model.judge_with_missing
            average = model.average_score_with_missing
            lines.append(_Line(label, model.aggregate_with_missing, judge, average, width))
    footnote = _footnote(models[0], set(widths.values()))
    return "\n".join([_scores("model", lines), footnote, *map(ties_line, models)])


def ties_line(model: AlignedModel) -> str:
    """How many tasks have several optimal assignments, and between what the step metrics lie over all of them."""
    ties, tasks = model.ties, model.aggregate.num_ids
    head = f"{one_line(model.model, _NAME_WIDTH)}: ties in {ties.tasks if ties else 0} of {tasks} tasks"
    if ties is None or not ties.tasks:
        return head
    over = "over some of the best assignments" if ties.incomplete else "over all best assignments"
    ranges = ((METRICS[name].label, getattr(ties, name)) for name in STEP_METRICS)
    spans = (f"{name} {values.least:.4f}-{values.greatest:.4f}" for name, values in ranges)
    return f"{head}; {over}: {', '.join(spans)}"


def by_type(model: AlignedModel) -> str:
    """A line a task type, worst first."""
    lines = [
        _Line(
            one_line(row.type, _NAME_WIDTH),
            row.aggregate,
            row.judge,
            row.average_score,
            len(averaged(row.aggregate, row.judge, BY_TASK)),
        )
        for row in model.types
    ]
    lines.sort(key=lambda line: (-line.width, line.average))
    return f"{one_line(model.model)} by task type, worst first\n{_scores('type', lines)}"


def calls_table(models: Sequence[AlignedModel]) -> str:
    """How many calls of each class, and what MCPEval and MCP-Bench say."""
    classes = [kind for kind in CallClass if any(model.classes.get(kind) for model in models)]
    head = ["model", *(kind.value.replace("_", " ") for kind in classes), "MCPEval strict", "flexible"]
    rates = any(model.mcpbench for model in models)
    head += ["MCP-Bench names", "schema", "success"] if rates else []
    rows = []
    for model in models:
        row = [one_line(model.model, _NAME_WIDTH), *(str(model.classes.get(kind, 0)) for kind in classes)]
        row += [_mcpeval(model.mcpeval, "strict"), _mcpeval(model.mcpeval, "flexible")]
        rows.append(row + (_mcpbench(model) if rates else []))
    return score_table(head, rows)


def trajectory_match_table(models: Sequence[AlignedModel]) -> str:
    """The share of tasks that match the reference in each mode, and the mean tool-call F1."""
    rows = (
        [one_line(model.model, _NAME_WIDTH), *(_share(getattr(model.aggregate, name)) for name in TRAJECTORY_MATCH)]
        for model in models
    )
    head = ["trajectory match", *(METRICS[name].label for name in TRAJECTORY_MATCH)]
    mode = models[0].tool_args_match_mode
    return (
        f"{score_table(head, rows)}\n"
        f"share of tasks, arguments compared: {mode}; F1: the mean over tasks, arguments equal"
    )


def differing_ids(model: AlignedModel, reference: Reference) -> Iterator[str]:
    """Ids that only one side has, by name."""
    for ids, where in ((model.missing, "missing"), (model.extra, f"not in {reference.path}")):
        if ids:
            listed = ", ".join(one_line(identifier, _NAME_WIDTH) for identifier in ids)
            more = f" and {len(model.files) - 1} more" if model.files else ""
            yield f"{one_line(model.file)}{more}: {len(ids)} {where}: {listed}"


def reference_faults(faults: Sequence[ReferenceFault]) -> str:
    """The calls of the reference that no model can be scored against."""
    shown = [
        f"  {one_line(fault.task)} {fault.position} {one_line(fault.name or '(no name)', _NAME_WIDTH)}: "
        f"{fault.outcome.value}: {one_line(fault.message, 120)}"
        for fault in faults[:_LISTED]
    ]
    if len(faults) > _LISTED:
        shown.append(f"  ... and {len(faults) - _LISTED} more; --json has them all")
    what = "1 call" if len(faults) == 1 else f"{len(faults)} calls"
    return "\n".join([f"{what} of the reference not well formed, or not fitting the fleet:", *shown])


def sweep_table(model: AlignedModel, rows: Iterable[SweepRow]) -> str:
    """Pairs, recall and precision over the two thresholds."""
    lines = (
        [f"{row.threshold} {row.value:.2f}", str(row.pairs), f"{row.recall:.3f}", f"{row.precision:.3f}"]
        for row in rows
    )
    return (
        f"{one_line(model.model)}: how the thresholds tell\n{score_table(['', 'pairs', 'recall', 'precision'], lines)}"
    )


def _scores(first: str, lines: Sequence[_Line]) -> str:
    """The table of some lines; over how many columns the averages are is told where they differ in that."""
    judged, mixed = any(line.judge for line in lines), len({line.width for line in lines}) > 1
    judges = {"completion": "completion_rate", "grounding": "information_grounding_rate"} if judged else {}
    head = [first, "tasks", *_HEADINGS, *judges, "average", *(["over"] if mixed else []), "steps", "calls"]
    rows = (
        [
            line.name,
            str(line.scores.num_ids),
            *(f"{getattr(line.scores, column):.3f}" for column in COLUMNS),
            *(_share(getattr(line.judge, name, None)) for name in judges.values()),
            f"{line.average:.3f}",
            *([str(line.width)] if mixed else []),
            f"{line.scores.average_steps:.2f}",
            f"{line.scores.average_calls:.2f}",
        ]
        for line in lines
    )
    return score_table(head, rows)


def _footnote(first: AlignedModel, widths: set[int]) -> str:
    if len(widths) > 1:
        columns = (
            'the six columns, and of grounding where a judge gave it ("over": how many columns; '
            "rows over different ones are ranked apart)"
        )
    elif min(widths) > len(COLUMNS):
        columns = "the six columns and grounding"
    else:
        columns = "the six columns; the paper's has grounding too (--judge)"
    return (
        f"definitions: {first.definitions}; tau_strong {first.tau_strong:g}, tau_weak {first.tau_weak:g}; "
        f"{'ties: as published; ' if first.tie_choice == 'published' else ''}"
        f"average: the mean of {columns}; steps and calls: a task"
    )


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _mcpeval(scores: McpEvalScores, kind: str) -> str:
    return f"{getattr(scores, f'{kind}_overall'):.3f} ({getattr(scores, f'{kind}_success'):.1%})"


def _mcpbench(model: AlignedModel) -> list[str]:
    rates = model.mcpbench
    if rates is None:
        return ["-", "-", "-"]
    return [_share(rates.valid_tool_names), _share(rates.schema_compliance), _share(rates.execution_success)]


_ARGUMENTS_WIDTH = 100


def explain(alignment: Alignment, reference: SignedTask, predicted: SignedTask) -> str:
    """The whole account of one task.

    Args:
        alignment: of the file.
        reference: the task in the reference.
        predicted: the task in the results.
    """
    task = next(task for task in alignment.tasks if task.id == reference.id)
    model = alignment.model
    head = (
        f"{one_line(model.model)}, task {one_line(task.id)}: {task.matched} of {task.total_gt_calls} reference calls "
        f"matched, {task.total_pred_calls} predicted (tau_weak {model.tau_weak:g}, tau_strong {model.tau_strong:g})"
    )
    parts = [
        head,
        "\n".join(_calls("R", reference)),
        "\n".join(_calls("P", predicted)),
        *(_matrix(block, task) for block in alignment.blocks[task.id]),
        _ties(task),
        "\n".join(_unmatched(task, model.tau_weak)),
    ]
    return "\n\n".join(part for part in parts if part)


def _calls(side: str, task: SignedTask) -> Iterator[str]:
    yield f"{'reference' if side == 'R' else 'predicted'} calls ({side})"
    for call in task.calls:
        name, signature = one_line(call.name) or "(no name)", one_line(call.signature, _ARGUMENTS_WIDTH)
        yield f"  {side}{call.index}  {call.position}  {name}  {signature}"


def _matrix(block: Block, task: AlignedTask) -> str:
    """A row a reference call, a column a predicted one; chosen pairs in brackets."""
    chosen = {(row, column) for row, column, _ in task.matches}
    rows = []
    for row, similarities in zip(block.reference, block.similarity.tolist(), strict=True):
        pairs = zip(block.predicted, similarities, strict=True)
        cells = (f"[{value:.4f}]" if (row, column) in chosen else f"{value:.4f} " for column, value in pairs)
        rows.append([f"R{row}", *cells])
    head = ["", *(f"P{number} " for number in block.predicted)]
    return f"{one_line(block.name) or '(no name)'}\n{score_table(head, rows)}"


def _ties(task: AlignedTask) -> str:
    if task.ties is None:
        return ""
    more = "" if task.ties.complete else "more than "
    values = {name.replace("_", " "): getattr(task.ties, name) for name in STEP_METRICS}
    ranges = (f"{name} {its.least:.4f}-{its.greatest:.4f}" for name, its in values.items())
    return f"{more}{task.ties.assignments} assignments are equally good: {', '.join(ranges)}"


def _unmatched(task: AlignedTask, tau_weak: float) -> Iterator[str]:
    predicted = [call for call in task.calls if call.why]
    if predicted or task.missed:
        yield "without a partner"
    for missed in task.missed:
        yield f"  R{missed.index}  {one_line(missed.name or '(no name)')}: {reason(missed, 'P', 'R', tau_weak)}"
    for call in predicted:
        number = "" if call.index is None else f"P{call.index}"
        name = one_line(call.name or "(no name)")
        yield f"  {number or call.position}  {name}: {call.kind.value}: {reason(call, 'R', 'P', tau_weak)}"


def reason(call: AlignedCall | MissedCall, candidates: str, own: str, tau_weak: float) -> str:
    """Why a call has no partner, in words.

    Args:
        call: the call.
        candidates: letter of the other side's calls.
        own: letter of this side's calls.
        tau_weak: the threshold in use.
    """
    best: Candidate | None = call.best
    if call.why == "illegal":
        return "not a call that could be read; it is counted nowhere"
    if best is None:
        return "no call of this tool in the " + ("reference" if candidates == "R" else "prediction")
    if call.why == "below-threshold":
        return f"best candidate {candidates}{best.call} at {best.similarity:.4f}, below tau_weak {tau_weak:g}"
    taken = f"{own}{best.taken_by}" if best.taken_by is not None else "another call"
    return f"best candidate {candidates}{best.call} at {best.similarity:.4f} was taken by {taken}"
