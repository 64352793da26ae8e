"""Where the bytes of a results file come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from replay.errors import FormatError


@dataclass(frozen=True)
class InputFile:
    """Bytes with a name: a file, a member of an archive, or what came through a pipe."""

    path: str
    """As it is shown and as `source.file` keeps it: `runs/a.jsonl`, `runs.zip!a.jsonl`, `-`."""
    open: Callable[[], BinaryIO]
    """A new stream from the beginning, seekable. Raises FormatError."""
    size: Callable[[], int]
    """In bytes, now: of the archive where it is a member of one. Tells whether a file changed while it was read."""
    named: bool = True
    """Whether the user named it; one that was found in a folder or an archive need not be a results file."""
    members: tuple[str, ...] = ()
    """The names in it, where it is a zip that is one log."""


def plain_file(path: str | Path) -> InputFile:
    """A file on disk, read as it is."""
    place = Path(path)
    name = printable(place)
    return InputFile(name, lambda: _open(place, name), lambda: _size(place, name))


def printable(path: Path) -> str:
    """A path as text that can be stored and shown, also where its bytes are not UTF-8."""
    return str(path).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _open(path: Path, name: str) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise _refusal(name, error) from None


def _size(path: Path, name: str) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise _refusal(name, error) from None


def _refusal(name: str, error: OSError) -> FormatError:
    if isinstance(error, FileNotFoundError):
        return FormatError(name, "no such file")
    if isinstance(error, IsADirectoryError):
        return FormatError(name, f"a directory, not a file; name its files: {name}/*.json")
    return FormatError(name, f"cannot be read: {error.strerror}")
