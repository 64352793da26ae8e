"""The directory that a trajectory works in: a fresh copy of its template, gone when the trajectory is done."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread

from replay.errors import FleetError
from replay.interpreter.config.fleet import Fleet
from replay.interpreter.owned_directory import make_owned_directory


@dataclass(frozen=True, slots=True)
class Workspace:
    """A directory for one trajectory."""

    path: Path
    """Its real path, without symbolic links."""
    names: tuple[str, ...]
    """All names it goes by, the real path first."""
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
        path = home.path.resolve() / "workspace"
        template, note = _template_of(fleet, task)
        if template is None:
            path.mkdir()
        else:
            await anyio.to_thread.run_sync(_copy, fleet, template, path)
        names = tuple(dict.fromkeys((str(path), str(home.path / "workspace"))))
        yield Workspace(path, names, note or home.note)
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
        if "/" in task or os.sep in task or task in {".", ".."} or "\0" in task:
            return None, "the task id is not a directory name, so the workspace is empty"
        template = template.replace("${task}", task)
    path = fleet.directory / Path(template).expanduser()
    if not path.is_dir():
        return None, f"there is no workspace template {template}, so the workspace is empty"
    return path, None


def _copy(fleet: Fleet, template: Path, target: Path) -> None:
    try:
        shutil.copytree(template, target, symlinks=True)
    except OSError as problem:
        why = problem.args[0][0][-1] if isinstance(problem, shutil.Error) else problem
        raise FleetError(str(fleet.path), f"{template} cannot be copied: {why}", "workspace.template") from None
    target.chmod(target.stat().st_mode | stat.S_IRWXU)
