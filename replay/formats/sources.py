"""Where the bytes of results files come from: files, folders, glob patterns, archives, pipes and stdin."""

from __future__ import annotations

import glob
import gzip
import io
import itertools
import os
import re
import select
import stat
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import IO, BinaryIO

from replay.errors import FormatError, NoTrajectoryError
from replay.records.time_span import utc
from replay.safety.filesystem import open_regular


@dataclass(frozen=True, slots=True, eq=False)
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
    others: Mapping[str, Callable[[], BinaryIO]] = field(default_factory=dict)
    """Of a member of an archive: the members by their paths."""

    @property
    def is_plain(self) -> bool:
        """Whether the bytes stand on disk as they are read: their size tells what they hold."""
        return self.place is not None and not self.members

    @property
    def siblings(self) -> dict[str, Callable[[], BinaryIO]]:
        """Of a member of an archive: the members that a reader may look up beside it."""
        near = [Path(self.path).parent, Path(self.path).parent.parent]
        paths = [str(folder / name) for folder in near for name in LOOKED_UP]
        return {path: self.others[path] for path in paths if path in self.others}

    def modified(self) -> str | None:
        """When it was last written, in UTC; None of a member of an archive, or a pipe."""
        try:
            return utc(Path(self.place).stat().st_mtime) if self.place is not None else None
        except OSError:
            return None

    def open_beside(self, path: str) -> BinaryIO:
        """What stands beside it in its folder or its archive.

        Raises:
            OSError: there is no such file.
            FormatError: it cannot be read.
        """
        member = self.others.get(path)
        return member() if member is not None else open_regular(Path(path))

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
    file = _OnDisk(str(path), printable(Path(path)))
    return InputFile(file.name, file.open, file.size)


def printable(path: Path) -> str:
    """A path as text that can be stored and shown, also where its bytes are not UTF-8."""
    return str(path).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _refusal(name: str, error: OSError) -> FormatError:
    if isinstance(error, FileNotFoundError):
        address, is_address = re.subn(r"^(https?|ftp|s3|gs):/+", r"\1://", name)
        return FormatError(address, "an address, not a file; download it first" if is_address else "no such file")
    if isinstance(error, IsADirectoryError):
        return FormatError(name, f"a directory, not a file; name its files: {name}/*.json")
    return FormatError(name, f"cannot be read: {error.strerror}")


RESULT_SUFFIXES = (".json", ".jsonl", ".ndjson", ".eval", ".traj", ".gz", ".tgz", ".zip", ".tar")
"""What is looked at in a folder or an archive; a file that is named is looked at whatever its name."""

LOOKED_UP = ("api_conversation_history.json", "base_state.json", "meta.json", "results.json", "task_metadata.json")
"""Names of the files that readers look up beside theirs, in its folder or in the one above."""

_ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".zip.gz")

ZIP, GZIP = b"PK\x03\x04", b"\x1f\x8b"
"""What such a file begins with."""
IN_AN_ARCHIVE = "an archive inside an archive, or compressed twice, is not opened; unpack it"

MAX_EXPANDED_BYTES = 4 * 1024**3
"""Of one compressed file, or one member of an archive, or what came through a pipe."""
MAX_RATIO, RATIO_COUNTS_FROM = 250, 64 * 1024**2
"""More expansion than this, past so many bytes, is a bomb and no results file."""
MAX_MEMBERS = 100_000
MEMORY_BYTES = 16 * 1024**2
"""What is kept in memory of a compressed file; the rest goes to a nameless temporary file."""
PIPE_SECONDS = 10.0
"""How long a named pipe may say nothing; stdin has all the time it wants."""

_CHUNK = 1024 * 1024
_EVENT = re.compile(r"(.*/events)/(?:event-)?(\d+)(?:-[\w-]+)?\.json")


def inputs_of(path: str | Path, note: Callable[[str], None] = lambda text: None) -> Iterator[InputFile]:
    """The results files that a path of the command line stands for.

    Args:
        path: a file, a folder, a glob pattern, an archive, or `-` for stdin.
        note: called with what was skipped, one sentence each.

    Raises:
        FormatError: there is no such file, it cannot be read, or nothing in it looks like a results file.
    """
    place = Path(path)
    if str(path) == "-" or place in {Path("/dev/stdin"), Path("/dev/fd/0"), Path("/proc/self/fd/0")}:
        yield from _opened(_from_pipe("-", sys.stdin.fileno(), None), note)
        return
    if not os.path.lexists(place) and glob.has_magic(str(path)):
        matches = sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207 - the pattern may be absolute
        if not matches:
            raise FormatError(printable(place), "no file matches this pattern")
        for match in matches:
            yield from inputs_of(glob.escape(match) if glob.has_magic(match) else match, note)
        return
    if place.is_dir():
        yield from _events_joined(_in_folder(place, note))
        return
    yield from _events_joined(_opened(_regular_file(place), note))


def single_input(path: str | Path) -> InputFile:
    """The one results file that a path stands for, opened where it is compressed.

    Raises:
        FormatError: there is none, or there are several.
    """
    place = Path(path)
    if place.is_dir():
        return plain_file(place)
    found = list(inputs_of(path))
    if len(found) != 1:
        raise FormatError(printable(place), f"holds {len(found)} files; name one of them")
    return found[0]


def _in_folder(folder: Path, note: Callable[[str], None]) -> Iterator[InputFile]:
    others: list[str] = []
    found = False
    for directory, names, files in os.walk(folder):
        names[:] = sorted(name for name in names if not name.startswith("."))
        for name in sorted(files):
            place = Path(directory, name)
            if name.startswith(".") or not name.lower().endswith(RESULT_SUFFIXES) or not place.is_file():
                others.append(name)
                continue
            found = True
            yield from (replace(file, named=False) for file in _opened_or_refused(plain_file(place), note))
    if others:
        note(f"{printable(folder)}: {not_looked_at(others)}")
    if not found:
        raise FormatError(printable(folder), f"no file in it ends in {', '.join(RESULT_SUFFIXES)}")


def _opened_or_refused(file: InputFile, note: Callable[[str], None]) -> Iterator[InputFile]:
    """As `_opened`; an archive that cannot be opened is a file that cannot be read: those beside it are read."""
    try:
        yield from _opened(file, note)
    except FormatError as error:
        yield replace(file, open=partial(_refuse, error))


def _refuse(error: FormatError) -> BinaryIO:
    raise error


def _events_joined(files: Iterator[InputFile]) -> Iterator[InputFile]:
    """The files; those of an agent that writes a file an event (OpenHands: `events/event-00001-ID.json`) are one."""
    for folder, group in itertools.groupby(
        files, lambda file: match[1] if (match := _EVENT.match(file.path)) else None
    ):
        if folder is None:
            yield from group
            continue
        events = sorted(group, key=lambda file: int(_EVENT.match(file.path)[2]))  # type: ignore[index]
        with events[0].open() as stream:
            beginning = stream.read(1000)
        if b'"source"' not in beginning or b'"timestamp"' not in beginning:
            yield from events
            continue
        size = partial(lambda files: sum(file.size() for file in files), events)
        yield InputFile(folder, partial(_join, events), size, named=False, others=events[0].others)


def _join(files: list[InputFile]) -> BinaryIO:
    joined = tempfile.SpooledTemporaryFile(MEMORY_BYTES)  # noqa: SIM115 - returned
    for file in files:
        with file.open() as stream:
            joined.write(stream.read() + b"\n")
    joined.seek(0)
    return joined  # type: ignore[return-value]  # as in `_expanded`


def _regular_file(place: Path) -> InputFile:
    name = printable(place)
    try:
        mode = place.stat().st_mode
    except (OSError, ValueError):
        return plain_file(place)
    if stat.S_ISFIFO(mode):
        descriptor = os.open(place, os.O_RDONLY | os.O_NONBLOCK)
        try:
            return _from_pipe(name, descriptor, PIPE_SECONDS)
        finally:
            os.close(descriptor)
    if not stat.S_ISREG(mode):
        raise FormatError(name, "a device or a socket, not a file")
    return plain_file(place)


def _from_pipe(name: str, descriptor: int, patience: float | None) -> InputFile:
    """Everything that comes through a pipe, kept in a nameless temporary file."""
    kept = _Kept()
    while True:
        ready, _, _ = select.select([descriptor], [], [], patience)
        if not ready:
            raise FormatError(name, f"a pipe to which nobody wrote for {patience:g} seconds")
        chunk = os.read(descriptor, _CHUNK)
        if not chunk:
            break
        if not (kept.size or chunk.strip(b"\0")):
            raise FormatError(name, "begins with zero bytes; expected JSON")
        kept.write(chunk)
        if kept.size > MAX_EXPANDED_BYTES:
            raise FormatError(name, f"more than {MAX_EXPANDED_BYTES // 1024**3} GB came; not read")
    if not kept.size:
        raise FormatError(name, "nothing came through the pipe")
    return InputFile(name, partial(kept.part, 0, kept.size), lambda: kept.size)


class _Kept:
    """Bytes in a nameless temporary file, for as long as anybody holds them."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed when it is let go
        self.size = 0

    def __del__(self) -> None:
        self._file.close()

    def write(self, data: bytes) -> None:
        self.size += self._file.write(data) or 0

    def read_at(self, offset: int, count: int) -> bytes:
        return os.pread(self._file.fileno(), count, offset)

    def part(self, start: int, size: int) -> BinaryIO:
        return io.BufferedReader(_Window(self, start, size))


class _Window(io.RawIOBase):
    """A part of what is kept, with a position of its own."""

    def __init__(self, file: _Kept, start: int, size: int) -> None:
        super().__init__()
        self._file, self._start, self._size, self._position = file, start, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        self._position = max(base + offset, 0)
        return self._position

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # RawIOBase takes any buffer
        wanted = min(len(buffer), max(self._size - self._position, 0))
        data = self._file.read_at(self._start + self._position, wanted)
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)


def _opened(file: InputFile, note: Callable[[str], None]) -> Iterator[InputFile]:
    """The file itself, or what is in it where it is an archive."""
    with file.open() as stream:
        beginning = stream.read(512)
    try:
        if beginning.startswith(ZIP):
            yield from _in_zip(file, note)
        elif beginning.startswith(GZIP):
            expanded = _gunzipped(file)
            with expanded.open() as stream:
                beginning = stream.read(512)
            yield from _in_tar(expanded, note) if is_tar(beginning) else iter([expanded])
        elif is_tar(beginning):
            yield from _in_tar(file, note)
        else:
            yield file
    except (zipfile.BadZipFile, tarfile.TarError, NotImplementedError, RuntimeError) as error:
        raise FormatError(file.path, f"a broken archive: {error}") from None


def _gunzipped(file: InputFile) -> InputFile:
    def expand() -> BinaryIO:
        with file.open() as packed:
            return _expanded(gzip.GzipFile(fileobj=packed, mode="rb"), file.path, file.size())

    return replace(file, open=expand, others={})


def _expanded(stream: IO[bytes] | gzip.GzipFile, name: str, packed_size: int) -> BinaryIO:
    """All of a decompressing stream, within limits."""
    kept = tempfile.SpooledTemporaryFile(MEMORY_BYTES)  # noqa: SIM115 - returned
    total = 0
    try:
        while chunk := stream.read(_CHUNK):
            total += len(chunk)
            bomb = total > RATIO_COUNTS_FROM and total > MAX_RATIO * max(packed_size, 1)
            if bomb or total > MAX_EXPANDED_BYTES:
                kept.close()
                raise FormatError(name, f"expands to more than {total // 1024**2} MB; not read")
            kept.write(chunk)
    except (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile) as error:
        kept.close()
        raise FormatError(name, f"broken compression: {error}") from None
    kept.seek(0)
    return kept  # type: ignore[return-value]  # a SpooledTemporaryFile reads and seeks as BinaryIO does


def is_tar(beginning: bytes) -> bool:
    """Whether a file that begins so is a tar."""
    return beginning[257:262] == b"ustar"


def _in_tar(file: InputFile, note: Callable[[str], None]) -> Iterator[InputFile]:
    """The members, as windows into the tar: nothing is written under a member's name."""
    with file.open() as stream:
        kept = _Kept()
        while chunk := stream.read(_CHUNK):
            kept.write(chunk)
    with tarfile.open(fileobj=kept.part(0, kept.size), mode="r:") as archive:
        members = [member for member in archive if member.isreg()]
    parts = [(member.name, partial(kept.part, member.offset_data, member.size)) for member in members]
    yield from _members(file, parts, note)


@lru_cache(maxsize=8)
def _opened_zip(file: InputFile) -> zipfile.ZipFile:
    """A zip whose list of members is read once, which takes long where there are many; the last few stay open."""
    return zipfile.ZipFile(file.place or file.open())


def _in_zip(file: InputFile, note: Callable[[str], None]) -> Iterator[InputFile]:
    """The members; a zip that is itself a log (Inspect's `.eval`) is one file."""
    entries = [entry for entry in _opened_zip(file).infolist() if not entry.is_dir()]
    names = {entry.filename for entry in entries}
    if names & {"header.json", "_journal/start.json"}:
        yield replace(file, members=tuple(sorted(names)))
    else:
        yield from _members(file, [(entry.filename, partial(_unzipped, file, entry)) for entry in entries], note)


def _unzipped(file: InputFile, entry: zipfile.ZipInfo) -> BinaryIO:
    name = f"{file.path}/{entry.filename}"
    try:
        with _opened_zip(file).open(entry) as member:
            return _expanded(member, name, entry.compress_size)
    except (OSError, RuntimeError, NotImplementedError, zipfile.BadZipFile) as error:
        raise FormatError(name, f"cannot be opened: {error}") from None


def _members(
    file: InputFile, members: Sequence[tuple[str, Callable[[], BinaryIO]]], note: Callable[[str], None]
) -> Iterator[InputFile]:
    if len(members) > MAX_MEMBERS:
        raise FormatError(file.path, f"an archive of {len(members)} files; at most {MAX_MEMBERS} are read")
    wanted = [(name, read) for name, read in sorted(members, key=lambda one: one[0]) if _is_result_name(name)]
    others = [name for name, _ in members if not _is_result_name(name)]
    if others:
        note(f"{file.path}: {not_looked_at(others)}")
    if not wanted:
        raise NoTrajectoryError(file.path, f"no file in it ends in {', '.join(RESULT_SUFFIXES)}")
    readers = [(f"{file.path}/{printable(Path(name))}", read) for name, read in wanted]
    siblings = dict(readers)
    for path, read in readers:
        inner = InputFile(path, read, file.size, named=False, others=siblings)
        if path.lower().endswith(_ARCHIVES):
            yield replace(inner, open=partial(_refuse, FormatError(path, IN_AN_ARCHIVE)), others={})
        else:
            yield _gunzipped(inner) if path.lower().endswith(".gz") else inner


def _is_result_name(name: str) -> bool:
    base = name.rsplit("/", 1)[-1]
    return not base.startswith(".") and "__MACOSX" not in name and name.lower().endswith(RESULT_SUFFIXES)


def not_looked_at(others: list[str], done: str = "looked at") -> str:
    """A sentence that names files of other kinds."""
    what = "1 file of another kind was" if len(others) == 1 else f"{len(others)} files of other kinds were"
    shown = ", ".join(printable(Path(name)) for name in sorted(others)[:3]) + (", ..." if len(others) > 3 else "")
    return f"{what} not {done}: {shown}"
