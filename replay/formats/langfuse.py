"""Langfuse trace exports: `{trace: {...}, observations: [...]}`, or a trace that holds its observations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from replay.formats import genai
from replay.formats.call_log import iso_time, seconds_of
from replay.formats.document import NO_MATCH, Document, Head, Match
from replay.formats.fields import (
    as_number,
    as_object,
    first_of,
    identifier_of,
    object_in,
    objects,
    opened,
    opened_repr,
    text_of,
    to_json,
)
from replay.formats.google_adk import ADK
from replay.formats.record_builders import number_calls, tool_message, written_call
from replay.formats.spans import Span, Timed, attributes_of, calls_without_spans, is_final_answer, recorded, steps_of
from replay.formats.task_facts import tool_definitions, total_usage, usage_of
from replay.records import Call, JsonObject, ReportedResult, Source, Step, Task, Tool, Trajectory, Usage

_BEEAI_EVENT = re.compile(r"(?P<tool>tool\..+)\.(?P<event>start|success|error|retry|finish)")


class LangfuseReader:
    """Reads Langfuse exports."""

    name = "langfuse"
    title = "Langfuse trace exports"
    expected_shape = 'a Langfuse export ({"trace": {...}, "observations": [{"type", "startTime", "input", "output"}]})'

    def sniff(self, head: Head) -> Match:
        """A trace beside its observations, or around them."""
        for record in head.objects:
            trace, observations = _opened_record(record)
            if _is_observation(next(iter(observations), {})):
                return Match(0.97 if trace else 0.9, '"observations" of a Langfuse trace')
            if "projectId" in trace and ("observations" in record or "trace" in record):
                return Match(0.9, '"trace" with a "projectId"')
        return NO_MATCH

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """One a trace; bare observations are grouped by the trace that they name."""
        bare: dict[str, list[JsonObject]] = {}
        for element in document.objects():
            if _is_observation(element.value):
                bare.setdefault(str(element.value.get("traceId")), []).append(element.value)
                continue
            trace, observations = _opened_record(element.value)
            if not (trace or observations):
                document.leave(element)
                continue
            identifier = identifier_of(trace.get("id")) or document.task_name
            yield _trajectory(trace, observations, identifier, element.place, document)
        for identifier, observations in bare.items():
            yield _trajectory({}, observations, identifier, f"trace {identifier}", document)


def _opened_record(record: JsonObject) -> tuple[JsonObject, list[JsonObject]]:
    trace = as_object(record.get("trace"))
    if trace is None:
        trace = record if isinstance(record.get("observations"), list) else {}
    return trace, objects(first_of(record, "observations") or trace.get("observations"))


def _is_observation(value: JsonObject) -> bool:
    return "type" in value and "startTime" in value and ("traceId" in value or "parentObservationId" in value)


def _trajectory(
    trace: JsonObject, observations: list[JsonObject], identifier: str, place: str, document: Document
) -> Trajectory:
    ordered = sorted(observations, key=lambda item: seconds_of(item.get("startTime")) or 0.0)
    generations = [item for item in ordered if item.get("type") == "GENERATION"]
    around = {identifier_of(item.get("parentObservationId")) for item in generations}
    inner = [item for item in generations if identifier_of(item.get("id")) not in around]  # no tokens twice
    metadata = object_in(opened(trace.get("metadata")))
    model = next((name for item in generations if (name := text_of(item.get("model")))), None)
    start = next((moment for item in ordered if (moment := seconds_of(item.get("startTime"))) is not None), None)
    return Trajectory(
        id=identifier,
        model=model or text_of(object_in(metadata, "attributes").get("model_name")) or document.model_name,
        task=Task(question=_as_text(trace.get("input")), type=text_of(trace.get("name"))),
        source=Source(file=document.path, format=LangfuseReader.name, position=place),
        steps=number_calls(list(_without_final_answer(_steps(ordered, generations), generations, trace.get("output")))),
        final_reply=_as_text(trace.get("output")),
        usage=total_usage(map(_usage, inner)),
        tools=_tools(generations),
        reported=_reported(trace),
        started_at=iso_time(start),
    )


def _as_text(value: Any) -> str | None:
    """An input or output as text; exports write text as JSON of JSON."""
    for _ in range(2):
        value = opened(value)
        if isinstance(value, str) and value[:1] == value[-1:] == '"' and len(value) > 1:
            inner = opened(f"[{value}]")
            value = inner[0] if isinstance(inner, list) and inner else value
    return value or None if isinstance(value, str) or value is None else to_json(value)


def _usage(generation: JsonObject) -> Usage | None:
    usage = object_in(opened(first_of(generation, "usageDetails", "usage")))
    return usage_of(usage.get("input"), usage.get("output"))


def _steps(ordered: list[JsonObject], generations: list[JsonObject]) -> list[Step]:
    answers = answers_in(side for item in ordered for side in (item.get("input"), item.get("output")))
    tools = [item for item in ordered if item.get("type") == "TOOL"]
    tools = tools or [item for item in ordered if item.get("type") != "GENERATION" and _is_tool(item)]
    if not tools:
        return calls_without_spans(((_written_calls(item), _usage(item)) for item in generations), answers)
    replies = [Timed(seconds_of(item.get("startTime")), None, None, _usage(item)) for item in generations]
    calls = [
        Timed(seconds_of(item.get("startTime")), seconds_of(item.get("endTime")), _call(item))
        for item in _joined_events(tools)
    ]
    ran = {timed.call.id for timed in calls if timed.call}
    refused = [
        Timed(seconds_of(item.get("startTime")), None, call)
        for item in generations
        for step in calls_without_spans([(_written_calls(item), None)], answers)
        for call in step.calls
        if call.id in answers and call.id not in ran
    ]
    return steps_of([*replies, *calls, *refused])


def _without_final_answer(steps: list[Step], generations: list[JsonObject], output: Any) -> Iterator[Step]:
    """The steps without the call by which a model gave its final answer the shape that was asked for."""
    for_output = {name for item in generations for name in genai.output_tools(_span(item))}
    reply = opened(_as_text(output))
    for step in steps:
        calls = [call for call in step.calls if call.name not in for_output and not is_final_answer(call, reply)]
        if len(calls) == len(step.calls):
            yield step
        elif calls:
            yield step.model_copy(update={"calls": tuple(calls)})


def _is_tool(observation: JsonObject) -> bool:
    """Whether an observation is a tool's, by its attributes or because a ToolMessage came out of it."""
    return genai.is_tool_span(_span(observation)) or tool_message(observation.get("output")) is not None


def _joined_events(tools: list[JsonObject]) -> Iterator[JsonObject]:
    """The observations of tools, in which BeeAI writes several for a call: one for its start, with the arguments, one
    for its success or its error, with the answer, one for its finish.
    """
    begun: dict[Any, JsonObject] = {}
    for item in tools:
        event = _BEEAI_EVENT.fullmatch(str(_span(item).attributes.get("target")))
        if event is None:
            yield item
            continue
        key = (item.get("parentObservationId"), event["tool"])
        whole = begun.setdefault(key, {**item, "name": event["tool"].rpartition(".")[2]})
        if item.get("output") is not None:
            whole["output"] = item["output"]
        if event["event"] == "error":
            whole |= {"level": "ERROR", "statusMessage": item.get("statusMessage")}
    yield from begun.values()


def answers_in(sides: Iterable[Any]) -> dict[str, object]:
    """LangChain's ToolMessages by their call's id, in what went in and came out of runs: one by itself, a list (of
    lists), or under `messages`.
    """
    answers: dict[str, object] = {}
    for side in sides:
        value = opened(side)
        waiting = [value.get("messages", value) if isinstance(value, dict) else value]
        while waiting:
            item = waiting.pop()
            if isinstance(item, list):
                waiting += item
            elif isinstance(item, dict) and (message := tool_message(item)) is not None:
                answers[str(message["tool_call_id"])] = message
    return answers


def _span(observation: JsonObject) -> Span:
    """An observation as the span that it was made from: names and values as its attributes have them."""
    metadata = object_in(opened(observation.get("metadata")))
    return Span(
        trace=str(observation.get("traceId") or ""),
        id=str(observation.get("id") or ""),
        parent=identifier_of(observation.get("parentObservationId")),
        name=text_of(observation.get("name")) or "",
        start=seconds_of(observation.get("startTime")),
        end=seconds_of(observation.get("endTime")),
        attributes=attributes_of(opened(metadata.get("attributes"))),
        failed=observation.get("level") == "ERROR",
        message=text_of(observation.get("statusMessage")),
    )


def _call(observation: JsonObject) -> Call:
    span = _span(observation)
    name = genai.tool_name(span) or genai.undecorated(span.name)
    given, came_back = opened_repr(observation.get("input")), observation.get("output")
    arguments = _arguments(given) if given is not None else genai.call_arguments(span)
    result = genai.call_result(span) if came_back is None else came_back
    failure = (span.message or "the observation has the level ERROR") if span.failed else None
    identifier = genai.call_id(span) or identifier_of((tool_message(came_back) or {}).get("tool_call_id"))
    call = written_call(name, arguments, id=identifier, answer=recorded(result, failure))
    return call.model_copy(update={"local": name in ADK})


def _arguments(given: Any) -> Any:
    """Arguments without the `{"input": {...}}` that LangSmith's exporter puts around them."""
    if isinstance(given, dict) and set(given) == {"input"} and isinstance(opened(given["input"]), dict):
        return opened(given["input"])
    if isinstance(given, list) and len(given) == 1 and isinstance(given[0], dict):
        return given[0]
    return given


def _written_calls(generation: JsonObject) -> list[JsonObject]:
    names, calls = generation.get("toolCallNames"), generation.get("toolCalls")
    pairs = zip(calls, names, strict=False) if isinstance(calls, list) and isinstance(names, list) else ()
    written = [{**object_in(opened(call)), "name": name} for call, name in pairs]
    output = opened(generation.get("output"))
    messages = objects(output if isinstance(output, list) else [output])
    return written or [call for message in messages for call in calls_in(message)]


def calls_in(message: JsonObject) -> Iterator[JsonObject]:
    """The calls of a reply: OpenAI's `tool_calls`, which LangChain keeps as they are among `additional_kwargs`, or its
    own `{name, args, id}`.
    """
    inner = object_in(first_of(message, "kwargs", "message")) or message
    written = objects(inner.get("tool_calls")) or objects(object_in(inner, "additional_kwargs").get("tool_calls"))
    for call in written:
        function = object_in(call, "function") or call
        yield {"id": call.get("id"), "name": function.get("name"), "arguments": first_of(function, "arguments", "args")}


def _tools(generations: list[JsonObject]) -> tuple[Tool, ...]:
    offered: list[Any] = []
    for item in generations:
        metadata = object_in(opened(item.get("metadata")))
        attributes = object_in(metadata, "attributes")
        given = first_of(metadata, "tools") or first_of(attributes, "gen_ai.tool.definitions", "ai.prompt.tools")
        source = opened(given)
        offered += source if isinstance(source, list) else []
    return tool_definitions(offered)


def _reported(trace: JsonObject) -> ReportedResult | None:
    scores = {
        name: first_of(score, "value", "stringValue")
        for score in objects(trace.get("scores"))
        if (name := text_of(score.get("name")))
    }
    if not scores:
        return None
    only = next(iter(scores.values())) if len(scores) == 1 else None
    return ReportedResult(score=as_number(only), details=scores)
