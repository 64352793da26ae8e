"""What a run was made with, so that the commands which reports print run as they stand, and what is known of its files.

A results file is not read again while it is what it was when it was judged by recorded answers. Of what could not be
read every table of the run tells.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from replay.records import Record, digest
from replay.records.summary import UnreadFile
from replay.runfile.effects_journal import absolute_path, is_there

JUDGED: Final = "judged:"
"""Before the run's number of a file: the key in the table `meta` under which stands what it was."""
_UNREAD: Final = TypeAdapter(dict[str, UnreadFile])


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


class JudgedFile(Record):
    """A results file of which every call has its verdict by a recorded or stored answer."""

    digest: str
    """Of its bytes, of all that it was judged by, and of the files beside it that were read."""
    trajectories: int
    calls: int
    """In it, whether or not they were asked for."""
    models: tuple[str, ...]
    format: str
    warnings: tuple[str, ...]
    signs: tuple[str, ...]
    lost: int
    """As in `FileSummary`, without secrets."""
    beside: tuple[str, ...]
    last: str | None


def judged_file(db: sqlite3.Connection, path: str, policy: str) -> JudgedFile | None:
    """What a file was when it was judged; None where its verdicts are not all there, or not under this policy."""
    found = db.execute(
        "SELECT f.id, m.value FROM files f JOIN meta m ON m.key = ? || f.id WHERE f.absolute_path = ?",
        (JUDGED, absolute_path(path)),
    ).fetchone()
    if found is None:
        return None
    try:
        judged = JudgedFile.model_validate_json(found[1])
    except ValidationError:
        return None
    return judged if _standing(db, found[0], policy) == judged.trajectories else None


def keep_judged_file(db: sqlite3.Connection, path: str, policy: str, judged: JudgedFile) -> None:
    """Keep what a file was, if every trajectory of it has its verdicts under this policy."""
    found = db.execute("SELECT id FROM files WHERE absolute_path = ?", (absolute_path(path),)).fetchone()
    if found is not None and _standing(db, found[0], policy) == judged.trajectories:
        db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (f"{JUDGED}{found[0]}", judged.model_dump_json()))


def forget_judged_file(db: sqlite3.Connection, path: str) -> None:
    """Let a file be read again."""
    db.execute(
        "DELETE FROM meta WHERE key IN (SELECT ? || id FROM files WHERE absolute_path = ?)",
        (JUDGED, absolute_path(path)),
    )


def _standing(db: sqlite3.Connection, file: int, policy: str) -> int:
    """How many trajectories of a file have all their verdicts under a policy; -1 where one has not."""
    count, done = db.execute(
        "SELECT count(*), ifnull(sum(done AND policy = ?), 0) FROM trajectories WHERE file = ?", (policy, file)
    ).fetchone()
    return int(count) if count == done else -1


def digest_of_knowledge(db: sqlite3.Connection) -> str:
    """Of what a run knows that verdicts by recorded answers may rest on: its servers and the answers that it stores."""
    servers = hashlib.sha256()
    for row in db.execute("SELECT name, digest, record FROM servers ORDER BY name"):
        servers.update(digest(list(row)).encode())
    return digest([servers.hexdigest(), *db.execute("SELECT count(*), ifnull(max(rowid), 0) FROM answers").fetchone()])


def keep_files(db: sqlite3.Connection, paths: Iterable[str]) -> None:
    """Take out what the run holds of any other results file."""
    kept = set(map(absolute_path, paths))
    for row, path in db.execute("SELECT id, absolute_path FROM files").fetchall():
        if path not in kept:
            forget_judged_file(db, path)
            db.execute("DELETE FROM calls WHERE file = ?", (row,))
            db.execute("DELETE FROM trajectories WHERE file = ?", (row,))
            db.execute("DELETE FROM files WHERE id = ?", (row,))


def save_unread(db: sqlite3.Connection, files: Sequence[UnreadFile], read: Iterable[str]) -> None:
    """Keep what could not be read; what was read meanwhile, or is not there any more, is forgotten.

    Args:
        db: of the run.
        files: that could not be read, or not as a whole.
        read: paths of those that could.
    """
    known = {path: file for path, file in _unread_by_path(db).items() if is_there(path)}
    for path in map(absolute_path, read):
        known.pop(path, None)
    known |= {absolute_path(file.path): file for file in files}
    if known:
        db.execute("INSERT OR REPLACE INTO meta VALUES ('unread', ?)", (_UNREAD.dump_json(known).decode(),))
    else:
        db.execute("DELETE FROM meta WHERE key = 'unread'")


def unread_files(db: sqlite3.Connection) -> tuple[UnreadFile, ...]:
    """What could not be read of the files that the run was made of."""
    return tuple(_unread_by_path(db).values())


def _unread_by_path(db: sqlite3.Connection) -> dict[str, UnreadFile]:
    found = db.execute("SELECT value FROM meta WHERE key = 'unread'").fetchone()
    return {} if found is None else _UNREAD.validate_json(found[0])
