"""Files of one model put together: many formats hold one trajectory a file."""

from __future__ import annotations

from collections.abc import Sequence

from replay.alignment.aligner import Outcomes, Results
from replay.alignment.reference import Reference, pair_ids


def merge(reference: Reference, results: Sequence[Results]) -> list[Results]:
    """One set of results a model, in the order of the files.

    A task that stands in several files of a model was run several times: each further time begins a further set.
    """
    sets: list[list[Results]] = []
    tasks: list[set[str]] = []
    for one in results:
        mine = _tasks(reference, one)
        for group, known in zip(sets, tasks, strict=True):
            if group[0].model == one.model and not known & mine:
                group.append(one)
                known.update(mine)
                break
        else:
            sets.append([one])
            tasks.append(set(mine))
    return [_together(group) for group in sets]


def _tasks(reference: Reference, results: Results) -> set[str]:
    """The ids of the tasks, as the reference writes them where it has them."""
    pairs = pair_ids(reference.tasks, results.tasks)
    return {*pairs, *(set(results.tasks) - set(pairs.values()))}


def _together(group: Sequence[Results]) -> Results:
    if len(group) == 1:
        return group[0]
    known = [one.outcomes for one in group if one.outcomes is not None]
    outcomes: Outcomes = {task: calls for one in known for task, calls in one.items()}
    return Results(
        file=group[0].file,
        model=group[0].model,
        tasks={task: signed for one in group for task, signed in one.tasks.items()},
        outcomes=outcomes if known else None,
        files=tuple(one.file for one in group),
    )
