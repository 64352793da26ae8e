"""Everything that the replies of judges in a run say, as one record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from replay.judging.prompts import PROMPTS_OF, RatedRun, versioned
from replay.judging.scores import (
    TRIMMED_FROM,
    agreement,
    coefficient_of_variation,
    contradictions,
    rated_models,
    task_values,
)
from replay.records.rating import JudgeReport, Protocol, Rating
from replay.runfile import Run
from replay.runfile.ratings import outcomes_by_trajectory, ratings


def report_of(
    run: Run,
    protocol: Protocol,
    task_runs: Callable[[], Iterator[RatedRun]],
    judges: Iterable[str],
    unanswered: Mapping[str, int],
    rates: Mapping[str, float],
) -> JudgeReport:
    """The report on what the run holds of these task runs and judges.

    Args:
        run: the run file.
        protocol: whose rubric.
        task_runs: gives them, as often as it is called.
        judges: their names.
        unanswered: how many requests about each model have no reply.
        rates: MCP-Bench's mean of the three rule-based rates, of each model.
    """
    named = tuple(judges)
    kept = rated(run, protocol, task_runs(), named)
    return JudgeReport(
        protocol=protocol,
        prompts=tuple(map(versioned, PROMPTS_OF[protocol])),
        judges=named,
        notes=tuple(_notes(protocol, kept, len(named))),
        models=tuple(rated_models(kept, protocol, unanswered, rates)),
        agreement=tuple(agreement(kept)),
        coefficient_of_variation=coefficient_of_variation(kept, protocol),
        contradictions=tuple(contradictions(kept, protocol, task_runs(), outcomes_by_trajectory(run.connection))),
    )


def rated(run: Run, protocol: Protocol, task_runs: Iterable[RatedRun], judges: Iterable[str]) -> list[Rating]:
    """The replies of these judges about these task runs, by the prompts of this version."""
    asked = {(task_run.file, run.redactor.text(task_run.trajectory.id)) for task_run in task_runs}
    prompts, named = set(map(versioned, PROMPTS_OF[protocol])), set(judges)
    return [
        rating
        for rating in ratings(run.connection, protocol, sorted({file for file, _ in asked}))
        if (rating.file, rating.trajectory) in asked and rating.prompt in prompts and rating.judge in named
    ]


def score_file(replies: list[Rating], protocol: Protocol) -> dict[str, dict[str, dict[str, float]]]:
    """M3-Bench's two columns by model and id, as `replay align --judge` reads them."""
    models = {(rating.file, rating.trajectory): rating.model for rating in replies}
    scores: dict[str, dict[str, dict[str, float]]] = {}
    for key, values in task_values(replies, protocol).items():
        scores.setdefault(models[key], {})[key[1]] = values
    return scores


def _notes(protocol: Protocol, replies: list[Rating], judges: int) -> Iterator[str]:
    if protocol == "m3":
        if judges < TRIMMED_FROM:
            what = "1 judge" if judges == 1 else f"{judges} judges"
            yield f"{what}: no score is dropped; the paper has four, and drops the smallest and the largest"
        if any(rating.prompt == versioned("m3-grounding") for rating in replies):
            yield (
                "grounding of a task: of each reference step the best score over the predicted steps, and their mean; "
                "the paper leaves this open"
            )
        else:
            yield "grounding is not judged: it needs the steps of a reference (--reference FILE)"
    if protocol == "mcpbench":
        yield "scores from 1 to 10 are divided by ten; each is the mean over five orders of the criteria"
