"""Progress on stderr: a bar in a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from replay.cli.options import bar_on, echo_err, is_interactive
from replay.text import printable

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from replay.classification import Progress
    from replay.interpreter import ServerEvent

_BAR_EVERY = 0.1
_LINE_EVERY = 10.0
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
    if event.kind == "restarted":
        where = f" (for {event.trajectory})" if event.trajectory else ""
        echo_err(f"note: {event.server}{where}: restarted: {event.message}")


async def _bar(progress: Progress) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}", markup=False),
        TimeRemainingColumn(compact=True),
        console=Console(file=sys.__stderr__),  # the bar moves the cursor
        transient=True,
    )
    with bar, bar_on(bar.console):
        task = bar.add_task("starting", total=None, rate="")
        clock = _Clock()
        while True:
            _refresh(bar, task, progress, clock.seconds(progress))
            await anyio.sleep(_BAR_EVERY)


class _Clock:
    """Seconds since calls are judged: servers and workers take their time to start, and that is no part of the rate."""

    def __init__(self) -> None:
        self._started = time.monotonic()

    def seconds(self, progress: Progress) -> float:
        """Until now."""
        if progress.stage is not None:
            self._started = time.monotonic()
        return time.monotonic() - self._started


def _refresh(bar: Bar, task: TaskID, progress: Progress, seconds: float) -> None:
    new = progress.done - progress.kept
    rate = f"{new / seconds:.0f} calls/s{_workers(progress, seconds)}" if new and seconds > 0 else ""
    bar.update(task, description=_stage(progress), total=progress.total or None, completed=progress.done, rate=rate)


def _workers(progress: Progress, seconds: float) -> str:
    """How fast each worker is, or the slowest and the fastest of many, and how often work was given to another one."""
    words = []
    rates = sorted((calls / seconds, name) for name, calls in progress.by_worker.items()) if seconds > 0 else []
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
    clock = _Clock()
    while True:
        await anyio.sleep(_LINE_EVERY)
        seconds = clock.seconds(progress)
        new = progress.done - progress.kept
        rate = new / seconds if seconds > 0 else 0.0
        left = f", {(progress.total - progress.done) / rate:.0f} s left" if rate > 0 else ""
        workers = _workers(progress, seconds)
        echo_err(f"{_stage(progress)}: {progress.done}/{progress.total} done, {rate:.0f} calls/s{workers}{left}")
