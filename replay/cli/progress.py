"""Progress on stderr: a bar in a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

import anyio

from replay.cli.terminal import LINE_EVERY, bar_on, echo_err, is_interactive
from replay.safety.text import printable

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from replay.interpreter import ServerEvent
    from replay.replayer.plan import Progress

_BAR_EVERY = 0.1
_PACE_OVER = 20.0
"""Seconds over which the pace is taken: what was fast or slow long ago says little of what is left."""
_SHORTEST = 0.5
"""Seconds that make a pace."""
_MINUTES_FROM = 120
"""Seconds."""
_LOG_LINES = 3
"""Of what a server that did not start wrote to stderr last: in CI its log is gone with the machine."""
_MOST_WORKERS = 4
"""More are not told one by one."""


@asynccontextmanager
async def shown_progress(progress: Progress) -> AsyncIterator[None]:
    """Show how far the run is, as long as the block lasts."""
    show = _bar if is_interactive() else _lines
    async with anyio.create_task_group() as group:
        group.start_soon(show, progress)
        try:
            yield
        finally:
            group.cancel_scope.cancel()


def echo_server_event(event: ServerEvent) -> None:
    """Report a server that failed or was restarted; nothing of each trajectory's own processes."""
    if event.kind == "failed" and event.trajectory is None:
        reason = f"; its log says more: {event.log}" if event.log else ""
        echo_err(f"note: {event.server}: could not be started: {event.message}{reason}")
        for line in (event.stderr_tail or "").splitlines()[-_LOG_LINES:]:
            echo_err(f"    | {line}")
    if event.kind == "restarted":
        where = f" (for {event.trajectory})" if event.trajectory else ""
        echo_err(f"note: {event.server}{where}: restarted: {event.message}")


async def _bar(progress: Progress) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}", markup=False),
        console=Console(file=sys.__stderr__),  # the bar moves the cursor
        transient=True,
    )
    with bar, bar_on(bar.console):
        task = bar.add_task("starting", total=None, rate="")
        pace = Pace()
        while True:
            _refresh(bar, task, progress, pace)
            await anyio.sleep(_BAR_EVERY)


class _Sample(NamedTuple):
    at: float
    new: int
    by_worker: dict[str, int]


class Pace:
    """How fast calls are judged of late; servers and workers take their time to start, and that is no part of it.

    Args:
        clock: gives seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._samples: deque[_Sample] = deque()

    def note(self, progress: Progress) -> None:
        """Take note of how far the run is; to be called at least every second."""
        now = self._clock()
        if progress.stage is not None:
            self._samples.clear()
        elif not self._samples or now - self._samples[-1].at >= 1:
            self._samples.append(_Sample(now, progress.done - progress.kept, dict(progress.by_worker)))
        while len(self._samples) > 1 and now - self._samples[1].at >= _PACE_OVER:
            self._samples.popleft()

    def rate(self, progress: Progress) -> float:
        """Calls a second."""
        then = self._then
        return max(0, progress.done - progress.kept - then.new) / then.at if then else 0.0

    def seconds_left(self, progress: Progress) -> float | None:
        """Until all calls are judged; None where nobody knows."""
        rate = self.rate(progress)
        return (progress.total - progress.done) / rate if rate > 0 and progress.files_read >= progress.files else None

    def by_worker(self, progress: Progress) -> dict[str, float]:
        """Calls a second of each worker."""
        then = self._then
        if then is None:
            return {}
        return {
            name: max(0, calls - then.by_worker.get(name, 0)) / then.at for name, calls in progress.by_worker.items()
        }

    @property
    def _then(self) -> _Sample | None:
        """The oldest sample that counts, with the seconds since then; None where that is too short ago."""
        seconds = self._clock() - self._samples[0].at if self._samples else 0.0
        return self._samples[0]._replace(at=seconds) if seconds >= _SHORTEST else None


def _refresh(bar: Bar, task: TaskID, progress: Progress, pace: Pace) -> None:
    pace.note(progress)
    speed = pace.rate(progress)
    rate = f"{speed:.0f} calls/s{_workers(progress, pace)}{_left(progress, pace)}" if speed > 0 else ""
    if progress.files_read < progress.files:
        so_far = ", ".join(filter(None, [f"{progress.done:,} calls so far", rate]))
        bar.update(task, description="files", total=progress.files, completed=progress.files_read, rate=so_far)
        return
    bar.update(task, description=_stage(progress), total=progress.total or None, completed=progress.done, rate=rate)


def _left(progress: Progress, pace: Pace) -> str:
    seconds = pace.seconds_left(progress)
    if seconds is None:
        return ""
    return f", {seconds:.0f} s left" if seconds < _MINUTES_FROM else f", {timedelta(seconds=round(seconds))} left"


def _workers(progress: Progress, pace: Pace) -> str:
    """How fast each worker is, or the slowest and the fastest of many, and how often work was given to another one."""
    words = []
    rates = sorted((rate, name) for name, rate in pace.by_worker(progress).items())
    if len(rates) > _MOST_WORKERS:
        words.append(f"{len(rates)} workers: {rates[0][0]:.0f} to {rates[-1][0]:.0f}/s")
    elif rates:
        words.append(", ".join(f"{name}: {rate:.0f}/s" for rate, name in sorted(rates, key=lambda one: one[1])))
    if progress.given_again:
        words.append(f"{progress.given_again} given again")
    return printable(f" ({'; '.join(words)})") if words else ""


def _stage(progress: Progress) -> str:
    if progress.stage is not None:
        return printable(progress.stage)
    starting = [name for name, event in progress.servers.items() if event.kind == "starting"]
    if starting and not progress.done > progress.kept:
        more = f" and {len(starting) - 3} more" if len(starting) > 3 else ""
        return printable(f"starting {', '.join(starting[:3])}{more}")
    return "calls"


async def _lines(progress: Progress) -> None:
    pace = Pace()
    while True:
        for _ in range(LINE_EVERY):
            pace.note(progress)
            await anyio.sleep(1)
        rate = f"{pace.rate(progress):.0f} calls/s{_workers(progress, pace)}{_left(progress, pace)}"
        how_far = f"{_stage(progress)}: {progress.done}/{progress.total} done"
        if progress.files_read < progress.files:
            how_far = f"files: {progress.files_read}/{progress.files} read, {progress.done:,} calls so far"
        echo_err(f"{how_far}, {rate}")
