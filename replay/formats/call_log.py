"""Calls and answers collected in the order of a file, in which an answer stands somewhere behind its call."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from replay.records import Answer, Call, Step
from replay.records.base import slim


@dataclass(slots=True)
class _Entry:
    call: Call
    changes: dict[str, Any] | None = None

    def change(self, changes: dict[str, Any]) -> None:
        """Add fields."""
        self.changes = {**(self.changes or {}), **changes}

    def finished(self, position: str) -> Call:
        """The call with its position, its answer and whatever else came later."""
        call = self.call.model_copy(update={"position": position, **(self.changes or {})})
        return slim(call)


@dataclass(slots=True)
class _DraftStep:
    key: Hashable
    text: str | None
    model: str | None
    entries: list[_Entry] = field(default_factory=list)


class CallLog:
    """The steps of one trajectory while its file is read."""

    def __init__(self) -> None:
        self.final_reply: str | None = None
        """What the model said last; None once a call followed."""
        self._steps: list[_DraftStep] = []
        self._waiting: dict[Hashable, list[_Entry]] = {}
        self._text: list[str] = []
        self._rounds = 0

    def say(self, text: str | None) -> None:
        """What the model wrote: the text of the step that its next call opens, or its final reply."""
        if text and text.strip():
            self._text.append(text)
            self.final_reply = text

    def add(self, call: Call, step: Hashable = None, *, model: str | None = None) -> None:
        """A call. It joins the last step where that has the same key; with None for the key, where no answer came
        between. A call without an id waits under its name.
        """
        key = ("round", self._rounds) if step is None else step
        if not self._steps or self._steps[-1].key != key:
            self._steps.append(_DraftStep(key, "\n\n".join(self._text) or None, model))
        entry = _Entry(slim(call))
        self._steps[-1].entries.append(entry)
        self._waiting.setdefault(call.id or ("name", call.name), []).append(entry)
        self._text, self.final_reply = [], None

    def answer(self, key: str | None, answer: Answer | None, *, name: str | None = None, **changes: Any) -> bool:
        """Give the earliest waiting call of an id (or, without one, of a name) its answer and other fields.

        Returns:
            Whether such a call was waiting.
        """
        self._rounds += 1
        waiting = self._waiting.get(key or ("name", name))
        if not waiting:
            return False
        if answer is not None:
            slim(answer)
        waiting.pop(0).change(changes if answer is None else {"answer": answer, **changes})
        if not waiting:
            del self._waiting[key or ("name", name)]
        return True

    def change(self, key: str, **changes: Any) -> None:
        """Add fields to the last call of an id that waits for its answer."""
        waiting = self._waiting.get(key)
        if waiting:
            waiting[-1].change(changes)

    def calls(self) -> list[tuple[str, Call]]:
        """Each call so far with its position."""
        return [
            (f"s{number}c{index}", entry.call)
            for number, step in enumerate(self._steps, 1)
            for index, entry in enumerate(step.entries, 1)
        ]

    def steps(self, model: str | None = None) -> tuple[Step, ...]:
        """The steps, numbered, and the log emptied. With the trajectory's model, only another is named in a step."""
        self._waiting.clear()
        drafts, self._steps = self._steps, []
        drafts.reverse()
        finished: list[Step] = []
        while drafts:  # each draft is let go as its step is built: a large session is not held twice
            draft, number = drafts.pop(), len(finished) + 1
            calls = tuple(entry.finished(f"s{number}c{index}") for index, entry in enumerate(draft.entries, 1))
            other = draft.model if draft.model != model else None
            finished.append(slim(Step(calls=calls, text=draft.text, model=other)))
        return tuple(finished)
