"""A field of any type in the shapes that coding agents, logs and frameworks write: read, or refused in words."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.errors import FormatError
from tests.formats.samples import read
from tests.formats.test_api_envelopes import WRAPPED, approval
from tests.formats.test_coding_agents import CLAUDE_STREAM, SAVED, gemini
from tests.formats.test_foreign_formats import JSON_VALUES, places

ITEM = {"id": "i1", "type": "mcp_tool_call", "server": "docs", "tool": "ask", "arguments": {}, "status": "failed"}
ENDED = {
    "type": "mcp_tool_call_end",
    "call_id": "c",
    "invocation": {"server": "s", "tool": "t"},
    "result": {"Err": "x"},
}
TOOL = {"type": "tool_use", "tool_name": "read", "tool_id": "c1", "parameters": {}}
TURN = {"user_content": {"parts": [{"text": "q"}]}, "intermediate_data": {"tool_uses": [{"name": "n", "args": {}}]}}
RUN = {
    "task_id": "7",
    "reward_info": {"reward": 0.0},
    "messages": [
        {"role": "assistant", "tool_calls": [{"id": "c1", "name": "n", "arguments": {}}]},
        {"role": "tool", "id": "c1", "content": "x", "error": True},
    ],
}

SHAPES: dict[str, list[Any]] = {
    "claude's stream": list(CLAUDE_STREAM),
    "old codex": [
        {"id": "s", "timestamp": "t", "instructions": None},
        {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c"},
    ],
    "codex events": [{"type": "session_meta", "payload": {"id": "s"}}, {"type": "event_msg", "payload": ENDED}],
    "codex exec": [{"type": "thread.started", "thread_id": "t"}, {"type": "item.completed", "item": ITEM}],
    "older codex exec": [{"id": "0", "msg": ENDED}],
    "gemini's lines": [{"sessionId": "s", "projectHash": "h"}, gemini("m", toolCalls=[{"id": "c", "name": "n"}])],
    "gemini's stream": [TOOL, {"type": "tool_result", "tool_id": "c1", "status": "error", "error": {"message": "m"}}],
    "gemini's history": SAVED,
    "an eval set": [{"eval_cases": [{"eval_id": "e", "conversation": [TURN]}]}],
    "tau2": [{"info": {}, "simulations": [RUN]}],
    "approvals": [{"id": "x", "object": "response", "output": [approval("r")]}],
    **{name: [content] for name, (_, content) in WRAPPED.items() if isinstance(content, dict)},
}


@pytest.mark.parametrize("name", SHAPES)
@settings(max_examples=15)
@given(data=st.data())
def test_a_field_of_any_type_is_read_or_refused_in_words(name: str, data: st.DataObject) -> None:
    lines = copy.deepcopy(SHAPES[name])
    holder, key = data.draw(st.sampled_from(places(lines)))
    holder[key] = data.draw(JSON_VALUES)
    refusal = ""
    with TemporaryDirectory() as directory:
        try:
            for trajectory in read(Path(directory), "\n".join(map(json.dumps, lines))):
                assert all(call.position for call in trajectory.calls())
        except FormatError as error:
            refusal = str(error)
    assert "Error:" not in refusal
