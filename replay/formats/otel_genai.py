"""OpenTelemetry spans with the GenAI conventions: OTLP JSON, Jaeger, Tempo, and plain lists of spans."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from replay.errors import FormatError
from replay.formats import genai
from replay.formats.call_log import iso_time
from replay.formats.document import NO_MATCH, Document, Head, Match
from replay.formats.fields import as_object, identifier_of, objects, opened, text_of, to_json
from replay.formats.google_adk import ADK
from replay.formats.record_builders import answer_of, number_calls, of_server, written_call
from replay.formats.spans import (
    RESOURCE_KEYS,
    Span,
    Timed,
    Written,
    calls_without_spans,
    log_events_of,
    pair_with_spans,
    recorded,
    spans_of,
    steps_of,
)
from replay.formats.task_facts import TASK_ATTRIBUTE as TASK
from replay.formats.task_facts import details_in_attributes, reported_in, total_usage, with_details
from replay.records import Call, JsonObject, Source, Step, Task, Trajectory

_EMPTY: tuple[Any, ...] = (None, "", {})
"""What stands where a producer was told not to repeat the content of messages."""


class OtelReader:
    """Reads span exports."""

    name = "otel-genai"
    title = "OpenTelemetry GenAI spans"
    expected_shape = (
        'OpenTelemetry spans with "gen_ai.operation.name" ({"resourceSpans"}, Jaeger\'s {"data": [{"spans"}]}, '
        'Tempo\'s {"batches"}, or [{"trace_id", "span_id", "attributes"}])'
    )

    def sniff(self, head: Head) -> Match:
        """Spans, and one of them that speaks of a model, an agent or a tool; it may stand behind the head."""
        spans = [span for record in head.objects for span in spans_of(record)]
        if any(map(genai.is_genai, spans)):
            return Match(0.95, "spans with gen_ai attributes")
        if not (spans or any(map(_has_span_keys, head.objects))):
            return NO_MATCH
        mentioned = b"gen_ai." in head.data or b"openinference.span.kind" in head.data
        return Match(0.9 if mentioned else 0.6, "spans of OpenTelemetry")

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """One a trace that has anything to do with a model."""
        traces: dict[str, list[Span]] = {}
        logged: dict[str, list[tuple[str, JsonObject]]] = {}
        for element in document.objects():
            spans, events = list(spans_of(element.value)), list(log_events_of(element.value))
            if not (spans or events or _has_span_keys(element.value)):
                document.leave(element)
            for span in spans:
                traces.setdefault(span.trace, []).append(span)
            for identifier, event in events:
                logged.setdefault(identifier, []).append(event)
        kept = {trace: spans for trace, spans in traces.items() if any(map(genai.is_genai, spans))}
        if not kept:
            raise FormatError(document.path, 'these spans have no "gen_ai.operation.name": no agent wrote them')
        if len(kept) < len(traces):
            document.note(f"{len(traces) - len(kept)} traces without a model, an agent or a tool were left out")
        for trace, spans in kept.items():
            whole = [replace(span, events=(*span.events, *logged.get(span.id, ()))) for span in spans]
            yield _Trace(whole).trajectory(trace or document.task_name, document)


def _has_span_keys(record: JsonObject) -> bool:
    listed = any(isinstance(record.get(key), list) for key in RESOURCE_KEYS)
    return listed or any("traceID" in item for item in objects(record.get("data")))


class _Trace:
    def __init__(self, spans: list[Span]) -> None:
        self._by_id = {span.id: span for span in spans}
        ordered = sorted(spans, key=lambda span: (span.start is None, span.start or 0.0))
        self._models = [span for span in ordered if genai.is_model_span(span)]
        self._ordered = ordered
        self._for_output = frozenset(name for span in self._models for name in genai.output_tools(span))
        tools = [span for span in ordered if genai.is_tool_span(span) and genai.tool_name(span)]
        self._tools = self._once([span for span in tools if genai.tool_name(span) not in self._for_output])
        self._with_agents = {
            ancestor.id
            for span in ordered
            if str(span.attributes.get("gen_ai.operation.name")) in {"invoke_agent", "create_agent"}
            for ancestor in self._ancestors(span)
            if genai.is_tool_span(ancestor)
        }
        self._answers = {key: answer for span in self._models for key, answer in genai.answers_in_request(span)}
        self._start = next((span.start for span in ordered if span.start is not None), None)

    def trajectory(self, identifier: str, document: Document) -> Trajectory:
        """What the spans say, in the order of their start."""
        model = next((name for span in (*self._models, *self._ordered) if (name := genai.span_model(span))), None)
        question = next((text for span in self._models if (text := genai.question_in(span))), None)
        own = next((task for span in self._ordered if (task := as_object(opened(span.attributes.get(TASK))))), None)
        outermost = [span for span in self._models if not any(map(genai.is_model_span, self._ancestors(span)))]
        return Trajectory(
            id=text_of((own or {}).get("id")) or identifier,
            model=model or document.model_name,
            task=Task(question=question),
            source=Source(file=document.path, format=OtelReader.name, position=f"trace {identifier}"),
            steps=number_calls(self._steps()),
            final_reply=self._final_reply(),
            usage=total_usage(genai.span_usage(span) for span in outermost),
            tools=tuple({tool.name: tool for span in self._models for tool in genai.offered_tools(span)}.values()),
            reported=None if own is None else reported_in(own),
            started_at=iso_time(self._start) if own is None else text_of(own.get("started_at")),
        )

    def _steps(self) -> list[Step]:
        if not self._tools:
            replies = ((self._calls_in_reply(span), genai.span_usage(span)) for span in self._models)
            return calls_without_spans(replies, self._answers)
        called = [
            Written(span.start, genai.call_id(span), genai.tool_name(span), genai.call_arguments(span))
            for span in self._tools
        ]
        pairs, left = pair_with_spans(called, self._written())
        ran = [self._timed(*each) for each in zip(self._tools, called, pairs, strict=True)]
        not_run = [Timed(item.moment, None, self._call_without_span(item)) for item in left]
        replied = (Timed(span.start, span.end, None, genai.span_usage(span)) for span in self._models)
        return steps_of([*replied, *ran, *not_run])

    def _calls_in_reply(self, span: Span) -> list[JsonObject]:
        """What a model called; a final answer in the shape of a call is none."""
        return [call for call in genai.calls_in_reply(span) if call.get("name") not in self._for_output]

    def _written(self) -> Iterator[Written]:
        for span in self._models:
            for call in self._calls_in_reply(span):
                yield Written(span.start, identifier_of(call.get("id")), call.get("name"), call.get("arguments"))

    def _timed(self, span: Span, ran: Written, written: Written | None) -> Timed:
        """The call of a tool's span; what the span leaves out or empty stands in the model's messages."""
        name, arguments, result = ran.name, ran.arguments, genai.call_result(span)
        if written is not None:
            arguments = arguments if opened(arguments) not in _EMPTY else written.arguments
            result = result if opened(result) not in _EMPTY else self._answers.get(written.id or "", result)
        answer = recorded(result, genai.tool_failure(span))
        call = written_call(name, arguments, id=ran.id, answer=answer)
        own = details_in_attributes(span.attributes)
        if own is not None:
            return Timed(span.start, span.end, with_details(call, own), own_times=True)
        kind = str(span.attributes.get("gen_ai.tool.type") or "")
        changes: dict[str, Any] = of_server(span.attributes.get("mcp.server.name"), name) if call.server is None else {}
        changes["local"] = name in ADK or span.id in self._with_agents or kind in {"AgentTool", "agent"}
        return Timed(span.start, span.end, call.model_copy(update=changes))

    def _call_without_span(self, written: Written) -> Call:
        """A call that a model wrote and that no span ran: a tool that does not exist, a handoff to another agent."""
        answer = answer_of(self._answers.get(written.id or ""))
        call = written_call(written.name, written.arguments, id=written.id, answer=answer)
        return call.model_copy(update={"local": call.name in ADK})

    def _once(self, tools: list[Span]) -> list[Span]:
        """Without the spans of a tool inside another one of the same call, as a client and its server write them."""
        return [
            span
            for span in tools
            if not any(genai.is_tool_span(outer) and _same_call(outer, span) for outer in self._ancestors(span))
        ]

    def _ancestors(self, span: Span) -> Iterator[Span]:
        seen = {span.id}
        while span.parent is not None and span.parent in self._by_id and span.parent not in seen:
            span = self._by_id[span.parent]
            seen.add(span.id)
            yield span

    def _final_reply(self) -> str | None:
        last = self._models[-1] if self._models else None
        if last is None or self._calls_in_reply(last):
            return None
        shaped = next((to_json(opened(call.get("arguments"))) for call in genai.calls_in_reply(last)), None)
        return shaped or genai.text_in_reply(last)


def _same_call(outer: Span, inner: Span) -> bool:
    if genai.tool_name(outer) != genai.tool_name(inner):
        return False
    ids = {genai.call_id(outer), genai.call_id(inner)} - {None}
    arguments = [value for value in (genai.call_arguments(outer), genai.call_arguments(inner)) if value is not None]
    return len(ids) < 2 and (len(arguments) < 2 or arguments[0] == arguments[1])
