"""The directory that a trajectory works in: a fresh copy of its template, gone when the trajectory is done."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

from replay.errors import FleetError
from replay.filesystem import lock_file
from replay.interpreter.config.fleet import Fleet

_PREFIX: Final = "replay-"
_LOCK: Final = ".lock"
_MIN_SWEPT_AGE: Final = 60.0
"""Seconds: a younger one may not have been locked yet."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """A directory for one trajectory."""

    path: Path
    """Its real path, without symbolic links."""
    names: tuple[str, ...]
    """All names it goes by, the real path first."""
    note: str | None = None
    """Why it is empty, where it should not be."""


@asynccontextmanager
async def workspace_of(fleet: Fleet, task: str | None) -> AsyncIterator[Workspace]:
    """Make a workspace; remove it at the end whatever happens.

    Raises:
        FleetError: the template cannot be copied.
    """
    home, real_home, lock = _make_home()
    try:
        path = real_home / "workspace"
        template, note = _template_of(fleet, task)
        if template is None:
            path.mkdir()
        else:
            await anyio.to_thread.run_sync(_copy, fleet, template, path)
        names = tuple(dict.fromkeys((str(path), str(home / "workspace"))))
        yield Workspace(path, names, note)
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(_remove, home)
            os.close(lock)


def sweep() -> None:
    """Remove the workspaces of programs that were killed: those whose lock nobody holds any more."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/{_LOCK}"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _MIN_SWEPT_AGE and _is_abandoned(path):
                _remove(path.parent)


def _is_abandoned(path: Path) -> bool:
    try:
        os.close(lock_file(path, create=False))
    except BlockingIOError:
        return False
    return True


def _make_home() -> tuple[Path, Path, int]:
    """A new temporary directory, its real path, and its lock: it is held until we end, however we end."""
    home = Path(tempfile.mkdtemp(prefix=_PREFIX))
    lock = lock_file(home / _LOCK, mode=0o600)
    return home, home.resolve(), lock


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
    except (OSError, shutil.Error) as problem:
        raise FleetError(str(fleet.path), f"{template} cannot be copied: {problem}", "workspace.template") from None
    target.chmod(target.stat().st_mode | stat.S_IRWXU)


def _remove(home: Path) -> None:
    """Remove a tree, also where a server has left directories that cannot be read or written to."""
    shutil.rmtree(home, ignore_errors=True)
    if home.exists():
        for directory, names, _ in os.walk(home):  # from the top: a directory is walked into after it was unlocked
            for name in names:
                path = Path(directory, name)
                if not path.is_symlink():
                    with suppress(OSError):
                        path.chmod(stat.S_IRWXU)
        shutil.rmtree(home, ignore_errors=True)
