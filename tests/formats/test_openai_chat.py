from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from replay.errors import FormatError, UsageError
from replay.formats import open_file
from replay.formats.file_names import FileNames
from replay.records import Call, TextAnswer, ToolResult, Trajectory

USER = {"role": "user", "content": "What is in it?"}


def assistant(*calls: tuple[str, str, Any], text: str | None = None) -> dict[str, Any]:
    written = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in calls]
    return {"role": "assistant", "content": text, "tool_calls": written}


def tool(identifier: str, content: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identifier, "content": content}


def read(path: Path, data: Any) -> Trajectory:
    path.write_text(json.dumps(data))
    return next(open_file(path).trajectories())


def test_the_calls_of_one_message_are_one_step_and_get_their_answers(tmp_path: Path) -> None:
    messages = [
        USER,
        assistant(("1", "s-a", '{"x": 1}'), ("2", "s-b", "{}"), text="first"),
        tool("2", "two"),
        tool("1", "one"),
        assistant(("1", "s-c", "{}")),
        tool("1", "again"),
        {"role": "assistant", "content": "done"},
    ]
    trajectory = read(tmp_path / "a.json", messages)
    assert [(c.position, c.name, c.answer) for c in trajectory.calls()] == [
        ("s1c1", "s-a", TextAnswer(text="one")),
        ("s1c2", "s-b", TextAnswer(text="two")),
        ("s2c1", "s-c", TextAnswer(text="again")),
    ]
    assert (trajectory.steps[0].text, trajectory.final_reply) == ("first", "done")
    assert trajectory.task.question == "What is in it?"


def test_a_result_that_a_host_dumped_whole_is_read_as_one_with_its_flag(tmp_path: Path) -> None:
    blocks = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    dumped = {"_meta": None, "content": blocks, "structuredContent": {"n": 2}, "isError": True}
    page = {"content": blocks, "isError": False, "author": "Ada"}  # a document of the server's own
    messages = [USER, assistant(("1", "s-a", "{}"), ("2", "s-b", "{}")), tool("1", json.dumps(dumped))]
    first, second = read(tmp_path / "a.json", [*messages, tool("2", json.dumps(page))]).calls()
    assert first.answer == ToolResult(content=tuple(blocks), structured={"n": 2}, is_error=True)
    assert second.answer == TextAnswer(text=json.dumps(page))


@pytest.mark.parametrize(("written", "arguments"), [("", {}), ("  ", {}), ("{}", {}), ('{"a": [1]}', {"a": [1]})])
def test_empty_argument_text_means_no_arguments(tmp_path: Path, written: str, arguments: dict[str, Any]) -> None:
    (call,) = read(tmp_path / "a.json", [USER, assistant(("1", "s-a", written))]).calls()
    assert (call.arguments, call.unreadable) == (arguments, None)


@pytest.mark.parametrize("written", ["[1]", "null", '"x"', '{"path": "/tmp/x"', "{'a': 1}", '{"a": 1} {"b": 2}'])
def test_argument_text_that_is_not_an_object_is_kept_verbatim(tmp_path: Path, written: str) -> None:
    (call,) = read(tmp_path / "a.json", [USER, assistant(("1", "s-a", written))]).calls()
    assert (call.arguments, call.unreadable, call.raw) == (None, "arguments", written)


def test_arguments_may_be_an_object_already(tmp_path: Path) -> None:
    (call,) = read(tmp_path / "a.json", [USER, assistant(("1", "s-a", {"x": 1}))]).calls()
    assert call.arguments == {"x": 1}


@pytest.mark.parametrize(
    "text",
    [
        '<|begin_of_box|>{"tool_calls": [{"name": "s/t", "arguments": {}}]}<|end_of_box|>',
        '<tool_call>{"name": "s/t", "arguments": {}}</tool_call>',
        '```json\n{"name": "s/t", "arguments": {}}\n```',
        '{"name": "s/t", "arguments": {"a": ',
    ],
)
def test_a_reply_that_is_a_call_in_other_delimiters_is_an_illegal_call(tmp_path: Path, text: str) -> None:
    (call,) = read(tmp_path / "a.json", [USER, {"role": "assistant", "content": text}]).calls()
    assert call == Call(position="s1c1", unreadable="call", raw=text)


def test_a_final_reply_that_mentions_a_call_is_a_reply(tmp_path: Path) -> None:
    text = 'I would send {"name": "s/t", "arguments": {}} next.'
    trajectory = read(tmp_path / "a.json", [USER, {"role": "assistant", "content": text}])
    assert (list(trajectory.calls()), trajectory.final_reply) == ([], text)


def test_the_deprecated_function_call_is_a_call(tmp_path: Path) -> None:
    legacy = {"role": "assistant", "content": None, "function_call": {"name": "s-a", "arguments": "{}"}}
    (call,) = read(tmp_path / "a.json", [USER, legacy, {"role": "function", "name": "s-a", "content": "ok"}]).calls()
    assert (call.name, call.answer) == ("s-a", TextAnswer(text="ok"))


def test_a_call_without_a_name_is_kept(tmp_path: Path) -> None:
    nameless = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"arguments": "{}"}}, {"id": "2"}]}
    calls = list(read(tmp_path / "a.json", [USER, nameless]).calls())
    assert [(c.name, c.unreadable) for c in calls] == [(None, "name"), (None, "name")]


def test_json_lines_hold_a_conversation_each(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    rows = [{"id": i, "model": "m", "messages": [USER, assistant(("1", "s-a", "{}"))]} for i in (1, 2)]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    file = open_file(path)
    assert (file.ids, file.calls, file.model) == (("1", "2"), 2, "m")


def test_json_lines_of_bare_messages_are_one_conversation(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("\n".join(map(json.dumps, [USER, assistant(("1", "s-a", "{}")), tool("1", "ok")])))
    (trajectory,) = open_file(path).trajectories()
    assert (trajectory.id, len(list(trajectory.calls()))) == ("run", 1)


def test_names_tell_model_and_task(tmp_path: Path) -> None:
    path = tmp_path / "claude-4.5-sonnet_paper-checker.json"
    path.write_text(json.dumps({"messages": [USER], "pass": "True"}))
    (trajectory,) = open_file(path, FileNames("{model}_{task}.json")).trajectories()
    assert (trajectory.model, trajectory.id) == ("claude-4.5-sonnet", "paper-checker")


def test_a_name_that_does_not_match_the_pattern_is_an_error_that_names_both(tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    path.write_text(json.dumps([USER]))
    with pytest.raises(FormatError, match=r"odd\.json: its name does not match --names '\{model\}_\{task\}\.json'"):
        open_file(path, FileNames("{model}_{task}.json"))
    with pytest.raises(UsageError, match=r"expected \{model\} or \{task\}"):
        FileNames("results.json")


def test_the_published_runs_load_without_loss(shared_data: Path) -> None:
    for path in sorted((shared_data / "toolathlon" / "results").glob("*.json")):
        (trajectory,) = open_file(path, FileNames("{model}_{task}.json")).trajectories()
        messages = json.loads(path.read_text())["messages"]
        written = [call for message in messages for call in message.get("tool_calls") or ()]
        answers = {message["tool_call_id"]: message["content"] for message in messages if message["role"] == "tool"}
        calls = list(trajectory.calls())
        assert [(c.id, c.name) for c in calls] == [(c["id"], c["function"]["name"]) for c in written]
        for call, raw in zip(calls, written, strict=True):
            assert call.arguments == (json.loads(raw["function"]["arguments"]) if raw["function"]["arguments"] else {})
            assert call.answer == TextAnswer(text=answers[raw["id"]])
