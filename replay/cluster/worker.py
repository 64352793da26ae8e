"""What runs on a worker, as Dask calls it."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from replay.cluster.engine import Engine
from replay.cluster.leases import LeaseLostError
from replay.cluster.mailbox import Mailbox, give_up_waiting
from replay.cluster.messages import Settings, Unit, UnitFailure, UnitResult, WorkerReport
from replay.cluster.reading import NotHereError
from replay.errors import FormatError

if TYPE_CHECKING:
    from distributed import Worker

SILENCE: Final = 120.0
"""Seconds without a sign of life from the command after which a worker stops its servers."""
_SETTINGS_WITHIN: Final = 300.0
_ENGINES: Final[dict[str, Engine]] = {}
_ENDED: Final[set[str]] = set()
"""Runs that are over: a task of theirs that comes late starts no servers."""
_LOCK: Final = threading.Lock()


def judge(unit: Unit) -> UnitResult | UnitFailure:
    """Judge a unit; the task that a scheduler runs. Whatever goes wrong is told and not raised."""
    from distributed import get_worker

    mailbox = Mailbox(get_worker(), unit.run)
    try:
        return _engine(unit.run, mailbox).judge(unit)
    except LeaseLostError as problem:
        return UnitFailure(mailbox.name, "lease-lost", str(problem))
    except NotHereError as problem:
        return UnitFailure(mailbox.name, "not-here", str(problem))
    except FormatError as problem:
        return UnitFailure(mailbox.name, "file", str(problem))
    except Exception as problem:  # noqa: BLE001 - another worker may fare better
        return UnitFailure(mailbox.name, "fault", f"{type(problem).__name__}: {problem}"[:500])


def start(run: str) -> WorkerReport:
    """Start the servers of a run before there is anything to judge; a task of its own on each worker."""
    from distributed import get_worker

    return _engine(run, Mailbox(get_worker(), run)).report


def _engine(run: str, mailbox: Mailbox) -> Engine:
    with _LOCK:
        if run in _ENDED:
            raise LeaseLostError("the run is over")
        if run not in _ENGINES:
            settings: Settings = mailbox.ask("settings", None).result(_SETTINGS_WITHIN)
            engine = _ENGINES[run] = Engine(settings, mailbox)
            threading.Thread(target=_end_in_silence, args=(run, engine), daemon=True).start()
        return _ENGINES[run]


def alive(run: str) -> None:
    """Take note that the command is there."""
    engine = _ENGINES.get(run)
    if engine is not None:
        engine.heard = time.monotonic()


def stop(run: str) -> WorkerReport | None:
    """End a run on this worker; gives the servers as they were found."""
    with _LOCK:
        _ENDED.add(run)
        engine = _ENGINES.pop(run, None)
    if engine is None:
        return None
    report = engine.report
    give_up_waiting(LeaseLostError("the run is over"))
    engine.close()
    return report


def _end_in_silence(run: str, engine: Engine) -> None:
    while _ENGINES.get(run) is engine:
        time.sleep(SILENCE / 10)
        if time.monotonic() - engine.heard > SILENCE:
            stop(run)


def dask_setup(worker: Worker) -> None:
    """Leave ^C to the command, which ends its workers in order; Dask calls this where the module is preloaded."""
    with suppress(ValueError):  # not the main thread
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # blocked until now; what is started from here is not
