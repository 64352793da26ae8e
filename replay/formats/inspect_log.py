"""Inspect's evaluation logs: `.json` as it stands, `.eval` through the `inspect_ai` package (the extra `inspect`).

`{version, status, eval: {task, model, ...}, samples: [{id, epoch, messages, scores, events}]}`. A sample comes once an
epoch, under one id: both together name a trajectory.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from replay.errors import FormatError, install_command
from replay.formats.call_log import CallLog, seconds_after, seconds_of
from replay.formats.document import NO_MATCH, Document, Head, Match
from replay.formats.fields import as_number, as_object, identifier_of, object_in, objects, paragraphs, text_of
from replay.formats.record_builders import answer_of, build_call, of_server, written_call
from replay.formats.task_facts import labels_of, reported_in, tool_definitions, total_usage, usage_of
from replay.json_values import MAX_DEPTH
from replay.records import Answer, Call, JsonObject, ReportedResult, Task, TextAnswer, ToolResult, Trajectory, Usage

if TYPE_CHECKING:
    from types import ModuleType

_OWN_TOOLS = frozenset({
    "bash", "bash_session", "code_execution", "computer", "memory", "python", "skill", "submit", "text_editor",
    "think", "update_plan", "web_browser_back", "web_browser_click", "web_browser_forward", "web_browser_go",
    "web_browser_refresh", "web_browser_scroll", "web_browser_type", "web_browser_type_submit", "web_search",
})  # fmt: skip
"""The standard tools of Inspect, and the `submit` of its agents."""
_PARSE_ERROR = re.compile(r"Error parsing the following tool call arguments:\n\n(.*)\n\nError details:", re.DOTALL)
_INTERRUPTIONS = frozenset({"approval", "limit"})
"""Errors of a tool message that say that the call was stopped, not that it failed."""

Times = dict[str, tuple[float | None, float | None]]
"""When each call of a tool began and ended, by its id."""
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
        specification = object_in(first, "eval")
        if "task" in specification and ("model" in specification or "run_id" in specification):
            return Match(0.98, '"eval" with "task" and "model"')
        if specification and {"version", "status"} <= set(first):
            return Match(0.8, '"version", "status" and "eval"')
        return NO_MATCH

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """One a sample and epoch."""
        if looks_like_eval_archive(document.head):
            yield from _from_archive(document)
            return
        for element in document.objects(lambda record: "eval" in record):
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
    specification = object_in(header, "eval")
    attachments = object_in(sample, "attachments")
    events = objects(sample.get("events"))
    messages = objects(resolved(sample.get("messages"), attachments))
    start = next((moment for event in events if (moment := seconds_of(event.get("timestamp"))) is not None), None)
    began = text_of(sample.get("started_at")) or next((text_of(item.get("timestamp")) for item in events), None)
    offered = [tool for event in events if event.get("event") == "model" for tool in objects(event.get("tools"))]
    identifier = identifier_of(sample.get("id")) or place
    log, times = CallLog(place, f"{identifier}_epoch_{sample.get('epoch', 1)}"), _tool_times(events)
    for number, message in enumerate(messages):
        _read(message, number, log, times, start)
    log.model, log.started_at = text_of(specification.get("model")), began
    return log.trajectory(
        document,
        InspectReader.name,
        task=Task(
            question=_question(messages) or _input(sample, attachments),
            type=text_of(specification.get("task")),
            id=identifier,
            labels=labels_of(object_in(sample, "metadata")),
        ),
        usage=_usage(sample),
        tools=tool_definitions(resolved(offered, attachments)),
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
    return text_of(value) or _question(objects(value))


def _question(messages: list[JsonObject]) -> str | None:
    return paragraphs(_text(message.get("content")) for message in messages if message.get("role") == "user")


def _tool_times(events: list[JsonObject]) -> Times:
    return {
        str(event["id"]): (seconds_of(event.get("timestamp")), seconds_of(event.get("completed")))
        for event in events
        if event.get("event") == "tool" and event.get("id")
    }


def _usage(sample: JsonObject) -> Usage | None:
    counts = map(object_in, object_in(sample, "model_usage").values())
    return total_usage(usage_of(usage.get("input_tokens"), usage.get("output_tokens")) for usage in counts)


def _reported(sample: JsonObject) -> ReportedResult | None:
    scores = {name: score for name, score in object_in(sample, "scores").items() if isinstance(score, dict)}
    if "replay" in scores:  # our own export
        return reported_in(object_in(scores, "replay", "metadata"))
    if not scores and isinstance(sample.get("score"), dict):
        scores = {"score": sample["score"]}
    error = as_object(sample.get("error"))
    if not scores and error is None:
        return None
    details: JsonObject = {name: score.get("value") for name, score in scores.items()}
    only = next(iter(details.values())) if len(details) == 1 else None
    if error is not None:
        details["error"] = error.get("message")
    passed = _GRADES.get(only) if isinstance(only, str) else None
    return ReportedResult(passed=passed, score=as_number(only), details=details)


def _read(message: JsonObject, number: int, log: CallLog, times: Times, start: float | None) -> None:
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
        "started": seconds_after(start, began),
        "seconds": seconds_after(began, ended),
    }
    if text_of(written.get("parse_error")):
        return _unparsed(written, fields)
    local = isinstance(name, str) and (name in _OWN_TOOLS or name.startswith("transfer_to_"))
    return written_call(name, written.get("arguments"), local=local, **fields)


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
    answer = answer_of(part.get("error") if failed else part.get("result"), is_error=failed)
    call = written_call(name, part.get("arguments"), id=identifier_of(part.get("id")), answer=answer)
    return call.model_copy(update={"local": not remote, **(of_server(server, name) if remote else {})})


_FIRST_MEMBERS = (b"_journal/start.json", b"header.json", b"samples/", b"summaries.json", b"_journal/summaries/")


def looks_like_eval_archive(head: Head) -> bool:
    """Whether a file is a zip with the members of an Inspect log."""
    if head.members:
        return not {"header.json", "_journal/start.json"}.isdisjoint(head.members)
    return head.data[:4] == b"PK\x03\x04" and head.data[30:].startswith(_FIRST_MEMBERS)


def _from_archive(document: Document) -> Iterator[Trajectory]:
    """Those of an `.eval` log, one sample after the other; one that is missing is noted.

    Such a log is a zip whose members may be compressed in ways that Python's own zipfile does not open.
    """
    log = _inspect_package(document.path)
    with _on_disk(document) as path:
        header = _asked(document, log.read_eval_log, path, header_only=True).model_dump(mode="json")
        _note_version(document, header)
        for summary in _asked(document, log.read_eval_log_sample_summaries, path):
            place = f"samples/{summary.id}_epoch_{summary.epoch}.json"
            chosen = {"id": summary.id, "epoch": summary.epoch, "resolve_attachments": True}
            try:
                sample = _asked(document, log.read_eval_log_sample, path, **chosen).model_dump(mode="json")
            except FormatError as error:
                document.note(error.message, place)
                continue
            yield _trajectory(sample, header, place, document)


def _asked(document: Document, question: Callable[..., Any], *arguments: Any, **choices: Any) -> Any:
    """What the package answers. In another thread: it runs an event loop of its own, and ours may be running here."""
    with ThreadPoolExecutor(1) as pool:
        try:
            return pool.submit(question, *arguments, **choices).result()
        except Exception as error:  # noqa: BLE001 - the package documents none, and a broken log is no fault of ours
            raise FormatError(document.path, f"inspect_ai cannot read it: {type(error).__name__}: {error}") from None


def _inspect_package(path: str) -> ModuleType:
    try:
        import inspect_ai.log
    except ImportError:
        install = f"install it with: {install_command('inspect')}"
        convert = "or turn the log into JSON with: inspect log convert --to json"
        raise FormatError(
            path, f"an Inspect .eval log, which the package inspect_ai reads; {install}, {convert}"
        ) from None
    module: ModuleType = inspect_ai.log
    return module


@contextmanager
def _on_disk(document: Document) -> Iterator[str]:
    """A path of the file: its own, or, out of an archive or a pipe, that of a copy."""
    own = Path(document.path)
    if own.is_file() and own.suffix == ".eval":
        yield str(own)
        return
    with TemporaryDirectory(prefix="replay-") as directory:
        copy = Path(directory) / "log.eval"
        with document.open() as source, copy.open("wb") as target:
            shutil.copyfileobj(source, target)
        yield str(copy)
