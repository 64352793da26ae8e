"""At most once over several workers: a call with effects is sent when the command has noted it, and not before."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from typing import NamedTuple

from replay.cluster.mailbox import Mailbox
from replay.cluster.messages import Lease, Sent
from replay.errors import ReplayError
from replay.records import Answer, CallResult
from replay.records.digests import EffectKey


class LeaseLostError(ReplayError):
    """Another worker was given the trajectory, since this one was held for lost."""


class Claim(NamedTuple):
    """A worker's request to send a call with effects."""

    row: int
    attempt: int
    owner: str
    """Tells this execution from another one of the same lease: a scheduler runs a lost worker's tasks once more."""
    key: EffectKey


class RemoteCheckpoint:
    """The memory of a replay on a worker: what the command noted, and what the command must note.

    Args:
        lease: of the trajectory.
        mailbox: to the command.
        stored: all is judged by stored answers, and nothing is sent.
    """

    def __init__(self, lease: Lease, mailbox: Mailbox, *, stored: bool) -> None:
        self._lease, self._mailbox, self._stored = lease, mailbox, stored
        self._owner = secrets.token_hex(8)
        self._sent: dict[EffectKey, Sent] = {}
        self.not_repeated: set[EffectKey] = set()
        """Calls that were sent before this execution."""
        self.answers: dict[EffectKey, Sent] = {}
        """What came of those that this execution sent."""

    @property
    def results(self) -> Mapping[str, CallResult]:
        """Calls to shared servers that an interrupted run finished."""
        return {} if self._stored else self._lease.results

    def sent_before(self, key: EffectKey) -> Sent | None:
        """What is known of a call with effects that was sent; None where it was not."""
        if self._stored:
            return None
        if key in self._lease.sent:
            self.not_repeated.add(key)
            return self._lease.sent[key]
        return self._sent.get(key)

    async def before_send(self, key: EffectKey) -> None:
        """Have the command note, for good, that the call is about to be sent.

        Raises:
            LeaseLostError: the trajectory is another worker's by now.
        """
        claim = Claim(self._lease.row, self._lease.attempt, self._owner, key)
        await asyncio.wrap_future(self._mailbox.ask("claim", claim))
        self._sent[key] = Sent()

    def after_send(self, key: EffectKey, answer: Answer, stderr: str = "") -> None:
        """Tell the command at once what the call got."""
        self._sent[key] = self.answers[key] = Sent(answer, stderr)
        self._mailbox.tell("answer", (self._lease.row, key, self._sent[key]))

    def keep(self, result: CallResult) -> None:
        """A worker keeps nothing: what has no effects may be sent again."""


class TrialOfLease:
    """The checkpoint of a second trial: it keeps no verdict, and knows what the first one sent."""

    def __init__(self, first: RemoteCheckpoint) -> None:
        self.results: Mapping[str, CallResult] = {}
        self.sent_before, self.before_send, self.after_send = first.sent_before, first.before_send, first.after_send

    def keep(self, result: CallResult) -> None:
        """A trial leaves no trace."""
