"""The M3-Bench metrics as pure functions over a match set, under both sets of definitions.

Notation of the paper: N reference calls, M matched pairs, S their similarities; s a reference step with n_s calls.
Every result lies in [0, 1].
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

from replay.records.alignment import (
    COLUMNS,
    METRICS,
    Aggregate,
    AlignedTask,
    Definitions,
    JudgeScores,
    M3BenchScores,
    Scores,
)


@dataclass(frozen=True, slots=True)
class Pair:
    """A matched pair, by the steps (from 0) that its calls stand in."""

    reference_step: int
    predicted_step: int
    similarity: float


@dataclass(frozen=True, slots=True)
class MatchSet:
    """All that the metrics know of a task."""

    calls_per_step: tuple[int, ...]
    """n_s: reference calls in each reference step."""
    predicted: int
    """Number of predicted calls."""
    pairs: tuple[Pair, ...]

    @property
    def reference(self) -> int:
        """N."""
        return sum(self.calls_per_step)


def score(matches: MatchSet, tau_strong: float, definitions: Definitions) -> M3BenchScores:
    """M3-Bench's metrics of one task. With no call on either side, similarities are 0 and the rest 1."""
    if not matches.reference and not matches.predicted:
        return M3BenchScores(**{name: float(not name.startswith("argument")) for name in M3BenchScores.model_fields})
    published = definitions == "published"
    return M3BenchScores(
        recall=recall(matches),
        precision=precision(matches),
        argument_similarity=(
            covered_similarity(matches)
            if published
            else mean_strong((pair.similarity for pair in matches.pairs), tau_strong)
        ),
        argument_similarity_strong=covered_similarity(matches, tau_strong),
        step_coherence=step_coherence(matches),
        order_consistency=covered_order(matches) if published else recalled_order(matches),
        merge_purity=merge_purity(matches),
    )


def recall(matches: MatchSet) -> float:
    """M / N; 0 where N = 0. Equation 2, first half."""
    return _ratio(len(matches.pairs), matches.reference)


def precision(matches: MatchSet) -> float:
    """M / predicted calls; 0 where there are none. Equation 2, second half."""
    return _ratio(len(matches.pairs), matches.predicted)


def covered_similarity(matches: MatchSet, tau: float = -1.0) -> float:
    """Published: share of reference calls matched with S >= tau, times their mean S: the sum of those S over N."""
    return _ratio(sum(max(pair.similarity, 0.0) for pair in matches.pairs if pair.similarity >= tau), matches.reference)


def mean_strong(similarities: Iterable[float], tau_strong: float) -> float:
    """Equation 2: mean S over the matches of a task, or of many together, with S >= tau_strong; 0 without any."""
    strong = [similarity for similarity in similarities if similarity >= tau_strong]
    return max(0.0, _ratio(sum(strong), len(strong)))


def step_coherence(matches: MatchSet) -> float:
    """Sum over s of matched_s / k_s, over N, where k_s is the number of predicted steps that s's matches fall in.

    That is the published one (matched_s / n_s x 1 / k_s, weighted by n_s), and equation 4 as well (recall times the
    mean of 1 / k_s weighted by matched_s): the same number.
    """
    landed: dict[int, list[int]] = defaultdict(list)
    for pair in matches.pairs:
        landed[pair.reference_step].append(pair.predicted_step)
    return _ratio(sum(len(steps) / len(set(steps)) for steps in landed.values()), matches.reference)


def in_order(matches: MatchSet) -> float:
    """1 - inversions / comparable pairs: pairs whose calls stand in two different steps on both sides; 1 if none."""
    comparable = inversions = 0
    for first, second in combinations(matches.pairs, 2):
        reference = first.reference_step - second.reference_step
        predicted = first.predicted_step - second.predicted_step
        comparable += bool(reference and predicted)
        inversions += reference * predicted < 0
    return 1.0 - _ratio(inversions, comparable)


def covered_order(matches: MatchSet) -> float:
    """Published: `in_order` times the share of the reference's cross-step pairs of calls of which both are matched.

    0 where the reference has no cross-step pair, as in a single step.
    """
    matched = Counter(pair.reference_step for pair in matches.pairs)
    return in_order(matches) * _ratio(_cross_pairs(list(matched.values())), _cross_pairs(matches.calls_per_step))


def recalled_order(matches: MatchSet) -> float:
    """Equation 5: recall times `in_order`."""
    return recall(matches) * in_order(matches)


def merge_purity(matches: MatchSet) -> float:
    """Equation 6: recall times (1 - H(G|P) / log G_active), the steps weighted by similarity.

    G_active is the number of reference steps that have a match; the second factor is 1 where that is one or none.
    """
    mass: dict[int, Counter[int]] = defaultdict(Counter)
    active = {pair.reference_step for pair in matches.pairs if pair.similarity > 0}
    for pair in matches.pairs:
        if pair.similarity > 0:
            mass[pair.predicted_step][pair.reference_step] += pair.similarity  # type: ignore[assignment]
    if len(active) <= 1:
        return recall(matches)
    total = sum(sum(column.values()) for column in mass.values())
    entropy = sum(sum(column.values()) / total * _entropy(list(column.values())) for column in mass.values())
    return recall(matches) * min(1.0, max(0.0, 1.0 - entropy / math.log(len(active))))


def aggregate(
    tasks: Sequence[AlignedTask], definitions: Definitions = "published", tau_strong: float = 0.8
) -> Aggregate:
    """The metrics over tasks: recall and precision from the summed counts, the others as their weights say.

    By the equations argument similarity is pooled: one mean over the strong matches of all tasks.
    """
    calls = sum(task.total_gt_calls for task in tasks)
    predicted = sum(task.total_pred_calls for task in tasks)
    matched = sum(task.matched for task in tasks)
    scores: dict[str, Any] = {
        name: _ratio(matched, sum(map(metric.weight, tasks))) if metric.counts_matches else _mean_of(name, tasks)
        for name, metric in METRICS.items()
    }
    if definitions == "equations":
        similarities = (similarity for task in tasks for _, _, similarity in task.matches)
        scores["argument_similarity"] = mean_strong(similarities, tau_strong)
    return Aggregate(
        num_ids=len(tasks),
        total_gt_calls=calls,
        total_pred_calls=predicted,
        matched=matched,
        average_steps=_ratio(sum(task.steps for task in tasks), len(tasks)),
        average_calls=_ratio(predicted, len(tasks)),
        **scores,
    )


def _mean_of(name: str, tasks: Sequence[AlignedTask]) -> float | None:
    """The mean of a metric over tasks by their weights; None where an older version did not compute it."""
    values, weights = [getattr(task, name) for task in tasks], list(map(METRICS[name].weight, tasks))
    if None in values:
        return None
    return _ratio(sum(value * weight for value, weight in zip(values, weights, strict=True)), sum(weights))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _cross_pairs(counts: Sequence[int]) -> int:
    """Pairs of calls that stand in different steps, from the calls of each step."""
    return (sum(counts) ** 2 - sum(count**2 for count in counts)) // 2


def _entropy(masses: Sequence[float]) -> float:
    total = sum(masses)
    return -sum(mass / total * math.log(mass / total) for mass in masses if mass > 0)


OVERALL: Final = ("information_grounding_rate",)
"""What a judge gives that the average of the paper's overall table has beside the six columns."""
BY_TASK: Final = ("completion_rate", "information_grounding_rate")
"""The same of its per-task tables: all eight."""


def averaged(scores: Scores, judge: JudgeScores | None, judged: Sequence[str]) -> list[float]:
    """What an average is over: the six columns, and of these scores what the judge gave."""
    given = [getattr(judge, name, None) for name in judged]
    return [getattr(scores, name) for name in COLUMNS] + [value for value in given if value is not None]


def overall_average(scores: Scores, judge: JudgeScores | None = None) -> float:
    """The mean as in the paper's overall table, without task completion; where no judge gave grounding, of the six."""
    columns = averaged(scores, judge, OVERALL)
    return sum(columns) / len(columns)


def task_average(scores: Scores, judge: JudgeScores | None = None) -> float:
    """The mean as in the paper's per-task tables; what no judge gave is left out."""
    columns = averaged(scores, judge, BY_TASK)
    return sum(columns) / len(columns)
