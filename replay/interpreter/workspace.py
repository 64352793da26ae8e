"""The directory that a trajectory works in: a fresh copy of its template, gone when the trajectory is done.

What was recorded under one directory is replayed under another: paths are rewritten in arguments, and back in answers.
"""

from __future__ import annotations

import re
import shutil
import stat
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from replay.errors import FleetError
from replay.interpreter.config.fleet import Fleet
from replay.interpreter.owned_directory import make_owned_directory
from replay.records import Answer, RpcError, ToolResult, TransportFault
from replay.safety.filesystem import is_folder_name

DEFAULT_PLACE: Final = "/workspace"
_BEFORE: Final = r"(?:(?<![\w.~+%/\\-])|(?<=\\[nrt\"'])|(?<=://)|(?<=:\\/\\/))"
"""Where a path may begin: not inside another; but after a JSON escape or a URL's scheme it may."""
_AFTER: Final = r"(?![\w~+%-])(?!\.\w)"
"""Where the directory's name ends: `/workspace` is no part of `/workspace2` or of `/workspace.bak`."""
_MAX_TEMPLATE_BYTES: Final = 8 << 30
_MAX_ESCAPES: Final = 64
"""Backslashes before the slashes of a path that stands in JSON in JSON."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """A directory for one trajectory."""

    path: Path
    """Its real path, without symbolic links."""
    names: tuple[str, ...]
    """All names it goes by, the real path first."""
    temporary: Path
    """For the temporary files of its servers, beside it."""
    note: str | None = None
    """Why it is empty, or not where it should be."""


@asynccontextmanager
async def workspace_of(fleet: Fleet, task: str | None) -> AsyncIterator[Workspace]:
    """Make a workspace; remove it at the end whatever happens.

    Raises:
        FleetError: the template cannot be copied.
    """
    home = await anyio.to_thread.run_sync(make_owned_directory)
    try:
        path, temporary = home.path.resolve() / "workspace", home.path.resolve() / "tmp"
        temporary.mkdir()
        template, note = _template_of(fleet, task)
        if template is None:
            path.mkdir()
        else:
            await anyio.to_thread.run_sync(_copy, fleet, template, path)
        names = tuple(dict.fromkeys((str(path), str(home.path / "workspace"))))
        yield Workspace(path, names, temporary, note or home.note)
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(home.remove)


def _template_of(fleet: Fleet, task: str | None) -> tuple[Path | None, str | None]:
    template = fleet.workspace.template
    if template is None:
        return None, None
    if "${task}" in template:
        if not task:
            return None, "the trajectory has no task id, so its workspace is empty"
        if not is_folder_name(task):
            return None, "the task id is not a directory name, so the workspace is empty"
        template = template.replace("${task}", task)
    path = fleet.directory / Path(template).expanduser()
    if not path.is_dir():
        return None, f"there is no workspace template {template}, so the workspace is empty"
    return path, None


def _copy(fleet: Fleet, template: Path, target: Path) -> None:
    left = _MAX_TEMPLATE_BYTES

    def copy_file(source: str, copy: str) -> None:
        nonlocal left
        found = Path(source).stat()
        if not stat.S_ISREG(found.st_mode):
            raise shutil.SpecialFileError(f"{source} is not a regular file")
        left -= found.st_size
        if left < 0:
            why = f"holds more than {_MAX_TEMPLATE_BYTES >> 30} GB"
            raise FleetError(str(fleet.path), f"{template} {why}", "workspace.template")
        shutil.copy2(source, copy)

    try:
        shutil.copytree(template, target, symlinks=True, copy_function=copy_file)
    except OSError as problem:
        why = problem.args[0][0][-1] if isinstance(problem, shutil.Error) else problem
        raise FleetError(str(fleet.path), f"{template} cannot be copied: {why}", "workspace.template") from None
    target.chmod(target.stat().st_mode | stat.S_IRWXU)


class PathMap:
    """Rewrites the recorded places of a workspace to where it is now, and back."""

    def __init__(self, recorded: Sequence[str], actual: Sequence[str]) -> None:
        """Map paths.

        Args:
            recorded: what the workspace was called when it was recorded; answers speak of the first, or of
                `/workspace` where there is none, which then is rewritten in arguments too: they may come from answers.
            actual: what it is called now, the first being the name to use, the others its aliases.
        """
        places = tuple(recorded) or (DEFAULT_PLACE,)
        self._there = _Rewriter(places, actual[0])
        self._back = _Rewriter(actual, places[0])

    def arguments(self, value: Any) -> Any:
        """A JSON value with the recorded places replaced by the actual one."""
        return self._there.value(value)

    def answer(self, answer: Answer) -> Answer:
        """An answer with the actual place replaced by the recorded one."""
        if isinstance(answer, ToolResult):
            content = tuple(self._back.value(block) for block in answer.content)
            return answer.model_copy(update={"content": content, "structured": self._back.value(answer.structured)})
        if isinstance(answer, RpcError):
            changes = {"message": self._back.text(answer.message), "data": self._back.value(answer.data)}
            return answer.model_copy(update=changes)
        if isinstance(answer, TransportFault):
            return answer.model_copy(update={"message": self._back.text(answer.message)})
        return answer.model_copy(update={"text": self._back.text(answer.text)})


class _Rewriter:
    """Replaces directories by another, at path boundaries, in plain and in JSON-escaped form."""

    def __init__(self, places: Sequence[str], target: str) -> None:
        self._target = target
        hints = {re.escape(max(place.split("/"), key=len)) for place in places}
        self._hint = re.compile("|".join(hints))
        self._reach = 2 * max(map(len, places)) + _MAX_ESCAPES
        longest_first = sorted(set(places), key=len, reverse=True)
        forms = "|".join(re.escape(place[1:]).replace("/", r"\1/") for place in longest_first)
        self._pattern = re.compile(rf"{_BEFORE}(\\*)/(?:{forms}){_AFTER}")

    def text(self, text: str) -> str:
        """The text rewritten. Looks only around each hint: the pattern is slow on answers of many megabytes."""
        pieces: list[str] = []
        done = 0
        for hint in self._hint.finditer(text):
            if hint.start() >= done:
                found = self._pattern.search(text, max(done, hint.start() - self._reach), hint.end() + self._reach)
                if found is not None:
                    pieces += (text[done : found.start()], self._target.replace("/", found[1] + "/"))
                    done = found.end()
        return "".join((*pieces, text[done:])) if pieces else text

    def value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(key) if isinstance(key, str) else key: self.value(item) for key, item in value.items()}
        return [self.value(item) for item in value] if isinstance(value, list) else value


@asynccontextmanager
async def task_group() -> AsyncIterator[TaskGroup]:
    """A task group whose tasks are cancelled at its end, and whose body's own exception comes out as it is."""
    failure: Exception | None = None
    async with anyio.create_task_group() as tasks:
        try:
            yield tasks
        except Exception as problem:  # noqa: BLE001 - raised again below
            failure = problem
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure


async def all_at_once(jobs: Iterable[Callable[[], Coroutine[Any, Any, None]]]) -> None:
    """Run jobs side by side; return when all are done."""
    async with anyio.create_task_group() as tasks:
        for job in jobs:
            tasks.start_soon(job)
