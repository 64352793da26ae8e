"""OpenTelemetry spans and Langfuse exports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from replay.errors import FormatError
from replay.records import TextAnswer, ToolResult
from tests.formats.samples import chat_span, langfuse, observation, opened, read, span, spans, tool_span


def otlp(value: Any) -> dict[str, Any]:
    kinds = {str: "stringValue", bool: "boolValue", float: "doubleValue"}
    return {"intValue": str(value)} if type(value) is int else {kinds[type(value)]: value}


def as_otlp(plain: dict[str, Any]) -> dict[str, Any]:
    return {
        "traceId": plain["trace_id"],
        "spanId": plain["span_id"],
        "name": plain["name"],
        "startTimeUnixNano": str(plain["start_time"]),
        "endTimeUnixNano": str(plain["end_time"]),
        "attributes": [{"key": key, "value": otlp(value)} for key, value in plain["attributes"].items()],
        "status": {},
    }


def as_jaeger(plain: dict[str, Any]) -> dict[str, Any]:
    tags = [{"key": key, "type": "string", "value": value} for key, value in plain["attributes"].items()]
    return {
        "traceID": plain["trace_id"],
        "spanID": plain["span_id"],
        "operationName": plain["name"],
        "references": [],
        "startTime": plain["start_time"] // 1000,
        "duration": 1,
        "tags": tags,
        "logs": [],
    }


def in_order() -> list[dict[str, Any]]:
    return [
        chat_span("a", 10_000),
        tool_span("b", 20_000, "lookup", {"id": 7}, "seven"),
        tool_span("c", 25_000, "lookup", {"id": 8}, "eight"),
        chat_span("d", 30_000),
        tool_span("e", 40_000, "store", {}, "stored"),
    ]


@pytest.mark.parametrize(
    "document",
    [
        in_order()[::-1],
        {"resourceSpans": [{"scopeSpans": [{"spans": list(map(as_otlp, in_order()))}]}]},
        {"batches": [{"instrumentationLibrarySpans": [{"spans": list(map(as_otlp, in_order()))}]}]},
        {"data": [{"traceID": "t1", "spans": list(map(as_jaeger, in_order()))}]},
        "\n".join(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [as_otlp(item)]}]}]}) for item in in_order()),
    ],
    ids=["plain", "otlp", "tempo", "jaeger", "lines"],
)
def test_every_exporter_gives_the_same_steps(document: Any, tmp_path: Path) -> None:
    (trajectory,) = read(tmp_path, document)
    assert [[call.arguments for call in step.calls] for step in trajectory.steps] == [[{"id": 7}, {"id": 8}], [{}]]
    assert [call.answer for call in trajectory.calls()] == [
        TextAnswer(text=text) for text in ("seven", "eight", "stored")
    ]
    assert trajectory.model == "m"


def test_the_status_error_is_an_error_of_the_call(tmp_path: Path) -> None:
    failed = tool_span("b", 20, "lookup", {})
    failed["status"] = {"code": "ERROR", "message": "no such id"}
    (trajectory,) = read(tmp_path, [failed])
    (call,) = trajectory.calls()
    assert call.answer == ToolResult(content=({"type": "text", "text": "no such id"},), is_error=True)


def test_a_call_that_client_and_server_both_wrote_is_one(tmp_path: Path) -> None:
    inner = {**tool_span("b2", 21, "lookup", {"id": 7}), "parent_span_id": "b"}
    (trajectory,) = read(tmp_path, [*spans(), inner])
    assert len(list(trajectory.calls())) == 1


def test_an_agent_called_as_a_tool_is_a_local_call_and_its_own_calls_follow(tmp_path: Path) -> None:
    agent = span("inner", 21, parent="b", gen_ai__operation__name="invoke_agent")
    own = {**tool_span("x", 22, "search", {}), "parent_span_id": "inner"}
    (trajectory,) = read(tmp_path, [*spans(), agent, own])
    assert [(call.name, call.local) for call in trajectory.calls()] == [("lookup", True), ("search", False)]


def test_calls_that_only_the_models_replies_tell_are_read_from_there(tmp_path: Path) -> None:
    part = {"type": "tool_call", "id": "c1", "name": "lookup", "arguments": {"id": 7}}
    back = {"type": "tool_call_response", "id": "c1", "response": "seven"}
    first, second = chat_span("a", 10), chat_span("b", 20)
    first["attributes"]["gen_ai.output.messages"] = json.dumps([{"role": "assistant", "parts": [part]}])
    second["attributes"]["gen_ai.input.messages"] = json.dumps([{"role": "tool", "parts": [back]}])
    (trajectory,) = read(tmp_path, [first, second])
    assert [(call.id, call.arguments, call.answer) for call in trajectory.calls()] == [
        ("c1", {"id": 7}, TextAnswer(text="seven"))
    ]


def test_arguments_and_results_in_events_of_the_span_are_found(tmp_path: Path) -> None:
    made = span("b", 20, gen_ai__operation__name="execute_tool", gen_ai__tool__name="lookup")
    made["span_events"] = [
        {"event_name": "gen_ai.tool.message", "attributes": {"content": '{"id": 7}', "id": "c1"}},
        {"event_name": "gen_ai.choice", "attributes": {"message": '[{"text": "seven"}]', "id": "c1"}},
    ]
    (trajectory,) = read(tmp_path, [made])
    (call,) = trajectory.calls()
    assert (call.id, call.arguments) == ("c1", {"id": 7})
    assert call.answer == ToolResult(content=({"type": "text", "text": "seven"},))


def test_spans_that_no_agent_wrote_are_refused_with_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"gen_ai\.operation\.name"):
        opened(tmp_path, [span("a", 1, http__method="GET")])


def test_a_langfuse_tool_loses_its_decoration_and_keeps_arguments_and_answer(tmp_path: Path) -> None:
    (trajectory,) = read(tmp_path, langfuse())
    (call,) = trajectory.calls()
    assert (call.name, call.arguments, call.answer) == ("forecast", {"city": "Rome"}, TextAnswer(text="25"))
    assert (trajectory.model, trajectory.task.question) == ("m", "Is it warm?")


def test_the_arguments_that_langsmith_wraps_are_opened(tmp_path: Path) -> None:
    document = langfuse()
    document["observations"][0]["input"] = {"input": {"city": "Rome"}}
    (trajectory,) = read(tmp_path, document)
    assert [call.arguments for call in trajectory.calls()] == [{"city": "Rome"}]


def test_a_langfuse_observation_with_the_level_error_is_an_error(tmp_path: Path) -> None:
    document = langfuse()
    document["observations"][0] |= {"level": "ERROR", "statusMessage": "no such city", "output": None}
    (trajectory,) = read(tmp_path, document)
    (call,) = trajectory.calls()
    assert call.answer == ToolResult(content=({"type": "text", "text": "no such city"},), is_error=True)


def test_scores_of_langfuse_are_what_the_run_said_of_itself(tmp_path: Path) -> None:
    document = langfuse()
    document["trace"]["scores"] = [{"name": "correctness", "value": 0.5}]
    (trajectory,) = read(tmp_path, document)
    assert trajectory.reported is not None
    assert (trajectory.reported.score, trajectory.reported.details) == (0.5, {"correctness": 0.5})


def test_a_langfuse_trace_without_tools_gives_the_calls_that_the_model_wrote(tmp_path: Path) -> None:
    written = {"toolCalls": ['{"id": "c1", "arguments": "{}"}'], "toolCallNames": ["forecast"]}
    twice = [observation("GENERATION", second, model="m", **written) for second in (1, 2)]
    (trajectory,) = read(tmp_path, {**langfuse(), "observations": twice})
    assert [(call.name, call.id) for call in trajectory.calls()] == [("forecast", "c1")]
