"""Verdicts and answers as rows of a run file, and back; and the pieces of SQL that several queries share.

JSON in a column is compressed text.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from isal import isal_zlib
from pydantic import TypeAdapter

from replay.json_values import decode, encode
from replay.records import (
    FAILURES,
    Answer,
    Call,
    CallResult,
    Fault,
    Outcome,
    Reason,
    TextAnswer,
    Trajectory,
    TransportFault,
    Verdict,
    fault_of,
    qualified_name,
)
from replay.records.files import CallRow
from replay.records.trajectory import mark_of, own_answer_key, stderr_key
from replay.safety.redaction import Redactor

_FAILURE_NAMES: Final = ", ".join(f"'{outcome}'" for outcome in FAILURES)


def placeholders(values: Collection[object]) -> str:
    """As many question marks as there are values."""
    return ", ".join("?" * len(values))


def insertion(table: str, columns: Collection[str], *, rows: int = 1, verb: str = "INSERT") -> str:
    """The statement that inserts rows of these columns."""
    values = ", ".join([f"({placeholders(columns)})"] * rows)
    return f"{verb} INTO {table} ({', '.join(columns)}) VALUES {values}"


def is_failure(column: str) -> str:
    """The condition that an outcome is a failure of the model."""
    return f"{column} IN ({_FAILURE_NAMES})"


def fault_in_sql() -> str:
    """The expression that gives the fault of a call by its outcome and reason, as `fault_of` does; '' of a success."""
    by_reason = " ".join(f"WHEN '{reason}' THEN '{reason.fault}'" for reason in Reason)
    others = f"CASE reason {by_reason} ELSE '{Fault.UNKNOWN}' END"
    return f"CASE WHEN {is_failure('outcome')} THEN '{Fault.MODEL}' WHEN outcome = 'success' THEN '' ELSE {others} END"


def in_files(column: str, files: Collection[int] | None) -> str:
    """The condition that a column holds one of these files, by the run's numbers; any where None."""
    if files is None:
        return "1"
    numbers = sorted({int(number) for number in files})
    if len(numbers) > 1 and numbers[-1] - numbers[0] == len(numbers) - 1:  # without a gap, as a run's files mostly are
        return f"{column} BETWEEN {numbers[0]} AND {numbers[-1]}"
    return f"{column} IN ({', '.join(map(str, numbers))})"


def pack(value: Any) -> bytes:
    """A JSON value as compressed text."""
    return pack_text(encode(value))


def pack_text(text: bytes) -> bytes:
    """JSON text as compressed text: what ISA-L writes is smaller than zlib's own level 1, in a quarter of the time."""
    return isal_zlib.compress(text, 1)


def unpack(blob: bytes) -> Any:
    """The JSON value that was packed."""
    return decode(unpacked_text(blob))


def unpacked_text(blob: bytes) -> bytes:
    """The text of the JSON value, for a look that needs no value."""
    return zlib.decompress(blob)


_COLUMNS = (
    "outcome",
    "reason",
    "rule",
    "evidence",
    "certainty",
    "message",
    "recorded",
    "replayed",
    "drift",
    "caused_by",
    "gap",
)
"""Fields of a Verdict that have a column of their own; the rest stands in `details`."""
_ANSWER: TypeAdapter[Answer] = TypeAdapter(Answer)
_ROWS_A_STATEMENT = 32
_MAX_PREVIEW = 400
"""Characters of the arguments that are kept to show and to search."""


def rows_as_dicts(cursor: sqlite3.Cursor) -> Iterator[dict[str, Any]]:
    """The rows that a query found, by the names of their columns."""
    names = [column[0] for column in cursor.description]
    for values in cursor:
        yield dict(zip(names, values, strict=True))


def call_columns(result: CallResult, redactor: Redactor, *, is_clean: bool = False) -> dict[str, Any]:
    """The columns of a call's row without its secrets, but for those that place it.

    Args:
        result: the call with its verdict.
        redactor: takes the secrets out.
        is_clean: the call itself, as it was recorded, is known to hold none.
    """
    fields = redactor.record(result.verdict)
    columns: dict[str, Any] = {name: fields.pop(name, None) for name in _COLUMNS}
    call = result.call
    tool = result.tool if result.server is not None and result.tool else call.name
    return columns | {
        "position": call.position,
        "server": redactor.text(result.server) if result.server else result.server,
        "tool": redactor.text(tool) if tool else tool,
        "arguments": preview(call, redactor, is_clean=is_clean),
        "answer_key": result.key,
        "details": json.dumps({name: value for name, value in fields.items() if value not in ([], {})}),
    }


def insert_calls(db: sqlite3.Connection, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Insert the rows of calls, many by one statement: SQLite writes its index of words out after each."""
    for start in range(0, len(rows), _ROWS_A_STATEMENT):
        some = rows[start : start + _ROWS_A_STATEMENT]
        db.execute(insertion("calls", columns, rows=len(some)), [value for row in some for value in row])


def preview(call: Call, redactor: Redactor | None = None, *, is_clean: bool = False) -> str:
    """The start of the arguments as JSON, or of the raw text where they could not be read.

    Args:
        call: the call.
        redactor: takes the secrets out before the text is cut; by default the common token shapes.
        is_clean: the call is known to hold none.
    """
    redactor = redactor or Redactor()
    if call.arguments is None:
        return redactor.text(call.raw or "")[:_MAX_PREVIEW]
    if not call.arguments:
        return "{}"
    arguments = call.arguments if is_clean else redactor.json(call.arguments)
    beginnings = {
        key: value[: _MAX_PREVIEW + 1] if isinstance(value, str) else value for key, value in arguments.items()
    }
    text = json.dumps(beginnings, ensure_ascii=False)
    return text[:_MAX_PREVIEW].encode("utf-8", "replace").decode()


def verdict_of_row(columns: Mapping[str, Any]) -> Verdict:
    """The Verdict record of a row."""
    fields = {name: columns[name] for name in _COLUMNS if columns[name] is not None}
    return Verdict.model_validate({**json.loads(columns["details"]), **fields})


def call_row_of(columns: Mapping[str, Any]) -> CallRow:
    """The line of the run document that a row is, read with the names of its file and its trajectory."""
    verdict = verdict_of_row(columns)
    return CallRow(
        file=columns["file_path"],
        model=columns["model"],
        trajectory=columns["trajectory_name"],
        call=columns["position"],
        server=columns["server"],
        tool=qualified_name(columns["server"], columns["tool"]) or None,
        task_type=columns["task_type"],
        fault=fault_of(verdict.outcome, verdict.reason),
        **vars(verdict),
    )


def call_result_of(call: Call, columns: Mapping[str, Any], answer: Answer | None) -> CallResult:
    """What the replayer knew of a call when its row was written."""
    return CallResult(
        call=call,
        verdict=verdict_of_row(columns),
        server=columns["server"],
        tool=columns["tool"],
        key=columns["answer_key"],
        answer=answer,
    )


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


def arguments_of_answers(connection: sqlite3.Connection) -> dict[str, str]:
    """The start of the arguments, as JSON, that each stored answer was given for, by its key."""
    rows = connection.execute("SELECT answer_key, arguments FROM calls WHERE answer_key IS NOT NULL")
    return {key: arguments for key, arguments in rows if arguments is not None}


def answers_of(connection: sqlite3.Connection, trajectory: int) -> dict[str, Answer]:
    """The answers of a trajectory's calls, by position."""
    rows = connection.execute(
        "SELECT c.position, a.answer FROM calls c JOIN answers a ON a.key = c.answer_key "
        "WHERE c.trajectory = ? ORDER BY c.ordinal",
        (trajectory,),
    )
    return {position: _ANSWER.validate_python(unpack(blob)) for position, blob in rows}


def keep_answer(
    db: sqlite3.Connection, key: str, answer: Answer, result: CallResult, server_digest: str, redactor: Redactor
) -> None:
    """Keep the answer of a call, without secrets; a fault never takes the place of one that came.

    Args:
        db: in a transaction.
        key: of `answer_key`.
        answer: what came, or the fault in its place.
        result: the call that it answers, and what its server wrote to stderr.
        server_digest: of its server's identity and tools/list; '' where they are not known.
        redactor: takes the secrets out.
    """
    tool = redactor.text(result.tool) if result.tool else result.tool
    verb = "INSERT OR IGNORE" if isinstance(answer, TransportFault) else "INSERT OR REPLACE"
    text = pack_text(redactor.record_text(answer))
    db.execute(f"{verb} INTO answers VALUES (?, ?, ?, ?, ?)", (key, result.server, server_digest, tool, text))
    if result.verdict.stderr is not None:
        text = pack_text(redactor.record_text(TextAnswer(text=result.verdict.stderr)))
        row = (stderr_key(key), result.server, server_digest, tool, text)
        db.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?)", row)
    elif result.verdict.outcome is not Outcome.SUCCESS:
        db.execute("DELETE FROM answers WHERE key = ?", (stderr_key(key),))


def with_own_key(
    db: sqlite3.Connection,
    result: CallResult,
    stateful: Callable[[], Collection[str]],
    trajectory: Trajectory,
    redactor: Redactor,
) -> CallResult:
    """A result whose answer takes the place of none that another trajectory got from a server with state.

    Args:
        db: the run file.
        result: of a call.
        stateful: gives the servers with a process for each trajectory; asked only where two answers have one key.
        trajectory: whose call it is.
        redactor: takes out of answers what the run file does not hold.
    """
    if result.key is None or result.answer is None or isinstance(result.answer, TransportFault):
        return result
    kept = db.execute("SELECT answer FROM answers WHERE key = ?", (result.key,)).fetchone()
    if kept is None or unpacked_text(kept[0]) == redactor.record_text(result.answer) or result.server not in stateful():
        return result
    return replace(result, key=own_answer_key(result.key, mark_of(trajectory)))
