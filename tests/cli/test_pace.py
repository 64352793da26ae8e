"""Progress over many workers tells how fast it goes of late, and how long it takes at that pace."""

from __future__ import annotations

import pytest

from replay.cli.progress import Pace
from replay.replayer.plan import Progress


class Run:
    """A run under a clock that a test turns."""

    def __init__(self) -> None:
        self.now = 0.0
        self.progress = Progress(total=1000)
        self.pace = Pace(lambda: self.now)

    def go_on(self, seconds: int, *, calls: int, worker: str = "a") -> None:
        """So many calls every second."""
        for _ in range(seconds):
            self.pace.note(self.progress)
            self.now += 1
            self.progress.done += calls
            self.progress.by_worker[worker] = self.progress.by_worker.get(worker, 0) + calls
        self.pace.note(self.progress)


@pytest.fixture
def run() -> Run:
    return Run()


def test_the_start_of_workers_is_no_part_of_the_pace(run: Run) -> None:
    run.progress.stage = "starting workers"
    run.go_on(60, calls=0)
    run.progress.stage = None
    assert (run.pace.rate(run.progress), run.pace.seconds_left(run.progress)) == (0.0, None)
    run.go_on(5, calls=10)
    assert (run.pace.rate(run.progress), run.pace.seconds_left(run.progress)) == (10.0, 95.0)


def test_what_was_long_ago_does_not_count(run: Run) -> None:
    run.go_on(40, calls=20)
    run.go_on(30, calls=2, worker="b")
    assert run.pace.rate(run.progress) == 2.0
    assert run.pace.by_worker(run.progress) == {"a": 0.0, "b": 2.0}
    assert run.pace.seconds_left(run.progress) == 70.0


def test_calls_that_had_their_verdict_from_before_are_no_part_of_the_pace(run: Run) -> None:
    run.go_on(1, calls=0)
    run.progress.done = run.progress.kept = 900
    run.go_on(4, calls=5)
    assert run.pace.rate(run.progress) == 4.0
    assert run.pace.seconds_left(run.progress) == 20.0


def test_work_that_is_given_again_makes_no_negative_pace(run: Run) -> None:
    run.go_on(3, calls=5)
    run.progress.done = 0
    assert run.pace.rate(run.progress) == 0.0
    assert run.pace.seconds_left(run.progress) is None
