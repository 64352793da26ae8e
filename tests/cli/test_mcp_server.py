"""`replay mcp`, asked by a real client."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

import replay
from tests.cli.test_sessions import claude_session

TOOLS = {"recent_failures", "why_failed", "how_do_models_misuse", "reissue", "bug_report"}
STEPS = [
    [("notes/touch", {"path": "a"}, "Error: ENOENT: no such file or directory, open 'a' password=hunter2secret")],
    [("notes/look", {}, "Error: ENOENT: no such file or directory, open 'b'")],
]


async def asked(home: Path, *options: str, calls: list[tuple[str, dict[str, Any]]]) -> list[tuple[bool, str]]:
    """What the server answers: whether with an error, and the text."""
    environment = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "replay", "mcp", *options], env=environment, cwd=home
    )
    answers = []
    with anyio.fail_after(60):
        async with Client(stdio_client(parameters)) as client:
            assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
            for name, arguments in calls:
                result = await client.call_tool(name, arguments)
                answers.append((bool(result.is_error), "".join(getattr(part, "text", "") for part in result.content)))
    return answers


@pytest.mark.anyio
async def test_an_agent_asks_what_failed_why_and_for_a_report(
    tmp_path: Path, results_file: Callable[..., Path], fleet_file: Callable[..., Path]
) -> None:
    replay.classify(results_file(task=STEPS), run=tmp_path / "run.db").close()
    fleet = fleet_file(notes="annotated.py")
    answers = await asked(
        tmp_path,
        *("--run", str(tmp_path / "run.db"), "--servers", str(fleet)),
        calls=[
            ("recent_failures", {}),
            ("why_failed", {"call": "task:s1c1"}),
            ("how_do_models_misuse", {"server": "notes"}),
            ("bug_report", {"call": "task:s1c1"}),
            ("reissue", {"call": "task:s2c1"}),
            ("reissue", {"call": "task:s1c1"}),
            ("why_failed", {"call": "task:s9c9"}),
        ],
    )
    failures, why, misuse, report, reissued, refused, missing = (text for _, text in answers)
    assert [error for error, _ in answers] == [False, False, False, False, False, True, True]
    assert "`task:s1c1`: notes/touch, not found" in failures
    assert "judged **not found**" in why
    assert "touch" in misuse
    assert report.startswith("# `notes/touch`: not found")
    assert reissued == "look"
    assert "not marked as read-only" in refused
    assert "s9c9" in missing
    assert not any("hunter2secret" in text for _, text in answers)


@pytest.mark.anyio
async def test_without_a_run_the_sessions_of_the_machine_are_judged(tmp_path: Path) -> None:
    folder = tmp_path / ".claude/projects/p"
    folder.mkdir(parents=True)
    failing = ("mcp__files__read", "ENOENT: no such file or directory, open '/srv/0.txt'", True)
    (folder / "s.jsonl").write_text(claude_session(failing))
    calls = [("why_failed", {"call": "x:s1c1"}), ("recent_failures", {}), ("reissue", {"call": "x:s1c1"})]
    early, failures, reissue = await asked(tmp_path, calls=calls)
    assert (early[0], "call recent_failures first" in early[1]) == (True, True)
    assert (failures[0], "files/read, not found" in failures[1]) == (False, True)
    assert (reissue[0], "start this server with --servers" in reissue[1]) == (True, True)
