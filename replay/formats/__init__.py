"""One reader a results format; the surest one reads a file; everything becomes a Trajectory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from replay.errors import FormatError
from replay.formats.file_names import FileNames
from replay.formats.input_file import InputFile, plain_file
from replay.formats.reader import Match, Reader
from replay.formats.readers import READERS
from replay.formats.results_file import ResultsFile, look_through

__all__ = ["READERS", "FileNames", "InputFile", "Match", "Reader", "ResultsFile", "open_file", "open_files"]


def open_file(path: str | Path | InputFile, names: FileNames | None = None) -> ResultsFile:
    """Find out a file's format and which trajectories it holds.

    Raises:
        FormatError: no reader knows it, it is broken, or it holds no trajectory.
    """
    file = path if isinstance(path, InputFile) else plain_file(path)
    return look_through(file, names or FileNames())


def open_files(
    paths: Iterable[str | Path | InputFile],
    names: FileNames | None = None,
    on_error: Callable[[FormatError], None] | None = None,
) -> Iterator[ResultsFile]:
    """Open several files; one that cannot be read goes to `on_error` and the others go on.

    Raises:
        FormatError: where there is no `on_error`.
    """
    for path in paths:
        try:
            yield open_file(path, names)
        except FormatError as error:
            if on_error is None:
                raise
            on_error(error)
