"""What is written of a call, made ready before it is: nothing but the database itself can fail after that."""

from __future__ import annotations

import sqlite3
from typing import Any, NamedTuple, TypeAlias

from replay.runfile.rows import insertion_of_call

Statement: TypeAlias = tuple[str, tuple[Any, ...]]


class CallWrites(NamedTuple):
    """The row of a call, and what of its answer is stored."""

    trajectory: int
    ordinal: int
    columns: dict[str, Any]
    answers: tuple[Statement, ...]

    def check(self) -> None:
        """Raise UnicodeEncodeError where the database would: a text holds half of a surrogate pair."""
        for value in self.columns.values():
            if isinstance(value, str) and not value.isascii():
                value.encode()

    def execute(self, db: sqlite3.Connection) -> None:
        """Write all of it; a row that was there is replaced."""
        insertion, values = insertion_of_call(tuple(self.columns)), tuple(self.columns.values())
        try:
            db.execute(insertion, values)
        except sqlite3.IntegrityError:
            db.execute("DELETE FROM calls WHERE trajectory = ? AND ordinal = ?", (self.trajectory, self.ordinal))
            db.execute(insertion, values)
        for statement, parameters in self.answers:
            db.execute(statement, parameters)
