from __future__ import annotations

from pathlib import Path

import pytest

from replay.analysis.parting import paired_calls
from tests.in_process import replay_here
from tests.runs import call, failed, write_trajectory

READ_A, READ_B, TEST, FIX = ("read", "a"), ("read", "b"), ("shell", "pytest"), ("edit", "a")


@pytest.mark.parametrize(
    ("first", "second", "pairs"),
    [
        ([READ_A, TEST], [READ_A, TEST], [(0, 0), (1, 1)]),
        ([READ_A, TEST], [READ_B, FIX, TEST], [(0, 0), (1, 2)]),
        ([READ_A, READ_B], [READ_B, READ_A], [(0, 1), (1, 0)]),
        ([TEST, TEST], [FIX, TEST, READ_A, TEST], [(0, 1), (1, 3)]),
        ([READ_A, FIX, TEST], [TEST], [(2, 0)]),
        ([READ_A], [FIX], []),
        ([], [FIX], []),
    ],
)
def test_calls_of_a_tool_go_together_that_are_most_alike_and_of_those_the_nearest(
    first: list[tuple[str, str]], second: list[tuple[str, str]], pairs: list[tuple[int, int]]
) -> None:
    assert paired_calls(first, second) == pairs


@pytest.fixture
def sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    missing = failed("files/read", {"path": "/w/x"}, "/w/x: no such file")
    write_trajectory(Path("monday.trajectory.json"), [call("files/list"), missing], model="gpt")
    found = call("files/read", {"path": "/w/x"}, "text")
    write_trajectory(Path("tuesday.trajectory.json"), [call("files/find"), call("files/list"), found], model="opus")
    return tmp_path


@pytest.mark.usefixtures("sessions")
def test_two_sessions_of_a_task_are_compared_although_their_ids_differ() -> None:
    done = replay_here("diff", "monday.trajectory.json", "tuesday.trajectory.json")
    assert done.returncode == 0
    assert "before: monday.trajectory.json, 2 calls" in done.stdout
    assert "2 calls in common: 0 worse, 1 better" in done.stdout
    assert "1 call new, 0 gone" in done.stdout
    assert "tuesday:s3c1  files/read  not found -> success" in done.stdout
    assert "Both call files/read; gpt's call was judged not found, opus's success." in done.stdout
    assert "gpt:monday: s2c1 files/read (not found)" in done.stdout
    assert "opus:tuesday: s3c1 files/read (success)" in done.stdout


@pytest.mark.usefixtures("sessions")
def test_a_run_is_compared_with_a_session() -> None:
    replay_here("classify", "--offline", "--run", "monday.db", "monday.trajectory.json")
    done = replay_here("diff", "monday.db", "tuesday.trajectory.json", "--fail-on", "worse,new")
    assert (done.returncode, "1 better" in done.stdout) == (0, True)


@pytest.mark.usefixtures("sessions")
def test_a_file_that_is_no_session_is_said() -> None:
    Path("notes.txt").write_text("hello")
    done = replay_here("diff", "monday.trajectory.json", "notes.txt")
    assert done.returncode == 2
    assert "notes.txt" in done.stderr
