"""What a run was made with: so that the commands which reports print run as they stand."""

from __future__ import annotations

import os
import shlex
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from replay.records import Record


class RunCommand(Record):
    """The options of the `replay classify` that made a run, as far as another command must repeat them."""

    servers: str | None = None
    """Absolute path of the fleet file; None where the run was judged without one."""
    allow_effects: tuple[str, ...] = ()
    names: str | None = None
    """The pattern of `--names`."""
    rebinding: bool = True

    def classify(self, file: str, run: str) -> str:
        """The command that judges a results file once more, into another run."""
        words = ["replay", "classify", file, *(self._fleet() if self.servers else ("--offline",))]
        words += ["--names", self.names] if self.names else []
        words += [] if self.rebinding else ["--no-rebinding"]
        return shlex.join([*words, "--run", run])

    def shrink(self, run: str, call: str) -> str:
        """The command that finds the smallest reproduction of a call."""
        return shlex.join(["replay", "shrink", "--run", run, "--call", call, *self._fleet(), "-o", "repro"])

    def check(self, server: str) -> str:
        """The command that tries one server of the fleet."""
        words = ["replay", "servers", "check", server]
        return shlex.join([*words, "--servers", shown_path(self.servers)] if self.servers else words)

    def _fleet(self) -> Iterator[str]:
        yield from ("--servers", shown_path(self.servers) if self.servers else "servers.yaml")
        for name in self.allow_effects:
            yield from ("--allow-effects", name)


NOT_KNOWN: Final = RunCommand()
"""Of a run of an older version, or of calls that are in none."""


def save_command(db: sqlite3.Connection, command: RunCommand) -> None:
    """Keep what a run is made with; one without servers does not make it forget the fleet."""
    known = load_command(db)
    if command.servers is None:
        command = command.model_copy(update={"servers": known.servers, "allow_effects": known.allow_effects})
    db.execute("INSERT OR REPLACE INTO meta VALUES ('command', ?)", (command.model_dump_json(),))


def load_command(db: sqlite3.Connection) -> RunCommand:
    """What a run was made with; of an older run nothing is known."""
    found = db.execute("SELECT value FROM meta WHERE key = 'command'").fetchone()
    return NOT_KNOWN if found is None else RunCommand.model_validate_json(found[0])


def shown_path(path: str) -> str:
    """A path as it is typed here: relative where it lies below the working directory."""
    relative = os.path.relpath(path)
    return relative if not relative.startswith(os.pardir) else str(Path(path))
