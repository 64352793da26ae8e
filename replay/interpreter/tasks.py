"""Task groups that do not dress up the exception of their own body as a group."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.abc import TaskGroup


@asynccontextmanager
async def task_group() -> AsyncIterator[TaskGroup]:
    """A task group whose tasks are cancelled at its end, and whose body's own exception comes out as it is."""
    failure: Exception | None = None
    async with anyio.create_task_group() as tasks:
        try:
            yield tasks
        except Exception as problem:  # noqa: BLE001 - raised again below
            failure = problem
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure


async def all_at_once(jobs: Iterable[Callable[[], Coroutine[Any, Any, None]]]) -> None:
    """Run jobs side by side; return when all are done."""
    async with anyio.create_task_group() as tasks:
        for job in jobs:
            tasks.start_soon(job)
