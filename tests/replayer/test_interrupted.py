"""^C ends a run of recorded answers, which waits for nothing, and everything judged by then is kept."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import anyio
import pytest

from replay.formats import files_of
from replay.records import Trajectory
from replay.replayer.classifier import classify_stored
from replay.replayer.plan import Options, Progress
from replay.runfile import Run


def test_an_offline_run_ends_at_the_next_trajectory_and_keeps_what_was_judged(
    results_file: Callable[..., Path], tmp_path: Path
) -> None:
    results = results_file(**{f"t{number}": [[("files/read", {"path": "x"}, "text")]] for number in range(50)})
    done: list[int] = []

    def interrupt(row: int, _: Trajectory | None) -> None:
        done.append(row)
        if len(done) == 3:
            os.kill(os.getpid(), signal.SIGINT)

    with Run.open(tmp_path / "run.db") as run:
        options = Options(offline=True, on_done=interrupt)
        with pytest.raises(KeyboardInterrupt):
            anyio.run(partial(classify_stored, run, files_of([results]), options, progress=Progress()))
        assert 3 <= len(done) < 10
        judged = run.connection.execute("SELECT count(*) FROM trajectories WHERE done").fetchone()[0]
        calls = run.connection.execute("SELECT count(*) FROM calls").fetchone()[0]
        assert judged == calls == len(done)


def test_a_long_trajectory_is_left_where_it_is_and_those_before_it_are_kept(
    results_file: Callable[..., Path], tmp_path: Path
) -> None:
    small = results_file(
        "a_test_mcp_fuzzy.json", **{f"t{number}": [[("files/read", {}, "text")]] for number in range(9)}
    )
    steps = [[("files/read", {"path": f"{number}"}, "text")] for number in range(200)]

    class Interrupting(Progress):
        def count(self) -> None:
            super().count()
            if self.done == 30:  # the long one is being judged
                os.kill(os.getpid(), signal.SIGINT)

    progress = Interrupting()
    with Run.open(tmp_path / "run.db") as run:
        files = files_of([small, results_file("b_test_mcp_fuzzy.json", long=steps)])
        with pytest.raises(KeyboardInterrupt):
            anyio.run(partial(classify_stored, run, files, Options(offline=True), progress=progress))
        assert progress.done == 30
        with closing(sqlite3.connect(tmp_path / "run.db")) as beside:  # what a crash would leave
            assert beside.execute("SELECT count(*) FROM trajectories WHERE done").fetchone()[0] == 9
