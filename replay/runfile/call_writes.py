"""What is written of a call, made ready before it is: nothing but the database itself can fail after that."""

from __future__ import annotations

import sqlite3
from functools import cache
from typing import Any, NamedTuple

from replay.runfile.conditions import placeholders

Statement = tuple[str, tuple[Any, ...]]


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
        insertion, values = _insertion(tuple(self.columns)), tuple(self.columns.values())
        try:
            db.execute(insertion, values)
        except sqlite3.IntegrityError:
            db.execute("DELETE FROM calls WHERE trajectory = ? AND ordinal = ?", (self.trajectory, self.ordinal))
            db.execute(insertion, values)
        for statement, parameters in self.answers:
            db.execute(statement, parameters)


@cache
def _insertion(columns: tuple[str, ...]) -> str:
    """The statement that writes a call."""
    return f"INSERT INTO calls ({', '.join(columns)}) VALUES ({placeholders(columns)})"  # noqa: S608
