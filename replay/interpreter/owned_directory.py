"""Directories that this program made, marked as its own: they alone are swept, and no link in them is followed."""

from __future__ import annotations

import json
import os
import secrets
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import platformdirs

from replay import __version__
from replay.safety import posix

PROGRAM: Final = "mcp-replay"
MARKER: Final = "owner.json"
"""In each directory: which program made it, for whom. Its lock is held as long as the directory is in use."""
_MAX_MARKER_BYTES: Final = 4096
_DIRECTORY: Final = os.O_RDONLY | posix.DIRECTORY | posix.NOFOLLOW | posix.CLOEXEC


@dataclass(frozen=True, slots=True)
class OwnedDirectory:
    """A directory of our own, until it is removed or this process ends."""

    path: Path
    base: int
    """Descriptor of the directory that it is in."""
    lock: int
    """Descriptor of its marker; the kernel frees the lock with the process."""
    note: str | None = None
    """Why it is not in the user's cache directory, where it is not."""

    def remove(self) -> None:
        """Remove it with all that is in it."""
        _remove(self.base, self.path.name)
        os.close(self.lock)
        os.close(self.base)
        if self.note is not None:
            with suppress(OSError):
                self.path.parent.rmdir()


def base_directory() -> Path:
    """Where the directories are made."""
    return platformdirs.user_cache_path(PROGRAM, appauthor=False) / "workspaces"


def make_owned_directory() -> OwnedDirectory:
    """Make a directory in `base_directory`, or a private temporary one where that cannot be used.

    Raises:
        OSError: neither can be made.
    """
    try:
        return _make_in(base_directory(), None)
    except OSError as problem:
        note = f"{base_directory()} cannot be used for workspaces ({problem.strerror}); a temporary directory is"
        return _make_in(Path(tempfile.mkdtemp(prefix=f"{PROGRAM}-")), note)


def remove_abandoned() -> None:
    """Remove the directories of our own user whose process was killed. All else that lies there stays as it is."""
    with suppress(OSError), _opened(base_directory()) as base:
        for name in _names(base):
            with suppress(OSError):
                _sweep_one(base, name)


def _make_in(parent: Path, note: str | None) -> OwnedDirectory:
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    base = _open_private(parent)
    name = secrets.token_hex(6)
    try:
        os.mkdir(name, 0o700, dir_fd=base)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with _opened(name, base) as directory:
            lock = os.open(MARKER, flags, 0o600, dir_fd=directory)
        posix.fcntl.flock(lock, posix.fcntl.LOCK_EX)
        marker = {"program": PROGRAM, "version": __version__, "uid": os.geteuid(), "pid": os.getpid()}
        os.write(lock, json.dumps(marker).encode() + b"\n")  # after the lock: without its marker it is never swept
    except BaseException:
        os.close(base)
        raise
    return OwnedDirectory(parent / name, base, lock, note)


def _open_private(path: Path) -> int:
    """Open a directory that nobody but we can write to or look into.

    Raises:
        PermissionError: it is somebody else's, or open to others.
        OSError: it is a link, or no directory.
    """
    descriptor = os.open(path, _DIRECTORY)
    found = os.fstat(descriptor)
    why = None
    if found.st_uid != os.geteuid():
        why = f"it belongs to another user ({found.st_uid})"
    elif found.st_mode & 0o077:
        why = f"other users may enter it (mode {stat.S_IMODE(found.st_mode):o})"
    if why is not None:
        os.close(descriptor)
        raise PermissionError(0, why, str(path))
    return descriptor


@contextmanager
def _opened(path: Path | str, parent: int | None = None) -> Iterator[int]:
    descriptor = _open_private(path) if isinstance(path, Path) else os.open(path, _DIRECTORY, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _sweep_one(base: int, name: str) -> None:
    with _opened(name, base) as directory:
        if os.fstat(directory).st_uid != os.geteuid():
            return
        marker = os.open(MARKER, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
        try:
            if _is_ours(marker):
                posix.fcntl.flock(marker, posix.fcntl.LOCK_EX | posix.fcntl.LOCK_NB)
                _remove(base, name)
        finally:
            os.close(marker)


def _is_ours(marker: int) -> bool:
    found = os.fstat(marker)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        return False
    try:
        content = json.loads(os.read(marker, _MAX_MARKER_BYTES))
    except ValueError:
        return False
    return isinstance(content, dict) and content.get("program") == PROGRAM and content.get("uid") == os.geteuid()


def _remove(base: int, name: str) -> None:
    """Remove a directory of our own with all that is in it; what cannot be removed stays, for the next sweep.

    Each directory inside is moved up before it is emptied: that needs no recursion however deep a server built, and
    does not enter what is mounted there. The marker goes last.
    """
    with suppress(OSError):
        _make_accessible(base, name)
        with _opened(name, base) as root:
            waiting = _empty(root, root, keep=MARKER)
            while waiting:
                inner = waiting.pop()
                with suppress(OSError):
                    with _opened(inner, root) as directory:
                        waiting += _empty(directory, root)
                    os.rmdir(inner, dir_fd=root)
            if _names(root) == [MARKER]:
                os.unlink(MARKER, dir_fd=root)
        os.rmdir(name, dir_fd=base)


def _empty(directory: int, root: int, keep: str | None = None) -> list[str]:
    """Unlink what is no directory, and move each directory to the root; their names there."""
    moved = []
    for name in _names(directory):
        with suppress(OSError):
            if not stat.S_ISDIR(os.lstat(name, dir_fd=directory).st_mode):
                if name != keep:
                    os.unlink(name, dir_fd=directory)
                continue
            _make_accessible(directory, name)
            new = secrets.token_hex(8)
            os.rename(name, new, src_dir_fd=directory, dst_dir_fd=root)
            moved.append(new)
    return moved


def _names(directory: int) -> list[str]:
    with os.scandir(directory) as entries:
        return [entry.name for entry in entries]


def _make_accessible(parent: int, name: str) -> None:
    """Let us into a directory that a server has closed; a link in its place is not followed."""
    if os.lstat(name, dir_fd=parent).st_mode & stat.S_IRWXU == stat.S_IRWXU:
        return
    if sys.platform != "linux":
        os.chmod(name, stat.S_IRWXU, dir_fd=parent, follow_symlinks=False)
        return
    descriptor = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        Path(f"/proc/self/fd/{descriptor}").chmod(stat.S_IRWXU)
    finally:
        os.close(descriptor)
