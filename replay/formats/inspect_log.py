"""Inspect's evaluation logs: `.json` as it stands, `.eval` through the `inspect_ai` package (the extra `inspect`).

`{version, status, eval: {task, model, ...}, samples: [{id, epoch, messages, scores, events}]}`. A sample comes once an
epoch, under one id: both together name a trajectory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from replay.formats.document import Document, Head
from replay.formats.eval_archive import looks_like_eval_archive, read_eval_archive
from replay.formats.file_names import FileNames
from replay.formats.inspect_messages import SampleMessages
from replay.formats.loose_json import (
    identifier_of,
    objects,
    seconds_of,
    summed_usage,
    text_of,
    tool_definitions,
)
from replay.formats.reader import NO_MATCH, Match
from replay.formats.record_builders import MAX_DEPTH, as_number, as_object, number_calls
from replay.formats.task_facts import labels_of
from replay.records import JsonObject, ReportedResult, Source, Task, Tool, Trajectory, Usage

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
        if {"version", "status", "eval"} <= set(first):
            return Match(0.8, '"version", "status" and "eval"')
        return NO_MATCH

    def trajectories(self, document: Document, names: FileNames) -> Iterator[Trajectory]:
        """One a sample and epoch."""
        if looks_like_eval_archive(document.head):
            header, samples = read_eval_archive(document)
            _note_version(document, header)
            for sample in samples:
                place = f"samples/{sample.get('id')}_epoch_{sample.get('epoch')}.json"
                yield _trajectory(sample, header, place, document, names)
            return
        for element in document.records():
            if not (isinstance(element.value, dict) and "eval" in element.value):
                document.leave(element)
                continue
            _note_version(document, element.value)
            for index, sample in enumerate(objects(element.value.get("samples"))):
                yield _trajectory(sample, element.value, f"{element.place}.samples[{index}]", document, names)


def _note_version(document: Document, header: JsonObject) -> None:
    version = header.get("version")
    if isinstance(version, int) and version > _NEWEST:
        document.note(
            f"version {version} of the log is newer than what is known ({_NEWEST}); read as far as understood"
        )


def _trajectory(sample: JsonObject, header: JsonObject, place: str, document: Document, names: FileNames) -> Trajectory:
    specification = as_object(header.get("eval")) or {}
    model = text_of(specification.get("model")) or names.model(document.path)
    attachments = as_object(sample.get("attachments")) or {}
    events = objects(sample.get("events"))
    messages = objects(resolved(sample.get("messages"), attachments))
    start = next((moment for event in events if (moment := seconds_of(event.get("timestamp"))) is not None), None)
    read = SampleMessages(messages, _tool_times(events), start)
    identifier = identifier_of(sample.get("id")) or place
    return Trajectory(
        id=f"{identifier}_epoch_{sample.get('epoch', 1)}",
        model=model,
        task=Task(
            question=read.question or _input(sample, attachments),
            type=text_of(specification.get("task")),
            id=identifier,
            labels=labels_of(as_object(sample.get("metadata")) or {}),
        ),
        source=Source(file=document.path, format=InspectReader.name, position=place),
        steps=number_calls(read.steps),
        final_reply=read.reply,
        usage=_usage(sample),
        tools=_tools(events, attachments),
        reported=_reported(sample),
        started_at=text_of(sample.get("started_at")) or next((text_of(item.get("timestamp")) for item in events), None),
    )


def resolved(value: Any, attachments: JsonObject, levels: int = MAX_DEPTH) -> Any:
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
    return SampleMessages(objects(value), {}, None).question


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
