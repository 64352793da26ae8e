"""What models are compared by. Every measure is a ratio of two sums over tasks, so that tasks can be drawn again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from replay.alignment.averages import COLUMNS
from replay.models.task_runs import TaskRun
from replay.records import FAILURES, Outcome
from replay.records.model_comparison import Measure
from replay.records.summary import well_formed
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


def sums_of(run: TaskRun) -> tuple[list[float], list[float]]:
    """Of one run of a task: the part of every ratio, and the whole of every ratio."""
    outcomes = run.outcomes
    calls, inconclusive = outcomes.total(), outcomes[Outcome.INCONCLUSIVE]
    judged = calls - inconclusive
    parts = {str(outcome): float(outcomes[outcome]) for outcome in _JUDGED}
    wholes = dict.fromkeys(parts, float(judged))
    parts |= {"well_formed": well_formed(outcomes), "inconclusive": inconclusive, "calls_a_task": calls}
    wholes |= {"well_formed": judged, "inconclusive": calls, "calls_a_task": 1.0}
    parts["recovery"], wholes["recovery"] = run.recovered, sum(outcomes[outcome] for outcome in FAILURES)
    once = {"task_success": run.passed, "score": run.score, "tokens": run.tokens}
    aligned = run.aligned
    if aligned is not None:
        once |= {"completion": aligned.completion, "grounding": aligned.grounding}
        weight = float(aligned.reference_calls)
        scores = dict(zip(SCORE_COLUMNS, aligned.scores, strict=True))
        parts |= {name: scores[name] * weight for name in COLUMNS} | {"recall": aligned.matched}
        wholes |= dict.fromkeys(COLUMNS, weight)
        parts["precision"], wholes["precision"] = aligned.matched, aligned.predicted_calls
    for name, value in once.items():
        if value is not None:
            parts[name], wholes[name] = float(value), 1.0
    return [parts.get(name, 0.0) for name in RATIOS], [wholes.get(name, 0.0) for name in RATIOS]


def place_of(name: str) -> int:
    """The column of a ratio."""
    return _PLACE[name]
