"""Dask, set up so that it keeps to itself: no pages, no history, no log."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from replay.cluster.place import Place
from replay.errors import MissingExtraError
from replay.extras import install_command

CONNECT_WITHIN: Final = 15.0
"""Seconds for a scheduler to answer."""
_SETTINGS: Final = {
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.nanny.http.routes": [],
    "distributed.scheduler.dashboard.status.task-stream-length": 1,
    "distributed.admin.log-length": 100,
    "distributed.admin.low-level-log-length": 10,
    "distributed.worker.profile.enabled": False,
}
"""No pages are served, and no history is kept of what went through the scheduler."""
_LOCAL_SETTINGS: Final = {
    "distributed.comm.timeouts.connect": "120s",
    "distributed.deploy.lost-worker-timeout": "60s",
}
"""On a machine with much to do it takes long until a process is there; one that is late is not killed for it."""


@contextmanager
def configured(place: Place) -> Iterator[None]:
    """Have Dask set up for a place while the block runs.

    Raises:
        MissingExtraError: Dask is not installed.
    """
    try:
        import dask
        import distributed  # noqa: F401
    except ImportError:
        raise MissingExtraError(install_command("cluster"), "--workers or --cluster") from None
    timeouts = _LOCAL_SETTINGS if place.is_local else {"distributed.comm.timeouts.connect": f"{CONNECT_WITHIN:g}s"}
    with _quiet(), dask.config.set({**_SETTINGS, **timeouts}):
        yield


@contextmanager
def _quiet() -> Iterator[None]:
    """Dask's own log and warnings: what goes wrong is told by the command, in its own words."""
    loggers = [logging.getLogger(name) for name in ("distributed", "tornado.application", "asyncio")]
    levels = [logger.level for logger in loggers]
    before = os.environ.get("DASK_LOGGING__DISTRIBUTED")
    os.environ["DASK_LOGGING__DISTRIBUTED"] = "critical"
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        if before is None:
            os.environ.pop("DASK_LOGGING__DISTRIBUTED", None)
        else:
            os.environ["DASK_LOGGING__DISTRIBUTED"] = before


def first_line(problem: BaseException) -> str:
    """What a person is told of a problem."""
    return str(problem).splitlines()[0][:200] if str(problem) else type(problem).__name__
