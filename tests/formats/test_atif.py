from __future__ import annotations

from pathlib import Path
from typing import Any

from replay.records import ParentCall, TextAnswer, Usage
from tests.formats.samples import atif, opened, read


def with_calls(calls: list[dict[str, Any]], results: list[dict[str, Any]]) -> dict[str, Any]:
    document = atif()
    document["steps"][1] |= {"tool_calls": calls, "observation": {"results": results}}
    return document


def call(identifier: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_call_id": identifier, "function_name": name, "arguments": arguments}


def test_a_call_its_server_its_answer_and_what_stands_around_it_are_kept(tmp_path: Path) -> None:
    (trajectory,) = read(tmp_path, atif())
    (found,) = trajectory.calls()
    assert (found.server, found.tool, found.arguments, found.id) == ("files", "read", {"path": "a"}, "c1")
    assert found.answer == TextAnswer(text="text of a")
    assert (trajectory.id, trajectory.model, trajectory.task.question) == ("s1", "m", "Read a.")
    assert trajectory.final_reply == "It says so."
    assert trajectory.usage == Usage(input_tokens=10, output_tokens=5)


def test_one_result_without_an_id_answers_the_one_call(tmp_path: Path) -> None:
    (trajectory,) = read(tmp_path, with_calls([call("c1", "look")], [{"content": "seen"}]))
    assert [found.answer for found in trajectory.calls()] == [TextAnswer(text="seen")]


def test_one_result_without_an_id_answers_none_of_two_calls(tmp_path: Path) -> None:
    calls = [call("c1", "look"), call("c2", "look")]
    (trajectory,) = read(tmp_path, with_calls(calls, [{"content": "seen"}]))
    assert [found.answer for found in trajectory.calls()] == [None, None]


def test_calls_that_share_an_id_take_the_results_in_order(tmp_path: Path) -> None:
    results = [{"source_call_id": "x", "content": text} for text in ("one", "two")]
    (trajectory,) = read(tmp_path, with_calls([call("x", "a"), call("x", "b")], results))
    assert [found.answer for found in trajectory.calls()] == [TextAnswer(text="one"), TextAnswer(text="two")]


def test_redacted_arguments_are_no_fault_of_the_model(tmp_path: Path) -> None:
    redacted = {"tool_call_id": "c", "function_name": "look", "arguments": "[REDACTED]"}
    (trajectory,) = read(tmp_path, with_calls([redacted], []))
    (found,) = trajectory.calls()
    assert (found.unreadable, found.raw, found.local) == (None, "[REDACTED]", True)


def test_an_embedded_sub_agent_is_linked_to_the_call_that_started_it(tmp_path: Path) -> None:
    reference = {"source_call_id": "c1", "content": "ok", "subagent_trajectory_ref": [{"trajectory_id": "sub"}]}
    document = with_calls([call("c1", "Task")], [reference])
    document["subagent_trajectories"] = [{**atif(), "trajectory_id": "sub"}]
    outer, inner = read(tmp_path, document)
    assert (inner.id, inner.parent) == ("sub", ParentCall(trajectory=outer.id, call="s1c1"))


def test_a_newer_version_is_read_and_said(tmp_path: Path) -> None:
    results = opened(tmp_path, {**atif(), "schema_version": "ATIF-v1.9"})
    assert results.calls == 1
    assert "ATIF-v1.9 is newer than what is known" in results.warnings[0]


def test_an_agent_without_function_calling_has_no_calls(tmp_path: Path) -> None:
    document = atif()
    del document["steps"][1]["tool_calls"]
    (trajectory,) = read(tmp_path, document)
    assert list(trajectory.calls()) == []


def test_the_own_tools_of_a_known_agent_are_local_and_those_of_servers_are_not(tmp_path: Path) -> None:
    calls = [call("c1", "mcp__files__read"), call("c2", "bash_command")]
    document = with_calls(calls, [])
    unknown = read(tmp_path, document)
    document["agent"]["name"] = "terminus-2"
    known = read(tmp_path, document)
    assert [found.local for trajectory in unknown for found in trajectory.calls()] == [False, False]
    assert [found.local for trajectory in known for found in trajectory.calls()] == [False, True]
