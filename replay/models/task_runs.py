"""The runs of tasks that a run file holds, with all that models are compared by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from replay.records import Outcome
from replay.runfile import Run
from replay.runfile.model_queries import (
    CallCount,
    TaskScores,
    TrajectoryFacts,
    call_counts,
    task_scores,
    trajectory_facts,
)


@dataclass
class TaskRun:
    """One run of a task by a model: a trajectory, and those of the sub-agents that it started."""

    model: str
    task: str
    number: int
    """0 for the first run of the task by the model."""
    file: int
    type: str | None
    labels: dict[str, str]
    passed: bool | None
    score: float | None
    tokens: int | None
    rows: list[int] = field(default_factory=list)
    """Of the trajectories, the task's own first."""
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    recovered: int = 0
    calls: list[CallCount] = field(default_factory=list)
    aligned: TaskScores | None = None

    def of_server(self, server: str) -> TaskRun:
        """The calls to one server; what is known of the task as a whole is left out."""
        part = TaskRun(self.model, self.task, self.number, self.file, self.type, self.labels, None, None, None)
        part.add(call for call in self.calls if call.group.server == server)
        return part

    def add(self, calls: Iterable[CallCount]) -> None:
        """Count calls in."""
        for call in calls:
            self.calls.append(call)
            self.outcomes[call.group.outcome] += call.n
            self.recovered += call.recovered


def read_task_runs(run: Run, files: Sequence[int] | None = None) -> list[TaskRun]:
    """The runs of tasks in a run file, in the order in which they were read.

    Args:
        run: open for reading or writing.
        files: the run's numbers of the files to take; by default all.
    """
    facts = list(trajectory_facts(run.connection, files))
    calls = call_counts(run.connection, files)
    scores = {found.trajectory: found for found in task_scores(run.connection, files)}
    numbers: Counter[tuple[str, str]] = Counter()
    own: dict[int, TaskRun] = {}
    owners = _owners(facts)
    for fact in facts:
        if owners[fact.row] == fact.row:
            own[fact.row] = _task_run(fact, numbers[fact.model, fact.task], scores.get(fact.row))
            numbers[fact.model, fact.task] += 1
    for fact in facts:
        task_run = own[owners[fact.row]]
        task_run.rows.append(fact.row)
        task_run.add(calls.get(fact.row, []))
        if fact.row != owners[fact.row] and fact.tokens is not None and task_run.tokens is not None:
            task_run.tokens += fact.tokens
    return list(own.values())


def _task_run(fact: TrajectoryFacts, number: int, aligned: TaskScores | None) -> TaskRun:
    type_ = fact.type or (aligned.type if aligned else None)
    return TaskRun(
        fact.model, fact.task, number, fact.file, type_, fact.labels, fact.passed, fact.score, fact.tokens,
        aligned=aligned,
    )  # fmt: skip


def _owners(facts: Sequence[TrajectoryFacts]) -> dict[int, int]:
    """The trajectory whose task each one belongs to: itself, or of a sub-agent the one that started it."""
    by_name = {(fact.file, fact.name): fact for fact in facts}
    owners: dict[int, int] = {}
    for fact in facts:
        owner, seen = fact, {fact.row}
        while owner.parent is not None and (above := by_name.get((owner.file, owner.parent))) is not None:
            if above.row in seen:
                break
            owner = above
            seen.add(above.row)
        owners[fact.row] = owner.row
    for row, owner_row in owners.items():  # a circle of sub-agents has no owner: each stands for itself
        if owners[owner_row] != owner_row:
            owners[row] = row
    return owners
