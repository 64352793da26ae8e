"""The files that a recording works with and that are not on this machine: told before a run, with what brings them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, Final

from replay.interpreter import Fleet
from replay.outcomes import read_name
from replay.records import Trajectory

_PATH: Final = re.compile(r"/(?:[\w.@+~ -]+/)+[\w.@+~ -]*")
_OF_FILES: Final = re.compile(r"(?i)(?:path|file|dir|directory|folder|cwd|root|workspace|location)s?\d*$")
"""How the name of an argument ends that holds a path."""
_MIN_CALLS: Final = 2


class AbsentPaths:
    """Paths that calls give to servers with state, and whose directory is not here.

    Args:
        fleet: whose `recorded_as` says what is taken care of.
    """

    def __init__(self, fleet: Fleet) -> None:
        self._workspace = fleet.workspace
        self._servers = {name for name, spec in fleet.servers.items() if spec.state == "trajectory"}
        self._names = tuple(fleet.servers)
        self._calls: dict[str, int] = {}
        """By directory."""
        self._is_here: dict[str, bool] = {}

    def add(self, trajectory: Trajectory) -> None:
        """Look at the calls of a trajectory."""
        for call in trajectory.calls() if self._servers else ():
            if (call.server or read_name(call.name or "", self._names).server) in self._servers:
                for directory in {str(PurePosixPath(path).parent) for path in _paths(call.arguments or {})}:
                    if not self._known(directory):
                        self._calls[directory] = self._calls.get(directory, 0) + 1

    def _known(self, directory: str) -> bool:
        if directory not in self._is_here:
            below = (directory == known or directory.startswith(f"{known}/") for known in self._workspace.recorded_as)
            self._is_here[directory] = any(below) or os.path.isdir(directory)  # noqa: PTH112 - of very many
        return self._is_here[directory]

    def note(self, fleet_file: str) -> str | None:
        """What to add to the fleet file; None where nothing is missing."""
        count = sum(self._calls.values())
        if count < _MIN_CALLS:
            return None
        groups: dict[str, list[str]] = {}
        for directory in self._calls:
            groups.setdefault(directory.split("/")[1], []).append(directory)
        roots = sorted(os.path.commonpath(group) for group in groups.values())
        template = [] if self._workspace.template else ["    template: THE DIRECTORY THAT THEY STARTED FROM"]
        lines = [
            f"{count:,} paths in the calls lie in directories that are not here. In {fleet_file} set",
            "  workspace:",
            *template,
            f"    recorded_as: [{', '.join([*self._workspace.recorded_as, *roots])}]",
        ]
        return "\n".join(lines)


def _paths(arguments: dict[str, Any]) -> Iterator[str]:
    """The values that are absolute paths of files, by their suffix or the argument's name."""
    for name, value in arguments.items():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict):
                yield from _paths(item)
            elif (
                isinstance(item, str)
                and _PATH.fullmatch(item)
                and (_OF_FILES.search(name) or PurePosixPath(item).suffix)
            ):
                yield item
