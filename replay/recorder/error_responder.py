"""Answers a client whose server is not running: it gets a JSON-RPC error, not a closed pipe."""

from __future__ import annotations

import select
from typing import Final

from replay.recorder.line_pump import LinePump
from replay.recorder.message_inspector import MessageInspector
from replay.recorder.stop_signal import StopSignal

_FIRST_REQUEST_TIMEOUT: Final = 30.0
"""Seconds that a client has to send its first request, where the server never started."""
_NEXT_REQUEST_TIMEOUT: Final = 5.0
"""Seconds for another request, such as `initialize` after `server/discover` was refused."""
_AFTER_CRASH_TIMEOUT: Final = 1.0
"""The same for a server that had started: clients start a new one only when we have exited."""


def answer_with_errors(inspector: MessageInspector, stop_signal: StopSignal, fault: str, reason: str) -> None:
    """Answer all pending and coming requests with an error, until the client sends no more.

    Args:
        inspector: knows the pending requests, and records.
        stop_signal: ends it early.
        fault: `not-started` or `closed`.
        reason: the error's message.
    """
    answers = LinePump(stop_signal.wakeup_fd, 1, lambda lines: [])
    requests = LinePump(0, 1, lambda lines: inspector.inspect_client_lines(lines)[:0])
    timeout = _AFTER_CRASH_TIMEOUT if fault == "closed" else _FIRST_REQUEST_TIMEOUT
    while not stop_signal.received:
        for line in inspector.fail_pending(fault, reason):
            answers.send(line)
            timeout = min(timeout, _NEXT_REQUEST_TIMEOUT)
        if requests.ended and not answers.wants_write:
            return
        if answers.broken or not _wait_and_pump(requests, answers, stop_signal, timeout):
            return


def _wait_and_pump(requests: LinePump, answers: LinePump, stop_signal: StopSignal, timeout: float) -> bool:
    poll = select.poll()
    poll.register(stop_signal.wakeup_fd, select.POLLIN)
    if requests.wants_read:
        poll.register(requests.source, select.POLLIN)
    if answers.wants_write:
        poll.register(answers.sink, select.POLLOUT)
    ready = dict(poll.poll(timeout * 1000))
    if answers.wants_write and answers.sink in ready:
        answers.write()
    if requests.wants_read and requests.source in ready:
        requests.read()
    return bool(ready)
