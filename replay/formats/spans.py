"""Spans as exporters write them (OTLP JSON, Jaeger, Tempo, plain lists), brought to one form; and from those of a trace
to steps of calls, which span exports, Langfuse and LangSmith have in common.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from string import hexdigits
from typing import Any

from replay.formats.call_log import seconds_after, seconds_of
from replay.formats.fields import first_of, identifier_of, object_in, objects, opened, text_of, to_json, whole_number
from replay.formats.record_builders import answer_of, error_answer, written_call
from replay.records import Answer, Call, JsonObject, Step, Usage, texts_of

RESOURCE_KEYS = ("resourceSpans", "resource_spans", "batches")
_SCOPE_KEYS = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans", "instrumentation_library_spans")
_PLAIN_VALUES = frozenset(
    {"stringValue", "string_value", "boolValue", "bool_value", "doubleValue", "double_value", "bytesValue"}
)
_OPENINFERENCE_KIND = "openinference.span.kind"
_OPENINFERENCE_KINDS = frozenset({
    "AGENT", "CHAIN", "EMBEDDING", "EVALUATOR", "GUARDRAIL", "LLM", "PROMPT", "RERANKER", "RETRIEVER", "TOOL",
})  # fmt: skip
_ERROR_CODES = frozenset({2, "2", "ERROR", "STATUS_CODE_ERROR", "Error", "error"})


@dataclass(frozen=True)
class Span:
    """One span, whoever exported it."""

    trace: str
    id: str
    parent: str | None
    name: str
    start: float | None
    """Seconds since 1970."""
    end: float | None
    attributes: JsonObject
    events: tuple[tuple[str, JsonObject], ...] = field(default=())
    """(name, attributes) of each."""
    failed: bool = False
    """The status is ERROR; any other status says nothing of the call."""
    message: str | None = None
    """Of the status."""


def spans_of(value: JsonObject) -> Iterator[Span]:
    """The spans in a record of a file; none where it holds none."""
    resources = first_of(value, *RESOURCE_KEYS)
    trace = value.get("trace")
    if isinstance(resources, list):
        for resource in objects(resources):
            for scope in objects(first_of(resource, *_SCOPE_KEYS)):
                yield from map(plain_span, objects(scope.get("spans")))
    elif isinstance(trace, dict) and first_of(trace, *RESOURCE_KEYS):
        yield from spans_of(trace)
    elif isinstance(value.get("spans"), list):
        spans = objects(value["spans"])
        yield from map(_jaeger if any("operationName" in span for span in spans) else plain_span, spans)
    elif isinstance(first_of(value, "data", "traces"), list):  # Jaeger's lists are called `data`
        inner = (each for each in objects(first_of(value, "data", "traces")) if {*RESOURCE_KEYS, "spans"} & each.keys())
        yield from chain.from_iterable(map(spans_of, inner))
    elif "operationName" in value and "tags" in value:
        yield _jaeger(value)
    elif _is_plain_span(row := _from_columns(value)):
        yield plain_span(row)


def _is_plain_span(value: JsonObject) -> bool:
    context = object_in(value, "context")
    named = any(key in source for source in (value, context) for key in ("trace_id", "traceId", "span_id", "spanId"))
    return named and isinstance(opened(value.get("attributes")), dict | list)


def _from_columns(row: JsonObject) -> JsonObject:
    """The span of a row of a table, such as Phoenix's data frames, with columns as `context.trace_id` and
    `attributes.tool.name`; what is empty in a row was not in the span.
    """
    if "attributes" in row or not any(key.startswith("attributes.") for key in row):
        return row
    span: JsonObject = {"context": {}, "attributes": {}}
    for key, value in row.items():
        group, _, name = key.partition(".")
        if not name or group not in span:
            span[key] = value
        elif value is not None:
            span[group][name] = value
    return span


def plain_span(value: JsonObject) -> Span:
    """A span of OTLP, or of one of the SDKs' own dumps."""
    context = object_in(first_of(value, "context", "spanContext", "span_context"))
    both = {**context, **value}
    status = value["status"] if isinstance(value.get("status"), dict) else None
    code = first_of(value, "status_code", "status") if status is None else first_of(status, "code", "status_code")
    code = code.rpartition(".")[2] if isinstance(code, str) else code
    return Span(
        trace=_id(first_of(both, "trace_id", "traceId")) or "",
        id=_id(first_of(both, "span_id", "spanId", "id")) or "",
        parent=_id(
            first_of(value, "parent_span_id", "parentSpanId", "parent_id", "parentId")
            or first_of(object_in(value, "parent"), "span_id", "spanId")
        ),
        name=text_of(value.get("name")) or "",
        start=seconds_of(first_of(value, "start_time", "startTimeUnixNano", "start_time_unix_nano", "startTime")),
        end=seconds_of(first_of(value, "end_time", "endTimeUnixNano", "end_time_unix_nano", "endTime")),
        attributes=_with_kind(attributes_of(opened(value.get("attributes"))), first_of(value, "span_kind", "spanKind")),
        events=tuple(_events(first_of(value, "span_events", "events"))),
        failed=code in _ERROR_CODES if isinstance(code, str | int) else False,
        message=text_of(first_of(status or {}, "message", "description")),
    )


def _with_kind(attributes: JsonObject, kind: Any) -> JsonObject:
    """The attributes with OpenInference's kind of span, which Phoenix moves out of them to the top."""
    if isinstance(kind, str) and kind.upper() in _OPENINFERENCE_KINDS and _OPENINFERENCE_KIND not in attributes:
        return {**attributes, _OPENINFERENCE_KIND: kind}
    return attributes


def _tags(listed: Any) -> JsonObject:
    return {str(tag.get("key")): tag.get("value") for tag in objects(listed)}


def _jaeger(value: JsonObject) -> Span:
    tags, logs = _tags(value.get("tags")), [_tags(log.get("fields")) for log in objects(value.get("logs"))]
    parents = [item for item in objects(value.get("references")) if item.get("refType") == "CHILD_OF"]
    start, duration = whole_number(value.get("startTime")), whole_number(value.get("duration"))
    return Span(
        trace=_id(value.get("traceID")) or "",
        id=_id(value.get("spanID")) or "",
        parent=_id(parents[0].get("spanID")) if parents else _id(value.get("parentSpanID")),
        name=text_of(value.get("operationName")) or "",
        start=None if start is None else start / 1e6,
        end=None if start is None or duration is None else (start + duration) / 1e6,
        attributes=tags,
        events=tuple((str(log.get("event") or log.get("name") or ""), log) for log in logs),
        failed=tags.get("otel.status_code") == "ERROR" or str(tags.get("error")).lower() == "true",
        message=text_of(tags.get("otel.status_description")),
    )


def attributes_of(value: Any) -> JsonObject:
    """Attributes: an object, whose nested objects are also reachable by dotted names, or OTLP's list of keys."""
    if isinstance(value, list):
        return {str(item.get("key")): _otlp_value(item.get("value")) for item in objects(value)}
    if not isinstance(value, dict):
        return {}
    return {**dict(_dotted(value, "")), **value}


def _dotted(value: JsonObject, prefix: str) -> Iterable[tuple[str, Any]]:
    for key, item in value.items():
        if isinstance(item, dict) and "." not in key:
            yield from _dotted(item, f"{prefix}{key}.")
        if prefix:
            yield f"{prefix}{key}", item


def _otlp_value(value: Any) -> Any:
    """The value in OTLP's wrapping: `{"stringValue": ...}`, `{"intValue": "5"}`, `{"arrayValue": {...}}`."""
    if not isinstance(value, dict) or len(value) != 1:
        return value
    ((kind, inner),) = value.items()
    if kind in _PLAIN_VALUES:
        return inner
    if kind in {"intValue", "int_value"}:
        number = whole_number(inner)
        return inner if number is None else number
    values = object_in(inner).get("values") or []
    if kind in {"arrayValue", "array_value"}:
        return [_otlp_value(item) for item in values]
    return attributes_of(values) if kind in {"kvlistValue", "kvlist_value"} else value


def _events(value: Any) -> Iterator[tuple[str, JsonObject]]:
    for event in objects(value):
        attributes = attributes_of(event.get("attributes"))
        body = _otlp_value(event.get("body"))
        if isinstance(body, dict):
            attributes = {**attributes_of(body), **attributes}
        name = text_of(first_of(event, "name", "event_name", "eventName")) or text_of(attributes.get("event.name"))
        yield name or "", attributes


def log_events_of(value: JsonObject) -> Iterator[tuple[str, tuple[str, JsonObject]]]:
    """The log records in a record of a file that belong to a span: (the span's id, (name, attributes and body))."""
    for resource in objects(first_of(value, "resourceLogs", "resource_logs")):
        for scope in objects(first_of(resource, "scopeLogs", "scope_logs")):
            for record in objects(first_of(scope, "logRecords", "log_records")):
                span = _id(first_of(record, "spanId", "span_id"))
                if span is not None:
                    yield from ((span, event) for event in _events([record]))


def _id(value: Any) -> str | None:
    """An id in hexadecimal; Tempo writes them in base64, SDKs at times with `0x`."""
    text = identifier_of(value)
    if text is None or set(text) == {"0"}:
        return None
    text = text.removeprefix("0x")
    if text.endswith("=") or (len(text) in {11, 22} and not set(text) <= set(hexdigits)):
        try:
            return base64.b64decode(text + "=" * (-len(text) % 4)).hex()
        except ValueError:
            return text
    return text


@dataclass(frozen=True)
class Timed:
    """A call and when it ran, or (without a call) the moment at which a model began to reply, and its tokens."""

    start: float | None
    end: float | None
    call: Call | None
    usage: Usage | None = None
    own_times: bool = False
    """The call has its times, or none were kept: those of the span only give the order."""


def steps_of(events: Sequence[Timed]) -> list[Step]:
    """Calls with no reply of a model between them were issued together, in the order of their start.

    Where the trace has no replies at all, those that ran at the same time. What has no start stays at the end.
    """
    ordered = sorted(events, key=lambda event: float("inf") if event.start is None else event.start)
    replies = any(event.call is None for event in ordered)
    origin = next((event.start for event in ordered if event.start is not None), None)
    steps: list[tuple[list[Call], Usage | None]] = []
    usage: Usage | None = None
    opens_step, busy_until = True, float("-inf")
    for event in ordered:
        if event.call is None:
            opens_step, usage = True, event.usage
            continue
        if not replies:
            opens_step = event.start is None or event.start >= busy_until
        if opens_step or not steps:
            steps.append(([], usage))
            opens_step = False
        busy_until = max(busy_until, event.end if event.end is not None else float("-inf"))
        times = {"started": seconds_after(origin, event.start), "seconds": seconds_after(event.start, event.end)}
        steps[-1][0].append(event.call if event.own_times else event.call.model_copy(update=times))
    return [Step(calls=tuple(calls), usage=of_reply) for calls, of_reply in steps]


def is_final_answer(call: Call, reply: Any) -> bool:
    """Whether a call is an agent's structured reply: nothing came back, and its arguments are what the agent said."""
    said = [reply, *reply.values()] if isinstance(reply, dict) else [reply]
    nothing = call.answer is None or set(texts_of(call.answer)) <= {"", "null", "None"}
    return nothing and bool(call.arguments) and call.arguments in said


def recorded(result: object, failure: str | None) -> Answer | None:
    """The answer of a tool's span, with the error that its status tells."""
    if failure is None:
        return answer_of(result)
    return error_answer(failure) if result is None or result == "" else answer_of(result, is_error=True)


@dataclass(frozen=True)
class Written:
    """A call as a model wrote it, or as a span has it."""

    moment: float | None
    """When the reply or the span began."""
    id: str | None
    name: Any
    arguments: Any

    @property
    def key(self) -> str:
        """Its id; where there is none, what was called."""
        return self.id or to_json([self.name, self.arguments])


_LIKENESSES: tuple[Callable[[Written], Any], ...] = (
    lambda call: call.id,
    lambda call: call.name and (call.name, opened(call.arguments)),
    lambda call: call.name,
)
"""What a call that ran has in common with the one that was written, the surest first."""


def pair_with_spans(ran: Sequence[Written], written: Iterable[Written]) -> tuple[list[Written | None], list[Written]]:
    """Which written call each span of a tool ran: by id, else by name and arguments, else by name, in order.

    Args:
        ran: the call of each span, in the order of their start.
        written: what the models wrote, in order.

    Returns:
        For each span its written call, and the calls that no span ran.
    """
    left = list({item.key: item for item in reversed(list(written))}.values())[::-1]
    pairs: list[Written | None] = [None] * len(ran)
    for likeness in _LIKENESSES:
        for number, call in enumerate(ran):
            known = None if pairs[number] else likeness(call)
            pair = None if known is None else next((item for item in left if likeness(item) == known), None)
            if pair is not None:
                left.remove(pair)
                pairs[number] = pair
    return pairs, left


def calls_without_spans(
    replies: Iterable[tuple[Sequence[JsonObject], Usage | None]], answers: dict[str, object]
) -> list[Step]:
    """Steps out of what models wrote, for traces in which nobody recorded the tools themselves.

    Args:
        replies: the calls of each reply, as `{id, name, arguments}`, and its tokens.
        answers: what later requests say that came back, by call id.
    """
    seen: set[str] = set()
    steps: list[Step] = []
    for written, usage in replies:
        calls = []
        for item in written:
            identifier = identifier_of(item.get("id")) or to_json([item.get("name"), item.get("arguments")])
            if identifier not in seen:
                seen.add(identifier)
                fields = {"id": identifier_of(item.get("id")), "answer": answer_of(answers.get(identifier))}
                calls.append(written_call(item.get("name"), item.get("arguments"), **fields))
        if calls:
            steps.append(Step(calls=tuple(calls), usage=usage))
    return steps
