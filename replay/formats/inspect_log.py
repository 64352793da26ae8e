"""Inspect's evaluation logs: `.json` as it stands, `.eval` through the `inspect_ai` package (the extra `inspect`).

`{version, status, eval: {task, model, ...}, samples: [{id, epoch, messages, scores, events}]}`. A sample comes once an
epoch, under one id: both together name a trajectory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from replay.formats.call_log import CallLog
from replay.formats.document import Document, Head
from replay.formats.eval_archive import looks_like_eval_archive, read_eval_archive
from replay.formats.exported_details import reported_in
from replay.formats.harness_tools import INSPECT
from replay.formats.reader import NO_MATCH, Match
from replay.formats.record_builders import (
    answer_of,
    as_number,
    as_object,
    build_call,
    identifier_of,
    objects,
    seconds_of,
    summed_usage,
    text_of,
    tool_definitions,
    with_mcp_server,
    written_call,
)
from replay.formats.task_facts import labels_of
from replay.json_values import MAX_DEPTH
from replay.records import (
    Answer,
    Call,
    JsonObject,
    ReportedResult,
    Task,
    TextAnswer,
    Tool,
    ToolResult,
    Trajectory,
    Usage,
)

_PARSE_ERROR = re.compile(r"Error parsing the following tool call arguments:\n\n(.*)\n\nError details:", re.DOTALL)
_INTERRUPTIONS = frozenset({"approval", "limit"})
"""Errors of a tool message that say that the call was stopped, not that it failed."""

Times = dict[str, tuple[float | None, float | None]]
_NEWEST = 3
_ATTACHMENT = "attachment://"
_GRADES = {"C": True, "I": False}
"""What Inspect's scorers give for correct and incorrect; partial and no answer say neither."""


class InspectReader:
    """Reads Inspect logs."""

    name = "inspect"
    title = "Inspect evaluation logs"
    expected_shape = 'an Inspect log ({"version", "eval": {"task", "model"}, "samples": [...]}, or .eval)'

    def sniff(self, head: Head) -> Match:
        """A log has the specification of its evaluation beside the samples; an `.eval` is a zip of them."""
        if looks_like_eval_archive(head):
            return Match(1.0, "a zip with header.json and samples/")
        first = head.first
        specification = as_object(first.get("eval")) or {}
        if "task" in specification and ("model" in specification or "run_id" in specification):
            return Match(0.98, '"eval" with "task" and "model"')
        if specification and {"version", "status"} <= set(first):
            return Match(0.8, '"version", "status" and "eval"')
        return NO_MATCH

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """One a sample and epoch."""
        if looks_like_eval_archive(document.head):
            header, samples = read_eval_archive(document)
            _note_version(document, header)
            for sample in samples:
                place = f"samples/{sample.get('id')}_epoch_{sample.get('epoch')}.json"
                yield _trajectory(sample, header, place, document)
            return
        for element in document.records():
            if not (isinstance(element.value, dict) and "eval" in element.value):
                document.leave(element)
                continue
            _note_version(document, element.value)
            for index, sample in enumerate(objects(element.value.get("samples"))):
                yield _trajectory(sample, element.value, f"{element.place}.samples[{index}]", document)


def _note_version(document: Document, header: JsonObject) -> None:
    version = header.get("version")
    if isinstance(version, int) and version > _NEWEST:
        document.note(
            f"version {version} of the log is newer than what is known ({_NEWEST}); read as far as understood"
        )


def _trajectory(sample: JsonObject, header: JsonObject, place: str, document: Document) -> Trajectory:
    specification = as_object(header.get("eval")) or {}
    attachments = as_object(sample.get("attachments")) or {}
    events = objects(sample.get("events"))
    messages = objects(resolved(sample.get("messages"), attachments))
    start = next((moment for event in events if (moment := seconds_of(event.get("timestamp"))) is not None), None)
    began = text_of(sample.get("started_at")) or next((text_of(item.get("timestamp")) for item in events), None)
    log, times = CallLog(), _tool_times(events)
    for number, message in enumerate(messages):
        _read(message, number, log, times, start)
    identifier = identifier_of(sample.get("id")) or place
    log.model, log.started_at = text_of(specification.get("model")), began
    return log.trajectory(
        document,
        InspectReader.name,
        place,
        f"{identifier}_epoch_{sample.get('epoch', 1)}",
        task=Task(
            question=_question(messages) or _input(sample, attachments),
            type=text_of(specification.get("task")),
            id=identifier,
            labels=labels_of(as_object(sample.get("metadata")) or {}),
        ),
        usage=_usage(sample),
        tools=_tools(events, attachments),
        reported=_reported(sample),
    )


def resolved(value: Any, attachments: JsonObject, levels: int = 2 * MAX_DEPTH) -> Any:
    """A value with the texts that `attachment://HASH` stands for, but for what is nested deeper than so many levels."""
    if levels == 0:
        return value
    if isinstance(value, str):
        return attachments.get(value.removeprefix(_ATTACHMENT), value) if value.startswith(_ATTACHMENT) else value
    if isinstance(value, list):
        return [resolved(item, attachments, levels - 1) for item in value]
    if isinstance(value, dict):
        return {key: resolved(item, attachments, levels - 1) for key, item in value.items()}
    return value


def _input(sample: JsonObject, attachments: JsonObject) -> str | None:
    value = resolved(sample.get("input"), attachments)
    if isinstance(value, str):
        return value or None
    return _question(objects(value))


def _question(messages: list[JsonObject]) -> str | None:
    texts = (_text(message.get("content")) for message in messages if message.get("role") == "user")
    return "\n\n".join(filter(None, texts)) or None


def _tool_times(events: list[JsonObject]) -> dict[str, tuple[float | None, float | None]]:
    """When each call of a tool began and ended, by its id."""
    return {
        str(event["id"]): (seconds_of(event.get("timestamp")), seconds_of(event.get("completed")))
        for event in events
        if event.get("event") == "tool" and event.get("id")
    }


def _tools(events: list[JsonObject], attachments: JsonObject) -> tuple[Tool, ...]:
    offered = [tool for event in events if event.get("event") == "model" for tool in objects(event.get("tools"))]
    return tool_definitions(resolved(offered, attachments))


def _usage(sample: JsonObject) -> Usage | None:
    by_model = as_object(sample.get("model_usage")) or {}
    counts = [usage for usage in by_model.values() if isinstance(usage, dict)]
    return summed_usage((usage.get("input_tokens"), usage.get("output_tokens")) for usage in counts)


def _reported(sample: JsonObject) -> ReportedResult | None:
    scores = {name: score for name, score in (as_object(sample.get("scores")) or {}).items() if isinstance(score, dict)}
    own = as_object((scores.pop("replay", None) or {}).get("metadata"))
    if own is not None:
        return reported_in(own)
    if not scores and isinstance(sample.get("score"), dict):
        scores = {"score": sample["score"]}
    error = as_object(sample.get("error"))
    if not scores and error is None:
        return None
    values = [score.get("value") for score in scores.values()]
    first = values[0] if len(values) == 1 else None
    number = as_number(first)
    details: JsonObject = {name: score.get("value") for name, score in scores.items()}
    if error is not None:
        details["error"] = error.get("message")
    return ReportedResult(passed=_GRADES.get(first) if isinstance(first, str) else None, score=number, details=details)


def _read(message: JsonObject, number: int, log: CallLog, times: Times, start: float | None) -> None:
    """Take in one message of a sample: its calls are one step."""
    if message.get("role") == "tool":
        answer, kind = _answer(message)
        log.answer(identifier_of(message.get("tool_call_id")), answer, interrupted=kind in _INTERRUPTIONS)
    elif message.get("role") == "assistant":
        content = message.get("content")
        text = _text(content) or None
        provided = [_provider_call(part) for part in objects(content) if part.get("type") == "tool_use"]
        calls = [*provided, *(_call(written, times, start) for written in objects(message.get("tool_calls")))]
        if not calls:
            log.final_reply = text or log.final_reply
            return
        log.say(text)
        for call in calls:
            log.add(call, number)


def _call(written: JsonObject, times: Times, start: float | None) -> Call:
    began, ended = times.get(str(written.get("id")), (None, None))
    name = written.get("function")
    fields: JsonObject = {
        "id": identifier_of(written.get("id")),
        "started": max(0.0, began - start) if began is not None and start is not None else None,
        "seconds": max(0.0, ended - began) if ended is not None and began is not None else None,
    }
    if text_of(written.get("parse_error")):
        return _unparsed(written, fields)
    local = isinstance(name, str) and (name in INSPECT or name.startswith("transfer_to_"))
    return with_mcp_server(written_call(name, written.get("arguments"), local=local, **fields))


def _unparsed(written: JsonObject, fields: JsonObject) -> Call:
    """A call whose arguments Inspect could not read; the model's text stands in what it said of them."""
    call = build_call(written.get("function"), {}, **fields)
    if call.unreadable is not None:
        return call
    match = _PARSE_ERROR.search(written["parse_error"])
    raw = match[1] if match else written["parse_error"]
    return call.model_copy(update={"arguments": None, "unreadable": "arguments", "raw": raw})


def _answer(message: JsonObject) -> tuple[Answer, str | None]:
    content = message.get("content")
    text = _text(content) or ""
    error = as_object(message.get("error"))
    if error is not None:
        answer = answer_of(text or text_of(error.get("message")) or "", is_error=True)
        return answer or TextAnswer(text=text), text_of(error.get("type"))
    blocks = objects(content)
    if blocks and not all(block.get("type") == "text" for block in blocks):
        return ToolResult(content=tuple(map(_block, blocks))), None
    return ToolResult(content=({"type": "text", "text": text},)), None


def _block(part: JsonObject) -> JsonObject:
    """A content part of Inspect as a content block of MCP."""
    image = part.get("image")
    if part.get("type") == "image" and isinstance(image, str) and image.startswith("data:"):
        kind, _, data = image.removeprefix("data:").partition(";base64,")
        return {"type": "image", "data": data, "mimeType": kind}
    return part


def _text(content: Any) -> str | None:
    if isinstance(content, str) or content is None:
        return content
    return "\n".join(
        part["text"] for part in objects(content) if part.get("type") == "text" and text_of(part.get("text"))
    )


def _provider_call(part: JsonObject) -> Call:
    """A call that the model's provider carried out: of a remote MCP server, or of a tool of its own."""
    remote = part.get("tool_type") == "mcp_call"
    server, name = text_of(part.get("context")), text_of(part.get("name"))
    failed = part.get("error") is not None
    call = written_call(
        name,
        part.get("arguments"),
        id=identifier_of(part.get("id")),
        answer=answer_of(part.get("error") if failed else part.get("result"), is_error=failed),
    )
    return call.model_copy(
        update={"local": not remote, **({"server": server, "tool": name} if remote and server and name else {})}
    )
