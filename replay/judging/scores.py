"""What the replies of judges say: means as the papers take them, agreement, and what verdicts speak against.

Every score is put on [0, 1] first: those from 1 to 10 are divided by ten.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from statistics import correlation, fmean, pstdev, stdev
from typing import Final, TypeAlias

from replay.alignment.judges import TRIMMED_FROM, trimmed_mean
from replay.alignment.other_benchmarks import mcpbench_rates
from replay.judging.prompts import PROMPTS_OF, Prompt, RatedRun, load_prompt, versioned
from replay.records import FAILURES, Outcome, texts_of
from replay.records.rating import (
    Contradiction,
    JudgeAgreement,
    JudgeReport,
    Protocol,
    RatedMeasure,
    RatedModel,
    Rating,
)
from replay.runfile import Run
from replay.runfile.task_runs import outcomes_by_file_and_id
from replay.runfile.task_runs import ratings as ratings_in

TaskRunKey: TypeAlias = tuple[str, str]
"""File and trajectory."""
Values: TypeAlias = dict[str, float]

COMPLETION: Final[Mapping[Protocol, str]] = {
    "m3": "completion_rate",
    "mcpbench": "task_fulfillment",
    "mcpeval": "requirement_coverage",
}
"""The score that tells whether the task was done."""
GROUNDED: Final[Mapping[Protocol, str]] = {
    "m3": "information_grounding_rate",
    "mcpbench": "grounding",
    "mcpeval": "accuracy",
}
"""The score that tells whether the reply rests on what tools answered."""
_HIGH: Final = 0.7
"""From here on a score says yes."""
_NUMBER: Final = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?(?![\w])")
_FEWEST_DIGITS: Final = 3
"""Shorter numbers are counts and list marks, and stand anywhere by chance."""
_SHOWN: Final = 3


def normalised(rating: Rating) -> Values:
    """The scores of one reply in [0, 1]; nothing where it could not be read."""
    most = _prompt(rating.prompt).scale[1]
    return {name: score / most for name, score in (rating.scores or {}).items()}


def _prompt(named: str) -> Prompt:
    """The prompt of a name with its version."""
    return load_prompt(named.partition("/")[0])


def coverage(pairs: Mapping[str, float]) -> float:
    """The score of a task from those of its pairs of steps: of each reference step the best, and their mean.

    The paper leaves open how pairs become a task's score.
    """
    best: dict[str, float] = {}
    for name, score in pairs.items():
        row = name.partition("P")[0]
        best[row] = max(score, best.get(row, 0.0))
    return fmean(best.values())


def task_values(ratings: Iterable[Rating], protocol: Protocol) -> dict[TaskRunKey, Values]:
    """The measures of each task run, over all judges."""
    by_run: dict[TaskRunKey, list[Rating]] = defaultdict(list)
    for rating in ratings:
        if rating.scores is not None:
            by_run[rating.file, rating.trajectory].append(rating)
    return {key: _values(replies, protocol) for key, replies in by_run.items()}


def _values(replies: Sequence[Rating], protocol: Protocol) -> Values:
    """The measures of one task run. Orders of the criteria are averaged within a judge first."""
    by_prompt: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    shuffled: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for reply in replies:
        for name, score in normalised(reply).items():
            shuffled[reply.prompt, name, reply.judge].append(score)
    for (prompt, name, _), scores in shuffled.items():
        by_prompt[prompt][name].append(fmean(scores))
    mean = trimmed_mean if protocol == "m3" else fmean
    values: Values = {}
    for prompt, dimensions in by_prompt.items():
        combined = {name: mean(scores) for name, scores in dimensions.items()}
        axes = _prompt(prompt).axes
        if not axes:
            values[GROUNDED[protocol]] = coverage(combined)
            continue
        values |= combined
        if protocol != "m3":
            values |= {axis: fmean(combined[name] for name in names) for axis, names in axes.items()}
    return values


def columns(protocol: Protocol) -> tuple[str, ...]:
    """The measures of a protocol, in the order of its rubric; means of an axis stand behind its dimensions."""
    names: list[str] = []
    for prompt in PROMPTS_OF[protocol]:
        axes = load_prompt(prompt).axes
        for axis, dimensions in axes.items():
            names += [*dimensions, *([axis] if protocol != "m3" else [])]
        if not axes:
            names.append(GROUNDED[protocol])
    return tuple(names)


def rated_models(
    ratings: Sequence[Rating], protocol: Protocol, unanswered: Mapping[str, int], overall: Mapping[str, float]
) -> Iterator[RatedModel]:
    """A row a model.

    Args:
        ratings: all replies.
        protocol: whose rubric.
        unanswered: how many requests about each model have no reply.
        overall: MCP-Bench's mean of the three rule-based rates, of each model that has them.
    """
    values = task_values(ratings, protocol)
    model_of = {(rating.file, rating.trajectory): rating.model for rating in ratings}
    for model in sorted({*model_of.values(), *unanswered}):
        own = [values[key] for key in values if model_of[key] == model]
        replies = [rating for rating in ratings if rating.model == model]
        measures = [_measure(name, [run[name] for run in own if name in run]) for name in columns(protocol)]
        known = [measure for measure in measures if measure is not None]
        if protocol == "mcpbench":
            known += _overall(known, overall.get(model))
        gap, correlation = _gap(own) if protocol == "mcpeval" else (None, None)
        yield RatedModel(
            model=model,
            measures=tuple(known),
            judgements=sum(rating.scores is not None for rating in replies),
            missing=sum(rating.scores is None for rating in replies) + unanswered.get(model, 0),
            gap=gap,
            correlation=correlation,
        )


def _measure(name: str, scores: Sequence[float]) -> RatedMeasure | None:
    if not scores:
        return None
    deviation = stdev(scores) if len(scores) > 1 else None
    return RatedMeasure(name=name, mean=fmean(scores), deviation=deviation, task_runs=len(scores))


def _overall(measures: Sequence[RatedMeasure], rates: float | None) -> list[RatedMeasure]:
    """MCP-Bench's overall score: the mean of the rule-based rates' mean and of the three axes."""
    by_name = {measure.name: measure for measure in measures}
    axes = [by_name[axis] for axis in load_prompt("mcpbench").axes if axis in by_name]
    if rates is None or not axes:
        return []
    mean = fmean([rates, *(axis.mean for axis in axes)])
    return [RatedMeasure(name="overall", mean=mean, task_runs=axes[0].task_runs)]


def _gap(runs: Sequence[Values]) -> tuple[float | None, float | None]:
    """How far the trajectory's score lies above the completion's, and how they go together."""
    both = [(run["trajectory"], run["completion"]) for run in runs if {"trajectory", "completion"} <= run.keys()]
    if not both:
        return None, None
    trajectory, completion = zip(*both, strict=True)
    varied = len(set(trajectory)) > 1 and len(set(completion)) > 1
    return fmean(trajectory) - fmean(completion), correlation(trajectory, completion) if varied else None


def agreement(ratings: Iterable[Rating]) -> Iterator[JudgeAgreement]:
    """How far each pair of judges agrees, over every score that both gave."""
    given: dict[str, dict[tuple[str, ...], float]] = defaultdict(dict)
    for rating in ratings:
        for name, score in normalised(rating).items():
            given[rating.judge][rating.file, rating.trajectory, rating.prompt, str(rating.shuffle), name] = score
    for first, second in combinations(sorted(given), 2):
        common = sorted(given[first].keys() & given[second].keys())
        if common:
            left, right = ([given[judge][key] for key in common] for judge in (first, second))
            yield JudgeAgreement(
                first=first,
                second=second,
                judgements=len(common),
                spearman=_spearman(left, right),
                mean_difference=fmean(abs(one - other) for one, other in zip(left, right, strict=True)),
            )


def _spearman(left: Sequence[float], right: Sequence[float]) -> float | None:
    if len(set(left)) < 2 or len(set(right)) < 2:
        return None
    from scipy.stats import spearmanr

    return float(spearmanr(left, right).statistic)


def coefficient_of_variation(ratings: Iterable[Rating], protocol: Protocol) -> float | None:
    """Among judges, of task completion: population deviation over mean, and the mean over task runs (A.8).

    None with fewer than two judges. A task run to which all judges gave 0 has none, and is left out.
    """
    done, spreads = COMPLETION[protocol], []
    for judges in _by_judge(ratings, protocol).values():
        means = [fmean(scores[done]) for scores in judges.values() if done in scores]
        if len(means) > 1 and fmean(means):
            spreads.append(pstdev(means) / fmean(means))
    return fmean(spreads) if spreads else None


def contradictions(
    ratings: Iterable[Rating],
    protocol: Protocol,
    task_runs: Iterable[RatedRun],
    outcomes: Mapping[TaskRunKey, Mapping[Outcome, int]],
) -> Iterator[Contradiction]:
    """High scores that the verdicts, or the answers themselves, speak against.

    Args:
        ratings: the replies.
        protocol: whose rubric.
        task_runs: what they are about.
        outcomes: of the calls of each task run.
    """
    by_run = _by_judge(ratings, protocol)
    for task_run in task_runs:
        key = (task_run.file, task_run.trajectory.id)
        reasons = {
            COMPLETION[protocol]: _all_failed(outcomes.get(key, {})),
            GROUNDED[protocol]: _in_no_answer(task_run),
        }
        for judge, scores in by_run.get(key, {}).items():
            for name, why in reasons.items():
                score = fmean(scores[name]) if name in scores else 0.0
                if why and score >= _HIGH:
                    yield Contradiction(
                        model=task_run.trajectory.model,
                        trajectory=task_run.trajectory.id,
                        judge=judge,
                        measure=name,
                        score=score,
                        why=why,
                    )


def _by_judge(ratings: Iterable[Rating], protocol: Protocol) -> dict[TaskRunKey, dict[str, dict[str, list[float]]]]:
    """The scores that each judge gave of a task run, by measure; of pairs of steps, what they come to."""
    by_run: dict[TaskRunKey, dict[str, dict[str, list[float]]]] = defaultdict(lambda: defaultdict(dict))
    for rating in ratings:
        values = normalised(rating)
        if values and not _prompt(rating.prompt).axes:
            values = {GROUNDED[protocol]: coverage(values)}
        for name, score in values.items():
            by_run[rating.file, rating.trajectory][rating.judge].setdefault(name, []).append(score)
    return by_run


def _all_failed(outcomes: Mapping[Outcome, int]) -> str | None:
    failed = sum(outcomes.get(outcome, 0) for outcome in FAILURES)
    if not failed or failed != sum(outcomes.values()):
        return None
    return "its only call failed" if failed == 1 else f"all {failed} of its calls failed"


def _in_no_answer(task_run: RatedRun) -> str | None:
    """The numbers of the final reply that neither the question nor an answer has; derived ones are among them."""
    trajectory = task_run.trajectory
    told = [
        trajectory.task.question or "",
        *(text for call in trajectory.calls() if call.answer is not None for text in texts_of(call.answer)),
    ]
    known = {number for text in told for number in _numbers(text)}
    unknown = [number for number in dict.fromkeys(_numbers(trajectory.final_reply or "")) if number not in known]
    if not unknown:
        return None
    more = f" and {len(unknown) - _SHOWN} more" if len(unknown) > _SHOWN else ""
    return f"stands in no answer: {', '.join(unknown[:_SHOWN])}{more}"


def _numbers(text: str) -> Iterator[str]:
    for match in _NUMBER.finditer(text):
        number = match[0].replace(",", "")
        if sum(character.isdigit() for character in number) >= _FEWEST_DIGITS:
            yield number.rstrip("0").rstrip(".") if "." in number else number


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
        for rating in ratings_in(run.connection, protocol, sorted({file for file, _ in asked}))
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
