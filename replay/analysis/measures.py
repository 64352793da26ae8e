"""The registry of measures: what models are compared by, and how each is summed.

Every measure is a ratio of two sums over runs of tasks, so that tasks can be drawn again; the average is a mean of
several. What the alignment metrics are stands with their records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from replay.analysis.statistics import Numbers
from replay.analysis.task_runs import TaskRun, TaskRuns
from replay.records import FAILURES, Fault, Outcome
from replay.records.alignment import COLUMNS, METRICS, TRAJECTORY_MATCH
from replay.records.comparison import Measure
from replay.records.rating import GAP, RECORDED_SCORES
from replay.records.summary import WELL_FORMED

UNFOUNDED_MEASURE: Final = "unfounded"
FAULT_MEASURES: Final[Mapping[Fault, str]] = {fault: f"fault_{fault}" for fault in Fault}
Sums: TypeAlias = tuple[Any, Any]
"""Part and whole of a ratio, each a number a run; those that are not known are 0."""


class _Definition(NamedTuple):
    measure: Measure
    sums: Callable[[TaskRuns], Sums]
    of_calls: bool
    """The calls to one server alone have it too; else it is of a task as a whole."""


def _shares() -> Iterator[_Definition]:
    """Shares of calls."""
    judged = tuple(outcome for outcome in Outcome if outcome is not Outcome.INCONCLUSIVE)

    def share(
        id_: str, label: str, about: str, part: Callable[[TaskRuns], Any], whole: Iterable[Outcome], *, low: bool
    ) -> _Definition:
        measure = Measure(id=id_, label=label, kind="share", about=about, lower_is_better=low)
        return _Definition(measure, lambda runs: (part(runs), runs.calls_with(whole)), of_calls=True)

    def judged_as(*outcomes: Outcome) -> Callable[[TaskRuns], Any]:
        return lambda runs: runs.calls_with(outcomes)

    def failed_by(fault: Fault) -> Callable[[TaskRuns], Any]:
        return lambda runs: runs.fault_counts(fault)

    about = "Share of judged calls that were right as calls: success or not found."
    yield share("well_formed", "well formed", about, judged_as(*WELL_FORMED), judged, low=False)
    for outcome in judged:
        about = f"Share of judged calls with the outcome {outcome.label}."
        yield share(str(outcome), outcome.label, about, judged_as(outcome), judged, low=outcome is not Outcome.SUCCESS)
    named = tuple(outcome for outcome in judged if outcome not in (Outcome.ILLEGAL_FORMAT, Outcome.UNKNOWN_TOOL))
    about = "MCP-Bench's valid tool names: share of judged calls that are legal and of a tool that exists."
    yield share("valid_tool_names", "valid names", about, judged_as(*named), judged, low=False)
    accepted = tuple(outcome for outcome in named if outcome is not Outcome.INVALID_ARGUMENTS)
    about = "MCP-Bench's schema compliance: share of these whose arguments were accepted. Its third rate is success."
    yield share("schema_compliance", "schema kept", about, judged_as(*accepted), named, low=False)
    about = "Share of all calls that count in no outcome."
    yield share("inconclusive", "inconclusive", about, judged_as(Outcome.INCONCLUSIVE), Outcome, low=True)
    for fault, measure_id in FAULT_MEASURES.items():
        of = (
            "whose failure nobody is known to be at fault for"
            if fault is Fault.UNKNOWN
            else f"that failed by the {fault}'s fault"
        )
        yield share(measure_id, f"fault: {fault}", f"Share of all calls {of}.", failed_by(fault), Outcome, low=True)
    about = "Share of all calls whose verdict rests on nothing but the absence of an error, or of an error's cause."
    yield share(UNFOUNDED_MEASURE, "rests on nothing", about, lambda runs: runs.unfounded_counts, Outcome, low=True)


def _aligned(name: str) -> Callable[[TaskRuns], Sums]:
    """An alignment metric, summed as `replay align` does."""
    metric, column = METRICS[name], list(METRICS).index(name)

    def sums(runs: TaskRuns) -> Sums:
        aligned = [run.aligned for run in runs.runs]
        whole = _numbers(metric.weight(scores) if scores else 0 for scores in aligned)
        if metric.counts_matches:
            return _numbers(scores.matched if scores else 0 for scores in aligned), whole
        values = _numbers(scores.scores[column] if scores else None for scores in aligned)
        return np.nan_to_num(values) * whole, whole * ~np.isnan(values)

    return sums


def _known(value: Callable[[TaskRun], float | None]) -> Callable[[TaskRuns], Sums]:
    """What a run has once, or not at all."""

    def sums(runs: TaskRuns) -> Sums:
        values = _numbers(map(value, runs.runs))
        return np.nan_to_num(values), ~np.isnan(values)

    return sums


def _gap(run: TaskRun) -> float | None:
    trajectory, completion = map(run.recorded_scores.get, GAP)
    return None if trajectory is None or completion is None else trajectory - completion


def _recorded(name: str) -> Callable[[TaskRun], float | None]:
    return lambda run: run.recorded_scores.get(name)


def _of_judge(name: str) -> Callable[[TaskRun], float | None]:
    return lambda run: getattr(run.aligned, name, None)


def _definitions() -> Iterator[_Definition]:
    def mean(id_: str, label: str, about: str, sums: Callable[[TaskRuns], Sums], *, low: bool = False) -> _Definition:
        measure = Measure(id=id_, label=label, kind="mean", about=about, lower_is_better=low)
        return _Definition(measure, sums, of_calls=False)

    yield from _shares()
    about = "Share of task runs that passed, of those of which the recording says it."
    passed = Measure(id="task_success", label="tasks passed", kind="share", about=about)
    yield _Definition(passed, _known(lambda run: run.passed), of_calls=False)
    yield mean("score", "score", "Mean reward or score, as the recording gives it.", _known(lambda run: run.score))
    for name, score in RECORDED_SCORES.items():
        yield mean(name, score.label, score.about, _known(_recorded(name)))
    about = "MCPEval's gap: how far a task run's score of the trajectory lies above that of the completion."
    yield mean("mcpeval_gap", "MCPEval gap", about, _known(_gap), low=True)
    about = (
        "Share of failed calls after which a later call did what they were to do, or what took a value from "
        "them succeeded."
    )
    recovery = Measure(id="recovery", label="recovered", kind="share", about=about)
    yield _Definition(recovery, lambda runs: (runs.recovered_counts, runs.calls_with(FAILURES)), of_calls=True)
    for name in (*COLUMNS, *TRAJECTORY_MATCH):
        about = f"{METRICS[name].about}, aligned with the reference; as `replay align` has it."
        yield mean(name, METRICS[name].label, about, _aligned(name))
    for name, words in (("completion", "Task completion"), ("grounding", "Information grounding")):
        yield mean(name, name, f"{words}, as a judge file gives it.", _known(_of_judge(name)))
    about = (
        "Mean of the six alignment columns and grounding, as in the paper's overall table; in strata of "
        "completion too, as in its tables by task type. What is not known is left out."
    )
    yield mean("average", "average", about, lambda runs: (0.0, 0.0))
    about = "Tokens {}, a task run."
    yield mean("tokens", "tokens", about.format("read and written"), _known(lambda run: run.tokens), low=True)
    yield mean("tokens_in", "tokens in", about.format("read"), _known(lambda run: run.input_tokens), low=True)
    yield mean("tokens_out", "tokens out", about.format("written"), _known(lambda run: run.output_tokens), low=True)
    about = "Seconds from the beginning to the end of the last call, a task run, as far as the recording has times."
    yield mean("seconds", "seconds", about, _known(lambda run: run.seconds), low=True)
    calls = mean(
        "calls_a_task", "calls a task", "Calls, a task run.", lambda runs: (runs.calls_with(Outcome), 1.0), low=True
    )
    yield calls._replace(of_calls=True)


_DEFINITIONS: Final = {definition.measure.id: definition for definition in _definitions()}
MEASURES: Final[Mapping[str, Measure]] = {name: definition.measure for name, definition in _DEFINITIONS.items()}
"""By id, in the order of the columns."""
RATIOS: Final = tuple(name for name in MEASURES if name != "average")
"""Those that are one ratio; the average is a mean of several."""
AVERAGED: Final = (*COLUMNS, "grounding")
AVERAGED_IN_STRATA: Final = (*COLUMNS, "completion", "grounding")


def sums_of(runs: TaskRuns, *, of_calls_alone: bool = False) -> Numbers:
    """A row a run of a task: the part of every ratio, and the whole of every ratio.

    Args:
        runs: the runs with their calls.
        of_calls_alone: what is known of a task as a whole is left out.
    """
    sums: Numbers = np.zeros((len(runs.runs), 2, len(RATIOS)))
    for column, name in enumerate(RATIOS):
        if _DEFINITIONS[name].of_calls or not of_calls_alone:
            sums[:, 0, column], sums[:, 1, column] = _DEFINITIONS[name].sums(runs)
    return sums


def _numbers(values: Iterable[float | None]) -> Numbers:
    """As an array; NaN where there is none."""
    return np.array(list(values), dtype=np.float64)
