"""Langfuse exports of frameworks that trace their tools each in its own way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from replay.records import ToolResult, texts_of
from tests.formats.samples import read


def observation(kind: str, second: int, name: str, **fields: Any) -> dict[str, Any]:
    moment = f"2026-01-01T00:00:{second:02}Z"
    return {"id": f"{name}{second}", "traceId": "t", "type": kind, "name": name, "startTime": moment, **fields}


def export(*observations: dict[str, Any]) -> dict[str, Any]:
    return {"trace": {"id": "t"}, "observations": list(observations)}


FUNCTION = {"name": "search", "arguments": '{"q": "a"}'}
WRITTEN: dict[str, dict[str, Any]] = {
    "OpenAI's": {"tool_calls": [{"id": "c1", "type": "function", "function": FUNCTION}]},
    "LangChain's": {"tool_calls": [{"id": "c1", "type": "tool_call", "name": "search", "args": {"q": "a"}}]},
    "kept by LangChain": {"additional_kwargs": {"tool_calls": [{"id": "c1", "function": FUNCTION}]}},
}
MESSAGE = {"content": "found", "name": "search", "tool_call_id": "c1", "status": "success"}
ANSWERS: dict[str, Any] = {
    "fields": MESSAGE,
    "a constructor": {"lc": 1, "type": "constructor", "id": ["langchain_core", "ToolMessage"], "kwargs": MESSAGE},
    "text of its fields": json.dumps(MESSAGE),
    "printed": "content='found' name='search' tool_call_id='c1' status='success'",
}


@pytest.mark.parametrize("written", WRITTEN)
def test_calls_that_langchains_model_wrote_have_the_answers_of_the_next_request(written: str, tmp_path: Path) -> None:
    asked = observation("GENERATION", 1, "ChatModel", model="m", output={"role": "assistant", **WRITTEN[written]})
    later = observation("GENERATION", 3, "ChatModel", input=[{"role": "tool", **MESSAGE}], output={"content": "done"})
    (trajectory,) = read(tmp_path, export(asked, later))
    (call,) = trajectory.calls()
    assert (call.id, call.name, call.arguments) == ("c1", "search", {"q": "a"})
    assert call.answer is not None
    assert texts_of(call.answer) == ("found",)


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_observation_out_of_which_a_tool_message_came_is_the_tools(answer: str, tmp_path: Path) -> None:
    asked = observation("GENERATION", 1, "ChatModel", model="m", output={"role": "assistant", **WRITTEN["OpenAI's"]})
    node = observation("SPAN", 2, "tools", input={"messages": []}, output={"messages": [MESSAGE]})
    ran = observation("SPAN", 3, "search", input="{'q': 'a'}", output=ANSWERS[answer])
    (trajectory,) = read(tmp_path, export(asked, node, ran))
    (call,) = trajectory.calls()
    assert (call.id, call.name, call.arguments) == ("c1", "search", {"q": "a"})
    assert isinstance(call.answer, ToolResult)
    assert (texts_of(call.answer), call.answer.is_error) == (("found",), False)


def test_a_call_that_was_refused_before_it_ran_is_one_too(tmp_path: Path) -> None:
    refused = {"id": "c2", "type": "tool_call", "name": "fly", "args": {}}
    asked = observation(
        "GENERATION", 1, "ChatModel", output={"tool_calls": [*WRITTEN["LangChain's"]["tool_calls"], refused]}
    )
    ran = observation("SPAN", 2, "search", input={"q": "a"}, output=MESSAGE)
    error = {"content": "fly is not a valid tool", "tool_call_id": "c2", "status": "error"}
    later = observation("GENERATION", 3, "ChatModel", input=[{"role": "tool", **error}], output={"content": "done"})
    (trajectory,) = read(tmp_path, export(asked, ran, later))
    assert sorted(str(call.name) for call in trajectory.calls()) == ["fly", "search"]


def test_the_observations_that_beeai_writes_of_one_call_are_one_call(tmp_path: Path) -> None:
    def event(second: int, kind: str, **fields: Any) -> dict[str, Any]:
        attributes = {"target": f"tool.search.wiki.{kind}", "openinference.span.kind": "TOOL", **fields.pop("more", {})}
        metadata = json.dumps({"attributes": attributes})
        return observation(
            "SPAN", second, f"tool.search.wiki.{kind}-1", parentObservationId="p", metadata=metadata, **fields
        )

    begun = event(1, "start", more={"tool.parameters": '{"q": "a"}'})
    (trajectory,) = read(tmp_path, export(begun, event(2, "success", output="found"), event(3, "finish")))
    (call,) = trajectory.calls()
    assert (call.name, call.arguments) == ("wiki", {"q": "a"})
    assert call.answer is not None
    assert texts_of(call.answer) == ("found",)


def test_a_structured_reply_of_an_agent_is_no_call(tmp_path: Path) -> None:
    ran = observation("TOOL", 1, "search", input='{"q": "a"}', output="found")
    final = observation("TOOL", 2, "final_result", input='{"input": {"comment": "It is a."}}', output="null")
    content = export(ran, final)
    content["trace"]["output"] = json.dumps(json.dumps({"response": {"comment": "It is a."}}))
    (trajectory,) = read(tmp_path, content)
    assert [call.name for call in trajectory.calls()] == ["search"]


def test_output_tools_of_pydantic_ai_are_no_calls(tmp_path: Path) -> None:
    parameters = {"output_tools": [{"name": "give_city", "parameters_json_schema": {}}]}
    metadata = {"attributes": {"model_request_parameters": json.dumps(parameters)}}
    asked = observation("GENERATION", 1, "chat", metadata=metadata)
    given = observation("TOOL", 2, "give_city", input='{"city": "Rome"}', output="Final result processed.")
    other = observation("TOOL", 3, "search", input='{"q": "a"}', output="null")
    (trajectory,) = read(tmp_path, export(asked, given, other))
    assert [call.name for call in trajectory.calls()] == ["search"]
