"""Bare `replay` and `replay sessions`: what failed in the sessions of coding agents below HOME."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from replay.formats.session_folders import session_folders
from tests.in_process import replay_here

NOW = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}Z"


def claude_session(*calls: tuple[str, str, bool], moment: str = NOW) -> str:
    """A session of Claude Code: tool, what it answered, whether as an error."""
    about = {"sessionId": "5e55-10", "timestamp": moment, "cwd": "/x", "version": "2.0.1", "isSidechain": False}
    lines: list[dict[str, Any]] = []
    for number, (tool, text, failed) in enumerate(calls):
        used = {"type": "tool_use", "id": f"t{number}", "name": tool, "input": {"path": f"/srv/{number}.txt"}}
        message = {"id": f"m{number}", "role": "assistant", "model": "opus", "type": "message", "content": [used]}
        answer = {"type": "tool_result", "tool_use_id": f"t{number}", "content": text, "is_error": failed}
        lines.append({"type": "assistant", "uuid": f"a{number}", "message": message, **about})
        lines.append({"type": "user", "uuid": f"u{number}", "message": {"role": "user", "content": [answer]}, **about})
    return "".join(json.dumps(line) + "\n" for line in lines)


def opencode_session(storage: Path, tool: str, error: str) -> None:
    created = {"created": datetime.now(UTC).timestamp() * 1000}
    state = {"status": "error", "input": {"id": 7}, "error": error}
    documents = {
        "session/p1/ses_1.json": {"id": "ses_1", "time": created},
        "message/ses_1/msg_1.json": {"id": "msg_1", "role": "assistant", "modelID": "m"},
        "part/msg_1/prt_1.json": {"id": "prt_1", "type": "tool", "callID": "c", "tool": tool, "state": state},
    }
    for name, document in documents.items():
        path = storage / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".claude/projects/shop").mkdir(parents=True)
    return tmp_path


def test_what_failed_stands_by_server_by_tool_and_cause_with_the_command_that_explains_it(home: Path) -> None:
    missing = ("mcp__files__read", "ENOENT: no such file or directory, open '/srv/0.txt'", True)
    session = claude_session(missing, missing, ("Bash", "done", False))
    (home / ".claude/projects/shop/one.jsonl").write_text(session)
    opencode_session(home / ".local/share/opencode/storage", "tracker_issue", "Error: issue 7 not found")

    done = replay_here()

    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["files", "2", "2", "100.0%", "0"] in lines
    assert ["(no", "server", "named)", "2", "1", "50.0%", "0"] in lines
    assert any(line[:4] == ["1", "not", "found", "tracker_issue"] for line in lines)
    assert any(line[:4] == ["2", "not", "found", "files/read"] for line in lines)
    command = next(line for line in done.stdout.splitlines() if line.startswith("      replay report --call"))
    report = replay_here(*command.split()[1:])
    assert (report.returncode, "ENOENT" in report.stdout) == (0, True)
    assert f"read {home}/.claude/projects: 1 sessions of Claude Code" in done.stderr
    assert "nothing leaves this machine" in done.stderr


def test_a_home_without_sessions_says_what_to_try(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    done = replay_here()
    assert (done.returncode, done.stdout) == (0, "")
    assert "try: replay demo" in done.stderr


def test_sessions_in_which_nothing_happened_since_are_left_out(home: Path) -> None:
    old = home / ".claude/projects/shop/old.jsonl"
    old.write_text(claude_session(("Bash", "boom", True), moment="2024-01-02T03:04:05Z"))
    assert "no call was made in them since then" in replay_here("sessions", "--since", "2025").stderr
    os.utime(old, (0, 0))
    assert "no session is that young" in replay_here("sessions", "--since", "2025").stderr
    assert "'yesterday' is not a time" in replay_here("sessions", "--since", "yesterday").stderr


def test_sessions_of_an_unknown_version_are_counted_and_the_others_go_on(home: Path) -> None:
    folder = home / ".claude/projects/shop"
    (folder / "new.jsonl").write_text('{"v": 9, "tool_calls": [{"name": "x"}]}\n')
    (folder / "known.jsonl").write_text(claude_session(("Bash", "done", False)))
    done = replay_here("sessions")
    assert done.returncode == 0
    assert "1 file could not be read, or not as a whole" in done.stderr
    assert ["(no", "server", "named)", "1", "0", "0.0%", "0"] in [line.split() for line in done.stdout.splitlines()]


def test_an_agent_s_variable_moves_its_folder(tmp_path: Path) -> None:
    (tmp_path / "elsewhere/sessions").mkdir(parents=True)
    (folder,) = session_folders("", {"HOME": str(tmp_path), "CODEX_HOME": str(tmp_path / "elsewhere")})
    assert (folder.agent, folder.path) == ("Codex", tmp_path / "elsewhere/sessions")
