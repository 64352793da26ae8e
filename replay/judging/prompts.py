"""What judges read: the task runs of a run file or of results files, in prompts of our own wording in `prompts/`."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any, Final, TypeVar

import yaml
from pydantic import Field

from replay.alignment.tasks import pair_ids
from replay.formats.results_file import ResultsFile
from replay.formats.task_list import TaskDescription
from replay.records import Call, Trajectory, digest, qualified_name, texts_of
from replay.records.base import Record
from replay.records.rating import Protocol
from replay.records.server import Server, Tool
from replay.runfile import Run
from replay.runfile.effects_journal import absolute_path
from replay.runfile.task_runs import trajectories_by_path
from replay.runfile.trajectory_queries import trajectory_record
from replay.safety.text import cut

_MAX_ARGUMENTS: Final = 600
_MAX_ANSWER: Final = 1_200
_MAX_DESCRIPTION: Final = 160
PROMPTS_OF: Final[Mapping[Protocol, tuple[str, ...]]] = {
    "m3": ("m3-completion", "m3-grounding"),
    "mcpbench": ("mcpbench",),
    "mcpeval": ("mcpeval-trajectory", "mcpeval-completion"),
}
_NOT_GIVEN: Final = "(not given)"


class Prompt(Record):
    """A prompt file."""

    version: int
    scale: tuple[float, float]
    whole_numbers: bool = False
    reasons: bool = False
    """A sentence of reasoning is asked for with each score."""
    shuffles: int = 0
    """In how many orders of its criteria it is asked; 0: once, in its own."""
    needs_reference: bool = False
    system: str
    user: str
    axes: dict[str, dict[str, str]] = Field(default_factory=dict)
    """The criteria: what each dimension of each axis means. Empty where the scores are of pairs of steps."""


class RatedRun(Record):
    """A task run with all that a judge may see of it."""

    file: str
    trajectory: Trajectory
    task: TaskDescription | None = None
    reference: Trajectory | None = None
    tools: tuple[Tool, ...] = ()


class Asked(Record):
    """One prompt as it is sent, and what its reply must hold."""

    prompt: str
    shuffle: int
    system: str
    user: str
    dimensions: tuple[str, ...] = ()
    pairs: tuple[int, int] | None = None
    """Steps of the reference and of the prediction, where scores are of their pairs."""
    scale: tuple[float, float]
    whole_numbers: bool

    @property
    def text(self) -> str:
        """Both messages."""
        return f"{self.system}\n\n{self.user}"

    @property
    def digest(self) -> str:
        """SHA-256 of both messages."""
        return digest(self.text)


@cache
def load_prompt(name: str) -> Prompt:
    """A prompt file by its name, without `.yaml`."""
    text = files("replay.judging").joinpath("prompts", f"{name}.yaml").read_text("utf-8")
    return Prompt.model_validate(yaml.safe_load(text))


def versioned(name: str) -> str:
    """Name and version of a prompt, as they stand beside every number."""
    return f"{name}/{load_prompt(name).version}"


def prompts_for(run: RatedRun, protocol: Protocol) -> Iterator[Asked]:
    """What a judge is asked about a task run; what needs a reference that is not there, or has no step, is left out."""
    for name in PROMPTS_OF[protocol]:
        prompt = load_prompt(name)
        if not prompt.needs_reference:
            for shuffle in range(1, prompt.shuffles + 1) if prompt.shuffles else (0,):
                yield _with_criteria(name, prompt, run, shuffle)
        elif run.reference is not None and run.reference.steps:
            yield _of_pairs(name, prompt, run, run.reference)


def _with_criteria(name: str, prompt: Prompt, run: RatedRun, shuffle: int) -> Asked:
    axes = [(axis, list(dimensions.items())) for axis, dimensions in prompt.axes.items()]
    if shuffle:
        order = random.Random(shuffle)  # noqa: S311 - an order that must come again, no secret
        order.shuffle(axes)
        for _, dimensions in axes:
            order.shuffle(dimensions)
    criteria = "\n".join(
        f"{axis.replace('_', ' ').upper()}\n" + "\n".join(f"- {dimension}: {about}" for dimension, about in dimensions)
        for axis, dimensions in axes
    )
    named = [dimension for _, dimensions in axes for dimension, _ in dimensions]
    user = _user(prompt, run, criteria=criteria, answer=_shape(prompt, named))
    return _filled(name, prompt, shuffle, user=user, dimensions=tuple(named))


def _of_pairs(name: str, prompt: Prompt, run: RatedRun, reference: Trajectory) -> Asked:
    rows, columns = len(reference.steps), max(1, len(run.trajectory.steps))
    row = ", ".join(f"<R1 P{column}>" for column in range(1, columns + 1))
    shape = f'{{"scores": [[{row}], ...]}} with {rows} rows, one a step R, of {columns} numbers each, one a step P'
    user = _user(prompt, run, reference=step_texts(reference, "R"), answer=shape)
    return _filled(name, prompt, 0, user=user, pairs=(rows, columns))


def _filled(name: str, prompt: Prompt, shuffle: int, **asked: Any) -> Asked:
    about: dict[str, Any] = {
        "system": prompt.system.strip(),
        "scale": prompt.scale,
        "whole_numbers": prompt.whole_numbers,
    }
    return Asked(prompt=versioned(name), shuffle=shuffle, **about, **asked)


def _user(prompt: Prompt, run: RatedRun, **more: str) -> str:
    task, trajectory = run.task, run.trajectory
    return (
        Template(prompt.user)
        .substitute(
            {
                "task": (task.question if task else trajectory.task.question) or _NOT_GIVEN,
                "concrete": (task.concrete if task else None) or _NOT_GIVEN,
                "dependencies": (task.dependencies if task else None) or _NOT_GIVEN,
                "trajectory": step_texts(trajectory, "P"),
                "reply": trajectory.final_reply or "(there is none)",
                "rounds": str(len(trajectory.steps)),
                "tools": tool_lines(run.tools),
                "tool_count": str(len(run.tools)),
                **more,
            }
        )
        .strip()
    )


def _shape(prompt: Prompt, dimensions: Sequence[str]) -> str:
    least, most = prompt.scale
    number = f"<{least:g} to {most:g}>"
    fields = [
        part
        for name in dimensions
        for part in ([f'"{name}_reasoning": "<why>"'] if prompt.reasons else []) + [f'"{name}": {number}']
    ]
    return "{" + ", ".join(fields) + "}"


def step_texts(trajectory: Trajectory, letter: str) -> str:
    """The steps, numbered with a letter: `P1: ...`."""
    return "\n".join(_lines(trajectory, letter)) or f"{letter}1: (no tool was called)"


def _lines(trajectory: Trajectory, letter: str) -> Iterator[str]:
    for number, step in enumerate(trajectory.steps, 1):
        yield f"{letter}{number}:"
        for call in step.calls:
            yield f"  call {_call(call)}"
            yield f"  answer {_answer(call)}"


def _call(call: Call) -> str:
    if call.unreadable == "call":
        return f"(not readable as a call) {cut(call.raw or '', _MAX_ARGUMENTS)}"
    arguments = call.raw if call.arguments is None else json.dumps(call.arguments, ensure_ascii=False)
    return f"{call.name or '(no name)'} {cut(arguments or '', _MAX_ARGUMENTS)}"


def _answer(call: Call) -> str:
    if call.answer is None:
        return "(none)"
    return cut("\n".join(texts_of(call.answer)), _MAX_ANSWER) or "(empty)"


def tool_lines(tools: Iterable[Tool]) -> str:
    """A line a tool."""
    lines = (f"- {tool.name}: {cut((tool.description or '').strip(), _MAX_DESCRIPTION)}" for tool in tools)
    return "\n".join(lines) or "(not given)"


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
        for path, _, row in trajectories_by_path(run.connection):
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
