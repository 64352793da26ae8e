"""The table of answers."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from pydantic import TypeAdapter

from replay.records import Answer
from replay.runfile.json_blob import unpack

_ANSWER: TypeAdapter[Answer] = TypeAdapter(Answer)


def load_answer(connection: sqlite3.Connection, key: str) -> Answer | None:
    """The answer under a key; None where there is none."""
    found = connection.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
    return None if found is None else _ANSWER.validate_python(unpack(found[0]))


def load_answers(connection: sqlite3.Connection) -> Iterator[tuple[str, str, str, Answer]]:
    """All answers: key, server, tool, answer."""
    for key, server, tool, blob in connection.execute(
        "SELECT key, server, tool, answer FROM answers ORDER BY server, tool, key"
    ):
        yield key, server, tool, _ANSWER.validate_python(unpack(blob))


def answers_of(connection: sqlite3.Connection, trajectory: int) -> dict[str, Answer]:
    """The answers of a trajectory's calls, by position."""
    rows = connection.execute(
        "SELECT c.position, a.answer FROM calls c JOIN answers a ON a.key = c.answer_key "
        "WHERE c.trajectory = ? ORDER BY c.ordinal",
        (trajectory,),
    )
    return {position: _ANSWER.validate_python(unpack(blob)) for position, blob in rows}
