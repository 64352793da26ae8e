"""Where the bytes of a results file come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from replay.errors import FormatError


@dataclass(frozen=True, slots=True)
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

    @property
    def is_plain(self) -> bool:
        """Whether the bytes stand on disk as they are read: their size tells what they hold."""
        return self.place is not None and not self.members

    @property
    def place(self) -> str | None:
        """The path by which another process on the machine can open it; None of a member of an archive, or a pipe."""
        opener = getattr(self.open, "__self__", None)
        return opener.place if isinstance(opener, _OnDisk) else None


@dataclass(frozen=True, slots=True)
class _OnDisk:
    """A path with the name under which it is shown; there may be a hundred thousand, so it is no `Path`."""

    place: str
    name: str

    def open(self) -> BinaryIO:
        try:
            return Path(self.place).open("rb")
        except OSError as error:
            raise _refusal(self.name, error) from None

    def size(self) -> int:
        try:
            return Path(self.place).stat().st_size
        except OSError as error:
            raise _refusal(self.name, error) from None


def plain_file(path: str | Path) -> InputFile:
    """A file on disk, read as it is."""
    place = str(path)
    shown = printable(Path(path))
    file = _OnDisk(place, place if shown == place else shown)
    return InputFile(file.name, file.open, file.size)


def printable(path: Path) -> str:
    """A path as text that can be stored and shown, also where its bytes are not UTF-8."""
    return str(path).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _refusal(name: str, error: OSError) -> FormatError:
    if isinstance(error, FileNotFoundError):
        return FormatError(name, "no such file")
    if isinstance(error, IsADirectoryError):
        return FormatError(name, f"a directory, not a file; name its files: {name}/*.json")
    return FormatError(name, f"cannot be read: {error.strerror}")
