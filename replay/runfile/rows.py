"""Verdicts as rows of the table calls, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from replay.records import Answer, Call, CallResult, Verdict

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
_PREVIEW = 400
"""Characters of the arguments that are kept to show and to search."""


def call_columns(result: CallResult) -> dict[str, Any]:
    """The columns of a call's row, but for those that place it."""
    fields = result.verdict.model_dump(mode="json", exclude_none=True)
    columns: dict[str, Any] = {name: fields.pop(name, None) for name in _COLUMNS}
    call = result.call
    tool = result.tool if result.server is not None and result.tool else call.name
    return columns | {
        "position": call.position,
        "server": result.server,
        "tool": tool,
        "arguments": preview(call),
        "answer_key": result.key,
        "details": json.dumps({name: value for name, value in fields.items() if value not in ([], {})}),
    }


def preview(call: Call) -> str:
    """The start of the arguments as JSON, or of the raw text where they could not be read."""
    if call.arguments is None:
        return (call.raw or "")[:_PREVIEW]
    return json.dumps(call.arguments, ensure_ascii=False)[:_PREVIEW].encode("utf-8", "replace").decode()


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
