"""The runs of tasks that a run file holds, with all that models are compared by."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from replay.formats.file_names import configuration
from replay.records import Fault, Outcome
from replay.runfile import Run
from replay.runfile.compare_queries import file_locations
from replay.runfile.task_runs import (
    CallGroup,
    TaskScores,
    TrajectoryFacts,
    call_groups,
    grouped_calls,
    task_scores,
    trajectory_facts,
)

Places: TypeAlias = NDArray[np.int64]
"""Of runs in `TaskRuns.runs`, or of groups in `TaskRuns.groups`."""
OUTCOMES: Final = tuple(Outcome)
_FAMILIES: Final = ("domain", "family")
"""Labels under which a benchmark counts its tasks anew."""


class TaskRun(NamedTuple):
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
    recorded_scores: dict[str, float]
    """By the ids of `RECORDED_SCORES`."""
    input_tokens: int | None
    output_tokens: int | None
    seconds: float | None
    """Of the trajectory that started the others."""
    aligned: TaskScores | None

    @property
    def tokens(self) -> int | None:
        """Read and written; None where neither is known."""
        known = [tokens for tokens in (self.input_tokens, self.output_tokens) if tokens is not None]
        return sum(known) if known else None


class Calls(NamedTuple):
    """Calls as columns of equal length."""

    run: Places
    group: Places


@dataclass(frozen=True)
class TaskRuns:
    """All runs of tasks, and the calls in them."""

    runs: tuple[TaskRun, ...]
    groups: tuple[CallGroup, ...]
    calls: Calls
    recovered: Calls
    """Those of the calls that failed and were recovered."""
    run_of_trajectory: Mapping[int, int]

    @cached_property
    def by_model(self) -> dict[str, list[int]]:
        """The places of each model's runs."""
        found: dict[str, list[int]] = defaultdict(list)
        for place, run in enumerate(self.runs):
            found[run.model].append(place)
        return found

    def repeated(self, model: str) -> list[list[int]]:
        """The places of a model's first runs, of its second ones, and so on, of the tasks that were run most often."""
        counts = Counter(self.runs[place].task for place in self.by_model[model])
        most = max(counts.values())
        numbered: list[list[int]] = [[] for _ in range(most)]
        for place in self.by_model[model]:
            if counts[self.runs[place].task] == most:
                numbered[self.runs[place].number].append(place)
        return numbered

    @cached_property
    def outcome_counts(self) -> NDArray[np.int64]:
        """How many calls have which outcome: a row a run, a column an outcome of `OUTCOMES`."""
        column = {outcome: place for place, outcome in enumerate(OUTCOMES)}
        columns = np.array([column[group.outcome] for group in self.groups], dtype=np.int64)
        cells = self.calls.run * len(OUTCOMES) + columns[self.calls.group]
        return np.bincount(cells, minlength=len(self.runs) * len(OUTCOMES)).reshape(-1, len(OUTCOMES))

    def calls_with(self, outcomes: Iterable[Outcome]) -> Places:
        """How many calls of each run were judged so."""
        counts: Places = self.outcome_counts[:, [OUTCOMES.index(outcome) for outcome in outcomes]].sum(axis=1)
        return counts

    @cached_property
    def recovered_counts(self) -> NDArray[np.int64]:
        """How many failed calls of each run were recovered."""
        return np.bincount(self.recovered.run, minlength=len(self.runs))

    @cached_property
    def unfounded_counts(self) -> NDArray[np.int64]:
        """How many calls of each run have a verdict that rests on nothing but the absence of an error or its cause."""
        return self._counts(group.unfounded for group in self.groups)

    def fault_counts(self, fault: Fault) -> NDArray[np.int64]:
        """How many calls of each run did not succeed by this fault."""
        return self._counts(group.fault is fault for group in self.groups)

    def _counts(self, of_group: Iterable[bool]) -> NDArray[np.int64]:
        """How many calls of each run are of the groups that are marked."""
        chosen = np.fromiter(of_group, np.bool_)
        return np.bincount(_chosen(self.calls, chosen).run, minlength=len(self.runs))

    def runs_calling(self, names: Sequence[str | None]) -> set[tuple[int, str]]:
        """Which run has calls of which name.

        Args:
            names: of each group of calls; those without one are left out.
        """
        distinct = [name for name in dict.fromkeys(names) if name]
        number_of = {name: number for number, name in enumerate(distinct)}
        of_group = np.array([number_of.get(name or "", -1) for name in names], dtype=np.int64)
        numbers = of_group[self.calls.group]
        pairs = np.unique(self.calls.run[numbers >= 0] * len(distinct) + numbers[numbers >= 0]).tolist()
        return {(pair // len(distinct), distinct[pair % len(distinct)]) for pair in pairs}

    def of_server(self, server: str) -> TaskRuns:
        """The same runs with their calls to one server alone."""
        chosen = np.array([group.server == server for group in self.groups], dtype=np.bool_)
        return replace(self, calls=_chosen(self.calls, chosen), recovered=_chosen(self.recovered, chosen))


def read_task_runs(run: Run, files: Sequence[int] | None = None) -> TaskRuns:
    """The runs of tasks in a run file, in the order in which they were read.

    Args:
        run: open for reading or writing.
        files: the run's numbers of the files to take; by default all.
    """
    facts = _with_scores_from_elsewhere(_told_apart(list(trajectory_facts(run.connection, files)), _family))
    folders = _configurations(facts, file_locations(run.connection))
    facts = _told_apart(facts, lambda fact: folders[fact.row])
    scores = {found.trajectory: found for found in task_scores(run.connection, files)}
    owners = _owners(facts)
    tokens = {fact.row: (fact.input_tokens, fact.output_tokens) for fact in facts}
    for fact in facts:
        if fact.row != (owner := owners[fact.row]):
            (read, written), (read_here, written_here) = tokens[owner], tokens[fact.row]
            tokens[owner] = _sum_of_known(read, read_here), _sum_of_known(written, written_here)
    numbers: Counter[tuple[str, str]] = Counter()
    places: dict[int, int] = {}
    runs: list[TaskRun] = []
    for fact in facts:
        if owners[fact.row] == fact.row:
            places[fact.row] = len(runs)
            runs.append(_task_run(fact, numbers[fact.model, fact.task], tokens[fact.row], scores.get(fact.row)))
            numbers[fact.model, fact.task] += 1
    run_of_trajectory = {row: places[owner] for row, owner in owners.items()}
    groups = call_groups(run.connection, files)
    calls, recovered = (_calls(run, run_of_trajectory, list(groups), recovered=only) for only in (False, True))
    return TaskRuns(tuple(runs), tuple(groups.values()), calls, recovered, run_of_trajectory)


def _told_apart(facts: Sequence[TrajectoryFacts], group: Callable[[TrajectoryFacts], str]) -> list[TrajectoryFacts]:
    """The trajectories, where an id that tasks of several groups have is that of a task in each of them."""
    own = {fact.row: group(fact) for fact in facts}
    groups: dict[str, set[str]] = defaultdict(set)
    for fact in facts:
        if own[fact.row]:
            groups[fact.task].add(own[fact.row])
    return [
        fact._replace(task=f"{own[fact.row]}/{fact.task}") if own[fact.row] and len(groups[fact.task]) > 1 else fact
        for fact in facts
    ]


def _family(fact: TrajectoryFacts) -> str:
    return "/".join(fact.labels[name] for name in _FAMILIES if name in fact.labels)


def _configurations(facts: Sequence[TrajectoryFacts], paths: Mapping[int, str]) -> dict[int, str]:
    """By row: those of a trajectory's folders that tell the configurations of some model's task apart; "" of none."""
    folders = {fact.row: configuration(paths[fact.file], fact.task) for fact in facts}
    first: dict[tuple[str, str], set[str]] = {}
    telling: set[str] = set()
    for fact in facts:
        own = set(folders[fact.row])
        telling |= own ^ first.setdefault((fact.model, fact.task), own)
    return {row: "/".join(folder for folder in path if folder in telling) for row, path in folders.items()}


def _with_scores_from_elsewhere(facts: Sequence[TrajectoryFacts]) -> list[TrajectoryFacts]:
    """The trajectories; those that are scores alone, from a judge's own file, go to the runs of their tasks.

    Such a file need not name the model: then it is the one that has the task, where there is but one.
    """
    scores = [fact for fact in facts if not fact.calls and fact.recorded_scores]
    if not scores:
        return list(facts)
    runs: dict[str, dict[str, TrajectoryFacts]] = defaultdict(dict)
    for fact in facts:
        if fact.calls:
            runs[fact.task].setdefault(fact.model, fact)
    joined, given = set(), defaultdict[int, dict[str, float]](dict)
    for fact in scores:
        by_model = runs[fact.task]
        run = by_model.get(fact.model) or (next(iter(by_model.values())) if len(by_model) == 1 else None)
        if run is not None:
            joined.add(fact.row)
            given[run.row] |= fact.recorded_scores
    return [
        fact._replace(recorded_scores={**fact.recorded_scores, **given[fact.row]}) if fact.row in given else fact
        for fact in facts
        if fact.row not in joined
    ]


def _sum_of_known(own: int | None, more: int | None) -> int | None:
    """What a task run took with a sub-agent's; None where its own is not known."""
    return own if own is None or more is None else own + more


def _calls(run: Run, run_of_trajectory: Mapping[int, int], groups: Sequence[int], *, recovered: bool) -> Calls:
    """The calls of these trajectories and groups."""
    numbers = np.fromiter(
        grouped_calls(run.connection, recovered=recovered), np.dtype([("run", "i8"), ("group", "i8")])
    )
    places = _looked_up(numbers["run"], run_of_trajectory)
    group_places = _looked_up(numbers["group"], {number: place for place, number in enumerate(groups)})
    known = (places >= 0) & (group_places >= 0)
    return Calls(places[known], group_places[known])


def _looked_up(keys: Places, places: Mapping[int, int]) -> Places:
    """The place of each key; -1 where it has none."""
    unique, inverse = np.unique(keys, return_inverse=True)
    found: Places = np.array([places.get(key, -1) for key in unique.tolist()], dtype=np.int64)[inverse]
    return found


def _chosen(calls: Calls, groups: NDArray[np.bool_]) -> Calls:
    chosen = groups[calls.group]
    return Calls(calls.run[chosen], calls.group[chosen])


def _task_run(
    fact: TrajectoryFacts, number: int, tokens: tuple[int | None, int | None], aligned: TaskScores | None
) -> TaskRun:
    type_ = fact.type or (aligned.type if aligned else None)
    return TaskRun(
        fact.model,
        fact.task,
        number,
        fact.file,
        type_,
        fact.labels,
        fact.passed,
        fact.score,
        fact.recorded_scores,
        *tokens,
        fact.seconds,
        aligned,
    )


def _owners(facts: Sequence[TrajectoryFacts]) -> dict[int, int]:
    """The trajectory whose task each one belongs to: itself, or of a sub-agent the one that started it."""
    if all(fact.parent is None for fact in facts):
        return {fact.row: fact.row for fact in facts}
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
