"""What several reports show alike: an answer as text, an outcome in words, the versions."""

from __future__ import annotations

import json
from typing import Any, Final

from replay.diagnosis import TrajectoryContext
from replay.records import Answer, Outcome, RpcError, TextAnswer, ToolResult, TransportFault, blocks_of
from replay.records.files import CallRow

EVIDENCE: Final = {
    "format": "the form of the call",
    "registry": "the fleet's tool lists",
    "schema": "the tool's inputSchema",
    "replay": "the answer when the call was re-issued",
    "stored": "the answer that an earlier run stored",
    "recorded": "the recorded answer",
}


def outcome_label(row: CallRow) -> str:
    """`not found`, `inconclusive (timeout)`."""
    return (
        f"{row.outcome.label} ({row.reason})"
        if row.reason and row.outcome is Outcome.INCONCLUSIVE
        else row.outcome.label
    )


def answer_text(answer: Answer | None) -> str:
    """An answer as a person reads it; empty without one."""
    match answer:
        case None:
            return ""
        case TransportFault():
            return f"(no answer: {answer.fault}) {answer.message}"
        case RpcError():
            data = f"\n{dumped(answer.data)}" if answer.data is not None else ""
            return f"(JSON-RPC error {answer.code}) {answer.message}{data}"
        case ToolResult() | TextAnswer():
            return _result_text(answer)


def call_text(context: TrajectoryContext, position: str) -> str:
    """The call as JSON, or as the model wrote it where it was no call."""
    call = context.calls[position]
    if call.arguments is None and call.raw is not None:
        return call.raw if call.name is None else f"{call.name}\n{call.raw}"
    return dumped({"name": call.name, "arguments": call.arguments})


def dumped(value: Any) -> str:
    """JSON as a person reads it."""
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)


def _result_text(answer: ToolResult | TextAnswer) -> str:
    parts = [
        str(block["text"]) if block.get("type") == "text" and "text" in block else f"({_described(block)})"
        for block in blocks_of(answer)
    ]
    if isinstance(answer, ToolResult):
        if answer.structured is not None and not parts:
            parts.append(dumped(answer.structured))
        if answer.is_error:
            parts.insert(0, "(isError)")
    return "\n".join(parts) or "(nothing)"


def _described(block: dict[str, Any]) -> str:
    kind = str(block.get("type", "block"))
    mime = f" {block['mimeType']}" if isinstance(block.get("mimeType"), str) else ""
    place = block.get("uri") or (block.get("resource") or {}).get("uri") if kind.startswith("resource") else None
    return f"{kind}{mime}{f': {place}' if place else ''}"
