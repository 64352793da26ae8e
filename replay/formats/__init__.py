"""One reader a results format; the surest one reads a file; everything becomes a Trajectory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from replay.errors import FormatError, NoTrajectoryError, TooOldError, UnknownFormatError
from replay.formats.file_names import NO_MODEL, FileNames, proposed_pattern
from replay.formats.readers import READERS
from replay.formats.results_file import FileSummary, ResultsFile, Room, UnopenedFile, look_through, read_up_to_break
from replay.formats.sources import InputFile, inputs_of, not_looked_at, single_input

__all__ = [
    "READERS",
    "FileNames",
    "FilesOpened",
    "ResultsFile",
    "UnopenedFile",
    "files_of",
    "look_through",
    "open_file",
    "open_files",
]


_MIN_BYTES_OF_CALL = 25
"""A file of so many bytes holds at most one call."""


def open_file(path: str | Path | InputFile, names: FileNames | None = None) -> ResultsFile:
    """Find out a file's format and which trajectories it holds.

    Raises:
        FormatError: no reader knows it, it is broken, or it holds no trajectory.
    """
    file = path if isinstance(path, InputFile) else single_input(path)
    return look_through(file, names or FileNames())


def open_files(
    paths: Iterable[str | Path],
    names: FileNames | None = None,
    on_error: Callable[[FormatError], None] | None = None,
    on_note: Callable[[str], None] = lambda text: None,
) -> Iterator[ResultsFile]:
    """Open what several paths stand for: files, folders, glob patterns, archives, and `-` for stdin.

    Args:
        paths: as the user wrote them.
        names: how file names give model and task.
        on_error: called for each file that cannot be read; the others go on.
        on_note: called with what was skipped, and with a pattern that would tell models where none is known.

    Raises:
        FormatError: where there is no `on_error`.
    """
    opened, room = FilesOpened(on_error, on_note), Room()
    for source in files_of(paths, names, on_error, on_note):
        try:
            file = look_through(*source, room)
        except FormatError as error:
            opened.refuse(source, error)
        else:
            opened.note(source, file.summary)
            yield file
    opened.finish()


class FilesOpened:
    """Tells what opening several files shows.

    Args:
        on_error: called for each file that cannot be read; the others go on. Without it that is raised.
        on_note: called with what was skipped, and with a pattern that would tell models where none is known.
    """

    def __init__(self, on_error: Callable[[FormatError], None] | None, on_note: Callable[[str], None]) -> None:
        self._on_error, self._on_note = on_error, on_note
        self._without_model = self._too_old = 0
        self._paths: list[str] = []
        self._others: list[str] = []
        """Files that nobody named, and that are no recordings."""

    def refuse(self, source: UnopenedFile, error: FormatError) -> None:
        """Take note of a file that cannot be read; one that nobody named need not be a results file."""
        error.named = source.file.named
        if isinstance(error, TooOldError):
            self._too_old += 1
        elif error.named or _may_have_calls(error):
            rest = read_up_to_break(source)
            error.calls = rest.calls if rest is not None else None
            with suppress(FormatError):
                error.most_calls = source.file.size() // _MIN_BYTES_OF_CALL if source.file.is_plain else None
            with suppress(FormatError):  # its name is not read by --names
                error.model = rest.model if rest is not None else source.names.model(source.file.path)
            _refuse(error, self._on_error)
        elif isinstance(error, NoTrajectoryError):
            self._on_note(f"{error}; skipped")
        else:
            self._others.append(source.file.path)

    def note(self, source: UnopenedFile, file: FileSummary) -> None:
        """Take note of a file that was looked through."""
        if source.names.pattern is None:
            self._paths.append(source.file.path)
            self._without_model += NO_MODEL in file.models

    def finish(self) -> None:
        """Once all files were opened: say what is no recording, or too old, and what would tell the models."""
        if self._others:
            self._on_note(f"{not_looked_at(self._others, 'read')} (neither calls nor messages in it)")
            self._others = []
        if self._too_old:
            files = "1 file holds" if self._too_old == 1 else f"{self._too_old} files hold"
            self._on_note(f"{files} nothing since then; not read")
            self._too_old = 0
        count, self._without_model = self._without_model, 0
        proposed = proposed_pattern(self._paths) if count else None
        if proposed is not None:
            files = "1 file names" if count == 1 else f"{count} files name"
            self._on_note(f"{files} no model; to take it from the names of the files: {proposed}")


def files_of(
    paths: Iterable[str | Path],
    names: FileNames | None = None,
    on_error: Callable[[FormatError], None] | None = None,
    on_note: Callable[[str], None] = lambda text: None,
    since: str = "",
) -> Iterator[UnopenedFile]:
    """The files that several paths stand for, as `open_files` opens them.

    Raises:
        FormatError: there is nothing at a path, and no `on_error`.
    """
    for path in dict.fromkeys(map(str, paths)):
        try:
            yield from (UnopenedFile(file, names or FileNames(), since) for file in list(inputs_of(path, on_note)))
        except FormatError as error:
            _refuse(error, on_error)


def _may_have_calls(error: FormatError) -> bool:
    """Whether a file that was found, and could not be read, may have calls in it that are missing then."""
    if isinstance(error, UnknownFormatError):
        return error.is_recording
    return not isinstance(error, NoTrajectoryError)


def _refuse(error: FormatError, on_error: Callable[[FormatError], None] | None) -> None:
    if on_error is None:
        raise error
    on_error(error)
