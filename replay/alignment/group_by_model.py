"""Files of one model put together: many formats hold one trajectory a file."""

from __future__ import annotations

from collections.abc import Sequence

from replay.alignment.aligner import Outcomes, Results
from replay.alignment.reference import Reference, pair_ids


def group_by_model(reference: Reference, results: Sequence[Results]) -> list[Results]:
    """One set of results a model, in the order of the files.

    A task that stands in several files of a model was run several times: each further time begins a further set.
    """
    sets: list[list[Results]] = []
    tasks: list[set[str]] = []
    for file in results:
        own_tasks = _tasks(reference, file)
        for group, known in zip(sets, tasks, strict=True):
            if group[0].model == file.model and not known & own_tasks:
                group.append(file)
                known.update(own_tasks)
                break
        else:
            sets.append([file])
            tasks.append(set(own_tasks))
    return [_merged(group) for group in sets]


def _tasks(reference: Reference, results: Results) -> set[str]:
    """The ids of the tasks, as the reference writes them where it has them."""
    pairs = pair_ids(reference.tasks, results.tasks)
    return {*pairs, *(set(results.tasks) - set(pairs.values()))}


def _merged(group: Sequence[Results]) -> Results:
    if len(group) == 1:
        return group[0]
    known = [file.outcomes for file in group if file.outcomes is not None]
    outcomes: Outcomes = {task: calls for outcomes_of_file in known for task, calls in outcomes_of_file.items()}
    return Results(
        file=group[0].file,
        model=group[0].model,
        tasks={task: signed for file in group for task, signed in file.tasks.items()},
        outcomes=outcomes if known else None,
        files=tuple(member.file for member in group),
    )
