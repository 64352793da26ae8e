"""The tokens of each reply stand in the step that its calls open."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from replay.formats.call_log import CallLog
from replay.records import Call, Usage
from tests.formats.samples import adk_event, observation, read


def _asked(number: int, **fields: Any) -> dict[str, Any]:
    call = {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return {"role": "assistant", "content": None, "tool_calls": [call], **fields}


def _chat(**fields: Any) -> dict[str, Any]:
    answer = {"role": "tool", "tool_call_id": "c1", "content": "ok"}
    return {"messages": [{"role": "user", "content": "Look."}, _asked(1, **fields), answer, _asked(2)]}


def _lines(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def _codex(*usages: dict[str, int]) -> str:
    records: list[Any] = [{"type": "session_meta", "payload": {"id": "s", "cwd": "/w"}}]
    for number, usage in enumerate(usages, 1):
        call = {"type": "function_call", "name": "look", "arguments": "{}", "call_id": f"c{number}"}
        output = {"type": "function_call_output", "call_id": f"c{number}", "output": "ok"}
        count = {"type": "token_count", "info": {"last_token_usage": usage, "total_token_usage": usage}}
        records += [{"type": "response_item", "payload": call}, {"type": "event_msg", "payload": count}]
        records += [{"type": "event_msg", "payload": count}, {"type": "response_item", "payload": output}]
    return _lines(*({"timestamp": "2026-01-01T00:00:00Z", **record} for record in records))


def _gemini() -> dict[str, Any]:
    call = {"id": "c1", "name": "look", "args": {}, "status": "success", "result": []}
    reply = {"type": "gemini", "content": "", "tokens": {"input": 5, "output": 2}, "toolCalls": [call]}
    messages = [{"type": "user", "content": "Look."}, reply, {**reply, "tokens": None, "toolCalls": [call]}]
    return {"sessionId": "s", "projectHash": "p", "startTime": "2026-01-01T00:00:00Z", "messages": messages}


def _adk() -> dict[str, Any]:
    call = {"function_call": {"name": "look", "args": {}}}
    usage = {"prompt_token_count": 5, "candidates_token_count": 2}
    answer = adk_event("agent", {"function_response": {"name": "look", "response": {"result": "ok"}}})
    events = [adk_event("user", {"text": "Look."}), adk_event("agent", call, usage_metadata=usage), answer]
    return {"id": "s", "app_name": "a", "user_id": "u", "events": [*events, adk_event("agent", call)]}


def _langfuse() -> dict[str, Any]:
    tool = {"name": "look", "input": {}, "output": "ok"}
    observations = [
        observation("GENERATION", 1, model="m", usageDetails={"input": 5, "output": 2}),
        observation("TOOL", 2, **tool),
        observation("GENERATION", 3, model="m"),
        observation("TOOL", 4, **tool),
    ]
    return {"trace": {"id": "t", "projectId": "p"}, "observations": observations}


USED = Usage(input_tokens=5, output_tokens=2)


@pytest.mark.parametrize(
    ("content", "usages"),
    [
        (_chat(usage={"prompt_tokens": 5, "completion_tokens": 2}), [USED, None]),
        (_chat(usage_metadata={"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}), [USED, None]),
        (_codex({"input_tokens": 5, "output_tokens": 2}, {"input_tokens": 9}), [USED, Usage(input_tokens=9)]),
        (_gemini(), [USED, None]),
        (_adk(), [USED, None]),
        (_langfuse(), [USED, None]),
    ],
    ids=["openai", "langchain", "codex", "gemini", "adk", "langfuse"],
)
def test_a_step_has_the_tokens_of_the_reply_that_issued_it(content: Any, usages: list[Usage], tmp_path: Path) -> None:
    (trajectory,) = read(tmp_path, content)
    assert [step.usage for step in trajectory.steps] == usages


def test_the_tokens_of_a_reply_without_a_call_are_those_of_no_step() -> None:
    log = CallLog()
    log.count_tokens(100, 1)
    log.ask("Go on.")
    log.add(Call(position="", name="look"))
    log.count_tokens(5, 2, behind=True)
    log.count_tokens(100, 1, behind=True)
    assert [step.usage for step in log.steps()] == [USED]
