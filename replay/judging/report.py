"""Everything that the replies of judges in a run say, as one record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from statistics import fmean

from replay.alignment.judges import TRIMMED_FROM
from replay.alignment.other_benchmarks import mcpbench_rates
from replay.judging.prompts import PROMPTS_OF, RatedRun, versioned
from replay.judging.scores import agreement, coefficient_of_variation, contradictions, rated_models, task_values
from replay.records import Outcome
from replay.records.rating import JudgeReport, Protocol, Rating
from replay.runfile import Run
from replay.runfile.task_runs import outcomes_by_file_and_id, ratings


def report_of(
    run: Run,
    protocol: Protocol,
    task_runs: Callable[[], Iterator[RatedRun]],
    judges: Iterable[str],
    unanswered: Mapping[str, int],
) -> JudgeReport:
    """The report on what the run holds of these task runs and judges.

    Args:
        run: the run file.
        protocol: whose rubric.
        task_runs: gives them, as often as it is called.
        judges: their names.
        unanswered: how many requests about each model have no reply.
    """
    named = tuple(judges)
    kept = rated(run, protocol, task_runs(), named)
    outcomes = outcomes_by_file_and_id(run.connection)
    rates = _mean_rates(kept, outcomes) if protocol == "mcpbench" else {}
    return JudgeReport(
        protocol=protocol,
        prompts=tuple(map(versioned, PROMPTS_OF[protocol])),
        judges=named,
        notes=tuple(_notes(protocol, kept, len(named))),
        models=tuple(rated_models(kept, protocol, unanswered, rates)),
        agreement=tuple(agreement(kept)),
        coefficient_of_variation=coefficient_of_variation(kept, protocol),
        contradictions=tuple(contradictions(kept, protocol, task_runs(), outcomes)),
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


def _mean_rates(
    replies: Iterable[Rating], outcomes: Mapping[tuple[str, str], Mapping[Outcome, int]]
) -> dict[str, float]:
    """The mean of MCP-Bench's three rule-based rates over the rated task runs of each model, where all are known."""
    counts: dict[str, Counter[Outcome]] = {}
    for key, model in {(rating.file, rating.trajectory): rating.model for rating in replies}.items():
        counts.setdefault(model, Counter()).update(outcomes.get(key, {}))
    means = {}
    for model, counted in counts.items():
        found = mcpbench_rates(counted)
        rates = (found.valid_tool_names, found.schema_compliance, found.execution_success)
        known = [rate for rate in rates if rate is not None]
        if len(known) == len(rates):
            means[model] = fmean(known)
    return means


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
