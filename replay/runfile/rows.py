"""Verdicts as rows of the table calls, and back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from replay.records import Answer, Call, CallResult, Verdict
from replay.runfile.conditions import placeholders
from replay.safety.redaction import Redactor

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


@cache
def insertion_of_call(names: tuple[str, ...]) -> str:
    """The statement that inserts these columns of a call's row."""
    return f"INSERT INTO calls ({', '.join(names)}) VALUES ({placeholders(names)})"  # noqa: S608


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
    text = json.dumps({key: _beginning(value) for key, value in arguments.items()}, ensure_ascii=False)
    return text[:_MAX_PREVIEW].encode("utf-8", "replace").decode()


def _beginning(value: Any) -> Any:
    """As much of a text as can stand in a preview; any other value as it is."""
    return value[: _MAX_PREVIEW + 1] if isinstance(value, str) else value


def verdict_of_row(columns: Mapping[str, Any]) -> Verdict:
    """The Verdict record of a row."""
    fields = {name: columns[name] for name in _COLUMNS if columns[name] is not None}
    return Verdict.model_validate({**json.loads(columns["details"]), **fields})


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
