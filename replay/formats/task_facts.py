"""What a file says of a task beside its calls: tokens, the tools that were offered, labels and the file's own verdict.

Also what our own exporters put into other formats, where those have no field for it, and how it is read back.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Final

from replay.formats.document import Document
from replay.formats.fields import (
    as_number,
    as_object,
    first_of,
    identifier_of,
    object_in,
    opened,
    text_of,
    whole_number,
)
from replay.formats.record_builders import of_server
from replay.records import Call, JsonObject, ReportedResult, Tool, ToolResult, Trajectory, Usage, texts_of


def usage_of(input_tokens: Any, output_tokens: Any) -> Usage | None:
    """Token counts; None where there are none."""
    read, written = whole_number(input_tokens), whole_number(output_tokens)
    return None if read is None and written is None else Usage(input_tokens=read, output_tokens=written)


def usage_in(value: Any) -> Usage | None:
    """The token counts of a `usage` object, by OpenAI's names or by Anthropic's."""
    counts = object_in(value)
    read = counts.get("prompt_tokens", counts.get("input_tokens"))
    written = counts.get("completion_tokens", counts.get("output_tokens"))
    return usage_of(*(count if isinstance(count, int) else None for count in (read, written)))


def total_usage(usages: Iterable[Usage | None]) -> Usage | None:
    """The tokens of several replies together; None where none has any."""
    known = [usage for usage in usages if usage is not None]
    reads = [usage.input_tokens for usage in known if usage.input_tokens is not None]
    writes = [usage.output_tokens for usage in known if usage.output_tokens is not None]
    return usage_of(sum(reads) if reads else None, sum(writes) if writes else None)


def tool_definitions(value: Any) -> tuple[Tool, ...]:
    """Tools as a request offers them: `{name, description, parameters | inputSchema | input_schema}`, or in `function`.

    Of several of one name the first stands.
    """
    tools: dict[str, Tool] = {}
    entries = opened(value)
    for entry in map(opened, entries if isinstance(entries, list) else []):
        body = object_in(entry, "function") or entry if isinstance(entry, dict) else {}
        name = text_of(body.get("name"))
        if name is None:
            continue
        schema = first_of(body, "parameters", "inputSchema", "input_schema", "parameters_json_schema")
        tools.setdefault(name, Tool(name=name, description=text_of(body.get("description")), input_schema=schema))
    return tuple(tools.values())


_PASSED: Final = ("pass", "passed", "success", "resolved")
_SCORE: Final = ("reward", "score")
_WHY: Final = ("failure", "failure_reason")
LABELS: Final = ("difficulty", "family", "category", "domain", "level")
"""Fields of a record that sort tasks, beside `type`."""


def reported_of(record: JsonObject) -> ReportedResult | None:
    """The verdict that a results file itself gives on a task; None where it gives none.

    Args:
        record: the object that holds the trajectory.
    """
    own = object_in(record, "replay")
    if "reported" in own:
        return reported_in(own)
    passed = next((record[name] for name in _PASSED if isinstance(record.get(name), bool)), None)
    score = next((number for name in _SCORE if (number := _number(record.get(name))) is not None), None)
    if passed is None and score is None:
        return None
    details = {name: record[name] for name in _WHY if isinstance(record.get(name), str)}
    return ReportedResult(passed=passed, score=score, details=details or None)


def run_beside(document: Document) -> JsonObject:
    """Model, tokens and result of a run whose bare messages or items MCPMark keeps beside a `meta.json`."""
    meta = object_in(document.beside("meta.json"))
    result = as_object(meta.get("execution_result"))
    return {**result, "model": meta.get("model_name"), "usage": meta.get("token_usage")} if result else {}


def reported_in(details: JsonObject) -> ReportedResult | None:
    """The verdict on a task in what our own exporters write of it."""
    given = as_object(details.get("reported"))
    if given is None:
        return None
    passed = given.get("passed")
    return ReportedResult(
        passed=passed if isinstance(passed, bool) else None,
        score=_number(given.get("score")),
        details=as_object(given.get("details")),
    )


def labels_of(record: JsonObject) -> dict[str, str] | None:
    """The labels of a task; None where it has none."""
    found = {name: (identifier_of(record.get(name)) or "").strip() for name in LABELS}
    return {name: text for name, text in found.items() if text} or None


def _number(value: Any) -> float | None:
    given = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if given else None


_PREFIX = "replay."


TASK_ATTRIBUTE = f"{_PREFIX}task"
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
