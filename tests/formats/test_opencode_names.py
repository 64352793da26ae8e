"""OpenCode joins server and tool with one `_`: which is which the fleet tells, and a guess where there is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replay.outcomes import Registry
from replay.records import Call, Trajectory
from replay.replayer.recorded_names import servers_named
from tests.formats.samples import read


def session(directory: Path, *tools: str) -> Trajectory:
    def event(number: int, tool: str) -> str:
        state = {"status": "completed", "input": {}, "output": "ok"}
        part = {"type": "tool", "callID": f"c{number}", "tool": tool, "messageID": "m", "state": state}
        return json.dumps({"type": "tool_use", "timestamp": 1, "sessionID": "ses_1", "part": part})

    (trajectory,) = read(directory, "\n".join(event(number, tool) for number, tool in enumerate(tools)))
    return trajectory


def test_without_a_fleet_the_first_word_is_taken_for_the_server_and_built_in_tools_have_none(tmp_path: Path) -> None:
    calls = session(tmp_path, "playwright_browser_click", "bash", "todowrite", "solo").calls()
    assert [(call.server, call.tool, call.local) for call in calls] == [
        ("playwright", "browser_click", False),
        (None, None, True),
        (None, None, True),
        (None, None, False),
    ]


@pytest.mark.parametrize(
    ("name", "server", "tool"),
    [
        ("playwright_browser_click", "playwright", "browser_click"),
        ("my_files_read_file", "my_files", "read_file"),
        ("my_files_extra_read", "my.files extra", "read"),
        ("My-Files_read", "my-files", "read"),
        ("github_search", None, "github_search"),
    ],
)
def test_the_fleets_names_tell_server_and_tool_apart(name: str, server: str | None, tool: str, tmp_path: Path) -> None:
    fleet = (
        ("playwright", "my_files", "my.files extra", "my-files")
        if "-" in name
        else ("playwright", "my_files", "my.files extra")
    )
    (call,) = session(tmp_path, name).calls()
    assert Registry(server_names=fleet).read(call) == (server, tool)


def test_only_the_servers_that_such_names_mean_are_started(tmp_path: Path) -> None:
    trajectory = session(tmp_path, "my_files_read", "other_thing")
    assert servers_named(trajectory, ["my_files", "playwright"]) == {"my_files"}


def test_a_name_that_no_reader_split_so_is_not_split_at_one_underscore() -> None:
    call = Call(position="s1c1", name="my_files_read", arguments={})
    assert Registry(server_names=("my_files",)).read(call) == (None, "my_files_read")
