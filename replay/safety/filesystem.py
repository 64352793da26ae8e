"""Files that are written whole or not at all, and locks that end with the process that holds them."""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import BinaryIO, Final

from replay.records import Record
from replay.records.files import dump
from replay.safety import posix

_POLL_SECONDS: Final = 0.02
_MAX_NAME_BYTES: Final = 255
_MAX_STEM_BYTES: Final = 230
_FOLDER_NAME: Final = re.compile(r"(?!\.\.?\Z)[^-~/\\\x00-\x1f\x7f\ud800-\udfff][^/\\\x00-\x1f\x7f\ud800-\udfff]*")


@contextmanager
def atomic_writer(path: Path, errors: str = "strict", *, private: bool = False) -> Iterator[TextIOWrapper]:
    """A text file under a temporary name; it takes the place of `path` when the block ends without an exception.

    Args:
        path: of the file in the end.
        errors: what becomes of text that UTF-8 cannot hold, as for `open`.
        private: only the user may read it.
    """
    partial = path.with_name(f"{path.name[:40]}.{secrets.token_hex(8)}.tmp")
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise OSError(errno.EINVAL, "a device, a socket or a pipe, which is not replaced", str(path))
        with open(partial, "x", encoding="utf-8", errors=errors, opener=private_opener if private else None) as out:
            yield out
        partial.replace(path)
    except BaseException as error:
        if isinstance(error, OSError) and error.filename in (None, str(partial)):  # a full disk names no file
            error.filename = str(path)
        with suppress(OSError):
            partial.unlink()
        raise


def private_opener(path: str, flags: int) -> int:
    """For `open`: a file that is made can be read by the user alone, and a link is not followed."""
    return os.open(path, flags | posix.NOFOLLOW | posix.CLOEXEC, 0o600)


def write_atomically(path: Path, content: str | bytes, errors: str = "strict", *, private: bool = False) -> None:
    """Write a file, whole or not at all; `errors` as for `open`, `private` as for `atomic_writer`."""
    with atomic_writer(path, errors, private=private) as out:
        if isinstance(content, bytes):
            out.buffer.write(content)
        else:
            out.write(content)


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading: a pipe would be waited for, and a device may never end.

    Raises:
        OSError: it is something else, or cannot be opened.
    """
    descriptor = os.open(path, os.O_RDONLY | posix.NONBLOCK | posix.CLOEXEC | posix.BINARY)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return os.fdopen(descriptor, "rb")


def read_small_file(path: Path, limit: int) -> bytes:
    """What a file holds, or stdin where it is called `-`.

    Args:
        path: of a regular file.
        limit: bytes that it may have.

    Raises:
        OSError: it is longer, not a regular file, or cannot be read.
    """
    with nullcontext(sys.stdin.buffer) if str(path) == "-" else open_regular(path) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"longer than {limit // 1_000_000} MB; is it the right file?", str(path))
    return data


def check_is_ours(found: os.stat_result) -> None:
    """See that what is written to a file stays ours: it was not laid there by a neighbour on the same machine.

    Raises:
        OSError: it is a link or no file, belongs to another user, or can be written by others.
    """
    if stat.S_ISLNK(found.st_mode):
        raise OSError(errno.ELOOP, "it is a link; name the file that it leads to")
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file")
    if not posix.HAS_OWNERS:
        return
    if found.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, "it belongs to another user")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(errno.EPERM, "others can write to it; if they may not, take that away with chmod go-w")


def is_folder_name(name: str) -> bool:
    """Whether a name is that of one folder in another, which no path, shell or option parser reads as more."""
    return _FOLDER_NAME.fullmatch(name) is not None and len(name.encode()) <= _MAX_NAME_BYTES


def file_stem(name: str, length: int) -> str:
    """A name as part of a file's: it leaves no directory, hides nothing, and leaves room for a number and a suffix.

    Args:
        name: anything.
        length: characters of the result at most; in bytes it stays below what file systems allow.
    """
    stem = re.sub(r"[^\w.+=@-]+", "_", name).strip("._ ")[:length]
    return stem.encode()[:_MAX_STEM_BYTES].decode(errors="ignore")


def write_json(record: Record, path: Path, *, private: bool = False) -> None:
    """Write a record as indented JSON, whole or not at all; `private` as for `atomic_writer`."""
    text = json.dumps(dump(record), ensure_ascii=False, indent=1) + "\n"
    write_atomically(path, text, "surrogatepass", private=private)


def lock_file(path: Path, *, wait: float | None = 0, flags: int = 0, mode: int = 0o644) -> int:
    """Open a file, or make it, and lock it against every other process; the kernel frees the lock with the process.

    Args:
        path: of the file.
        wait: seconds to wait while another process holds it; None waits as long as it takes.
        flags: more flags for `os.open`.
        mode: of a file that is made.

    Returns:
        Its descriptor; closing it frees the lock.

    Raises:
        BlockingIOError: another process holds the lock.
        OSError: the file cannot be opened for writing, or is not ours.
    """
    deadline = None if wait is None else time.monotonic() + wait
    while True:
        own = os.O_RDWR | os.O_CREAT | posix.CLOEXEC | posix.NOFOLLOW | posix.NONBLOCK
        descriptor = os.open(path, own | flags, mode)
        try:
            check_is_ours(os.fstat(descriptor))
            posix.lock(descriptor, wait=deadline is None)
            if _is_at(descriptor, path):
                return descriptor
        except BlockingIOError:
            if deadline is None or time.monotonic() >= deadline:
                os.close(descriptor)
                raise
            time.sleep(_POLL_SECONDS)
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether an open file still is the one at the path: its last holder may have removed it meanwhile."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
