"""What survives a crash in the middle of a trajectory, as the replayer sees it; a run file keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from replay.records import Answer, CallResult
from replay.records.digests import EffectKey


class SentBefore(Protocol):
    """A call with effects that was sent once, and is never sent again."""

    @property
    def answer(self) -> Answer | None:
        """What it got; None where that is not known."""

    @property
    def stderr(self) -> str:
        """What its server wrote to stderr meanwhile; "" where nothing is known."""


class Checkpoint(Protocol):
    """The memory of one trajectory's replay, which survives a crash."""

    @property
    def results(self) -> Mapping[str, CallResult]:
        """Calls to shared servers that an earlier, interrupted replay finished: they are not sent again."""

    def sent_before(self, key: EffectKey) -> SentBefore | None:
        """What is known of a call with effects outside a sandbox that was sent; None where it was not."""

    async def before_send(self, key: EffectKey) -> None:
        """Note that a call with effects outside a sandbox is about to be sent; it is noted for good on return."""

    def after_send(self, key: EffectKey, answer: Answer, stderr: str = "") -> None:
        """Keep what such a call got; once more, with what its server wrote to stderr, where that is known later."""

    def keep(self, result: CallResult) -> None:
        """Keep the verdict of a call to a shared server."""
