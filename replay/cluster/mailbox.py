"""How a worker asks the command, and is answered: by way of the scheduler, since nothing else need reach both."""

from __future__ import annotations

import pickle
import secrets
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from distributed import Worker

_WAITING: Final[dict[str, Future[Any]]] = {}
"""Questions of this process that have no answer yet."""


def topic_of(run: str) -> str:
    """Under which name the messages of a run go through the scheduler."""
    return f"mcp-replay-{run}"


class Mailbox:
    """What a worker sends to the command of one run.

    Args:
        worker: of Dask, in this process.
        run: of the command.
    """

    def __init__(self, worker: Worker, run: str) -> None:
        self._worker, self._run = worker, run

    @property
    def address(self) -> str:
        """By which the worker is answered."""
        return str(self._worker.address)

    @property
    def name(self) -> str:
        """By which a person knows the worker: its name, and its host where that tells more."""
        name = str(self._worker.name)
        return name if name != self.address else self.address

    def tell(self, kind: str, content: Any) -> None:
        """Send a message that needs no answer."""
        self._send({"kind": kind, "content": pickle.dumps(content)})

    def ask(self, kind: str, content: Any) -> Future[Any]:
        """Send a question; the future gets the answer, or the error that the command raised."""
        number = secrets.token_hex(8)
        future: Future[Any] = Future()
        _WAITING[number] = future
        self._send({"kind": kind, "content": pickle.dumps(content), "number": number, "from": self.address})
        return future

    def _send(self, message: dict[str, Any]) -> None:
        self._worker.log_event(topic_of(self._run), message)


def deliver(number: str, answer: bytes) -> None:
    """Hand over an answer; runs on the worker that asked."""
    future = _WAITING.pop(number, None)
    if future is None:
        return
    value = pickle.loads(answer)  # noqa: S301 - from the command, which also says what the worker runs
    if isinstance(value, BaseException):
        future.set_exception(value)
    else:
        future.set_result(value)


def give_up_waiting(problem: Exception) -> None:
    """End every question of this process: nobody is there to answer."""
    for number in list(_WAITING):
        future = _WAITING.pop(number, None)
        if future is not None:
            future.set_exception(problem)
