"""One reader a results format; the surest one reads a file; everything becomes a Trajectory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from replay.errors import FormatError, NoTrajectoryError, UnknownFormatError
from replay.formats.file_names import FileNames
from replay.formats.reader import Match, Reader
from replay.formats.readers import READERS
from replay.formats.results_file import HowToRead, ResultsFile, look_through
from replay.formats.signs_of_calls import signs_of_calls
from replay.formats.sources import InputFile, inputs_of, single_input

__all__ = [
    "READERS",
    "FileNames",
    "HowToRead",
    "InputFile",
    "Match",
    "Reader",
    "ResultsFile",
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
    told = False
    for file, found in _inputs(paths, names, on_error, on_note):
        try:
            opened = look_through(file, found)
        except FormatError as error:
            error.named = file.named
            if file.named or _may_have_calls(error, file):
                _refuse(error, on_error)
            elif isinstance(error, UnknownFormatError):
                on_note(f"{file.path}: not of a known format; skipped")
            else:
                on_note(str(error))
        else:
            if found.was_found and not told and found.model(file.path) in opened.models:
                told = True
                on_note(f"{found.explain()}; read otherwise with --names PATTERN")
            yield opened


def _inputs(
    paths: Iterable[str | Path],
    names: FileNames | None,
    on_error: Callable[[FormatError], None] | None,
    on_note: Callable[[str], None],
) -> Iterator[tuple[InputFile, FileNames]]:
    """The files, with how their names are read: those of one folder or archive together, and those named one by one."""
    groups: dict[str, list[InputFile]] = {}
    for path in dict.fromkeys(map(str, paths)):
        try:
            files = list(inputs_of(path, on_note))
        except FormatError as error:
            _refuse(error, on_error)
            continue
        groups.setdefault("" if len(files) == 1 else path, []).extend(files)
    for files in groups.values():
        given = names is not None and names.pattern is not None
        found = None if given else FileNames.found_in([file.path for file in files])
        yield from ((file, found or names or FileNames()) for file in files)


def _may_have_calls(error: FormatError, file: InputFile) -> bool:
    """Whether a file that was found, and could not be read, may have calls in it that are missing then."""
    if isinstance(error, NoTrajectoryError):
        return False
    return not isinstance(error, UnknownFormatError) or bool(error.product) or bool(signs_of_calls(file))


def _refuse(error: FormatError, on_error: Callable[[FormatError], None] | None) -> None:
    if on_error is None:
        raise error
    on_error(error)
