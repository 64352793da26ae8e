"""What OpenHands, SWE-agent, Cursor and LangSmith write of an agent's calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.formats.samples import opened, read
from tests.formats.test_coding_agents import answer_of, failed, lines, summary

EVENT = {"timestamp": "2026-01-01T00:00:00", "source": "agent", "message": ""}
REPLY = {
    "id": "r1",
    "model": "m",
    "choices": [
        {"message": {"tool_calls": [{"id": "c1", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}]}}
    ],
}
ABOUT = {"function_name": "bash", "tool_call_id": "c1", "model_response": REPLY}
MCP = {"name": "fetch", "arguments": {"url": "u"}, "thought": "look"}
OPENHANDS: list[dict[str, Any]] = [
    {**EVENT, "id": 0, "source": "user", "action": "message", "args": {"content": "List the files."}},
    {**EVENT, "id": 1, "action": "run", "args": {"command": "ls", "thought": "Look."}, "tool_call_metadata": ABOUT},
    {**EVENT, "id": 2, "observation": "run", "content": "a", "cause": 1, "extras": {}, "tool_call_metadata": ABOUT},
    {**EVENT, "id": 3, "action": "call_tool_mcp", "args": MCP},
    {**EVENT, "id": 4, "source": "environment", "observation": "error", "content": "refused", "cause": 3},
    {**EVENT, "id": 5, "action": "message", "args": {"content": "One file."}},
]
INSTANCE = {"instance_id": "i1", "metadata": {"llm_config": {"model": "m"}}, "report": {"resolved": True}}


@pytest.mark.parametrize("content", [OPENHANDS, {**INSTANCE, "history": OPENHANDS}, lines(*OPENHANDS)])
def test_openhands_events_are_read_from_a_trajectory_and_from_a_benchmarks_output(content: Any, tmp_path: Path) -> None:
    file = opened(tmp_path, content)
    (trajectory,) = file.trajectories()
    assert (file.format, trajectory.model, trajectory.final_reply) == ("openhands", "m", "One file.")
    assert trajectory.task.question == "List the files."
    assert summary(trajectory) == [
        ("s1c1", "bash", {"command": "ls"}, "a", None),
        ("s2c1", "fetch", {"url": "u"}, "refused", True),
    ]
    assert [call.local for call in trajectory.calls()] == [True, False]


def test_an_instance_of_openhands_has_its_id_and_whether_it_was_resolved(tmp_path: Path) -> None:
    (trajectory,) = read(tmp_path, lines({**INSTANCE, "history": [OPENHANDS[1:3]]}), "output.jsonl")
    assert trajectory.reported is not None
    assert (trajectory.id, trajectory.reported.passed) == ("i1", True)
    assert len(list(trajectory.calls())) == 1


def test_events_of_openhands_1_are_read_and_errors_of_the_agent_are_answers(tmp_path: Path) -> None:
    written = {"id": "c1", "name": "terminal", "arguments": '{"command": "ls"}', "origin": "completion"}
    same = {"tool_name": "terminal", "tool_call_id": "c1"}
    other = {"tool_name": "nope", "tool_call_id": "c2"}
    text = [{"type": "text", "text": "a"}]
    events = [
        {
            "kind": "MessageEvent",
            "source": "user",
            "llm_message": {"role": "user", "content": [{"type": "text", "text": "q"}]},
        },
        {
            "kind": "ActionEvent",
            "id": "1",
            "source": "agent",
            "action": None,
            "tool_call": written,
            "thought": [],
            **same,
        },
        {"kind": "ObservationEvent", "action_id": "1", "observation": {"content": text, "is_error": False}, **same},
        {"kind": "ActionEvent", "id": "2", "source": "agent", "action": {"kind": "MCPToolAction", "data": {}}, **other},
        {"kind": "AgentErrorEvent", "error": "no such tool", **other},
    ]
    file = opened(tmp_path, events)
    (trajectory,) = file.trajectories()
    assert (file.format, trajectory.task.question) == ("openhands", "q")
    assert summary(trajectory) == [
        ("s1c1", "terminal", {"command": "ls"}, "a", False),
        ("s2c1", "nope", {"data": {}}, "no such tool", True),
    ]


def swe_agent(**about: Any) -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "open", "arguments": '{"path": "a"}'}}
    return {
        "environment": "main",
        "trajectory": [
            {"action": "open a", "observation": "text of a", "thought": "Open it.", "execution_time": 0.5},
            {"action": "", "observation": "no action was found", "response": "Hm."},
            {"action": "submit", "observation": "diff", "thought": "Done."},
        ],
        "history": [
            {"role": "user", "content": "a demonstration", "is_demo": True},
            {"role": "user", "content": "Fix it."},
            {"role": "assistant", "content": "Open it.", "action": "open a", "tool_calls": [call]},
            {"role": "assistant", "content": "Done.", "action": "submit", "tool_calls": None},
        ],
        "info": {"exit_status": "submitted"},
        **about,
    }


def test_swe_agents_actions_are_the_functions_that_it_called_or_commands_of_its_shell(tmp_path: Path) -> None:
    config = json.dumps({"agent": {"model": {"name": "m"}}})
    file = opened(tmp_path, swe_agent(replay_config=config), "task.traj")
    (trajectory,) = file.trajectories()
    assert (file.format, trajectory.model, trajectory.task.question) == ("swe-agent", "m", "Fix it.")
    assert summary(trajectory) == [
        ("s1c1", "open", {"path": "a"}, "text of a", None),
        ("s2c1", "bash", {"command": "submit"}, "diff", None),
    ]
    assert [call.seconds for call in trajectory.calls()] == [0.5, None]


ASKED = {"role": "user", "content": "Fix it."}
FENCED = {"role": "assistant", "content": "Look.\n\n```mswea_bash_command\nls\n```"}
CALLED = {
    "role": "assistant",
    "content": "Look.",
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}],
}
MINI_INFO = {"mini_version": "2.0", "config": {"model": {"model_name": "m"}}}
MINI: dict[str, Any] = {
    "text": [ASKED, FENCED, {"role": "user", "content": "<returncode>0</returncode>"}],
    "taken out": [
        ASKED,
        {**FENCED, "content": "Look.", "extra": {"actions": [{"command": "ls"}]}},
        {"role": "user", "content": "<returncode>0</returncode>"},
    ],
    "called": [ASKED, CALLED, {"role": "tool", "tool_call_id": "c1", "content": "<returncode>0</returncode>"}],
}


@pytest.mark.parametrize("written", MINI)
def test_mini_swe_agents_commands_are_read_however_the_model_wrote_them(written: str, tmp_path: Path) -> None:
    content = {
        "messages": MINI[written],
        "info": MINI_INFO,
        "trajectory_format": "mini-swe-agent-1.1",
        "instance_id": "i",
    }
    file = opened(tmp_path, content)
    (trajectory,) = file.trajectories()
    assert (file.format, trajectory.id, trajectory.model) == ("swe-agent", "i", "m")
    assert summary(trajectory) == [("s1c1", "bash", {"command": "ls"}, "<returncode>0</returncode>", None)]
    assert trajectory.task.question == "Fix it."


def test_a_bare_list_of_mini_swe_agents_messages_is_read(tmp_path: Path) -> None:
    assert [call.name for call in read(tmp_path, MINI["text"])[0].calls()] == ["bash"]


def cursor(subtype: str, identifier: str, kind: str, **body: Any) -> dict[str, Any]:
    return {
        "type": "tool_call", "subtype": subtype, "call_id": identifier, "session_id": "s", "tool_call": {kind: body},
    }  # fmt: skip


def test_cursors_calls_have_the_answers_that_are_told_when_they_are_done(tmp_path: Path) -> None:
    mcp = {"args": {"name": "docs-ask", "args": {"q": "a"}, "providerIdentifier": "docs", "toolName": "ask"}}
    answered = {"success": {"content": [{"text": {"text": "found"}}], "isError": False}}
    stream = lines(
        {"type": "system", "subtype": "init", "session_id": "s", "model": "m"},
        {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": "q"}]}, "session_id": "s"},
        cursor("started", "c1", "readToolCall", args={"path": "a"}),
        cursor(
            "completed", "c1", "readToolCall", args={"path": "a"}, result={"error": {"errorMessage": "no such file"}}
        ),
        cursor("started", "c2", "mcpToolCall", **mcp),
        cursor("completed", "c2", "mcpToolCall", **mcp, result=answered),
        cursor("started", "c3", "function", name="look", arguments='{"q": 1}'),
        {"type": "result", "subtype": "success", "result": "done", "session_id": "s", "usage": {"inputTokens": 3}},
    )
    file = opened(tmp_path, stream)
    (trajectory,) = file.trajectories()
    assert (file.format, trajectory.id, trajectory.model, trajectory.final_reply) == ("cursor", "s", "m", "done")
    assert [(call.name, call.server, answer_of(call), failed(call)) for call in trajectory.calls()] == [
        ("read", None, "no such file", True),
        ("docs-ask", "docs", "found", False),
        ("look", None, None, None),
    ]


def test_cursors_transcripts_have_calls_without_answers(tmp_path: Path) -> None:
    block = {"type": "tool_use", "name": "Shell", "input": {"command": "ls"}}
    transcript = lines(
        {"role": "user", "message": {"content": [{"type": "text", "text": "q"}]}},
        {"role": "assistant", "message": {"content": [{"type": "text", "text": "Look."}, block]}},
    )
    file = opened(tmp_path, transcript)
    assert file.format == "cursor"
    assert summary(next(file.trajectories())) == [("s1c1", "Shell", {"command": "ls"}, None, None)]


def run(kind: str, second: int, name: str, **fields: Any) -> dict[str, Any]:
    moment = f"2026-01-01T00:00:{second:02}"
    return {"id": f"{name}{second}", "trace_id": "t", "run_type": kind, "name": name, "start_time": moment, **fields}


SAID = {"lc": 1, "kwargs": {"content": "", "tool_calls": [{"id": "c1", "name": "search", "args": {"q": "a"}}]}}
ASKED_MODEL = run(
    "llm", 1, "ChatModel", inputs={}, outputs={"generations": [[{"message": SAID}]]}, parent_run_id="root0",
    extra={"metadata": {"ls_model_name": "m"}},
)  # fmt: skip
TOOL_MESSAGE = {"lc": 1, "kwargs": {"content": "found", "tool_call_id": "c1", "status": "success"}}
RAN = run("tool", 2, "search", inputs={"input": "{'q': 'a'}"}, outputs={"output": TOOL_MESSAGE}, parent_run_id="root0")
ROOT = run("chain", 0, "root", inputs={"messages": [{"role": "user", "content": "q"}]}, outputs={}, parent_run_id=None)


@pytest.mark.parametrize(
    "content", [[ROOT, ASKED_MODEL, RAN], {**ROOT, "child_runs": [ASKED_MODEL, RAN]}, lines(ROOT, ASKED_MODEL, RAN)]
)
def test_langsmiths_runs_are_read_as_a_list_as_lines_and_as_a_tree(content: Any, tmp_path: Path) -> None:
    file = opened(tmp_path, content)
    (trajectory,) = file.trajectories()
    assert (file.format, trajectory.id, trajectory.model, trajectory.task.question) == ("langsmith", "t", "m", "q")
    assert summary(trajectory) == [("s1c1", "search", {"q": "a"}, "found", False)]


def test_calls_that_no_run_of_a_tool_shows_are_those_that_the_model_wrote(tmp_path: Path) -> None:
    later = run("llm", 3, "ChatModel", inputs={"messages": [[SAID, TOOL_MESSAGE]]}, outputs={})
    (trajectory,) = read(tmp_path, [ASKED_MODEL, later])
    assert summary(trajectory) == [("s1c1", "search", {"q": "a"}, "found", False)]


def test_a_tools_error_in_langsmith_is_its_answer(tmp_path: Path) -> None:
    (trajectory,) = read(tmp_path, [ROOT, {**RAN, "outputs": None, "error": "ValueError('no')"}])
    assert summary(trajectory) == [("s1c1", "search", {"q": "a"}, "ValueError('no')", True)]
