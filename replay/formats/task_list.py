"""Tasks without trajectories: the lists that benchmarks hand to a driver, and what a judge may know of a task.

M3-Bench's `{id, question, image, type}`; MCP-Bench's `{server_tasks: [{server_name, tasks: [{task_id, task_description,
fuzzy_description, dependency_analysis, distraction_servers}]}]}`; a plain list of either, in JSON or JSON lines; and
any results or reference file, whose questions are the tasks.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from replay.errors import FormatError, InputError
from replay.formats import open_file
from replay.formats.fields import as_object, first_of, identifier_of, objects, text_of, to_json
from replay.json_values import parse_json
from replay.records.base import Record
from replay.safety.filesystem import read_small_file

_MAX_BYTES: Final = 256_000_000
_QUESTIONS: Final = ("question", "fuzzy_description", "task_description", "description", "prompt", "query")
_SERVERS_JOINED: Final = "+"


class TaskDescription(Record):
    """One task."""

    id: str
    question: str
    """As the model gets it."""
    type: str | None = None
    images: tuple[str, ...] = ()
    concrete: str | None = None
    """The same task said in full, which the model does not get."""
    dependencies: str | None = None
    """An analysis of which calls hang on which, which the model does not get."""
    servers: tuple[str, ...] = ()
    """Those that the task needs; empty where nothing says."""
    distractors: tuple[str, ...] = ()
    """Servers that are offered beside them."""


def read_tasks(path: Path) -> list[TaskDescription]:
    """The tasks of a file, each id once.

    Raises:
        InputError: it cannot be read, or has no task.
    """
    tasks = {task.id: task for task in _listed(path)} or {task.id: task for task in _asked(path)}
    if not tasks:
        raise InputError(str(path), 'no task in it: expected records with "id" and "question"')
    return list(tasks.values())


def _listed(path: Path) -> Iterator[TaskDescription]:
    try:
        text = read_small_file(path, _MAX_BYTES).decode("utf-8-sig")
    except OSError as error:
        raise InputError(str(path), f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        return
    try:
        yield from _tasks_in(parse_json(text), ())
    except ValueError:
        try:
            yield from _tasks_in([parse_json(line) for line in text.splitlines() if line.strip()], ())
        except ValueError:
            return


def _tasks_in(value: Any, servers: tuple[str, ...]) -> Iterator[TaskDescription]:
    """The tasks of a list or an object, below whatever keys they stand."""
    record = as_object(value)
    if record is None:
        for item in objects(value):
            yield from _tasks_in(item, servers)
        return
    identifier = identifier_of(first_of(record, "id", "task_id", "name"))
    question = text_of(first_of(record, *_QUESTIONS))
    if identifier is not None and question is not None:
        yield _task(record, identifier, question, servers)
        return
    own = _names(first_of(record, "servers", "server_name")) or servers
    for key, item in record.items():
        named = as_object(item)
        if named is not None and "id" not in named and text_of(first_of(named, *_QUESTIONS)) is not None:
            yield from _tasks_in({"id": key, **named}, own)
        elif isinstance(item, dict | list):
            yield from _tasks_in(item, own)


def _task(record: dict[str, Any], identifier: str, question: str, servers: tuple[str, ...]) -> TaskDescription:
    concrete = text_of(record.get("task_description"))
    dependencies = record.get("dependency_analysis")
    return TaskDescription(
        id=identifier,
        question=question,
        type=text_of(record.get("type")),
        images=_names(first_of(record, "images", "image")),
        concrete=concrete if concrete != question else None,
        dependencies=dependencies if isinstance(dependencies, str) or dependencies is None else to_json(dependencies),
        servers=_names(first_of(record, "servers", "server_name")) or servers,
        distractors=_names(record.get("distraction_servers")),
    )


def _names(value: Any) -> tuple[str, ...]:
    if isinstance(value, str) and value:
        return tuple(value.split(_SERVERS_JOINED))
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _asked(path: Path) -> Iterator[TaskDescription]:
    try:
        file = open_file(path)
    except FormatError as error:
        raise InputError(str(path), f"no list of tasks, and no results file: {error.message}") from None
    for trajectory in file.trajectories():
        if trajectory.task.question:
            task = trajectory.task
            yield TaskDescription(id=trajectory.id, question=task.question or "", type=task.type, images=task.images)
