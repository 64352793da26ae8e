"""What goes with tasks that were lost, and which failed calls were recovered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import numpy as np

from replay.analysis.statistics import CONFIDENCE, OddsRatio, figure_of, holm, odds_ratio, wilson
from replay.analysis.task_runs import OUTCOMES, TaskRuns
from replay.records import FAILURES, Outcome, qualified_name
from replay.records.comparison import Association, FailedInTasks, Recovery
from replay.runfile import Run
from replay.runfile.task_runs import findings_by_trajectory, recovery_by_finding

_Subject = Literal["outcome", "tool", "finding"]


def associations(run: Run, table: TaskRuns) -> tuple[Association, ...]:
    """How outcomes, failures of tools and kinds of finding go with lost tasks, the surest first.

    The unit is a run of a task of which the recording says whether it passed; it has an outcome, a failing tool or a
    finding once or not at all.
    """
    passed = [task_run.passed for task_run in table.runs]
    if all(known is None for known in passed):
        return ()
    shown: dict[_Subject, Iterable[tuple[int, str]]] = {
        "outcome": _outcomes(table),
        "tool": table.runs_calling(_tools_of_failures(table)),
        "finding": _kinds(run, table),
    }
    return tuple(found for subject, pairs in shown.items() for found in _associated(subject, pairs, passed))


def _outcomes(table: TaskRuns) -> Iterator[tuple[int, str]]:
    """Which run had calls with which outcome, success apart."""
    for place, outcome in enumerate(OUTCOMES):
        if outcome is not Outcome.SUCCESS:
            for run in np.flatnonzero(table.outcome_counts[:, place]).tolist():
                yield run, str(outcome)


def _kinds(run: Run, table: TaskRuns) -> set[tuple[int, str]]:
    places = table.run_of_trajectory
    rows = findings_by_trajectory(run.connection)
    return {(places[trajectory], kind) for trajectory, kind in rows if trajectory in places}


def _tools_of_failures(table: TaskRuns) -> list[str | None]:
    """The tool of each group of calls; None where they did not fail."""
    return [qualified_name(group.server, group.tool) if group.outcome in FAILURES else None for group in table.groups]


def _associated(
    subject: _Subject, shown: Iterable[tuple[int, str]], passed: Sequence[bool | None]
) -> Iterator[Association]:
    lost_count, passed_count = passed.count(False), passed.count(True)
    lost_with: Counter[str] = Counter()
    passed_with: Counter[str] = Counter()
    for run, name in shown:
        if (has_passed := passed[run]) is not None:
            (passed_with if has_passed else lost_with)[name] += 1
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


def failed_in_tasks(table: TaskRuns, models: Sequence[str]) -> tuple[FailedInTasks, ...]:
    """Failed calls in tasks that passed, and in those that were lost, a row a model of which that is known."""
    failed, calls = table.calls_with(FAILURES), table.calls_with(Outcome)
    rows = []
    for model in models:
        places = table.by_model[model]
        passed = [place for place in places if table.runs[place].passed is True]
        lost = [place for place in places if table.runs[place].passed is False]
        if passed or lost:
            rows.append(
                FailedInTasks(
                    model=model,
                    passed_tasks=len(passed),
                    failed_calls_in_passed=int(failed[passed].sum()),
                    calls_in_passed=int(calls[passed].sum()),
                    lost_tasks=len(lost),
                    failed_calls_in_lost=int(failed[lost].sum()),
                    calls_in_lost=int(calls[lost].sum()),
                )
            )
    return tuple(rows)


def recoveries(run: Run, table: TaskRuns, models: Sequence[str], files: Sequence[int] | None) -> tuple[Recovery, ...]:
    """How many failed calls were recovered, by model, by tool and by finding; the most failures first."""
    failed = table.calls_with(FAILURES)
    places = table.by_model
    rows = [
        _recovery("model", model, int(failed[places[model]].sum()), int(table.recovered_counts[places[model]].sum()))
        for model in models
    ]
    by_tool: dict[str, list[int]] = {}
    for column, calls in enumerate((table.calls, table.recovered)):
        counts = np.bincount(calls.group, minlength=len(table.groups)).tolist()
        for tool, count in zip(_tools_of_failures(table), counts, strict=True):
            if tool is not None:
                by_tool.setdefault(tool, [0, 0])[column] += count
    for tool, counts in sorted(by_tool.items(), key=lambda item: (-item[1][0], item[0])):
        rows.append(_recovery("tool", tool, *counts))
    rows += [_recovery("finding", *row) for row in recovery_by_finding(run.connection, files)]
    return tuple(row for row in rows if row.failed)


def _recovery(subject: Literal["model", "tool", "finding"], name: str, failed: int, recovered: int) -> Recovery:
    share = figure_of(recovered / failed, failed, wilson(recovered, failed)) if failed else None
    return Recovery(
        subject=subject, name=name, failed=failed, recovered=recovered, open=failed - recovered, share=share
    )
