"""What our own exporters put into other formats, read back: what those formats have no field for."""

from __future__ import annotations

from typing import Any

from replay.formats.fields import as_number, as_object, object_in, text_of
from replay.formats.record_builders import of_server
from replay.records import Call, JsonObject, ToolResult, Trajectory
from replay.records.answer import texts_of

_PREFIX = "replay."


TASK = f"{_PREFIX}task"
"""The attribute of a span that holds what is known of the task."""


def task_details(record: Trajectory) -> JsonObject:
    """What is written of a task: whether it passed, its score, and when it began."""
    reported = record.reported and record.reported.model_dump(mode="json", exclude_none=True)
    fields = {"reported": reported, "started_at": record.started_at}
    return {name: value for name, value in fields.items() if value}


def details_in(extra: Any) -> JsonObject | None:
    """The details of a call or a task in an `extra` of ATIF; None where another tool wrote it."""
    return as_object(object_in(extra).get("replay"))


def details_in_attributes(attributes: JsonObject) -> JsonObject | None:
    """The details in the attributes of a span; None where another tool wrote it."""
    found = {key.removeprefix(_PREFIX): value for key, value in attributes.items() if key.startswith(_PREFIX)}
    return found if "position" in found else None


def with_details(call: Call, details: JsonObject) -> Call:
    """The call as it was before it was exported."""
    raw, unreadable = text_of(details.get("raw")), details.get("unreadable")
    changes: JsonObject = {
        "local": details.get("local") is True,
        "interrupted": details.get("interrupted") is True,
        "started": as_number(details.get("started")),
        "seconds": as_number(details.get("seconds")),
        **of_server(details.get("server"), details.get("tool")),
    }
    if unreadable in {"call", "name", "arguments"} if isinstance(unreadable, str) else raw is not None:
        changes |= {"unreadable": text_of(unreadable), "raw": raw}
        changes |= {"arguments": None} if unreadable != "name" else {}
        changes |= {"name": None} if unreadable in {"call", "name"} else {}
    if isinstance(details.get("is_error"), bool) and call.answer is not None:
        blocks = tuple({"type": "text", "text": text} for text in texts_of(call.answer))
        changes["answer"] = ToolResult(content=blocks, is_error=details["is_error"])
    return call.model_copy(update=changes)
