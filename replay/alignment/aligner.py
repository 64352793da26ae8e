"""From signed trajectories to records: the pure middle of `replay align`, with the class of each predicted call."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from replay.alignment.judges import Judges, with_nothing_given
from replay.alignment.matching import Block, Vectors, blocks_by_tool, match, match_blocks, matches_of, texts_to_embed
from replay.alignment.metrics import MatchSet, Pair, aggregate, overall_average, score, task_average
from replay.alignment.other_benchmarks import mcpbench_rates, mcpeval, mean_of, trajectory_match
from replay.alignment.tasks import Reference, SignedCall, SignedTask, pair_ids
from replay.alignment.ties import model_ties, task_ties
from replay.records import Outcome
from replay.records.alignment import (
    Aggregate,
    AlignedCall,
    AlignedModel,
    AlignedTask,
    CallClass,
    Candidate,
    Definitions,
    JudgeScores,
    MatchTriple,
    MissedCall,
    SweepRow,
    TieChoice,
    ToolArgsMatchMode,
    TypeRow,
    Why,
)

Outcomes = Mapping[str, Mapping[str, Outcome]]
"""By task id, then by the call's position."""

UNTYPED = "(no type)"
_MODELS_FAULT = {Outcome.ILLEGAL_FORMAT, Outcome.UNKNOWN_TOOL, Outcome.INVALID_ARGUMENTS}
_UNDECIDED = {None, Outcome.INCONCLUSIVE}
"""Where nobody knows whether an unmatched call is hallucinated or redundant."""


@dataclass(frozen=True)
class AlignmentSettings:
    """How to align."""

    definitions: Definitions = "published"
    tau_strong: float = 0.8
    tau_weak: float = 0.6
    tool_args_match_mode: ToolArgsMatchMode = "exact"
    ties: TieChoice = "rule"
    encoder: str = ""
    """The model's name, to show."""


@dataclass(frozen=True)
class Results:
    """One results file, signed, or several of one model."""

    file: str
    model: str
    tasks: Mapping[str, SignedTask]
    outcomes: Outcomes | None = None
    """From the run; None where it does not hold the file."""
    files: tuple[str, ...] = ()
    """All of them, where there are several; `file` is the first."""

    @property
    def names(self) -> tuple[str, ...]:
        """What a judge may call the model, best first."""
        return (self.model, *(self.files or (self.file,)))


@dataclass(frozen=True)
class Alignment:
    """One results file against the reference, with what it takes to explain it."""

    model: AlignedModel
    tasks: tuple[AlignedTask, ...]
    blocks: Mapping[str, tuple[Block, ...]] = field(repr=False)
    """By task id: the similarities of each tool."""


def signatures_to_embed(reference: Reference, results: Iterable[Results]) -> set[str]:
    """Every distinct text that needs a vector, over all files."""
    needed: set[str] = set()
    for file in results:
        for own_id, predicted_id in pair_ids(reference.tasks, file.tasks).items():
            needed |= texts_to_embed(reference.tasks[own_id].calls, file.tasks[predicted_id].calls)
    return needed


def align_model(
    reference: Reference, results: Results, vectors: Vectors, settings: AlignmentSettings, judges: Judges
) -> Alignment:
    """Align one file's tasks with the reference's, and score them."""
    pairs = pair_ids(reference.tasks, results.tasks)
    tasks, blocks = [], {}
    for own_id, predicted_id in pairs.items():
        predicted = results.tasks[predicted_id]
        blocks[own_id] = blocks_by_tool(reference.tasks[own_id].calls, predicted.calls, vectors)
        outcomes = None if results.outcomes is None else results.outcomes.get(predicted_id)
        judge = judges.of_task(results.names, own_id)
        tasks.append(align_task(reference.tasks[own_id], predicted, blocks[own_id], settings, outcomes, judge))
    found = set(pairs.values())
    extra = tuple(sorted(task for task in results.tasks if task not in found))
    empty = SignedTask("", None, (), (), ())  # a missing task is scored as if the model had called nothing
    missing = sorted(reference.tasks.keys() - pairs.keys())
    nothing = [align_task(reference.tasks[task], empty, (), settings) for task in missing]
    model = _model(results, settings, tasks, nothing, judges, extra)
    return Alignment(model, tuple(tasks), blocks)


def align_task(
    reference: SignedTask,
    predicted: SignedTask,
    blocks: Sequence[Block],
    settings: AlignmentSettings,
    outcomes: Mapping[str, Outcome] | None = None,
    judge: JudgeScores | None = None,
) -> AlignedTask:
    """Align one task.

    Args:
        reference: the task in the reference.
        predicted: the task in the results.
        blocks: the similarities by tool.
        settings: how to align.
        outcomes: by position, from the run; None without one, and then no unmatched call that can be read is taken to
            be hallucinated or redundant.
        judge: what a judge gave.
    """
    solved = match_blocks(blocks, settings.tau_weak, settings.ties)
    matches = matches_of(solved)
    chosen = match_set(reference, predicted, matches)
    scores = score(chosen, settings.tau_strong, settings.definitions)
    return AlignedTask(
        id=reference.id,
        type=reference.type or predicted.type,
        total_gt_calls=len(reference.calls),
        total_pred_calls=len(predicted.calls),
        matched=len(matches),
        steps=len(predicted.calls_per_step),
        matches=matches,
        ties=task_ties(chosen, solved, settings.definitions),
        calls=_predicted_calls(predicted, blocks, matches, settings, outcomes),
        missed=_missed_calls(reference.calls, blocks, matches, settings.tau_weak),
        mcpeval=mcpeval(reference.calls, predicted.calls),
        judge=judge,
        **scores.model_dump(),
        **trajectory_match(reference, predicted, settings.tool_args_match_mode).model_dump(),
    )


def match_set(reference: SignedTask, predicted: SignedTask, matches: Iterable[MatchTriple]) -> MatchSet:
    """What the metrics need of a task's matches."""
    return MatchSet(
        calls_per_step=reference.calls_per_step,
        predicted=len(predicted.calls),
        pairs=tuple(
            Pair(reference.calls[reference_call].step, predicted.calls[predicted_call].step, similarity)
            for reference_call, predicted_call, similarity in matches
        ),
    )


def _predicted_calls(
    task: SignedTask,
    blocks: Sequence[Block],
    matches: Sequence[MatchTriple],
    settings: AlignmentSettings,
    outcomes: Mapping[str, Outcome] | None,
) -> tuple[AlignedCall, ...]:
    """Every predicted call with its class, illegal ones last; `outcomes` as for `align_task`."""
    similarity = {predicted: value for _, predicted, value in matches}
    rivals = {reference: predicted for reference, predicted, _ in matches}
    best = {number: _best(found, rivals) for number, found in _candidates(blocks, by_row=False)}

    def of(call: SignedCall) -> AlignedCall:
        matched = similarity.get(call.index)
        outcome = (outcomes or {}).get(call.position)
        candidate = best.get(call.index)
        return AlignedCall(
            index=call.index,
            position=call.position,
            name=call.name or None,
            kind=_kind(matched, settings.tau_strong, outcome, readable=call.readable),
            why=None if matched is not None else _why(candidate, settings.tau_weak),
            best=None if matched is not None else _shown(candidate, settings.tau_weak),
            outcome=outcome,
        )

    illegal = (
        AlignedCall(position=position, kind=CallClass.HALLUCINATED, why="illegal", outcome=Outcome.ILLEGAL_FORMAT)
        for position in task.illegal
    )
    return (*map(of, task.calls), *illegal)


def _missed_calls(
    reference: Sequence[SignedCall], blocks: Sequence[Block], matches: Sequence[MatchTriple], tau_weak: float
) -> tuple[MissedCall, ...]:
    """Every reference call without a partner."""
    found = {number for number, _, _ in matches}
    rivals = {predicted: number for number, predicted, _ in matches}
    best = {number: _best(candidates, rivals) for number, candidates in _candidates(blocks, by_row=True)}
    return tuple(
        MissedCall(
            index=call.index,
            position=call.position,
            name=call.name or None,
            why=_why(best.get(call.index), tau_weak),
            best=_shown(best.get(call.index), tau_weak),
        )
        for call in reference
        if call.index not in found
    )


def _candidates(blocks: Sequence[Block], *, by_row: bool) -> Iterator[tuple[int, list[tuple[int, float]]]]:
    """Each call of one side with the calls of its tool on the other, and their similarities."""
    for block in blocks:
        grid = block.similarity.tolist()
        own, others = (block.reference, block.predicted) if by_row else (block.predicted, block.reference)
        for line, number in enumerate(own):
            values = grid[line] if by_row else [row[line] for row in grid]
            yield number, list(zip(others, values, strict=True))


def _best(found: list[tuple[int, float]], rivals: Mapping[int, int]) -> Candidate:
    number, value = max(found, key=lambda candidate: candidate[1])
    return Candidate(call=number, similarity=value, taken_by=rivals.get(number))


def _why(best: Candidate | None, tau_weak: float) -> Why:
    if best is None:
        return "no-such-tool"
    return "below-threshold" if best.similarity < tau_weak else "taken"


def _shown(best: Candidate | None, tau_weak: float) -> Candidate | None:
    """The candidate; who took it is named only where that was the reason."""
    if best is None or best.similarity >= tau_weak:
        return best
    return Candidate(call=best.call, similarity=best.similarity)


def _kind(matched: float | None, tau_strong: float, outcome: Outcome | None, *, readable: bool) -> CallClass:
    if matched is not None:
        return CallClass.CORRECT if matched >= tau_strong else CallClass.PARTIALLY_CORRECT
    if not readable or outcome in _MODELS_FAULT:
        return CallClass.HALLUCINATED
    return CallClass.UNMATCHED if outcome in _UNDECIDED else CallClass.REDUNDANT


def _model(
    results: Results,
    settings: AlignmentSettings,
    tasks: list[AlignedTask],
    nothing: list[AlignedTask],
    judges: Judges,
    extra: tuple[str, ...],
) -> AlignedModel:
    judge = judges.of_model(results.names, [task.id for task in tasks])
    found, with_missing = _aggregate(tasks, settings), _aggregate([*tasks, *nothing], settings)
    judge_with_missing = with_nothing_given(judge, len(tasks), len(nothing))
    kinds, outcomes = Counter(call.kind for task in tasks for call in task.calls), results.outcomes
    return AlignedModel(
        file=results.file,
        files=results.files or None,
        model=results.model,
        definitions=settings.definitions,
        tau_strong=settings.tau_strong,
        tau_weak=settings.tau_weak,
        tool_args_match_mode=settings.tool_args_match_mode,
        tie_choice=settings.ties,
        encoder=settings.encoder,
        aggregate=found,
        average_score=overall_average(found, judge),
        aggregate_with_missing=with_missing,
        average_score_with_missing=overall_average(with_missing, judge_with_missing),
        ties=model_ties(tasks),
        missing=tuple(task.id for task in nothing),
        extra=extra,
        types=_types(tasks, results.names, judges, settings),
        classes=dict(sorted(kinds.items())),
        mcpeval=mean_of([task.mcpeval for task in tasks]),
        mcpbench=None
        if outcomes is None
        else mcpbench_rates(outcome for calls in outcomes.values() for outcome in calls.values()),
        judge=judge,
        judge_with_missing=judge_with_missing,
    )


def _aggregate(tasks: Sequence[AlignedTask], settings: AlignmentSettings) -> Aggregate:
    return aggregate(tasks, settings.definitions, settings.tau_strong)


def _types(
    tasks: Iterable[AlignedTask], names: Sequence[str], judges: Judges, settings: AlignmentSettings
) -> tuple[TypeRow, ...]:
    groups: dict[str, list[AlignedTask]] = defaultdict(list)
    for task in tasks:
        groups[task.type or UNTYPED].append(task)
    rows = []
    for kind, group in groups.items():
        judge = judges.mean(names, [task.id for task in group])
        found = _aggregate(group, settings)
        rows.append(TypeRow(type=kind, aggregate=found, judge=judge, average_score=task_average(found, judge)))
    return tuple(sorted(rows, key=lambda row: (row.average_score, row.type)))


def group_by_model(reference: Reference, results: Sequence[Results]) -> list[Results]:
    """One set of results a model, in the order of the files.

    A task that stands in several files of a model was run several times: each further time begins a further set.
    """
    sets: list[list[Results]] = []
    tasks: list[set[str]] = []
    for file in results:
        own_tasks = _tasks(reference, file)
        for group, known in zip(sets, tasks, strict=True):
            if group[0].model == file.model and not known & own_tasks:
                group.append(file)
                known.update(own_tasks)
                break
        else:
            sets.append([file])
            tasks.append(set(own_tasks))
    return [_merged(group) for group in sets]


def _tasks(reference: Reference, results: Results) -> set[str]:
    """The ids of the tasks, as the reference writes them where it has them."""
    pairs = pair_ids(reference.tasks, results.tasks)
    return {*pairs, *(set(results.tasks) - set(pairs.values()))}


def _merged(group: Sequence[Results]) -> Results:
    if len(group) == 1:
        return group[0]
    known = [file.outcomes for file in group if file.outcomes is not None]
    outcomes: Outcomes = {task: calls for outcomes_of_file in known for task, calls in outcomes_of_file.items()}
    return Results(
        file=group[0].file,
        model=group[0].model,
        tasks={task: signed for file in group for task, signed in file.tasks.items()},
        outcomes=outcomes if known else None,
        files=tuple(member.file for member in group),
    )


VALUES = tuple(round(0.5 + 0.05 * step, 2) for step in range(10))
"""0.5 to 0.95."""


def sweep(alignment: Alignment) -> tuple[SweepRow, ...]:
    """Pairs, recall and precision at each value of tau_weak, and of tau_strong at the tau_weak in use.

    For each tau_weak the assignment is solved anew; a tau_strong only counts the pairs that are at least so similar.
    """
    counts = alignment.model.aggregate
    similarities = [similarity for task in alignment.tasks for _, _, similarity in task.matches]

    def row(threshold: Literal["tau_weak", "tau_strong"], value: float, pairs: int) -> SweepRow:
        recall = pairs / counts.total_gt_calls if counts.total_gt_calls else 0.0
        precision = pairs / counts.total_pred_calls if counts.total_pred_calls else 0.0
        return SweepRow(threshold=threshold, value=value, pairs=pairs, recall=recall, precision=precision)

    weak = [
        row("tau_weak", tau, sum(len(match(blocks, tau)) for blocks in alignment.blocks.values())) for tau in VALUES
    ]
    return (*weak, *(row("tau_strong", tau, sum(value >= tau for value in similarities)) for tau in VALUES))
