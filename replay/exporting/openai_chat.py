"""OpenAI chat messages, `{"messages": [...]}`. The verdicts stand in `replay.calls`, by the call's id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from replay.exporting.judged_call import JudgedCall, judged_steps, outcome_counts
from replay.formats.record_builders import to_json
from replay.records import JsonObject
from replay.runfile.trajectory_queries import StoredTrajectory


def documents(trajectories: Iterable[StoredTrajectory]) -> Iterator[tuple[str, JsonObject]]:
    """One a trajectory."""
    for stored in trajectories:
        yield stored.record.id, _document(stored)


def _document(stored: StoredTrajectory) -> JsonObject:
    record = stored.record
    messages: list[JsonObject] = []
    judged: JsonObject = {}
    if record.task.question:
        messages.append({"role": "user", "content": record.task.question})
    for text, calls in judged_steps(stored):
        messages += _messages(text, calls)
        judged |= {item.id: item.details() for item in calls}
    if record.final_reply:
        messages.append({"role": "assistant", "content": record.final_reply})
    return {
        "id": record.id,
        "model": record.model,
        "messages": messages,
        "tools": [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
            }
            for tool in record.tools
        ],
        "replay": {"outcomes": outcome_counts(stored), "calls": judged},
    }


def _messages(text: str | None, calls: list[JudgedCall]) -> list[JsonObject]:
    """A reply with its calls, and their answers; a call that nobody could read stays the text that it was."""
    readable = [item for item in calls if item.call.unreadable != "call"]
    unreadable = [item.call.raw for item in calls if item.call.unreadable == "call" and item.call.raw]
    messages: list[JsonObject] = [{"role": "assistant", "content": raw} for raw in unreadable]
    if readable:
        messages.append({"role": "assistant", "content": text, "tool_calls": [_tool_call(item) for item in readable]})
    answers = [(item.id, item.answer_text) for item in readable]
    return messages + [
        {"role": "tool", "tool_call_id": identifier, "content": answer}
        for identifier, answer in answers
        if answer is not None
    ]


def _tool_call(item: JudgedCall) -> JsonObject:
    call = item.call
    arguments = call.raw if call.arguments is None and call.raw is not None else to_json(item.arguments)
    return {"id": item.id, "type": "function", "function": {"name": call.name or "", "arguments": arguments}}
