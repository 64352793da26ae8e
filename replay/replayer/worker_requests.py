"""The command's side of what workers ask: it alone writes the run file, and grants each call with effects once."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from replay.records import Answer
from replay.replayer.messages import Claim, JudgedRows, LeaseLostError, Settings
from replay.runfile import Run
from replay.runfile.effects_journal import EffectKey, Origin, SentCall


@dataclass
class _Held:
    """A lease that is given out."""

    attempt: int
    origin: Origin
    owner: str | None = None
    noted: dict[EffectKey, int] = field(default_factory=dict)
    """Calls that were granted, with their rows in the journal."""
    kept: dict[EffectKey, SentCall] = field(default_factory=dict)
    """What of them is in the journal."""
    counted: int = 0
    """Calls that count as done so far."""


class WorkerRequests:
    """Answers the workers of a run.

    Args:
        run: open for writing.
        settings: of the run.
        stored: looks stored answers up.
        on_calls: told by which worker how many calls were judged.
        on_rows: takes what was judged of a file.
    """

    def __init__(
        self,
        run: Run,
        settings: Settings,
        *,
        stored: Callable[[str], Answer | None],
        on_calls: Callable[[str, int], None] = lambda worker, calls: None,
        on_rows: Callable[[JudgedRows], None] = lambda judged: None,
    ) -> None:
        self._run, self._settings, self._stored = run, settings, stored
        self._on_calls, self._on_rows = on_calls, on_rows
        self._held: dict[int, _Held] = {}

    def give_out(self, row: int, attempt: int, origin: Origin) -> None:
        """A lease goes to a worker; what an earlier one of the same trajectory granted stays noted."""
        before = self._held.get(row) or _Held(attempt, origin)
        self._held[row] = _Held(attempt, origin, noted=before.noted, kept=before.kept)

    def counted(self, row: int) -> int:
        """Calls of a trajectory that its worker told of already."""
        held = self._held.get(row)
        return held.counted if held else 0

    def take_back(self, row: int) -> None:
        """The trajectory is done: nothing more is granted for it."""
        self._held.pop(row, None)

    def handle(self, kind: str, content: Any) -> Any:
        """What to answer to a message.

        Raises:
            LeaseLostError: it asks for a call that the worker may not send.
        """
        if kind == "settings":
            return self._settings
        if kind == "stored":
            return self._stored(content)
        if kind == "claim":
            self._grant(content)
        elif kind == "answer":
            self.keep_answer(*content)
        elif kind == "calls":
            self._count(*content)
        elif kind in ("opened", "rows"):
            self._on_rows(content)
        return None

    def _grant(self, claim: Claim) -> None:
        """Note a call before it is sent."""
        held = self._held.get(claim.row)
        if held is None or held.attempt != claim.attempt or held.owner not in (None, claim.owner):
            raise LeaseLostError("the trajectory was given to another worker")
        held.owner = claim.owner
        try:
            held.noted[claim.key] = self._run.journal().note(held.origin, claim.key)
            held.kept.pop(claim.key, None)
        except sqlite3.IntegrityError:
            raise LeaseLostError("the call was sent before") from None

    def _count(self, worker: str, row: int, attempt: int, calls: int) -> None:
        held = self._held.get(row)
        if held is not None and held.attempt == attempt:
            held.counted += calls
            self._on_calls(worker, calls)

    def keep_answer(self, row: int, key: EffectKey, sent: SentCall) -> None:
        """Keep what a granted call got; what its server wrote to stderr may follow with the answer once more."""
        held = self._held.get(row)
        noted = held.noted.get(key) if held else None
        if held is None or noted is None or sent.answer is None or held.kept.get(key) == sent:
            return
        held.kept[key] = sent
        self._run.journal().keep(noted, sent.answer, sent.stderr)
