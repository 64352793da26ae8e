"""What Cline, Roo Code, pi, Goose and OpenHands keep of their sessions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from replay.errors import NoTrajectoryError
from replay.formats import open_file, open_files
from tests.formats.samples import opened, read
from tests.formats.test_coding_agents import lines, result, summary, use

DETAILS = {"type": "text", "text": "<environment_details>\n# Current Mode\nACT MODE\n</environment_details>"}
ASKED = {"role": "user", "content": [{"type": "text", "text": "<task>\nSay what a is.\n</task>"}, DETAILS]}
USED = {"role": "assistant", "content": use("t1", "read_file", path="a") + use("t2", "wiki0mcp0search", q="a")}


def answered(*texts: str) -> dict[str, Any]:
    return {"role": "user", "content": [*({"type": "text", "text": text} for text in texts), DETAILS]}


def test_a_task_of_cline_has_answers_that_are_texts(tmp_path: Path) -> None:
    told = {"modelInfo": {"modelId": "m"}, "metrics": {"tokens": {"prompt": 3, "completion": 5, "cached": 4}}}
    back = answered("[read_file for 'a'] Result:\ntext of a", "[use_mcp_tool for 'wiki'] Result:\nnothing")
    last = {"role": "assistant", "content": [{"type": "text", "text": "A letter."}]}
    folder = tmp_path / "1700000000000"
    folder.mkdir()
    file = opened(folder, [ASKED, {**USED, **told}, back, last], "api_conversation_history.json")
    (trajectory,) = file.trajectories()
    assert (file.format, trajectory.id, trajectory.model) == ("cline", "1700000000000", "m")
    assert trajectory.final_reply == "A letter."
    assert trajectory.usage is not None
    assert (trajectory.usage.input_tokens, trajectory.usage.output_tokens) == (7, 5)
    assert [(call.server, call.tool, call.local) for call in trajectory.calls()] == [
        (None, None, True),
        ("wiki", "search", False),
    ]
    assert summary(trajectory) == [
        ("s1c1", "read_file", {"path": "a"}, "text of a", None),
        ("s1c2", "wiki0mcp0search", {"q": "a"}, "nothing", None),
    ]


def test_calls_that_older_versions_of_cline_and_roo_write_as_xml_are_read(tmp_path: Path) -> None:
    mcp = '<server_name>wiki</server_name>\n<tool_name>search</tool_name>\n<arguments>\n{"q": 1}\n</arguments>'
    texts = ["I look.\n<read_file>\n<path>a</path>\n</read_file>", f"<use_mcp_tool>\n{mcp}\n</use_mcp_tool>"]
    failure = "The tool execution failed with the following error:\n<error>no such file</error>"
    content = [
        ASKED,
        {"role": "assistant", "content": [{"type": "text", "text": texts[0]}]},
        answered("[read_file for 'a'] Result:", failure),
        {"role": "assistant", "content": texts[1]},
        answered("[use_mcp_tool for 'wiki'] Result:\n\n42"),
    ]
    (trajectory,) = read(tmp_path, content)
    assert summary(trajectory) == [
        ("s1c1", "read_file", {"path": "a"}, "<error>no such file</error>", True),
        ("s2c1", "search", {"q": 1}, "42", None),
    ]
    assert [call.server for call in trajectory.calls()] == [None, "wiki"]
    assert trajectory.steps[0].text is not None
    assert trajectory.steps[0].text.strip() == "I look."


def test_a_task_of_roo_with_ids_and_a_denied_call(tmp_path: Path) -> None:
    denied = answered("[wiki0mcp0search] Result:\nThe user denied this operation.")
    content = [ASKED, USED, {"role": "user", "content": [*result("t1", "text of a"), *denied["content"]]}]
    (trajectory,) = read(tmp_path, content)
    assert [call.interrupted for call in trajectory.calls()] == [False, True]
    assert summary(trajectory)[0] == ("s1c1", "read_file", {"path": "a"}, "text of a", None)


SHOWN = [
    {"ts": 1, "type": "say", "say": "text", "text": "Say what a is.", "modelInfo": {"modelId": "m"}},
    {"ts": 2, "type": "say", "say": "api_req_started", "text": '{"request": "<task>...", "tokensIn": 7}'},
    {"ts": 3, "type": "ask", "ask": "tool", "text": '{"tool": "readFile"', "partial": True},
    {"ts": 3, "type": "ask", "ask": "tool", "text": '{"tool": "readFile", "path": "a"}'},
    {
        "ts": 4,
        "type": "say",
        "say": "api_req_started",
        "text": json.dumps({"request": "[read_file for 'a'] Result:\n\ntext of a\n\n<environment_details>..."}),
    },
    {"ts": 5, "type": "say", "say": "command", "text": "ls"},
]  # fmt: skip


def test_what_cline_showed_is_read_where_the_conversation_is_missing(tmp_path: Path) -> None:
    (trajectory,) = read(tmp_path, SHOWN, "ui_messages.json")
    assert (trajectory.model, trajectory.task.question) == ("m", "Say what a is.")
    assert summary(trajectory) == [
        ("s1c1", "read_file", {"path": "a"}, "text of a", None),
        ("s2c1", "execute_command", {"command": "ls"}, None, None),
    ]


def test_what_cline_showed_is_not_read_beside_the_conversation(tmp_path: Path) -> None:
    opened(tmp_path, [ASKED, USED], "api_conversation_history.json")
    with pytest.raises(NoTrajectoryError, match=r"stand in api_conversation_history.json beside it"):
        opened(tmp_path, SHOWN, "ui_messages.json")


PI = [
    {"type": "session", "version": 3, "id": "s1", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/w"},
    {"type": "model_change", "timestamp": "2026-01-01T00:00:00Z", "modelId": "m"},
    {"type": "message", "message": {"role": "user", "content": [{"type": "text", "text": "List."}]}},
    {
        "type": "message",
        "timestamp": "2026-01-01T00:00:02Z",
        "message": {
            "role": "assistant",
            "content": [{"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}}],
            "usage": {"input": 2, "output": 3, "cacheRead": 4},
        },
    },
    {
        "type": "message",
        "message": {"role": "toolResult", "toolCallId": "c1", "content": "a", "isError": False},
    },
    {"type": "message", "message": {"role": "bashExecution", "command": "pwd", "output": "/w"}},
]  # fmt: skip


def test_a_session_of_pi_is_read(tmp_path: Path) -> None:
    file = opened(tmp_path, lines(*PI))
    (trajectory,) = file.trajectories()
    assert (file.format, trajectory.id, trajectory.model, trajectory.task.question) == ("pi", "s1", "m", "List.")
    assert summary(trajectory) == [("s1c1", "bash", {"command": "ls"}, "a", False)]
    assert [call.started for call in trajectory.calls()] == [2.0]
    assert trajectory.usage is not None
    assert (trajectory.usage.input_tokens, trajectory.usage.output_tokens) == (6, 3)


def test_each_reply_of_a_long_session_is_a_step_of_its_own(tmp_path: Path) -> None:
    reply = {"role": "assistant", "content": [{"type": "toolCall", "id": "c1", "name": "bash", "arguments": {}}]}
    answer = {"role": "toolResult", "toolCallId": "c1", "content": "a"}
    told = [{"type": "message", "message": message} for message in (reply, answer)] * 40
    (trajectory,) = read(tmp_path, lines(*PI[:3], *told))
    assert len(trajectory.steps) == 40


def test_a_session_trace_of_the_hub_is_read(tmp_path: Path) -> None:
    call = {"id": "t1", "function": {"name": "get_time", "arguments": "{}"}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "What time is it?"},
        {"role": "assistant", "content": "", "toolCalls": [call], "model": "m"},
        {"role": "tool", "toolCallId": "t1", "content": "15:00"},
        {"role": "assistant", "content": "It is three."},
    ]
    header = {"type": "session", "harness": "mine", "id": "s1", "name": "the time"}
    (trajectory,) = read(tmp_path, lines(header, *({"type": "message", "message": each} for each in messages)))
    assert (trajectory.id, trajectory.model, trajectory.final_reply) == ("s1", "m", "It is three.")
    assert summary(trajectory) == [("s1c1", "get_time", {}, "15:00", None)]


def request(identifier: str, name: str) -> dict[str, Any]:
    return {"type": "toolRequest", "id": identifier, "toolCall": {"status": "success", "value": {"name": name}}}


def response(identifier: str, **told: Any) -> dict[str, Any]:
    return {"type": "toolResponse", "id": identifier, "toolResult": told}


GOOSE = [
    {"role": "user", "created": 1700000000, "content": [{"type": "text", "text": "List."}]},
    {"role": "assistant", "created": 1700000002, "content": [request("c1", "developer__shell"), request("c2", "w__s")]},
    {
        "role": "user",
        "created": 1700000003,
        "content": [
            response("c1", status="success", value=[{"type": "text", "text": "a"}]),
            response("c2", status="error", error="-32602: no such tool"),
        ],
    },
    {"role": "assistant", "created": 1700000004, "content": [{"type": "text", "text": "One file."}]},
]
ABOUT = {"id": "s1", "working_dir": "/w", "message_count": 4, "model_config": {"model_name": "m"}, "input_tokens": 9}


@pytest.mark.parametrize(
    "content",
    [
        lines(ABOUT, *GOOSE),
        {**ABOUT, "conversation": GOOSE},
    ],
)
def test_a_session_of_goose_is_read_from_its_file_and_its_export(content: Any, tmp_path: Path) -> None:
    file = opened(tmp_path, content)
    (trajectory,) = file.trajectories()
    assert (file.format, trajectory.id, trajectory.model) == ("goose", "s1", "m")
    assert (trajectory.task.question, trajectory.final_reply) == ("List.", "One file.")
    assert summary(trajectory) == [
        ("s1c1", "developer__shell", {}, "a", False),
        ("s1c2", "w__s", {}, "-32602: no such tool", True),
    ]
    assert [(call.local, call.server) for call in trajectory.calls()] == [(True, None), (False, "w")]


def test_newer_sessions_of_goose_name_extension_and_model_beside_the_call(tmp_path: Path) -> None:
    calls = [request("c1", "shell") | {"_meta": {"goose_extension": "developer"}}]
    calls += [request("c2", "search") | {"_meta": {"goose_extension": "github"}}]
    told = {"inference": {"provider": "p", "requestedModel": "m"}}
    (trajectory,) = read(tmp_path, {**ABOUT, "model_config": None, "conversation": [
        GOOSE[0], {"role": "assistant", "created": 1700000002, "content": calls, "metadata": told}
    ]})  # fmt: skip
    assert trajectory.model == "m"
    assert [(call.name, call.local, call.server) for call in trajectory.calls()] == [
        ("shell", True, None),
        ("search", False, "github"),
    ]


def test_what_goose_printed_is_a_session(tmp_path: Path) -> None:
    printed = [*({"type": "message", "message": each} for each in GOOSE), {"type": "complete", "total_tokens": 9}]
    file = opened(tmp_path, lines(*printed))
    (trajectory,) = file.trajectories()
    assert (file.format, file.warnings, trajectory.final_reply) == ("goose", (), "One file.")
    assert [name for _, name, *_ in summary(trajectory)] == ["developer__shell", "w__s"]


EVENTS: list[dict[str, Any]] = [
    {"kind": "SystemPromptEvent", "tools": [{"type": "function", "function": {"name": "terminal", "parameters": {}}}]},
    {
        "kind": "ActionEvent",
        "tool_name": "terminal",
        "tool_call_id": "c1",
        "tool_call": {"id": "c1", "name": "terminal", "arguments": '{"command": "ls"}'},
        "action": {"kind": "TerminalAction"},
    },
    {
        "kind": "ObservationEvent",
        "tool_name": "terminal",
        "tool_call_id": "c1",
        "observation": {"content": [{"type": "text", "text": "a"}], "is_error": False},
    },
]


def test_the_files_of_a_folder_of_events_are_one_trajectory(tmp_path: Path) -> None:
    folder = tmp_path / "conversation-1" / "events"
    folder.mkdir(parents=True)
    for number, event in enumerate(EVENTS):
        told = {"id": str(number), "timestamp": "2026-01-01T00:00:00", "source": "agent", **event}
        (folder / f"event-{number:05}-abc.json").write_text(json.dumps(told))
    (folder.parent / "base_state.json").write_text(json.dumps({"agent": {"llm": {"model": "m"}}}))
    for named in (tmp_path, folder.parent, folder):
        (file,) = open_files([named])
        (trajectory,) = file.trajectories()
        assert (file.format, trajectory.id, trajectory.model) == ("openhands", "conversation-1", "m")
        assert summary(trajectory) == [("s1c1", "terminal", {"command": "ls"}, "a", False)]
        assert [tool.name for tool in trajectory.tools] == ["terminal"]


def test_numbered_files_of_a_folder_called_events_that_are_no_events_stay_files(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    for number in (1, 2):
        (tmp_path / "events" / f"{number}.json").write_text(lines(*PI))
    assert [file.path for file in open_files([tmp_path])] == [str(tmp_path / "events" / f"{n}.json") for n in (1, 2)]
    assert open_file(tmp_path / "events" / "1.json").calls == 1
