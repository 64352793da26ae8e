"""The memory of a replay that a run file is."""

from __future__ import annotations

from collections.abc import Mapping

from replay.records import Answer, CallResult
from replay.records.digests import EffectKey
from replay.runfile.effects_journal import Origin, SentCall, StillHolds
from replay.runfile.run import Run
from replay.runfile.trajectory_state import TrajectoryState


class RunCheckpoint:
    """The checkpoint that a run file is.

    Args:
        run: open for writing.
        state: how far an earlier process came.
        ordinals: of the calls, by position.
        origin: where the calls stand.
        still_holds: whether another place still has a call that was sent.
        stored: all is judged anew by stored answers, and nothing is sent.
        earlier: the journal's last entry when these files began to be judged.
    """

    def __init__(
        self,
        run: Run,
        state: TrajectoryState,
        ordinals: Mapping[str, int],
        *,
        origin: Origin,
        still_holds: StillHolds,
        stored: bool,
        earlier: int | None = None,
    ) -> None:
        self._run, self._state, self._ordinals, self._stored = run, state, ordinals, stored
        self._origin, self._still_holds, self._earlier = origin, still_holds, earlier
        self.saved: dict[str, CallResult] = {}
        self._sent: dict[EffectKey, SentCall] = {}
        self.not_repeated: set[EffectKey] = set()
        """Calls that an earlier replay sent, and this one therefore did not."""

    @property
    def results(self) -> Mapping[str, CallResult]:
        """Calls to shared servers that an interrupted replay finished; none where all is judged anew."""
        return {} if self._stored else self._state.results

    def sent_before(self, key: EffectKey) -> SentCall | None:
        """What is known of a call with effects that was sent; None where it was not."""
        if self._stored:
            return None
        if key not in self._sent:
            found = self._run.journal().find(self._origin, key, self._still_holds, self._earlier)
            if found is None:
                return None
            self._sent[key] = found
            self.not_repeated.add(key)
        return self._sent[key]

    async def before_send(self, key: EffectKey) -> None:
        """Write down, for good, that a call with effects is about to be sent."""
        if not self._stored:
            self._sent[key] = SentCall(self._run.journal().note(self._origin, key), None)

    def after_send(self, key: EffectKey, answer: Answer, stderr: str = "") -> None:
        """Keep what a call with effects got, at once: it cannot be sent again."""
        if not self._stored:
            sent = self._sent[key] = self._sent[key]._replace(answer=answer, stderr=stderr)
            self._run.journal().keep(sent.row, answer, stderr)

    def keep(self, result: CallResult) -> None:
        """Keep the verdict of a call to a shared server."""
        if not self._stored:
            self.saved[result.call.position] = result
            self._run.save_call(self._state.row, self._ordinals[result.call.position], result)


class TrialCheckpoint:
    """The checkpoint of a second trial: it keeps no verdict, and knows what the first one sent."""

    def __init__(self, first: RunCheckpoint) -> None:
        self.results: Mapping[str, CallResult] = {}
        self.sent_before, self.before_send, self.after_send = first.sent_before, first.before_send, first.after_send

    def keep(self, result: CallResult) -> None:
        """A trial leaves no trace."""
