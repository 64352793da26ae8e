"""The table of answers."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from pydantic import TypeAdapter

from replay.records import Answer, CallResult, Outcome, TextAnswer, TransportFault
from replay.records.trajectory import stderr_key
from replay.runfile.call_writes import Statement
from replay.runfile.json_blob import pack_text, unpack
from replay.safety.redaction import Redactor

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


def writes_of_answer(
    key: str, answer: Answer, result: CallResult, server_digest: str, redactor: Redactor
) -> Iterator[Statement]:
    """What keeps the answer of a call, without secrets; a fault never takes the place of one that came.

    Args:
        key: of `answer_key`.
        answer: what came, or the fault in its place.
        result: the call that it answers, and what its server wrote to stderr.
        server_digest: of its server's identity and tools/list; '' where they are not known.
        redactor: takes the secrets out.
    """
    tool = redactor.text(result.tool) if result.tool else result.tool
    verb = "INSERT OR IGNORE" if isinstance(answer, TransportFault) else "INSERT OR REPLACE"
    text = pack_text(redactor.record_text(answer))
    yield f"{verb} INTO answers VALUES (?, ?, ?, ?, ?)", (key, result.server, server_digest, tool, text)
    if result.verdict.stderr is not None:
        text = pack_text(redactor.record_text(TextAnswer(text=result.verdict.stderr)))
        row = (stderr_key(key), result.server, server_digest, tool, text)
        yield "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?)", row
    elif result.verdict.outcome is not Outcome.SUCCESS:
        yield "DELETE FROM answers WHERE key = ?", (stderr_key(key),)


def answers_of(connection: sqlite3.Connection, trajectory: int) -> dict[str, Answer]:
    """The answers of a trajectory's calls, by position."""
    rows = connection.execute(
        "SELECT c.position, a.answer FROM calls c JOIN answers a ON a.key = c.answer_key "
        "WHERE c.trajectory = ? ORDER BY c.ordinal",
        (trajectory,),
    )
    return {position: _ANSWER.validate_python(unpack(blob)) for position, blob in rows}
