"""One reader a results format; the surest one reads a file; everything becomes a Trajectory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from replay.errors import FormatError, NoTrajectoryError, UnknownFormatError
from replay.formats.file_names import FileNames
from replay.formats.reader import Match, Reader
from replay.formats.readers import READERS
from replay.formats.results_file import (
    FileSummary,
    HowToRead,
    ResultsFile,
    Room,
    UnopenedFile,
    look_through,
    looking_through,
    read_up_to_break,
)
from replay.formats.signs_of_calls import signs_of_calls
from replay.formats.sources import InputFile, inputs_of, names_beside, single_input

__all__ = [
    "READERS",
    "FileNames",
    "FileSummary",
    "FilesOpened",
    "HowToRead",
    "InputFile",
    "Match",
    "Reader",
    "ResultsFile",
    "Room",
    "UnopenedFile",
    "files_of",
    "look_through",
    "looking_through",
    "open_file",
    "open_files",
    "single_input",
]


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

    Without `names`, model and task are found from the file names together, where a pattern explains them all.

    Args:
        paths: as the user wrote them.
        names: how file names give model and task.
        on_error: called for each file that cannot be read; the others go on.
        on_note: called with what was skipped, and with the pattern that was found.

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


class FilesOpened:
    """Tells what opening several files shows.

    Args:
        on_error: called for each file that cannot be read; the others go on. Without it that is raised.
        on_note: called with what was skipped, and with the pattern of names that was found.
    """

    def __init__(self, on_error: Callable[[FormatError], None] | None, on_note: Callable[[str], None]) -> None:
        self._on_error, self._on_note = on_error, on_note
        self._told = False

    def refuse(self, source: UnopenedFile, error: FormatError) -> None:
        """Take note of a file that cannot be read; one that nobody named need not be a results file."""
        error.named = source.file.named
        if error.named or _may_have_calls(error, source.file):
            rest = read_up_to_break(source)
            error.calls = rest.calls if rest is not None else None
            error.model = rest.model if rest is not None else source.names.told_model(source.file.path)
            _refuse(error, self._on_error)
        elif isinstance(error, NoTrajectoryError):
            self._on_note(f"{error}; skipped")
        else:
            self._on_note(f"{source.file.path}: not of a known format; skipped")

    def note(self, source: UnopenedFile, file: FileSummary) -> None:
        """Take note of a file that was looked through."""
        if source.names.was_found and not self._told and source.names.model(source.file.path) in file.models:
            self._told = True
            self._on_note(f"{source.names.explain()}; read otherwise with --names PATTERN")


def files_of(
    paths: Iterable[str | Path],
    names: FileNames | None = None,
    on_error: Callable[[FormatError], None] | None = None,
    on_note: Callable[[str], None] = lambda text: None,
) -> Iterator[UnopenedFile]:
    """The files that several paths stand for, as `open_files` opens them; how their names are read is told together.

    Raises:
        FormatError: there is nothing at a path, and no `on_error`.
    """
    groups: dict[str, list[InputFile]] = {}
    for path in dict.fromkeys(map(str, paths)):
        try:
            files = list(inputs_of(path, on_note))
        except FormatError as error:
            _refuse(error, on_error)
            continue
        groups.setdefault("" if len(files) == 1 else path, []).extend(files)
    given = names is not None and names.pattern is not None
    for path, files in groups.items():
        found = None if given else FileNames.found_in([file.path for file in files])
        in_folder: dict[str, FileNames | None] = {}
        if not given and not (
            path and Path(path).exists()
        ):  # named one by one, or by a pattern: its folder may hold more
            folders = dict.fromkeys(str(Path(file.path).parent) for file in files)
            in_folder = {folder: FileNames.found_in(names_beside(folder)) for folder in folders}
        for file in files:
            beside = in_folder.get(str(Path(file.path).parent))
            yield UnopenedFile(file, beside or found or names or FileNames())


def _may_have_calls(error: FormatError, file: InputFile) -> bool:
    """Whether a file that was found, and could not be read, may have calls in it that are missing then."""
    if isinstance(error, NoTrajectoryError):
        return False
    return not isinstance(error, UnknownFormatError) or bool(error.product) or bool(signs_of_calls(file))


def _refuse(error: FormatError, on_error: Callable[[FormatError], None] | None) -> None:
    if on_error is None:
        raise error
    on_error(error)
