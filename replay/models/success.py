"""What goes with tasks that were lost, and what became of failed calls."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from replay.models.task_runs import TaskRun
from replay.records import FAILURES, Outcome, qualified_name
from replay.records.model_comparison import Association, FailedInTasks, Figure, Recovery
from replay.runfile import Run
from replay.runfile.model_queries import findings_by_trajectory, recovery_by_finding
from replay.statistics import OddsRatio, holm, odds_ratio, wilson
from replay.statistics.shares import CONFIDENCE

_Subject = Literal["outcome", "tool", "finding"]


def associations(run: Run, runs: Iterable[TaskRun]) -> tuple[Association, ...]:
    """How outcomes, failures of tools and kinds of finding go with lost tasks, the surest first.

    The unit is a run of a task of which the recording says whether it passed; it has an outcome, a failing tool or a
    finding once or not at all.
    """
    known = [one for one in runs if one.passed is not None]
    kinds: dict[int, set[str]] = defaultdict(set)
    for trajectory, kind in findings_by_trajectory(run.connection) if known else ():
        kinds[trajectory].add(kind)
    subjects: dict[_Subject, list[set[str]]] = {
        "outcome": [_outcomes(one) for one in known],
        "tool": [_failing_tools(one) for one in known],
        "finding": [set().union(*(kinds[row] for row in one.rows)) for one in known],
    }
    lost = [not one.passed for one in known]
    return tuple(found for subject, sets in subjects.items() for found in _associated(subject, sets, lost))


def _outcomes(run: TaskRun) -> set[str]:
    return {str(outcome) for outcome, n in run.outcomes.items() if n and outcome is not Outcome.SUCCESS}


def _failing_tools(run: TaskRun) -> set[str]:
    groups = (call.group for call in run.calls)
    return {qualified_name(group.server, group.tool) for group in groups if group.outcome in FAILURES and group.tool}


def _associated(subject: _Subject, sets: Sequence[set[str]], lost: Sequence[bool]) -> Iterator[Association]:
    lost_count = sum(lost)
    passed_count = len(lost) - lost_count
    lost_with = Counter(name for names, is_lost in zip(sets, lost, strict=True) if is_lost for name in names)
    passed_with = Counter(name for names, is_lost in zip(sets, lost, strict=True) if not is_lost for name in names)
    tested: list[tuple[str, OddsRatio]] = []
    for name in sorted({*lost_with, *passed_with}):
        a, b = lost_with[name], passed_with[name]
        ratio = odds_ratio(a, b, lost_count - a, passed_count - b)
        if ratio is not None:
            tested.append((name, ratio))
    corrected = holm([ratio.p_value for _, ratio in tested])
    rows = sorted(zip(tested, corrected, strict=True), key=lambda row: (row[0][1].p_value, row[0][0]))
    for (name, ratio), p_value in rows:
        yield Association(
            subject=subject,
            name=name,
            lost_with=lost_with[name],
            passed_with=passed_with[name],
            lost_without=lost_count - lost_with[name],
            passed_without=passed_count - passed_with[name],
            odds_ratio=ratio.value,
            low=ratio.interval.low,
            high=ratio.interval.high,
            p_value=ratio.p_value,
            corrected_p_value=p_value,
            beyond_chance=p_value < 1 - CONFIDENCE,
        )


def failed_in_tasks(runs: Mapping[str, Sequence[TaskRun]]) -> tuple[FailedInTasks, ...]:
    """Failed calls in tasks that passed, and in those that were lost, a row a model of which that is known."""
    rows = []
    for model, of_model in runs.items():
        passed = [one for one in of_model if one.passed is True]
        lost = [one for one in of_model if one.passed is False]
        if passed or lost:
            rows.append(
                FailedInTasks(
                    model=model,
                    passed_tasks=len(passed),
                    failed_calls_in_passed=sum(map(_failed, passed)),
                    calls_in_passed=sum(one.outcomes.total() for one in passed),
                    lost_tasks=len(lost),
                    failed_calls_in_lost=sum(map(_failed, lost)),
                    calls_in_lost=sum(one.outcomes.total() for one in lost),
                )
            )
    return tuple(rows)


def recoveries(run: Run, runs: Mapping[str, Sequence[TaskRun]], files: Sequence[int] | None) -> tuple[Recovery, ...]:
    """How many failed calls were recovered, by model, by tool and by finding; the most failures first."""
    rows = [
        _recovery("model", model, sum(map(_failed, of_model)), sum(one.recovered for one in of_model))
        for model, of_model in runs.items()
    ]
    failed: Counter[str] = Counter()
    recovered: Counter[str] = Counter()
    for one in (one for of_model in runs.values() for one in of_model):
        for call in one.calls:
            if call.group.outcome in FAILURES:
                name = qualified_name(call.group.server, call.group.tool)
                failed[name] += call.n
                recovered[name] += call.recovered
    rows += [_recovery("tool", name, n, recovered[name]) for name, n in failed.most_common()]
    rows += [_recovery("finding", *row) for row in recovery_by_finding(run.connection, files)]
    return tuple(row for row in rows if row.failed)


def _failed(run: TaskRun) -> int:
    return sum(run.outcomes[outcome] for outcome in FAILURES)


def _recovery(subject: Literal["model", "tool", "finding"], name: str, failed: int, recovered: int) -> Recovery:
    interval = wilson(recovered, failed)
    low, high = interval or (None, None)
    share = Figure(value=recovered / failed, n=failed, low=low, high=high) if failed else None
    return Recovery(
        subject=subject, name=name, failed=failed, recovered=recovered, open=failed - recovered, share=share
    )
