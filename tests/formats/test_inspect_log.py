from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from replay.errors import FormatError
from replay.formats import open_file
from replay.records import ToolResult
from tests.formats.samples import inspect_log, opened, read

HAS_INSPECT = importlib.util.find_spec("inspect_ai") is not None
EVAL = ("formats", "inspect", "inspect_message_deduplication.eval")


def test_each_epoch_of_a_sample_is_a_trajectory(tmp_path: Path) -> None:
    assert opened(tmp_path, inspect_log()).ids == ("1_epoch_1", "1_epoch_2")


def test_attachments_stand_where_they_are_named(tmp_path: Path) -> None:
    first, _ = read(tmp_path, inspect_log())
    (call,) = first.calls()
    assert first.task.question == "List the files."
    assert call.answer == ToolResult(content=({"type": "text", "text": "a.txt"},))


def test_the_score_is_what_the_run_said_of_itself(tmp_path: Path) -> None:
    first, _ = read(tmp_path, inspect_log())
    assert first.reported is not None
    assert (first.reported.passed, first.reported.details) == (True, {"match": "C"})


def test_arguments_that_inspect_could_not_parse_are_the_models_text(tmp_path: Path) -> None:
    log = inspect_log()
    said = 'Error parsing the following tool call arguments:\n\n{"cmd": \n\nError details: it ends too early'
    log["samples"][0]["messages"][1]["tool_calls"][0] |= {"arguments": {}, "parse_error": said}
    first, _ = read(tmp_path, log)
    (call,) = first.calls()
    assert (call.unreadable, call.raw) == ("arguments", '{"cmd": ')


def test_an_error_of_a_tool_is_kept_and_a_refused_approval_is_an_interruption(tmp_path: Path) -> None:
    log = inspect_log()
    failed, refused = (sample["messages"] for sample in (log["samples"][0], inspect_log()["samples"][0]))
    failed[2] |= {"content": "", "error": {"type": "timeout", "message": "took too long"}}
    refused[2] |= {"content": "", "error": {"type": "approval", "message": "not allowed"}}
    log["samples"][1]["messages"] = refused
    first, second = read(tmp_path, log)
    (call,), (stopped,) = first.calls(), second.calls()
    assert call.answer == ToolResult(content=({"type": "text", "text": "took too long"},), is_error=True)
    assert (call.interrupted, stopped.interrupted) == (False, True)


def test_a_newer_version_is_read_and_said(tmp_path: Path) -> None:
    results = opened(tmp_path, {**inspect_log(), "version": 9})
    assert results.calls == 2
    assert "version 9 of the log is newer" in results.warnings[0]


@pytest.mark.skipif(HAS_INSPECT, reason="inspect_ai is installed here")
def test_without_the_package_an_eval_file_says_how_to_install_it(shared_data: Path) -> None:
    with pytest.raises(FormatError, match=r"pip install '.*\[inspect\]'"):
        open_file(shared_data.joinpath(*EVAL))


@pytest.mark.skipif(not HAS_INSPECT, reason="inspect_ai (the extra `inspect`) is not installed")
def test_an_eval_file_is_read_through_the_package(shared_data: Path) -> None:
    results = open_file(shared_data.joinpath(*EVAL))
    (trajectory,) = results.trajectories()
    assert [call.name for call in trajectory.calls()] == ["bash"] * 5
