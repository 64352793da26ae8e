"""What models are compared by. Every measure is a ratio of two sums over tasks, so that tasks can be drawn again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from replay.alignment.averages import COLUMNS
from replay.models.task_runs import TaskRun
from replay.records import FAILURES, Outcome
from replay.records.model_comparison import Measure
from replay.records.summary import well_formed
from replay.runfile.task_runs import SCORE_COLUMNS
from replay.statistics.ratios import Numbers

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
            for outcome in Outcome
            if outcome is not Outcome.INCONCLUSIVE
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


def sums_of(run: TaskRun) -> Numbers:
    """Of one run of a task: the parts of every ratio, and below them the wholes."""
    found: Numbers = np.zeros((2, len(RATIOS)))

    def put(name: str, part: float, whole: float) -> None:
        found[:, _PLACE[name]] = part, whole

    calls, inconclusive = run.outcomes.total(), run.outcomes[Outcome.INCONCLUSIVE]
    judged, failed = calls - inconclusive, sum(run.outcomes[outcome] for outcome in FAILURES)
    put("well_formed", well_formed(run.outcomes), judged)
    for outcome in Outcome:
        if outcome is not Outcome.INCONCLUSIVE:
            put(str(outcome), run.outcomes[outcome], judged)
    put("inconclusive", inconclusive, calls)
    put("recovery", run.recovered, failed)
    put("calls_a_task", calls, 1)
    if run.passed is not None:
        put("task_success", run.passed, 1)
    if run.score is not None:
        put("score", run.score, 1)
    if run.tokens is not None:
        put("tokens", run.tokens, 1)
    _put_alignment(run, found)
    return found


def _put_alignment(run: TaskRun, found: Numbers) -> None:
    aligned = run.aligned
    if aligned is None:
        return
    scores = dict(zip(SCORE_COLUMNS, aligned.scores, strict=True))
    for name in COLUMNS:
        found[:, _PLACE[name]] = scores[name] * aligned.reference_calls, aligned.reference_calls
    found[:, _PLACE["recall"]] = aligned.matched, aligned.reference_calls
    found[:, _PLACE["precision"]] = aligned.matched, aligned.predicted_calls
    for name, value in (("completion", aligned.completion), ("grounding", aligned.grounding)):
        if value is not None:
            found[:, _PLACE[name]] = value, 1


def place_of(name: str) -> int:
    """The column of a ratio."""
    return _PLACE[name]
