"""ATIF 1.7, for Harbor and what reads its trajectories. The verdict stands in a call's `extra.replay`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from replay import __version__
from replay.exporting.judged_call import JudgedCall, judged_steps, outcome_counts
from replay.formats.task_facts import task_details
from replay.records import JsonObject, Tool
from replay.runfile.trajectory_queries import StoredTrajectory

VERSION = "ATIF-v1.7"


def documents(trajectories: Iterable[StoredTrajectory]) -> Iterator[tuple[str, JsonObject]]:
    """One a trajectory."""
    for stored in trajectories:
        yield stored.record.id, _document(stored)


def _document(stored: StoredTrajectory) -> JsonObject:
    record = stored.record
    steps: list[JsonObject] = []
    if record.task.question:
        steps.append({"source": "user", "message": record.task.question})
    steps += [_step(text, calls, record.model) for text, calls in judged_steps(stored)]
    if record.final_reply:
        steps.append({"source": "agent", "model_name": record.model, "message": record.final_reply})
    agent: JsonObject = {"name": record.source.format, "version": "unknown", "model_name": record.model}
    if record.tools:
        agent["tool_definitions"] = [_definition(tool) for tool in record.tools]
    extra: JsonObject = {
        "exported_by": f"mcp-replay {__version__}",
        "outcomes": outcome_counts(stored),
        **task_details(record),
    }
    if record.parent is not None:
        extra["parent"] = record.parent.model_dump(mode="json")
    document: JsonObject = {
        "schema_version": VERSION,
        "session_id": record.id,
        "agent": agent,
        "steps": [{"step_id": number, **step} for number, step in enumerate(steps, 1)],
        "extra": {"replay": extra},
    }
    if record.usage is not None:
        document["final_metrics"] = {
            "total_prompt_tokens": record.usage.input_tokens,
            "total_completion_tokens": record.usage.output_tokens,
        }
    return document


def _definition(tool: Tool) -> JsonObject:
    function = {"name": tool.name, "description": tool.description or "", "parameters": tool.input_schema or {}}
    return {"type": "function", "function": function}


def _step(text: str | None, calls: list[JudgedCall], model: str) -> JsonObject:
    results = [
        {"source_call_id": item.id, "content": item.answer_text} for item in calls if item.answer_text is not None
    ]
    return {
        "source": "agent",
        "model_name": model,
        "message": text or "",
        "tool_calls": [
            {
                "tool_call_id": item.id,
                "function_name": item.call.name or "",
                "arguments": item.arguments,
                "extra": {"replay": item.details()},
            }
            for item in calls
        ],
        **({"observation": {"results": results}} if results else {}),
    }
