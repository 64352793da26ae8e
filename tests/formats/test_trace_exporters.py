"""Spans as different instrumentations write them: where the call stands, when it is not where the conventions say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from replay.records import Call, ToolResult, texts_of
from tests.formats import samples
from tests.formats.samples import read


def calls_of(directory: Path, *spans: dict[str, Any]) -> list[Call]:
    (trajectory,) = read(directory, list(spans))
    return list(trajectory.calls())


def span(identifier: str, second: int, **attributes: Any) -> dict[str, Any]:
    return samples.span(identifier, second * 1_000_000_000, **attributes)


def answer_text(call: Call) -> str | None:
    return None if call.answer is None else "\n".join(texts_of(call.answer))


def tool(identifier: str, start: int, name: str, **attributes: Any) -> dict[str, Any]:
    operation = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
    return span(identifier, start, **operation, **attributes)


def chat(identifier: str, start: int, *calls: dict[str, Any], **attributes: Any) -> dict[str, Any]:
    parts = [{"type": "tool_call", **call} for call in calls]
    output = json.dumps([{"role": "assistant", "parts": parts}])
    return span(identifier, start, **{"gen_ai.operation.name": "chat", "gen_ai.output.messages": output}, **attributes)


def openinference(identifier: str, start: int, kind: str, **attributes: Any) -> dict[str, Any]:
    return span(identifier, start, **{"openinference.span.kind": kind}, **attributes)


def logged(identifier: str, event: str, body: Any) -> dict[str, Any]:
    return {"eventName": event, "traceId": "t1", "spanId": identifier, "body": body}


def as_files(spans: list[dict[str, Any]], logs: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "resourceSpans": [{"scopeSpans": [{"spans": spans}]}],
        "resourceLogs": [{"scopeLogs": [{"logRecords": logs}]}],
    }


def test_the_span_that_adk_writes_around_calls_that_ran_together_is_not_a_call(tmp_path: Path) -> None:
    one = tool("a", 2, "get_weather", **{"gen_ai.tool.call.arguments": '{"city": "Rome"}'})
    merged = tool("b", 3, "(merged tools)", **{"gcp.vertex.agent.tool_call_args": "N/A"})
    assert [call.name for call in calls_of(tmp_path, one, merged)] == ["get_weather"]


def test_arguments_and_answers_that_a_span_leaves_empty_are_those_of_the_models_messages(tmp_path: Path) -> None:
    said = chat("m", 1, {"id": "from-model", "name": "get_weather", "arguments": {"city": "Rome"}})
    hidden = {"gcp.vertex.agent.tool_call_args": "{}", "gcp.vertex.agent.tool_response": "{}"}
    ran = tool("a", 2, "get_weather", **{"gen_ai.tool.call.id": "from-framework"}, **hidden)
    response = {"type": "tool_call_response", "id": "from-model", "response": "cloudy"}
    later = chat("n", 3, **{"gen_ai.input.messages": json.dumps([{"role": "tool", "parts": [response]}])})
    (call,) = calls_of(tmp_path, said, ran, later)
    assert call.arguments == {"city": "Rome"}
    assert answer_text(call) == "cloudy"


def test_a_call_that_a_model_wrote_and_no_span_ran_is_kept_in_its_place(tmp_path: Path) -> None:
    first = chat("m", 1, {"id": "c1", "name": "transfer_to_billing", "arguments": {}})
    second = chat("n", 3, {"id": "c2", "name": "refund", "arguments": {"order": 1}})
    ran = tool("a", 4, "refund", **{"gen_ai.tool.call.arguments": '{"order": 1}'})
    calls = calls_of(tmp_path, first, second, ran)
    assert [(call.position, call.name) for call in calls] == [("s1c1", "transfer_to_billing"), ("s2c1", "refund")]
    assert calls[0].answer is None


def test_log_records_of_a_chat_span_tell_its_calls_and_the_answers_to_them(tmp_path: Path) -> None:
    function = {"name": "get_weather", "arguments": '{"city": "Paris"}'}
    wrapped = {
        "kvlistValue": {
            "values": [
                {"key": "content", "value": {"stringValue": "sunny"}},
                {"key": "id", "value": {"stringValue": "call_1"}},
            ]
        }
    }
    spans = [span(name, start, **{"gen_ai.operation.name": "chat"}) for name, start in (("m", 1), ("n", 3))]
    logs = [
        logged("m", "gen_ai.choice", {"message": {"tool_calls": [{"id": "call_1", "function": function}]}}),
        logged("n", "gen_ai.tool.message", wrapped),
    ]
    (trajectory,) = read(tmp_path, as_files(spans, logs))
    (call,) = trajectory.calls()
    assert (call.id, call.name, call.arguments) == ("call_1", "get_weather", {"city": "Paris"})
    assert answer_text(call) == "sunny"


def test_the_schema_of_an_openinference_tool_is_not_taken_for_its_arguments(tmp_path: Path) -> None:
    schema = json.dumps({"query": {"type": "string"}, "limit": {"type": "integer"}})
    values = {"tool.name": "search", "tool.parameters": schema, "output.value": "found"}
    plain = openinference("a", 1, "TOOL", **values, **{"input.value": '{"query": "q"}'})
    positional = openinference(
        "b", 2, "TOOL", **values, **{"input.value": json.dumps({"args": ["q"], "kwargs": {"limit": 2}})}
    )
    printed = openinference("c", 3, "TOOL", **values, **{"input.value": "{'query': 'it''s'}"})
    found = [call.arguments for call in calls_of(tmp_path, plain, positional, printed)]
    assert found == [{"query": "q"}, {"query": "q", "limit": 2}, {"query": "its"}]


def test_the_message_that_langchain_makes_of_an_answer_gives_its_text_and_its_error_flag(tmp_path: Path) -> None:
    message = {"content": "no such city", "tool_call_id": "c1", "status": "error"}
    ran = openinference("a", 1, "TOOL", **{"tool.name": "w", "input.value": "{}", "output.value": json.dumps(message)})
    (call,) = calls_of(tmp_path, ran)
    assert answer_text(call) == "no such city"
    assert isinstance(call.answer, ToolResult)
    assert call.answer.is_error


def test_a_handoff_is_the_call_that_the_model_wrote_and_no_second_one(tmp_path: Path) -> None:
    prefix = "llm.output_messages.0.message.tool_calls.0.tool_call"
    reply = openinference(
        "m", 1, "LLM", **{f"{prefix}.id": "c1", f"{prefix}.function.name": "transfer_to_math", "llm.model_name": "m"}
    )
    handoff = openinference("a", 2, "TOOL", **{"input.value": "coordinator", "output.value": "math"})
    handoff["name"] = "handoff to math"
    (call,) = calls_of(tmp_path, reply, handoff)
    assert (call.id, call.name, call.arguments) == ("c1", "transfer_to_math", {})


def test_messages_that_an_exporter_moved_into_a_log_body_are_read(tmp_path: Path) -> None:
    answer = {"type": "tool", "name": "get_weather", "content": "-5C", "tool_call_id": "c1", "status": "success"}
    body = {
        "input": {"messages": [{"role": "user", "content": "{'city': 'Alaska'}"}]},
        "output": {"messages": [{"role": "assistant", "content": json.dumps(answer)}]},
    }
    moved = span("a", 1)
    moved["span_events"] = [{"event_name": "openinference.instrumentation.langchain", "attributes": {}, "body": body}]
    (call,) = calls_of(tmp_path, moved)
    assert (call.name, call.arguments) == ("get_weather", {"city": "Alaska"})
    assert answer_text(call) == "-5C"


def test_the_calls_of_a_vercel_reply_are_found(tmp_path: Path) -> None:
    written = json.dumps([{"toolCallId": "c1", "toolName": "search", "input": {"q": "a"}}])
    reply = span("m", 1, **{"gen_ai.request.model": "m", "ai.response.toolCalls": written})
    (call,) = calls_of(tmp_path, reply)
    assert (call.id, call.name, call.arguments) == ("c1", "search", {"q": "a"})


def phoenix(identifier: str, second: int, kind: str, **attributes: Any) -> dict[str, Any]:
    made = span(identifier, second, **attributes)
    context = {"trace_id": made.pop("trace_id"), "span_id": made.pop("span_id")}
    return {**made, "context": context, "span_kind": kind, "status_code": "OK", "status": None}


SEARCH = {"tool.name": "search", "input.value": '{"q": "a"}', "output.value": "found"}


def test_phoenix_moves_the_kind_of_a_span_out_of_its_attributes(tmp_path: Path) -> None:
    spans = [phoenix("m", 1, "LLM", **{"llm.model_name": "m"}), phoenix("a", 2, "TOOL", **SEARCH)]
    (trajectory,) = read(tmp_path, "\n".join(map(json.dumps, spans)))
    (call,) = trajectory.calls()
    assert (trajectory.model, call.name, call.arguments, answer_text(call)) == ("m", "search", {"q": "a"}, "found")


def test_rows_of_a_table_of_spans_are_spans(tmp_path: Path) -> None:
    made = phoenix("a", 2, "TOOL")
    context, _ = made.pop("context"), made.pop("attributes")
    row = {**made, **{f"context.{key}": value for key, value in context.items()}}
    row |= {f"attributes.{key}": value for key, value in {**SEARCH, "llm.model_name": None}.items()}
    (call,) = calls_of(tmp_path, row)
    assert (call.name, call.arguments, answer_text(call)) == ("search", {"q": "a"}, "found")


def test_a_model_that_stands_on_the_agents_span_alone_is_the_model(tmp_path: Path) -> None:
    agent = span("r", 0, **{"gen_ai.operation.name": "invoke_agent", "gen_ai.request.model": "m"})
    (trajectory,) = read(tmp_path, [agent, tool("a", 1, "search")])
    assert trajectory.model == "m"


def test_a_final_answer_in_the_shape_of_a_call_is_the_final_reply_and_no_call(tmp_path: Path) -> None:
    shape = {"output_tools": [{"name": "final_result", "parameters_json_schema": {"type": "object"}}]}
    asked = {"model_request_parameters": json.dumps(shape)}
    first = chat("m", 1, {"id": "c1", "name": "search", "arguments": {"q": "a"}}, **asked)
    last = chat("n", 3, {"id": "c2", "name": "final_result", "arguments": {"answer": 4}}, **asked)
    (trajectory,) = read(tmp_path, [first, last])
    assert [call.name for call in trajectory.calls()] == ["search"]
    assert trajectory.final_reply == '{"answer": 4}'
