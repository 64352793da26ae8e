"""Bare `replay` and `replay sessions`: what failed in the sessions of coding agents below HOME."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from replay.dag import Graph, infer_edges
from replay.formats.session_folders import session_folders
from replay.runfile import Run
from replay.runfile.trajectory_queries import stored_trajectory
from tests.in_process import replay_here

NOW = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}Z"


def claude_session(*calls: tuple[str, str, bool], moment: str = NOW, session: str = "5e55-10") -> str:
    """A session of Claude Code: tool, what it answered, whether as an error."""
    about = {"sessionId": session, "timestamp": moment, "cwd": "/x", "version": "2.0.1", "isSidechain": False}
    lines: list[dict[str, Any]] = []
    for number, (tool, text, failed) in enumerate(calls):
        identifier = f"{session}-{number}"
        used = {"type": "tool_use", "id": identifier, "name": tool, "input": {"path": f"/srv/{number}.txt"}}
        message = {"id": f"m{number}", "role": "assistant", "model": "opus", "type": "message", "content": [used]}
        answer = {"type": "tool_result", "tool_use_id": identifier, "content": text, "is_error": failed}
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
    assert f"read {home}/.claude/projects: 1 session of Claude Code" in done.stderr
    assert "nothing leaves this machine" in done.stderr


def test_an_example_is_the_commonest_and_says_of_how_many_calls_it_is(home: Path) -> None:
    answers = ["Exit code 1\nsh: parse error near `('", *["Exit code 1\nKeyError: 'Student ID'"] * 2]
    single = [("Read", f"<tool_use_error>File does not exist: {name}</tool_use_error>", True) for name in "ab"]
    session = claude_session(*(("Bash", answer, True) for answer in answers), *single)
    (home / ".claude/projects/shop/one.jsonl").write_text(session)

    bash, read = [line for line in replay_here().stdout.splitlines() if line.startswith(("  Bash, ", "  Read, "))]

    assert bash.startswith("  Bash, 3 times ")
    assert ": 2 of 3: " in bash
    assert "KeyError: 'Student ID'" in bash
    assert read.startswith("  Read, 2 times not found: for example: ")


def test_a_home_without_sessions_says_what_to_try(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    done = replay_here()
    assert (done.returncode, done.stdout) == (0, "")
    assert "try: replay demo" in done.stderr


def test_sessions_in_which_nothing_happened_since_are_left_out(home: Path) -> None:
    old = home / ".claude/projects/shop/old.jsonl"
    old.write_text(claude_session(("Bash", "boom", True), moment="2024-01-02T03:04:05Z"))
    assert "no call was made in them since then; look further back: replay sessions --since 2024-01-01" in (
        replay_here("sessions", "--since", "2025").stderr
    )
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


def failing_rows(output: str) -> list[list[str]]:
    return [line.split() for line in output.splitlines() if line.startswith("(no server named)")]


def test_only_sessions_that_went_on_are_judged_again_and_those_out_of_the_window_leave(home: Path) -> None:
    folder = home / ".claude/projects/shop"
    for name in ("one", "two", "three"):
        (folder / f"{name}.jsonl").write_text(claude_session(("Bash", "boom", True), session=name))
    first = replay_here("sessions")
    assert "as they were" not in first.stderr
    assert failing_rows(first.stdout) == [["(no", "server", "named)", "3", *failing_rows(first.stdout)[0][4:]]]

    (folder / "two.jsonl").write_text(claude_session(("Bash", "boom", True), ("Bash", "done", False), session="two"))
    again = replay_here("sessions")
    assert "note: 2 of 3 sessions are as they were: their verdicts stand" in again.stderr
    assert failing_rows(again.stdout)[0][3] == "4"
    assert replay_here("sessions", "--fresh").stdout == again.stdout
    assert "as they were" not in replay_here("sessions", "--fresh").stderr

    (folder / "one.jsonl").unlink()
    os.utime(folder / "three.jsonl", (0, 0))
    assert failing_rows(replay_here("sessions", "--since", "30d").stdout)[0][3] == "2"


def test_who_reads_a_session_in_which_nothing_failed_finds_its_data_edges(home: Path) -> None:
    """They are not looked for where no failure asks for a cause, which is a tenth of the time."""
    made, failing = ("mcp__box__make", "wrote /srv/1.txt", False), ("mcp__box__read", "ENOENT: no such file", True)
    (home / ".claude/projects/shop/good.jsonl").write_text(claude_session(made, ("mcp__box__read", "hello", False)))
    (home / ".claude/projects/shop/bad.jsonl").write_text(claude_session(made, failing))
    replay_here("sessions", "--run", "some.db")
    with Run.read(Path("some.db")) as run:
        records = [stored.record for row in (1, 2) if (stored := stored_trajectory(run.connection, row)) is not None]
    (good,) = [record for record in records if record.edges is None]
    (bad,) = [record for record in records if record.edges is not None]
    assert [(edge.producer, edge.consumer) for edge in Graph(good).edges] == [("s1c1", "s2c1")]
    assert Graph(bad).edges == bad.edges == infer_edges(bad)


def test_a_usual_run_that_cannot_be_gone_on_with_is_made_anew(home: Path) -> None:
    (home / ".claude/projects/shop/one.jsonl").write_text(claude_session(("Bash", "boom", True)))
    first = replay_here("sessions")
    command = next(line for line in first.stdout.splitlines() if line.startswith("Next: replay browse --run "))
    run = Path(command.rpartition(" ")[2])
    with closing(sqlite3.connect(run)) as db:
        db.execute("UPDATE meta SET value = '99' WHERE key = 'version'")
        db.commit()
    assert replay_here("sessions").stdout == first.stdout


def test_what_answers_mean_by_the_labels_here_counts(home: Path) -> None:
    (home / ".claude/projects/shop/one.jsonl").write_text(claude_session(("mcp__paint__choose", "the blue one", False)))
    plain = replay_here("sessions")
    assert ["paint", "1", "0", "0.0%", "0"] in [line.split() for line in plain.stdout.splitlines()]
    Path("replay-labels.yaml").write_text(
        "format: replay.labels\nversion: 1\nlabels:\n- {tool: '*choose', template: the blue one, outcome: not_found}\n"
    )
    labelled = replay_here("sessions")
    assert "as they were" not in labelled.stderr
    assert ["paint", "1", "1", "100.0%", "0"] in [line.split() for line in labelled.stdout.splitlines()]


def test_an_agent_s_variable_moves_its_folder(tmp_path: Path) -> None:
    (tmp_path / "elsewhere/sessions").mkdir(parents=True)
    (folder,) = session_folders("", {"HOME": str(tmp_path), "CODEX_HOME": str(tmp_path / "elsewhere")})
    assert (folder.agent, folder.path) == ("Codex", tmp_path / "elsewhere/sessions")
