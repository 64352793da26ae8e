"""What models are compared by. Every measure is a ratio of two sums over tasks, so that tasks can be drawn again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from replay.analysis.statistics import Numbers
from replay.analysis.task_runs import OUTCOMES, TaskRuns
from replay.records import FAILURES, Outcome
from replay.records.alignment import COLUMNS
from replay.records.comparison import Measure
from replay.records.summary import WELL_FORMED
from replay.runfile.task_runs import SCORE_COLUMNS

_JUDGED: Final = tuple(outcome for outcome in Outcome if outcome is not Outcome.INCONCLUSIVE)
_ALIGNED: Final = "aligned with the reference; as `replay align` has it"

MEASURES: Final[Mapping[str, Measure]] = {
    measure.id: measure
    for measure in (
        Measure(
            id="well_formed",
            label="well formed",
            kind="share",
            about="Share of judged calls that were right as calls: success or not found.",
        ),
        *(
            Measure(
                id=str(outcome),
                label=outcome.label,
                kind="share",
                about=f"Share of judged calls that came out {outcome.label}.",
                lower_is_better=outcome is not Outcome.SUCCESS,
            )
            for outcome in _JUDGED
        ),
        Measure(
            id="inconclusive",
            label="inconclusive",
            kind="share",
            about="Share of all calls that count in no outcome.",
            lower_is_better=True,
        ),
        Measure(
            id="task_success",
            label="tasks passed",
            kind="share",
            about="Share of task runs that passed, of those of which the recording says it.",
        ),
        Measure(id="score", label="score", kind="mean", about="Mean reward or score, as the recording gives it."),
        Measure(
            id="recovery",
            label="recovered",
            kind="share",
            about="Share of failed calls after which a later call did what they were to do, or what took a value from "
            "them succeeded.",
        ),
        Measure(id="recall", label="recall", kind="mean", about=f"Reference calls matched, {_ALIGNED}."),
        Measure(id="precision", label="precision", kind="mean", about=f"Predicted calls matched, {_ALIGNED}."),
        Measure(id="argument_similarity", label="arg.sim", kind="mean", about=f"Argument similarity, {_ALIGNED}."),
        Measure(id="step_coherence", label="step coh.", kind="mean", about=f"Step coherence, {_ALIGNED}."),
        Measure(id="order_consistency", label="order", kind="mean", about=f"Order consistency, {_ALIGNED}."),
        Measure(id="merge_purity", label="purity", kind="mean", about=f"Merge purity, {_ALIGNED}."),
        Measure(id="completion", label="completion", kind="mean", about="Task completion, as a judge file gives it."),
        Measure(
            id="grounding", label="grounding", kind="mean", about="Information grounding, as a judge file gives it."
        ),
        Measure(
            id="average",
            label="average",
            kind="mean",
            about="Mean of the six alignment columns and grounding, as in the paper's overall table; in strata of "
            "completion too, as in its tables by task type. What is not known is left out.",
        ),
        Measure(
            id="tokens",
            label="tokens",
            kind="mean",
            about="Tokens read and written, a task run.",
            lower_is_better=True,
        ),
        Measure(id="calls_a_task", label="calls a task", kind="mean", about="Calls, a task run.", lower_is_better=True),
    )
}
"""By id, in the order of the columns."""
RATIOS: Final = tuple(name for name in MEASURES if name != "average")
"""Those that are one ratio; the average is a mean of several."""
AVERAGED: Final = (*COLUMNS, "grounding")
AVERAGED_IN_STRATA: Final = (*COLUMNS, "completion", "grounding")
_PLACE: Final = {name: place for place, name in enumerate(RATIOS)}


def sums_of(runs: TaskRuns, *, of_calls_alone: bool = False) -> Numbers:
    """A row a run of a task: the part of every ratio, and the whole of every ratio.

    Args:
        runs: the runs with their calls.
        of_calls_alone: what is known of a task as a whole is left out.
    """
    counts = {outcome: runs.outcome_counts[:, place] for place, outcome in enumerate(OUTCOMES)}
    calls = runs.outcome_counts.sum(axis=1)
    judged = calls - counts[Outcome.INCONCLUSIVE]
    found: Numbers = np.zeros((len(runs.runs), 2, len(RATIOS)))

    def put(name: str, part: Any, whole: Any) -> None:
        found[:, 0, _PLACE[name]], found[:, 1, _PLACE[name]] = part, whole

    for outcome in _JUDGED:
        put(str(outcome), counts[outcome], judged)
    put("well_formed", sum(counts[outcome] for outcome in WELL_FORMED), judged)
    put("inconclusive", counts[Outcome.INCONCLUSIVE], calls)
    put("calls_a_task", calls, 1.0)
    put("recovery", runs.recovered_counts, sum(counts[outcome] for outcome in FAILURES))
    if of_calls_alone:
        return found
    for name in ("passed", "score", "tokens"):
        values = _numbers(getattr(run, name) for run in runs.runs)
        put("task_success" if name == "passed" else name, *_where_known(values))
    _put_aligned(found, runs)
    return found


def _put_aligned(found: Numbers, runs: TaskRuns) -> None:
    aligned = [(place, run.aligned) for place, run in enumerate(runs.runs) if run.aligned is not None]
    if not aligned:
        return
    rows = [place for place, _ in aligned]

    def put(name: str, part: Any, whole: Any) -> None:
        found[rows, 0, _PLACE[name]], found[rows, 1, _PLACE[name]] = part, whole

    weights, matched, predicted = (
        _numbers(getattr(one, name) for _, one in aligned) for name in ("reference_calls", "matched", "predicted_calls")
    )
    scores = np.array([one.scores for _, one in aligned])
    for name in COLUMNS:
        put(name, scores[:, SCORE_COLUMNS.index(name)] * weights, weights)
    put("recall", matched, weights)
    put("precision", matched, predicted)
    for name in ("completion", "grounding"):
        put(name, *_where_known(_numbers(getattr(one, name) for _, one in aligned)))


def _numbers(values: Iterable[float | None]) -> Numbers:
    """As an array; NaN where there is none."""
    return np.array(list(values), dtype=np.float64)


def _where_known(values: Numbers) -> tuple[Numbers, Numbers]:
    """Part and whole of a value that a run has once, or not at all."""
    known = ~np.isnan(values)
    return np.where(known, values, 0.0), known.astype(np.float64)


def place_of(name: str) -> int:
    """The column of a ratio."""
    return _PLACE[name]
