"""The task runs that are judged, from a run file or from results files, with what else is known of each task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from replay.alignment.tasks import pair_ids
from replay.formats.results_file import ResultsFile
from replay.formats.task_list import TaskDescription
from replay.judging.prompts import RatedRun
from replay.records import Trajectory, qualified_name
from replay.records.server import Server, Tool
from replay.runfile import Run
from replay.runfile.effects_journal import absolute_path
from replay.runfile.ratings import trajectories_by_path
from replay.runfile.trajectory_queries import trajectory_record

_T = TypeVar("_T")


@dataclass(frozen=True)
class TaskKnowledge:
    """What is known beside the trajectories, by the tasks' ids."""

    tasks: Mapping[str, TaskDescription] = field(default_factory=dict)
    references: Mapping[str, Trajectory] = field(default_factory=dict)

    def rated(self, file: str, trajectory: Trajectory, servers: Mapping[str, Server]) -> RatedRun:
        """A task run with that."""
        names = [trajectory.id, *([trajectory.task.id] if trajectory.task.id else [])]
        return RatedRun(
            file=file,
            trajectory=trajectory,
            task=_named(self.tasks, names),
            reference=_named(self.references, names),
            tools=trajectory.tools or _tools_of(trajectory.servers or tuple(servers.values())),
        )


def runs_in_file(run: Run, knowledge: TaskKnowledge) -> Callable[[], Iterator[RatedRun]]:
    """The task runs of a run file, one at a time; sub-agents are part of the run that started them."""

    def task_runs() -> Iterator[RatedRun]:
        servers = run.servers()
        for path, row in trajectories_by_path(run.connection):
            trajectory = trajectory_record(run.connection, row)
            if trajectory.parent is None:
                yield knowledge.rated(path, trajectory, servers)

    return task_runs


def runs_of(files: Sequence[ResultsFile], knowledge: TaskKnowledge) -> Callable[[], Iterator[RatedRun]]:
    """The task runs of results files."""

    def task_runs() -> Iterator[RatedRun]:
        for file in files:
            for trajectory in file.trajectories():
                if trajectory.parent is None:
                    yield knowledge.rated(absolute_path(file.path), trajectory, {})

    return task_runs


def _named(known: Mapping[str, _T], names: Sequence[str]) -> _T | None:
    """What is known under one of these ids, also where JSON wrote it without leading zeros."""
    pairs = pair_ids(known, names)
    return next((known[identifier] for identifier in pairs), None)


def _tools_of(servers: Sequence[Server]) -> tuple[Tool, ...]:
    return tuple(
        tool.model_copy(update={"name": qualified_name(server.name, tool.name)})
        for server in servers
        for tool in server.tools
    )
