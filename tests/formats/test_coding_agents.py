"""Other shapes in which coding agents write what they did: printed events, older files, lines under a key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from replay.formats import open_file
from replay.records import Call, ToolResult, Trajectory, texts_of
from tests.formats.samples import opened, read


def lines(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def summary(trajectory: Trajectory) -> list[tuple[Any, ...]]:
    return [(call.position, call.name, call.arguments, answer_of(call), failed(call)) for call in trajectory.calls()]


def answer_of(call: Call) -> str | None:
    return None if call.answer is None else "\n".join(texts_of(call.answer))


def failed(call: Call) -> bool | None:
    return call.answer.is_error if isinstance(call.answer, ToolResult) else None


def said(kind: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "message": {"role": kind, "content": content}, **fields}


def use(identifier: str, name: str, **arguments: Any) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": identifier, "name": name, "input": arguments}]


def result(identifier: str, text: str) -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": identifier, "content": text}]


CLAUDE_STREAM = (
    {"type": "system", "subtype": "init", "session_id": "s", "tools": ["Task"], "model": "m"},
    said("assistant", use("t1", "Task", prompt="look"), session_id="s", parent_tool_use_id=None),
    said("assistant", use("t2", "mcp__files__read", path="a"), session_id="s", parent_tool_use_id="t1"),
    said("user", result("t2", "text of a"), session_id="s", parent_tool_use_id="t1"),
    said("user", result("t1", "done"), session_id="s", parent_tool_use_id=None),
    {"type": "result", "subtype": "success", "session_id": "s", "result": "done"},
)


@pytest.mark.parametrize("content", [lines(*CLAUDE_STREAM), list(CLAUDE_STREAM), {"events": list(CLAUDE_STREAM)}])
def test_what_claude_code_prints_is_a_session_and_its_sub_agents(content: Any, tmp_path: Path) -> None:
    file = opened(tmp_path, content)
    session, agent = file.trajectories()
    assert file.format == "claude-code"
    assert file.warnings == ()
    assert summary(session) == [("s1c1", "Task", {"prompt": "look"}, "done", False)]
    assert summary(agent) == [("s1c1", "mcp__files__read", {"path": "a"}, "text of a", False)]
    assert agent.parent is not None
    assert (agent.parent.trajectory, agent.parent.call) == ("s", "s1c1")


def test_a_sub_agent_that_only_the_progress_of_a_session_reports_is_read(tmp_path: Path) -> None:
    def reported(line: dict[str, Any]) -> dict[str, Any]:
        return {
            "type": "progress",
            "sessionId": "s",
            "data": {"type": "agent_progress", "agentId": "a", "message": line},
        }

    session = [
        said("assistant", use("t1", "Task", prompt="look"), sessionId="s"),
        reported(said("user", "look")),
        reported(said("assistant", use("t2", "Bash", command="ls"))),
        reported(said("user", result("t2", "one file"))),
        said("user", result("t1", "done"), sessionId="s"),
    ]
    path = tmp_path / "s.jsonl"
    path.write_text(lines(*session))
    main, agent = open_file(path).trajectories()
    assert summary(agent) == [("s1c1", "Bash", {"command": "ls"}, "one file", False)]
    assert agent.parent is not None
    assert (agent.id, agent.parent.trajectory, agent.parent.call) == ("agent-a", main.id, "s1c1")
    (tmp_path / "s" / "subagents").mkdir(parents=True)
    (tmp_path / "s" / "subagents" / "agent-a.jsonl").write_text("")
    assert len(list(open_file(path).trajectories())) == 1


def test_messages_of_claudes_sdk_under_a_key_are_read(tmp_path: Path) -> None:
    content = {"messages": [said("user", "Hi"), said("assistant", use("t1", "Bash", command="ls"))]}
    (trajectory,) = read(tmp_path, content)
    assert [call.name for call in trajectory.calls()] == ["Bash"]


def codex_meta() -> dict[str, Any]:
    return {"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": {"id": "s", "cli_version": "1"}}


def payload(kind: str, **fields: Any) -> dict[str, Any]:
    return {"timestamp": "2026-01-01T00:00:01Z", "type": kind, "payload": fields}


def test_an_old_codex_rollout_has_its_items_without_a_payload(tmp_path: Path) -> None:
    action = {"type": "exec", "command": ["ls"]}
    content = lines(
        {"id": "s", "timestamp": "2025-05-01T00:00:00Z", "instructions": None, "git": {}},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "List."}]},
        {"record_type": "state"},
        {"type": "function_call", "name": "shell", "arguments": '{"command": ["ls"]}', "call_id": "c1"},
        {"type": "function_call_output", "call_id": "c1", "output": "a"},
        {"type": "local_shell_call", "call_id": "c2", "status": "completed", "action": action},
    )
    file = opened(tmp_path, content)
    (trajectory,) = file.trajectories()
    assert (file.format, trajectory.id, file.warnings) == ("codex", "s", ())
    assert summary(trajectory) == [
        ("s1c1", "shell", {"command": ["ls"]}, "a", None),
        ("s2c1", "local_shell", action, None, None),
    ]


def test_a_call_that_only_codexs_event_tells_is_a_call_and_one_told_twice_is_one(tmp_path: Path) -> None:
    def end(identifier: str) -> dict[str, Any]:
        done = {"Ok": {"content": [{"type": "text", "text": "yes"}], "isError": False}}
        invocation = {"server": "docs", "tool": "ask", "arguments": {"q": identifier}}
        return payload("event_msg", type="mcp_tool_call_end", call_id=identifier, invocation=invocation, result=done)

    written = payload("response_item", type="function_call", name="mcp__docs__ask", arguments='{"q": "b"}', call_id="b")
    output = payload("response_item", type="function_call_output", call_id="b", output="yes, late")
    (trajectory,) = read(tmp_path, lines(codex_meta(), end("a"), end("b"), written, output))
    calls = list(trajectory.calls())
    assert [(call.id, call.server, call.tool, call.arguments) for call in calls] == [
        ("a", "docs", "ask", {"q": "a"}),
        ("b", "docs", "ask", {"q": "b"}),
    ]
    assert [answer_of(call) for call in calls] == ["yes", "yes, late"]


def test_the_events_of_codex_exec_are_calls_once_they_are_done_and_before(tmp_path: Path) -> None:
    call = {"id": "i1", "type": "mcp_tool_call", "server": "docs", "tool": "ask", "arguments": {"q": "a"}}
    refused = {"id": "i2", "type": "command_execution", "command": "ls", "aggregated_output": "no", "status": "failed"}
    content = lines(
        {"type": "thread.started", "thread_id": "t"},
        {"type": "item.started", "item": {**call, "status": "in_progress"}},
        {"type": "item.completed", "item": {**call, "result": {"content": [{"type": "text", "text": "yes"}]}}},
        {"type": "item.completed", "item": refused},
        {"type": "turn.completed", "usage": {"input_tokens": 3, "output_tokens": 2}},
    )
    file = opened(tmp_path, content)
    (trajectory,) = file.trajectories()
    assert (file.format, trajectory.id) == ("codex", "t")
    assert summary(trajectory) == [
        ("s1c1", "mcp__docs__ask", {"q": "a"}, "yes", False),
        ("s2c1", "shell", {"command": "ls"}, "no", True),
    ]


def test_the_older_events_of_codex_exec_are_read(tmp_path: Path) -> None:
    invocation = {"server": "docs", "tool": "ask", "arguments": None}
    ended = {"type": "mcp_tool_call_end", "call_id": "c1", "invocation": invocation, "result": {"Err": "no such page"}}
    content = lines(
        {"id": "0", "msg": {"type": "task_started"}},
        {"id": "0", "msg": {"type": "mcp_tool_call_begin", "call_id": "c1", "invocation": invocation}},
        {"id": "0", "msg": ended},
    )
    (trajectory,) = read(tmp_path, content)
    assert summary(trajectory) == [("s1c1", "mcp__docs__ask", {}, "no such page", True)]


def gemini(identifier: str, **fields: Any) -> dict[str, Any]:
    return {"id": identifier, "timestamp": "2026-01-01T00:00:00Z", "type": "gemini", "content": "", **fields}


def test_a_gemini_chat_in_lines_keeps_the_last_form_of_each_message(tmp_path: Path) -> None:
    call = {"id": "c1", "name": "read_file", "args": {"path": "a"}, "status": "executing"}
    response = [{"functionResponse": {"id": "c1", "name": "read_file", "response": {"output": "text of a"}}}]
    content = lines(
        {"sessionId": "s", "projectHash": "h", "startTime": "2026-01-01T00:00:00Z"},
        {**gemini("m1"), "type": "user", "content": [{"text": "Read a."}]},
        gemini("m2", toolCalls=[call]),
        {"$set": {"lastUpdated": "2026-01-01T00:00:01Z"}},
        gemini("m2", toolCalls=[{**call, "status": "success", "result": response}]),
    )
    file = opened(tmp_path, content)
    (trajectory,) = file.trajectories()
    assert (file.format, trajectory.id, file.warnings) == ("gemini-cli", "s", ())
    assert summary(trajectory) == [("s1c1", "read_file", {"path": "a"}, "text of a", False)]


SAVED = [
    {"role": "user", "parts": [{"text": "Read a."}]},
    {"role": "model", "parts": [{"functionCall": {"name": "read_file", "args": {"path": "a"}}}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "read_file", "response": {"output": "text of a"}}}]},
    {"role": "model", "parts": [{"text": "It says so."}]},
]


@pytest.mark.parametrize("content", [SAVED, {"history": SAVED, "authType": "x"}, {"contents": SAVED}])
def test_a_saved_history_of_gemini_is_read(content: Any, tmp_path: Path) -> None:
    file = opened(tmp_path, content)
    (trajectory,) = file.trajectories()
    assert file.format == "gemini-cli"
    assert [entry[1:4] for entry in summary(trajectory)] == [("read_file", {"path": "a"}, "text of a")]
    assert trajectory.task.question == "Read a."


def test_the_events_that_gemini_prints_are_read(tmp_path: Path) -> None:
    content = lines(
        {"type": "init", "timestamp": "2026-01-01T00:00:00Z", "session_id": "s", "model": "m"},
        {"type": "tool_use", "tool_name": "read_file", "tool_id": "c1", "parameters": {"path": "a"}},
        {"type": "tool_result", "tool_id": "c1", "status": "error", "error": {"type": "x", "message": "no such file"}},
        {"type": "result", "status": "success"},
    )
    (trajectory,) = read(tmp_path, content)
    assert (trajectory.id, trajectory.model) == ("s", "m")
    assert summary(trajectory) == [("s1c1", "read_file", {"path": "a"}, "no such file", True)]


def test_the_cases_of_an_adk_eval_set_are_trajectories(tmp_path: Path) -> None:
    between = {
        "tool_uses": [{"id": "c1", "name": "search", "args": {"q": "hat"}}],
        "tool_responses": [{"id": "c1", "name": "search", "response": {"result": "a hat"}}],
    }
    turn = {
        "user_content": {"parts": [{"text": "Find a hat."}]},
        "intermediate_data": between,
        "final_response": {"parts": [{"text": "Here."}]},
    }
    (trajectory,) = read(tmp_path, {"eval_set_id": "e", "eval_cases": [{"eval_id": "case", "conversation": [turn]}]})
    assert (trajectory.id, trajectory.task.question, trajectory.final_reply) == ("case", "Find a hat.", "Here.")
    assert [(call.name, call.arguments) for call in trajectory.calls()] == [("search", {"q": "hat"})]


def test_an_adk_eval_set_of_the_older_form_is_one_conversation(tmp_path: Path) -> None:
    turns = [{"query": "Roll.", "expected_tool_use": [{"tool_name": "roll", "tool_input": {"sides": 6}}]}]
    (trajectory,) = read(tmp_path, turns)
    assert [(call.name, call.arguments) for call in trajectory.calls()] == [("roll", {"sides": 6})]


def test_tau2_calls_are_those_of_the_agent_with_their_error_flags(tmp_path: Path) -> None:
    call = {"id": "c1", "name": "find_user", "arguments": {"name": "Ann"}, "requestor": "assistant"}
    own = {"id": "u1", "name": "reboot", "arguments": {}, "requestor": "user"}
    messages = [
        {"role": "user", "content": "Help."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"id": "c1", "role": "tool", "content": "Error: no user", "requestor": "assistant", "error": True},
        {"role": "user", "content": None, "tool_calls": [own]},
        {"id": "u1", "role": "tool", "content": "ok", "requestor": "user", "error": False},
    ]
    run = {"id": "x", "task_id": "7", "trial": 1, "messages": messages, "reward_info": {"reward": 0.0}}
    content = {"info": {"agent_info": {"llm": "m"}}, "tasks": [], "simulations": [run]}
    file = opened(tmp_path, content)
    (trajectory,) = file.trajectories()
    assert (file.format, trajectory.id, trajectory.model) == ("tau-bench", "7_trial_1", "m")
    assert summary(trajectory) == [("s1c1", "find_user", {"name": "Ann"}, "Error: no user", True)]
    assert trajectory.reported is not None
    assert trajectory.reported.passed is False


def test_a_call_that_stands_on_two_lines_is_one_call(tmp_path: Path) -> None:
    begun = said("assistant", use("t1", "Read", path="a"), sessionId="s", uuid="1")
    whole = said("assistant", [*use("t1", "Read", path="a"), *use("t2", "Read", path="b")], sessionId="s", uuid="2")
    (trajectory,) = read(tmp_path, lines(begun, whole, said("user", result("t1", "text of a"), sessionId="s")))
    assert [(call.id, answer_of(call)) for call in trajectory.calls()] == [("t1", "text of a"), ("t2", None)]


def test_a_result_that_stands_before_the_line_of_its_call_is_its_answer(tmp_path: Path) -> None:
    asked = said("assistant", use("t1", "Read", path="a"), sessionId="s", uuid="1")
    told = said("user", result("t1", "text of a"), sessionId="s", uuid="2", parentUuid="1")
    (trajectory,) = read(tmp_path, lines(told, asked))
    assert [(call.id, answer_of(call)) for call in trajectory.calls()] == [("t1", "text of a")]


def test_the_few_lines_of_a_session_that_is_gone_on_with_are_no_session_of_the_file(tmp_path: Path) -> None:
    before = said("user", [{"type": "text", "text": "look"}], sessionId="earlier")
    asked = said("assistant", use("t1", "Read", path="a"), sessionId="s")
    file = opened(tmp_path, lines(before, asked, said("user", result("t1", "text of a"), sessionId="s")))
    assert file.ids == ("s",)
    assert [trajectory.task.question for trajectory in file.trajectories()] == ["look"]


def test_a_program_that_the_user_stopped_was_interrupted_although_its_status_is_told_first(tmp_path: Path) -> None:
    stopped = result("t1", "Exit code 137\n[Request interrupted by user for tool use]")[0] | {"is_error": True}
    asked = said("assistant", use("t1", "Bash", command="sleep 9"), sessionId="s")
    (trajectory,) = read(tmp_path, lines(asked, said("user", [stopped], sessionId="s")))
    assert [call.interrupted for call in trajectory.calls()] == [True]


def test_each_change_of_codexs_list_of_things_to_do_is_a_call_of_its_plan_tool(tmp_path: Path) -> None:
    def todo(kind: str, done: bool) -> dict[str, Any]:
        item = {"id": "item_1", "type": "todo_list", "items": [{"text": "look", "completed": done}]}
        return {"type": kind, "item": item}

    events = [
        {"type": "thread.started", "thread_id": "t"}, todo("item.started", False), todo("item.updated", True),
        todo("item.completed", True),
    ]  # fmt: skip
    (trajectory,) = read(tmp_path, lines(*events))
    calls = list(trajectory.calls())
    assert [(call.name, call.local) for call in calls] == [("update_plan", True)] * 2
    assert [(call.arguments or {})["plan"][0]["completed"] for call in calls] == [False, True]
