from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from replay.cli.watch import _Judge, follow, snapshot, watch
from replay.runfile import Run, summarize

LIMIT = 60


def session(calls: int) -> str:
    """A chat of so many calls, as JSON Lines."""
    lines: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for number in range(calls):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "a/b", "arguments": "{}"}}
        lines.append({"role": "assistant", "content": None, "tool_calls": [call]})
        lines.append({"role": "tool", "tool_call_id": f"c{number}", "content": "ok"})
    return "".join(json.dumps(line) + "\n" for line in lines)


def test_watch_takes_offline_since_it_starts_no_server() -> None:
    assert "--offline" in {name for option in watch.params for name in option.opts}


def judged_calls(run: Path) -> int:
    with Run.read(run) as opened:
        return sum(summarize(opened).outcomes.values())


class Batches:
    """What was handed on, and an event for each batch that is waited for."""

    def __init__(self, judge: _Judge | None = None) -> None:
        self.seen: list[list[str]] = []
        self._judge = judge
        self._arrived = anyio.Event()

    async def take(self, paths: list[Path]) -> None:
        self.seen.append([path.name for path in paths])
        if self._judge is not None:
            await self._judge.files(paths)
        self._arrived.set()

    async def next(self) -> None:
        with anyio.fail_after(LIMIT):
            await self._arrived.wait()
        self._arrived = anyio.Event()


@pytest.mark.anyio
async def test_files_that_are_there_that_come_and_that_grow_are_judged(tmp_path: Path) -> None:
    folder, run = tmp_path / "sessions", tmp_path / "run.db"
    (folder / "deep").mkdir(parents=True)
    (folder / "one.jsonl").write_text(session(1))
    batches, stop = Batches(_Judge(run, None, None)), anyio.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(follow, folder, batches.take, stop)
        await batches.next()
        assert judged_calls(run) == 1
        (folder / "deep" / "two.jsonl").write_text(session(2))
        await batches.next()
        assert judged_calls(run) == 3
        (folder / "one.jsonl").write_text(session(4))
        await batches.next()
        assert judged_calls(run) == 6
        stop.set()
    assert batches.seen == [["one.jsonl"], ["two.jsonl"], ["one.jsonl"]]


@pytest.mark.anyio
async def test_a_file_that_is_no_session_is_said_once_and_the_others_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judge = _Judge(tmp_path / "run.db", None, None)
    (tmp_path / "package.json").write_text('{"name": "x"}')
    (tmp_path / "one.jsonl").write_text(session(1))
    for _ in range(2):
        await judge.files([tmp_path / "package.json", tmp_path / "one.jsonl"])
    assert capsys.readouterr().err.count("package.json: not read") == 1
    assert judge.calls == 1


def test_hidden_and_empty_files_and_other_kinds_are_left_out(tmp_path: Path) -> None:
    for name in (".hidden.json", "notes.txt", "one.json"):
        (tmp_path / name).write_text("{}")
    (tmp_path / "empty.jsonl").touch()
    assert [path.name for path in snapshot(tmp_path)] == ["one.json"]


def test_an_interrupt_ends_it_cleanly(tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text(session(2))
    command = [sys.executable, "-m", "replay", "watch", str(tmp_path), "--run", str(tmp_path / "run.db")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)
    with process:
        assert process.stdout is not None
        assert "2 calls" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 0
    assert "stopped; 2 calls of 1 file are" in err
    assert judged_calls(tmp_path / "run.db") == 2
