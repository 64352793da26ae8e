"""Answering a client whose server is not there: it gets a proper error, not a closed pipe."""

from __future__ import annotations

import select
from typing import Final

from replay.recorder.lane import Lane
from replay.recorder.stop import Stop
from replay.recorder.tap import Tap

_FIRST_QUESTION: Final = 30.0
"""Seconds that a client has to ask its first question, where there never was a server."""
_NEXT_QUESTION: Final = 5.0
"""Seconds for another try, such as `initialize` after `server/discover` was refused."""
_AFTER_A_CRASH: Final = 1.0
"""The same for a server that was there: clients start a new one only when we are gone."""


def refuse_all(tap: Tap, stop: Stop, fault: str, why: str) -> None:
    """Answer what waits, and what is asked from now on, with an error, until the client has understood.

    Args:
        tap: knows what waits, and records.
        stop: ends it early.
        fault: `not-started` or `closed`.
        why: what the client is told.
    """
    answers = Lane(stop.alarm, 1, lambda lines: [])
    questions = Lane(0, 1, lambda lines: tap.hear_client(lines)[:0])
    patience = _AFTER_A_CRASH if fault == "closed" else _FIRST_QUESTION
    while not stop.told:
        for line in tap.give_up(fault, why):
            answers.put(line)
            patience = min(patience, _NEXT_QUESTION)
        if questions.ended and not answers.writes:
            return
        if answers.broken or not _wait(questions, answers, stop, patience):
            return


def _wait(questions: Lane, answers: Lane, stop: Stop, patience: float) -> bool:
    poll = select.poll()
    poll.register(stop.alarm, select.POLLIN)
    if questions.reads:
        poll.register(questions.source, select.POLLIN)
    if answers.writes:
        poll.register(answers.sink, select.POLLOUT)
    ready = dict(poll.poll(patience * 1000))
    if answers.writes and answers.sink in ready:
        answers.write()
    if questions.reads and questions.source in ready:
        questions.read()
    return bool(ready)
