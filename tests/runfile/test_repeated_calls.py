"""Calls that several session files hold count once: those of the session that ended first stay."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from replay.records.summary import RepeatedCalls
from replay.reports.basis import repeated_line
from replay.runfile import Run, call_rows
from replay.runfile.repeated_calls import repeated_calls
from replay.runfile.run_inputs import keep_files
from tests.in_process import replay_here

Replay = Callable[..., subprocess.CompletedProcess[str]]


def _session(path: Path, numbers: Iterable[int], *, day: int = 1) -> Path:
    """A session of Claude Code, with a call in each minute."""
    lines = []
    for number in numbers:
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {"command": f"ls {number}"}}
        answer = {"type": "tool_result", "tool_use_id": use["id"], "content": "a.txt  b.txt"}
        told = {"sessionId": path.stem, "timestamp": f"2026-01-{day:02}T10:{number:02}:00.123Z"}
        lines.append({"type": "assistant", "uuid": f"{number}", "message": {"model": "m", "content": [use]}, **told})
        lines.append({"type": "user", "uuid": f"{number}-", "message": {"content": [answer]}, **told})
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def _calls(run: Run) -> Counter[str]:
    return Counter(Path(row.file).stem for row in call_rows(run))


@pytest.mark.parametrize("workers", [(), ("--workers", "1")])
def test_a_call_that_a_resumed_session_repeats_counts_once(
    replay: Replay, tmp_path: Path, workers: tuple[str, ...]
) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    for name, numbers in (("z", range(3)), ("b", range(5)), ("c", range(7, 9))):
        _session(runs / f"{name}.jsonl", numbers)
    for files in (runs, runs / "b.jsonl", runs):  # where the run has the other file already, too
        done = replay("classify", files, "--offline", *workers)
        assert done.returncode == 0, done.stderr
        assert "Left out: 3 calls of 1 session file that other files hold too" in done.stdout
    with Run.read(tmp_path / "replay-run.db") as run:
        assert _calls(run) == {"z": 3, "b": 2, "c": 2}
    assert "7 of 7 (100 %)" in done.stdout
    document = json.loads(replay("classify", runs, "--offline", "--json", *workers).stdout)
    assert document["summary"]["repeated"] == {"calls": 3, "files": 1}


def test_calls_of_the_same_ids_that_were_made_at_other_times_are_others(tmp_path: Path) -> None:
    files = [_session(tmp_path / f"{name}.jsonl", range(3), day=day) for name, day in (("a", 1), ("b", 2))]
    done = replay_here("classify", *files, "--offline", "--run", tmp_path / "run.db")
    assert (done.returncode, "Left out" in done.stdout) == (0, False), done.stderr


def test_what_was_left_out_counts_again_once_the_other_session_has_left_the_run(tmp_path: Path) -> None:
    first, fork = _session(tmp_path / "z.jsonl", range(3)), _session(tmp_path / "b.jsonl", range(5))
    replay_here("classify", first, fork, "--offline", "--run", tmp_path / "run.db")
    with Run.open(tmp_path / "run.db") as run, run.transaction() as db:
        assert repeated_calls(db) == RepeatedCalls(calls=3, files=1)
        assert repeated_calls(db, run.file_ids([str(first)])) is None
        keep_files(db, [str(fork)])
    replay_here("classify", fork, "--offline", "--run", tmp_path / "run.db")
    with Run.read(tmp_path / "run.db") as run:
        assert repeated_calls(run.connection) is None
        assert _calls(run) == {"b": 5}


def test_the_line_counts_calls_and_files() -> None:
    assert repeated_line(None) == ""
    line = repeated_line(RepeatedCalls(calls=1, files=2))
    assert line.startswith("Left out: 1 call of 2 session files")
