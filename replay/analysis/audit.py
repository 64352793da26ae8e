"""How much of a score is the model's: which lost tasks the environment broke, which won ones rest on nothing.

The unit is a run of a task whose success the files report. One is undecided where the evidence does not support what is
reported; the supported interval of a model's score counts these as lost at its lower end and as won at its upper end.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb
from typing import Final, Literal, NamedTuple, get_args

import numpy as np

from replay.analysis.estimates import differences_of, sums_by_model
from replay.analysis.measures import sums_of
from replay.analysis.parting import parting_of
from replay.analysis.statistics import Resampling, figure_of
from replay.analysis.task_runs import OUTCOMES, TaskRuns, read_task_runs
from replay.diagnosis.bearing import environment_faults, unfounded
from replay.diagnosis.phrasing import counted
from replay.diagnosis.trajectory_context import TrajectoryContext
from replay.errors import UsageError
from replay.records import FAILURES, Outcome
from replay.records.audit import (
    Audit,
    AuditedFault,
    AuditedModel,
    AuditedPair,
    AuditedRun,
    Bearing,
    Doubt,
    Mend,
    RepeatedTrials,
    UndecidedTask,
    Verified,
)
from replay.records.comparison import Figure, Parting
from replay.records.files import CallRow
from replay.records.summary import Unread, UnreadEffect, UnreadFile
from replay.runfile import Run
from replay.runfile.filters import filter_value
from replay.runfile.trajectory_queries import TrajectoryPlace, trajectory_places

_BENCHMARK: Final = "all models"
_MEASURE: Final = "task_success"


@dataclass
class _Examined:
    """What the trajectories of a run of a task show."""

    faults: list[AuditedFault] = field(default_factory=list)
    file: str = ""
    trajectory: str = ""
    unfounded: str | None = None


def audit(run: Run, files: Sequence[int] | None = None, faulty_references: Mapping[str, str] | None = None) -> Audit:
    """Audit the scores of a run.

    Args:
        run: open for reading; every call is judged.
        files: the run's numbers of the files to take; by default all.
        faulty_references: task -> what is wrong with its reference, one sentence; a task is known by its id.

    Raises:
        UsageError: the run holds no trajectory.
    """
    table = read_task_runs(run, files)
    if not table.runs:
        raise UsageError(f"{run.path}: there is no trajectory to audit")
    examined = _examine(run, table)
    by_run = dict(_undecided(table, examined, faulty_references or {}))
    undecided = tuple(by_run.values())
    models = [_audited(model, table, rows, examined, undecided) for model, rows in table.by_model.items()]
    models.sort(key=lambda model: (-(model.reported if model.reported is not None else -1.0), model.model))
    benchmark = _audited(_BENCHMARK, table, range(len(table.runs)), examined, undecided)
    return Audit(
        benchmark=benchmark,
        models=tuple(models),
        runs=tuple(
            AuditedRun(
                model=task_run.model,
                task=task_run.task,
                file=shown.file,
                trajectory=shown.trajectory,
                passed=task_run.passed,
                doubt=by_run[number].doubt if number in by_run else None,
                faults=tuple(fault.call.full for fault in shown.faults),
            )
            for number, (task_run, shown) in enumerate(zip(table.runs, examined, strict=True))
        ),
        undecided=undecided,
        decided=tuple(
            fault
            for task_run, shown in zip(table.runs, examined, strict=True)
            for fault in shown.faults
            if fault.bearing != "on-path" or task_run.passed is not False
        ),
        pairs=tuple(_pairs(table, models)),
        mends=tuple(_mends(undecided, benchmark.runs)),
        trials=tuple(_trials(table)),
        partings=tuple(_partings(run, table)),
        notes=tuple(_notes(table, benchmark, faulty_references)),
    )


def verified(found: Audit, again: Mapping[tuple[str, str, str], CallRow]) -> Audit:
    """An audit with what the faults gave when their calls were issued again.

    Args:
        found: the audit.
        again: verdicts of a replay, by file, trajectory and position.
    """

    def with_result(fault: AuditedFault) -> AuditedFault:
        rows = [again.get((fault.call.file, fault.call.trajectory, position)) for position in fault.positions]
        outcomes = {row.replayed for row in rows if row is not None} - {None}
        last: Verified = "gone" if outcomes else "cannot be repeated"
        result: Verified = "still there" if Outcome.INCONCLUSIVE in outcomes else last
        return fault.model_copy(update={"verified": result})

    tasks = (task.model_copy(update={"faults": tuple(map(with_result, task.faults))}) for task in found.undecided)
    return found.model_copy(update={"undecided": tuple(tasks)})


def faulty_tasks(run: Run, files: Sequence[int] | None = None) -> dict[str, str]:
    """The tasks of which reference trajectories show that they cannot be done so: task -> why, one sentence.

    A look-up that found nothing is no fault: a reference may well look.

    Args:
        run: open for reading; it holds the reference.
        files: the run's numbers of the reference's files; by default all.
    """
    table = read_task_runs(run, files)
    calls = table.calls_with(Outcome).tolist()
    failed = table.calls_with(set(FAILURES) - {Outcome.NOT_FOUND}).tolist()
    faulty = {}
    for task_run, made, wrong in zip(table.runs, calls, failed, strict=True):
        if wrong:
            faulty[task_run.task] = f"Of {counted(made, 'call')} of its reference {wrong} failed."
        elif not made:
            faulty[task_run.task] = "Its reference has no call."
    return faulty


def _examine(run: Run, table: TaskRuns) -> list[_Examined]:
    """Look through the trajectories of which the answer can change something: with calls that nobody could judge, or
    reported as won.
    """
    examined = [_Examined() for _ in table.runs]
    unjudged = table.outcome_counts[:, OUTCOMES.index(Outcome.INCONCLUSIVE)]
    servers = run.servers()
    alone = Counter(table.run_of_trajectory.values())
    for place in trajectory_places(run):
        number = table.run_of_trajectory.get(place.row)
        if number is None:
            continue
        own = examined[number]
        if not own.trajectory:
            own.file, own.trajectory = place.file, place.trajectory
        if not (unjudged[number] or table.runs[number].passed):
            continue
        context = TrajectoryContext.load(run, place, servers)
        own.faults += environment_faults(context, table.runs[number].passed)
        if table.runs[number].passed and alone[number] == 1:
            own.unfounded = unfounded(context)
    return examined


def _undecided(
    table: TaskRuns, examined: Sequence[_Examined], faulty_references: Mapping[str, str]
) -> Iterator[tuple[int, UndecidedTask]]:
    """By the number of the run in the table."""
    for number, (task_run, shown) in enumerate(zip(table.runs, examined, strict=True)):
        on_path = tuple(fault for fault in shown.faults if fault.bearing == "on-path")
        doubt: tuple[Doubt, str] | None = None
        if task_run.passed is False and on_path:
            doubt = "environment", on_path[0].why
        elif task_run.passed is False and task_run.task in faulty_references:
            doubt = "reference", faulty_references[task_run.task]
        elif task_run.passed and shown.unfounded:
            doubt = "unfounded", shown.unfounded
        if doubt is not None:
            yield (
                number,
                UndecidedTask(
                    model=task_run.model,
                    task=task_run.task,
                    file=shown.file,
                    trajectory=shown.trajectory or task_run.task,
                    passed=bool(task_run.passed),
                    doubt=doubt[0],
                    why=doubt[1],
                    faults=() if task_run.passed else on_path,
                ),
            )


def _audited(
    name: str,
    table: TaskRuns,
    rows: Iterable[int],
    examined: Sequence[_Examined],
    undecided: Sequence[UndecidedTask],
) -> AuditedModel:
    rows = list(rows)
    passed = [table.runs[row].passed for row in rows]
    own = [task for task in undecided if name in (_BENCHMARK, task.model)]
    faults = Counter(fault.bearing for row in rows for fault in examined[row].faults)
    return AuditedModel(
        model=name,
        runs=len(passed) - passed.count(None),
        passed=passed.count(True),
        unreported=passed.count(None),
        undecided_lost=sum(not task.passed for task in own),
        undecided_passed=sum(task.passed for task in own),
        faults={bearing: faults[bearing] for bearing in get_args(Bearing)},
        filter="fault:environment" if name == _BENCHMARK else f"model:{filter_value(name)} fault:environment",
    )


def _pairs(table: TaskRuns, models: Sequence[AuditedModel]) -> Iterator[AuditedPair]:
    """Every pair of models with different reported scores, the better one first."""
    tested = {
        frozenset((pair.first, pair.second)): pair
        for pair in differences_of(sums_by_model(table, sums_of(table)), _MEASURE)
    }
    for first, second in combinations(models, 2):
        if first.reported is None or second.reported is None or first.reported == second.reported:
            continue
        low, high = first.supported, second.supported
        pair = tested.get(frozenset((first.model, second.model)))
        yield AuditedPair(
            first=first.model,
            second=second.model,
            difference=first.reported - second.reported,
            common_tasks=pair.tasks if pair else 0,
            paired_difference=(pair.difference if pair.first == first.model else -pair.difference) if pair else None,
            beyond_chance=pair.beyond_chance if pair else None,
            supported=low is not None and high is not None and low[0] > high[1],
        )


def _mends(undecided: Sequence[UndecidedTask], runs: int) -> Iterator[Mend]:
    """What to mend, by how many runs of tasks it would settle alone, the most first."""
    causes = [_causes(task) for task in undecided]
    mends = []
    for cause in {cause for own in causes for cause in own}:
        settles = sum(own == {cause} for own in causes)
        mends.append(
            Mend(
                **cause._asdict(),
                tasks=sum(cause in own for own in causes),
                settles=settles,
                points=100 * settles / runs,
            )
        )
    yield from sorted(mends, key=lambda mend: (-mend.settles, -mend.tasks, mend.name, mend.reason))


class _Cause(NamedTuple):
    """What can be mended, as `Mend` names it."""

    subject: Literal["server", "sandbox", "reference"]
    name: str
    reason: str
    filter: str


def _causes(task: UndecidedTask) -> set[_Cause]:
    """What a benchmark's author can mend of it; nothing of a success that rests on nothing."""
    if task.doubt == "reference":
        return {_Cause("reference", task.task, task.why, f"trajectory:{filter_value(task.trajectory)}")}
    return {_cause(fault) for fault in task.faults}


def _cause(fault: AuditedFault) -> _Cause:
    key = "server" if fault.server else "tool"
    chosen = f"{key}:{filter_value(fault.subject)} reason:{fault.reason} passed:no"
    return _Cause("sandbox" if fault.in_sandbox else "server", fault.subject, fault.cause, chosen)


def _trials(table: TaskRuns) -> Iterator[RepeatedTrials]:
    """Of each model that ran a task more than once: the tasks that were run as often as the least often run of them."""
    for model, rows in table.by_model.items():
        results: dict[str, list[bool]] = defaultdict(list)
        for row in rows:
            if (passed := table.runs[row].passed) is not None:
                results[table.runs[row].task].append(passed)
        counts = {task: (len(those), sum(those)) for task, those in results.items() if len(those) > 1}
        if not counts:
            continue
        least = min(n for n, _ in counts.values())
        chances = range(1, least + 1)
        yield RepeatedTrials(
            model=model,
            tasks=len(counts),
            runs=least,
            flipping=tuple(sorted(task for task, (n, c) in counts.items() if 0 < c < n)),
            pass_at={k: _mean([1 - comb(n - c, k) / comb(n, k) for n, c in counts.values()]) for k in chances},
            pass_all={k: _mean([comb(c, k) / comb(n, k) for n, c in counts.values()]) for k in chances},
        )


def _partings(run: Run, table: TaskRuns) -> Iterator[Parting]:
    """Where runs of a task that were won and lost part: of each model that did both, else of any two models."""
    places: dict[int, TrajectoryPlace] = {}
    for place in trajectory_places(run):
        if place.row in table.run_of_trajectory:
            places.setdefault(table.run_of_trajectory[place.row], place)
    by_task: dict[str, dict[str, dict[bool, int]]] = defaultdict(lambda: defaultdict(dict))
    for number, task_run in enumerate(table.runs):
        if task_run.passed is not None:
            by_task[task_run.task][task_run.model].setdefault(task_run.passed, number)
    servers = run.servers()
    for models in by_task.values():
        anybody = {passed: number for runs in reversed(models.values()) for passed, number in runs.items()}
        for runs in [runs for runs in models.values() if len(runs) > 1] or [anybody]:
            if len(runs) > 1:
                won, lost = (TrajectoryContext.load(run, places[runs[passed]], servers) for passed in (True, False))
                if (parting := parting_of(won, lost)) is not None:
                    yield parting


def _mean(values: Sequence[float]) -> Figure:
    """A mean over tasks, with the interval of drawing them again."""
    draws, numbers = Resampling(len(values)), np.array(values)
    interval = draws.interval(draws.ratios(numbers, np.ones(len(values))))
    return figure_of(float(numbers.mean()), len(values), interval)


def _notes(table: TaskRuns, benchmark: AuditedModel, faulty_references: Mapping[str, str] | None) -> Iterator[str]:
    if not benchmark.runs:
        yield (
            "The files do not say which tasks passed, so there is no score to hold against the evidence; what the "
            "environment failed is counted all the same."
        )
    elif benchmark.unreported:
        runs = counted(benchmark.unreported, "run")
        yield f"{runs} of tasks, of which the files do not say whether they passed, count in no score."
    scores = sum(task_run.passed is None and task_run.score is not None for task_run in table.runs)
    if scores:
        yield f"{counted(scores, 'run')} of tasks have a score and no pass or fail; only the latter is audited."
    best = max((task_run.score for task_run in table.runs if task_run.score is not None), default=0.0)
    odd = sum(
        task_run.score == (0 if task_run.passed else max(best, 1))
        for task_run in table.runs
        if task_run.passed is not None
    )
    if odd:
        yield f"{counted(odd, 'run')} passed with a score of 0 or lost with the full score; pass or fail is taken."
    absent = set(faulty_references or {}) - {task_run.task for task_run in table.runs}
    if absent:
        yield f"The reference has {counted(len(absent), 'faulty task')} that no model ran."
    tasks = {model: {table.runs[row].task for row in rows} for model, rows in table.by_model.items()}
    common = set.intersection(*tasks.values())
    for model, own in tasks.items():
        if len(tasks) > 1 and own - common:
            yield f"{model} has {counted(len(own - common), 'task')} that not every other model has."


def with_unread(audit: Audit, files: Sequence[UnreadFile]) -> Audit:
    """The audit with what could not be read, and what that could change in the share of tasks that passed."""
    if not files:
        return audit
    whole = audit.benchmark
    effects = [UnreadEffect.on_tasks(len(files), whole.passed / whole.runs, whole.runs, 1)] if whole.runs else []
    return audit.model_copy(update={"unread": Unread(files=tuple(files), effects=tuple(effects))})
