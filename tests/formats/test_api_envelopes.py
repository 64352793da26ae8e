"""Conversations with the models' APIs, in what logs, batches and frameworks put around them."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import make_archive
from typing import Any

import pytest

from replay.formats import open_files
from replay.records import JsonObject, ToolResult, texts_of
from replay.records.trajectory import ReportedResult, Usage
from tests.formats.samples import opened, read

CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"p": 1}'}}
ASKED = {"role": "user", "content": "q"}
CALLED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
CHAT = [ASKED, CALLED, {"role": "tool", "tool_call_id": "c1", "content": "ok"}]
COMPLETION = {"id": "x", "object": "chat.completion", "model": "m", "choices": [{"index": 0, "message": CALLED}]}

LANGCHAIN: list[dict[str, Any]] = [
    {"type": "human", "content": "q"},
    {"type": "ai", "content": "", "tool_calls": [{"name": "read", "args": {"p": 1}, "id": "c1"}]},
    {"type": "tool", "content": "ok", "tool_call_id": "c1"},
]

FAST_AGENT: list[dict[str, Any]] = [
    {"role": "user", "content": [{"type": "text", "text": "q"}]},
    {"role": "assistant", "content": [], "tool_calls": {
        "c1": {"method": "tools/call", "params": {"name": "read", "arguments": {"p": 1}}}
    }},
    {"role": "user", "content": [], "tool_results": {
        "c1": {"content": [{"type": "text", "text": "ok"}], "isError": True}
    }},
]  # fmt: skip

BLOCK = {"type": "tool_use", "id": "c1", "name": "read", "input": {"p": 1}}
MESSAGE = {"id": "x", "type": "message", "role": "assistant", "model": "m", "content": [BLOCK]}

FUNCTION_CALL = {"type": "function_call", "name": "read", "arguments": '{"p": 1}', "call_id": "c1"}
RESPONSE = {"id": "x", "object": "response", "model": "m", "output": [FUNCTION_CALL]}

WRAPPED = {
    "a completion": ("openai-chat", COMPLETION),
    "a request and its completion": (
        "openai-chat",
        {"request": {"model": "m", "messages": [ASKED]}, "response": COMPLETION},
    ),
    "a line of a batch": (
        "openai-chat",
        {"custom_id": "t", "method": "POST", "body": {"model": "m", "messages": CHAT}},
    ),
    "a line of a batch's results": ("openai-chat", {"custom_id": "t", "response": {"body": COMPLETION}}),
    "another key": ("openai-chat", {"conversation": CHAT, "model": "m"}),
    "messages as text": ("openai-chat", {"messages": json.dumps(CHAT), "model": "m"}),
    "a list of conversations": ("openai-chat", [CHAT]),
    "records with a trajectory": ("openai-chat", [{"task": "t", "trajectory": CHAT}]),
    "langchain's messages": ("openai-chat", LANGCHAIN),
    "the state of a graph": ("openai-chat", {"messages": LANGCHAIN}),
    "langchain's dumps": ("openai-chat", [{"type": one["type"], "data": one} for one in LANGCHAIN]),
    "langchain's constructors": (
        "openai-chat",
        [
            {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", kind], "kwargs": kwargs}
            for kind, message in zip(["HumanMessage", "AIMessageChunk", "ToolMessage"], LANGCHAIN, strict=True)
            for kwargs in [{key: value for key, value in message.items() if key != "type"}]
        ],
    ),
    "a history of fast-agent": ("openai-chat", {"messages": FAST_AGENT}),
    "messages with the completion beside them": ("openai-chat", {"messages": [ASKED], "response": COMPLETION}),
    "calls as text": ("openai-chat", {"messages": [ASKED, {**CALLED, "tool_calls": json.dumps([CALL])}]}),
    "chat messages with anthropic's tools": (
        "openai-chat",
        {"model": "m", "tools": [{"name": "read", "input_schema": {}}], "messages": CHAT},
    ),
    "a batch of anthropic": (
        "anthropic-messages",
        {"custom_id": "t", "result": {"type": "succeeded", "message": MESSAGE}},
    ),
    "a request and a message": (
        "anthropic-messages",
        {"request": {"model": "m", "messages": [ASKED]}, "response": MESSAGE},
    ),
    "a request and a response": (
        "openai-responses",
        {"request": {"model": "m", "input": [ASKED]}, "response": RESPONSE},
    ),
    "the last event of a stream": ("openai-responses", {"type": "response.completed", "response": RESPONSE}),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_a_call_is_found_in_what_stands_around_its_conversation(name: str, tmp_path: Path) -> None:
    reader, content = WRAPPED[name]
    file = opened(tmp_path, content)
    (trajectory,) = file.trajectories()
    assert file.format == reader
    assert [(call.id, call.name, call.arguments) for call in trajectory.calls()] == [("c1", "read", {"p": 1})]


def test_the_completion_beside_messages_that_end_with_it_is_no_second_call(tmp_path: Path) -> None:
    (trajectory,) = read(tmp_path, {"messages": [ASKED, CALLED], "response": COMPLETION})
    assert [call.name for call in trajectory.calls()] == ["read"]


def test_an_answer_of_fast_agent_and_of_langchain_has_its_error_flag(tmp_path: Path) -> None:
    failed = {**LANGCHAIN[2], "status": "error"}
    for messages in (FAST_AGENT, [*LANGCHAIN[:2], failed]):
        (trajectory,) = read(tmp_path, {"messages": messages})
        (call,) = trajectory.calls()
        assert isinstance(call.answer, ToolResult)
        assert (call.answer.is_error, list(texts_of(call.answer))) == (True, ["ok"])


def test_the_model_may_stand_in_the_messages(tmp_path: Path) -> None:
    for messages in (
        [ASKED, {**CALLED, "model": "m"}],
        [LANGCHAIN[0], {**LANGCHAIN[1], "response_metadata": {"model_name": "m"}}],
    ):
        (trajectory,) = read(tmp_path, {"messages": messages})
        assert trajectory.model == "m"


def test_the_line_of_a_batch_gives_its_own_id_to_the_trajectory(tmp_path: Path) -> None:
    lines = [{"custom_id": name, "response": {"body": COMPLETION}} for name in ("a", "b")]
    trajectories = read(tmp_path, "\n".join(map(json.dumps, lines)))
    assert [(one.id, one.model) for one in trajectories] == [("a", "m"), ("b", "m")]


def response(*items: dict[str, Any]) -> dict[str, Any]:
    return {"id": "x", "object": "response", "model": "m", "output": list(items)}


def approval(identifier: str) -> dict[str, Any]:
    asked = {"server_label": "docs", "name": "ask", "arguments": "{}"}
    return {"type": "mcp_approval_request", "id": identifier, **asked}


def test_a_call_that_waits_for_approval_is_a_call_without_an_answer_and_an_approved_one_is_one(tmp_path: Path) -> None:
    ran = {**approval("m1"), "type": "mcp_call", "approval_request_id": "r1", "output": "yes", "error": None}
    (trajectory,) = read(tmp_path, response(approval("r1"), ran, approval("r2")))
    found = [(call.id, call.server, call.answer is None) for call in trajectory.calls()]
    assert found == [("m1", "docs", False), ("r2", "docs", True)]


def test_calls_of_the_tools_that_the_api_brings_are_local(tmp_path: Path) -> None:
    shell = {"type": "local_shell_call", "call_id": "c1", "id": "i", "action": {"type": "exec", "command": ["ls"]}}
    output = {"type": "local_shell_call_output", "call_id": "c1", "output": "a"}
    search = {"type": "web_search_call", "id": "w", "action": {"type": "search", "query": "q"}}
    (trajectory,) = read(tmp_path, response(shell, output, search))
    calls = list(trajectory.calls())
    assert [(call.name, call.local, call.answer is None) for call in calls] == [
        ("local_shell", True, False),
        ("web_search", True, True),
    ]


SINGLE = {
    "a message": {**MESSAGE, "usage": {"input_tokens": 1, "output_tokens": 2}},
    "a message without its type": {
        **{key: value for key, value in MESSAGE.items() if key != "type"},
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 1, "output_tokens": 2},
    },
    "a response": RESPONSE,
    "a response without its type": {key: value for key, value in RESPONSE.items() if key != "object"},
}


@pytest.mark.parametrize("name", SINGLE)
def test_a_single_answer_of_an_api_is_a_trajectory_with_its_own_id_and_model(name: str, tmp_path: Path) -> None:
    (trajectory,) = read(tmp_path, SINGLE[name])
    assert (trajectory.id, trajectory.model) == ("x", "m")
    assert [call.name for call in trajectory.calls()] == ["read"]


def test_an_answer_of_which_only_its_content_and_why_it_stopped_was_kept_is_read(tmp_path: Path) -> None:
    file = opened(tmp_path, {"content": MESSAGE["content"], "stop_reason": "tool_use"})
    (trajectory,) = file.trajectories()
    assert file.format == "anthropic-messages"
    assert [call.name for call in trajectory.calls()] == ["read"]


def test_what_a_program_printed_beside_an_empty_list_of_files_is_its_answer(tmp_path: Path) -> None:
    ran = {"type": "bash_code_execution_result", "stdout": "3 files", "stderr": "", "return_code": 0, "content": []}
    failed = {"type": "text_editor_code_execution_tool_result_error", "error_code": "file_not_found"}
    blocks = [
        {"type": "server_tool_use", "id": "c1", "name": "bash_code_execution", "input": {"command": "ls"}},
        {"type": "bash_code_execution_tool_result", "tool_use_id": "c1", "content": ran},
        {"type": "server_tool_use", "id": "c2", "name": "text_editor_code_execution", "input": {"path": "a"}},
        {"type": "text_editor_code_execution_tool_result", "tool_use_id": "c2", "content": failed},
    ]
    (trajectory,) = read(tmp_path, {**MESSAGE, "content": blocks})
    answers = [call.answer for call in trajectory.calls()]
    assert [(isinstance(one, ToolResult) and one.is_error, "".join(texts_of(one))) for one in answers if one] == [
        (False, json.dumps(ran)),
        (True, json.dumps(failed)),
    ]


ITEMS = [ASKED, FUNCTION_CALL, {"type": "function_call_output", "call_id": "c1", "output": "ok"}]


@pytest.mark.parametrize("items", [ITEMS, CHAT, []], ids=["items", "chat", "nothing"])
def test_what_mcpmark_says_of_a_run_beside_its_items_is_read(tmp_path: Path, items: list[Any]) -> None:
    run = tmp_path / "run-1" / "find_it"
    run.mkdir(parents=True)
    (run / "messages.json").write_text(json.dumps(items))
    meta = {"model_name": "m", "execution_result": {"success": False}, "token_usage": {"input_tokens": 7}}
    (run / "meta.json").write_text(json.dumps(meta))
    make_archive(str(tmp_path / "all"), "zip", tmp_path, "run-1")
    for path in (run / "messages.json", tmp_path / "run-1", tmp_path / "all.zip"):
        (trajectory,) = [trajectory for file in open_files([path]) for trajectory in file.trajectories()]
        assert (trajectory.id, trajectory.model) == ("find_it", "m")
        assert trajectory.reported == ReportedResult(passed=False)
        assert trajectory.usage == Usage(input_tokens=7)


def test_another_file_of_that_name_says_nothing_of_items(tmp_path: Path) -> None:
    (tmp_path / "messages.json").write_text(json.dumps([ASKED, FUNCTION_CALL]))
    (tmp_path / "meta.json").write_text(json.dumps({"model_name": "other", "success": True}))
    (trajectory,) = next(open_files([tmp_path / "messages.json"])).trajectories()
    assert (trajectory.model, trajectory.reported) == ("(model not recorded)", None)


@pytest.mark.parametrize("graded", [{"utility": False}, {"evaluation": {"utility": False, "security": True}}])
def test_a_run_of_agentdojo_has_its_errors_arguments_and_result(tmp_path: Path, graded: JsonObject) -> None:
    calls = [{"function": "pay", "args": {"n": number}, "id": f"c{number}"} for number in (1, 2)]
    messages = [
        {"role": "user", "content": [{"type": "text", "content": "q"}]},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "content": [{"type": "text", "content": "paid"}], "tool_call_id": "c1", "error": None},
        {"role": "tool", "content": "", "tool_call_id": "c2", "error": "ValueError: no money"},
        {"role": "assistant", "content": [{"type": "text", "content": "Done."}], "tool_calls": None},
    ]
    run = {"suite_name": "banking", "pipeline_name": "m", "user_task_id": "user_task_0", "messages": messages}
    (trajectory,) = read(tmp_path, {**run, **graded})
    assert (trajectory.id, trajectory.model, trajectory.task.question) == ("user_task_0", "m", "q")
    assert (trajectory.task.labels, trajectory.reported) == ({"family": "banking"}, ReportedResult(passed=False))
    assert trajectory.final_reply == "Done."
    first, second = trajectory.calls()
    assert (first.arguments, first.answer) == ({"n": 1}, ToolResult(content=({"type": "text", "text": "paid"},)))
    assert second.answer == ToolResult(content=({"type": "text", "text": "ValueError: no money"},), is_error=True)


def test_what_a_grader_looked_for_is_no_sign_of_calls(tmp_path: Path) -> None:
    missed = {"missing_tools": ["pay"], "missing_items": [{"tool": "pay", "args": {}}]}
    content = {"messages": [ASKED], "evaluation": {"utility": False, "metadata": {"utility": missed}}}
    (tmp_path / "a.json").write_text(json.dumps(content))
    assert next(open_files([tmp_path / "a.json"])).signs == ()
