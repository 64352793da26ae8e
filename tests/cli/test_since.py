from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.in_process import replay_here
from tests.runs import call, write_trajectory


@pytest.fixture(autouse=True)
def sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "sessions"
    folder.mkdir()
    begun = {"monday": "2026-11-16T09:00:00Z", "overnight": "2026-11-16T23:00:00Z", "friday": "2026-11-20T09:00:00Z"}
    for name, moment in begun.items():
        calls = [call("files/list", started=0.0), call("files/list", started=7200.0)]
        write_trajectory(folder / f"{name}.trajectory.json", calls, started_at=moment)
    write_trajectory(folder / "timeless.trajectory.json", [call("files/list")])
    return folder


def classified(*options: str) -> tuple[list[str], str]:
    done = replay_here("classify", "--offline", "--json", *options, "sessions")
    assert done.returncode == 0, done.stderr
    return sorted({line["trajectory"] for line in json.loads(done.stdout)["calls"]}), done.stderr


def test_files_in_which_nothing_happened_since_are_not_read() -> None:
    names, told = classified("--since", "2026-11-17")
    assert names == ["friday", "overnight", "timeless"]
    assert "1 file holds nothing since then; not read" in told


def test_a_file_that_was_not_written_since_is_not_read(sessions: Path) -> None:
    written = datetime(2026, 11, 1, tzinfo=UTC).timestamp()
    for name in ("timeless", "friday"):
        os.utime(sessions / f"{name}.trajectory.json", (written, written))
    names, told = classified("--since", "2026-11-17")
    assert names == ["overnight"]
    assert "3 files hold nothing since then" in told


def test_nothing_since_is_an_error() -> None:
    Path("sessions/timeless.trajectory.json").unlink()
    done = replay_here("classify", "--offline", "--since", "2026-12-01", "sessions")
    assert done.returncode == 2
    assert "3 files hold nothing since then" in done.stderr
    assert "no session is as new as --since says; name an earlier time" in done.stderr
    assert "could be read" not in done.stderr


def test_what_is_not_a_time_is_refused() -> None:
    done = replay_here("classify", "--offline", "--since", "lately", "sessions")
    assert (done.returncode, "is not a time; write 7d" in done.stderr) == (2, True)


def test_a_session_is_listed_with_what_it_took() -> None:
    classified()
    listed = replay_here("show", "--run", "replay-run.db").stdout
    assert "friday     gpt  2 success; 2026-11-20 09:00; 120 min" in listed
    assert "timeless   gpt  1 success\n" in listed
