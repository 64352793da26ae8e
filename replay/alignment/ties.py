"""What the step metrics would be under the other assignments that are as good as the one taken."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from replay.alignment.matching import UNITS, Flags, MatchedBlock
from replay.alignment.metrics import MatchSet, Pair, covered_order, merge_purity, recalled_order, step_coherence
from replay.records.alignment import AlignedTask, Definitions, MetricRange, ModelTies, StepRanges, TaskTies

StepPairs: TypeAlias = tuple[tuple[int, int, int], ...]
"""All that the metrics see of some pairs: reference step, predicted step, similarity in millionths; sorted."""

_States: TypeAlias = dict[tuple[int, ...], dict[StepPairs, None]]
"""The calls left of each kind of column, with the step pairs that lead there, as a set in order."""

MAX_ASSIGNMENTS = 500
"""So many different assignments of a task are scored at most, and so many beginnings of one are followed."""

STEP_METRICS = tuple(StepRanges.model_fields)
"""The metrics that can differ between equally good assignments."""


def task_ties(
    chosen: MatchSet, blocks: Sequence[MatchedBlock], definitions: Definitions, limit: int = MAX_ASSIGNMENTS
) -> TaskTies | None:
    """How many optimal assignments of a task the metrics tell apart, and the range of the metrics over them.

    Args:
        chosen: the task under the assignment that was taken.
        blocks: of the task, solved.
        definitions: of the metrics.
        limit: how many assignments are scored at most; where there are more, the ranges are at least so wide.

    Returns:
        None where there is one assignment only.
    """
    if all(block.optimal.only_one for block in blocks):
        return None
    found = [step_pairs(block, limit) for block in blocks]
    options = [pairs for pairs, _ in found]
    count = math.prod(map(len, options))
    complete = count <= limit and all(whole for _, whole in found)
    if count == 1 and complete:
        return None
    values = [_step_metrics(chosen, definitions)]
    for pairs in _combined(options, count, limit):
        steps = tuple(Pair(reference, predicted, units / UNITS) for reference, predicted, units in pairs)
        values.append(_step_metrics(MatchSet(chosen.calls_per_step, chosen.predicted, steps), definitions))
    ranges = {
        name: MetricRange(least=min(column), greatest=max(column))
        for name, column in zip(STEP_METRICS, zip(*values, strict=True), strict=True)
    }
    return TaskTies(assignments=min(count, limit), complete=complete, **ranges)


def model_ties(tasks: Sequence[AlignedTask]) -> ModelTies:
    """How many tasks have a tie, and the range of the model's step metrics over all choices together."""
    calls = sum(task.total_gt_calls for task in tasks)

    def mean(name: str, end: str) -> float:
        values = (getattr(getattr(task.ties, name), end) if task.ties else getattr(task, name) for task in tasks)
        weighted = sum(value * task.total_gt_calls for value, task in zip(values, tasks, strict=True))
        return weighted / calls if calls else 0.0

    tied = [task.ties for task in tasks if task.ties]
    ranges = {name: MetricRange(least=mean(name, "least"), greatest=mean(name, "greatest")) for name in STEP_METRICS}
    return ModelTies(tasks=len(tied), incomplete=sum(not ties.complete for ties in tied), **ranges)


def step_pairs(matched: MatchedBlock, limit: int) -> tuple[list[StepPairs], bool]:
    """The different step pairs of a block's optimal assignments, and whether these are all.

    Equal calls of one step are interchangeable: whichever of them is taken, the pairs are the same. Calls are paired
    row by row; what is remembered is how many of each kind of column are left, and the step pairs so far. Where these
    become more than the limit, evenly spread ones go on.
    """
    chosen = _chosen(matched)
    if matched.optimal.only_one:
        return [chosen], True
    rows, columns = matched.block.rows.in_order, matched.block.columns.in_order
    similarity = matched.block.ordered_similarity.tolist()
    row_alone, column_alone = matched.optimal.may_stay_alone()
    copies = Counter((call.step, call.signature) for call in columns)
    places = [0, *itertools.accumulate(copies.values())][:-1]
    pairs_of_kind = matched.optimal.pairs[:, places]
    kind_alone = column_alone[places]
    states: _States = {tuple(copies.values()): {(): None}}
    complete = True
    for row, call in enumerate(rows):
        following: _States = {}
        for left, found in states.items():
            if row_alone[row]:
                following.setdefault(left, {}).update(found)
            for kind, column in enumerate(places):
                if left[kind] and pairs_of_kind[row, kind]:
                    pair = (call.step, columns[column].step, round(similarity[row][column] * UNITS))
                    rest = (*left[:kind], left[kind] - 1, *left[kind + 1 :])
                    following.setdefault(rest, {}).update((tuple(sorted((*pairs, pair))), None) for pairs in found)
        states, whole = _thinned(_possible(following, pairs_of_kind[row + 1 :], kind_alone), limit)
        complete &= whole
    return list(dict.fromkeys([chosen, *(pairs for found in states.values() for pairs in found)])), complete


def _combined(options: Sequence[Sequence[StepPairs]], count: int, limit: int) -> Iterator[StepPairs]:
    """One option of each block, in every combination; of more than the limit, so many, spread over all of them."""
    stride = next(stride for stride in itertools.count(count * 618 // 1000 + 1) if math.gcd(stride, count) == 1)
    for number in range(min(count, limit)):
        rest = number * stride % count
        pairs: list[tuple[int, int, int]] = []
        for block in options:
            rest, place = divmod(rest, len(block))
            pairs += block[place]
        yield tuple(pairs)


def _chosen(matched: MatchedBlock) -> StepPairs:
    reference = {call.index: call.step for call in matched.block.rows.calls}
    predicted = {call.index: call.step for call in matched.block.columns.calls}
    pairs = ((reference[row], predicted[column], round(value * UNITS)) for row, column, value in matched.matches)
    return tuple(sorted(pairs))


def _thinned(states: _States, limit: int) -> tuple[_States, bool]:
    """Evenly spread ones of the states' step pairs, about as many as the limit; and whether none was dropped."""
    count = sum(map(len, states.values()))
    if count <= limit:
        return states, True
    every = -(-count // limit)
    kept = ((left, pairs) for left, found in states.items() for pairs in found)
    thinned: _States = {}
    for left, pairs in itertools.islice(kept, 0, None, every):
        thinned.setdefault(left, {})[pairs] = None
    return thinned, False


def _possible(states: _States, later: Flags, alone: Flags) -> _States:
    """The states in which the columns that may not stay alone can still get a row: at the end, none of them is left."""
    needed = [(kind, int(count)) for kind, count in enumerate(later.sum(axis=0)) if not alone[kind]]
    return {left: found for left, found in states.items() if all(left[kind] <= rows for kind, rows in needed)}


def _step_metrics(matches: MatchSet, definitions: Definitions) -> tuple[float, float, float]:
    order = covered_order if definitions == "published" else recalled_order
    return step_coherence(matches), order(matches), merge_purity(matches)
