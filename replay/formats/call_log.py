"""One trajectory put together in the order of its file, in which an answer stands somewhere behind its call.

Below it the times of recordings, which are brought to seconds and to ISO 8601.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from replay.formats.document import Document
from replay.formats.fields import as_number, paragraphs, whole_number
from replay.formats.task_facts import usage_of
from replay.records import Answer, Call, JsonObject, ParentCall, Source, Step, Task, Trajectory, Usage
from replay.records.base import slim


@dataclass(slots=True)
class _Entry:
    call: Call
    changes: dict[str, Any] = field(default_factory=dict)
    """Its answer and other fields that came later; what came last stands."""

    def change(self, answer: Answer | None = None, **changes: Any) -> None:
        self.changes |= changes if answer is None else {"answer": answer, **changes}

    def finished(self, position: str) -> Call:
        return slim(self.call.model_copy(update={"position": position, **self.changes}))


@dataclass(slots=True)
class _DraftStep:
    key: Hashable
    text: str | None
    model: str | None
    usage: Usage | None
    entries: list[_Entry] = field(default_factory=list)


class CallLog:
    """One trajectory while its file is read: its steps, and what the file says beside them.

    Args:
        place: where it begins in the file.
        identifier: of the trajectory; None where the file has none.
    """

    def __init__(self, place: str = "$", identifier: str | None = None) -> None:
        self.place, self.identifier = place, identifier
        self.parent: ParentCall | None = None
        self.model: str | None = None
        """The model that the file names; a call is noted with another where it is given one."""
        self.first_prompt: str | None = None
        """What the user wrote first."""
        self.title: str | None = None
        """What was asked, by the file's name for it, where the user's own words are missing."""
        self.started_at: str | None = None
        """ISO 8601."""
        self.final_reply: str | None = None
        """What the model said last; None once a call followed."""
        self._asked: list[str] = []
        self._steps: list[_DraftStep] = []
        self._waiting: dict[Hashable, list[_Entry]] = {}
        self._text: list[str] = []
        self._rounds = 0
        self._tokens: list[int | None] = [None, None]
        self._reply: Usage | None = None
        """The tokens of the reply that is being read, until its first call takes them."""
        self._is_counted = True
        """Whether the tokens of the last step's reply were told behind it."""
        self.step_tokens: Mapping[Any, tuple[int, int]] = {}
        """Tokens read and written by the key of a step, where the file has them reply by reply."""

    def ask(self, text: str | None) -> None:
        """What the user wrote."""
        self._reply = None
        if text:
            self.first_prompt = self.first_prompt or text
            self._asked.append(text)

    def go_on_from(self, earlier: CallLog) -> None:
        """Put what the user wrote in an earlier conversation, which made no call, before what stands in this one."""
        self.first_prompt = earlier.first_prompt or self.first_prompt
        self._asked = earlier._asked + self._asked

    def count_tokens(self, read: Any, written: Any, *, behind: bool = False) -> None:
        """The tokens of one reply; what is not a number counts nothing.

        They are those of the step that its calls open: the next, or with `behind` the last that has none yet.
        """
        usage = usage_of(read, written)
        if behind and usage and not self._is_counted:
            self._steps[-1].usage, self._is_counted = usage, True
        elif not behind:
            self._reply = usage or self._reply
        for index, count in enumerate((read, written)):
            if isinstance(count, int):
                self._tokens[index] = (self._tokens[index] or 0) + count

    def say(self, text: str | None) -> None:
        """What the model wrote: the text of the step that its next call opens, or its final reply."""
        if text and text.strip():
            self._text.append(text)
            self.final_reply = text

    def add(self, call: Call, step: Hashable = None, *, model: str | None = None) -> None:
        """A call. It joins the last step where that has the same key; with None for the key, where no answer came
        between. A call that has no answer yet waits for it under its id, or its name.
        """
        key = ("round", self._rounds) if step is None else step
        if not self._steps or self._steps[-1].key != key:
            self._steps.append(_DraftStep(key, "\n\n".join(self._text) or None, model, self._reply))
            self._reply, self._is_counted = None, False
        entry = _Entry(slim(call))
        self._steps[-1].entries.append(entry)
        self._waiting.setdefault(call.id or ("name", call.name), []).append(entry)
        self._text, self.final_reply = [], None

    def answer(self, key: str | None, answer: Answer | None, *, name: str | None = None, **changes: Any) -> bool:
        """Give the earliest waiting call of an id its answer and other fields; by its name where one has no id.

        Returns:
            Whether such a call was waiting.
        """
        self._rounds += 1
        known = self._waiting_under(key, name)
        if known is None:
            return False
        waiting = self._waiting[known]
        waiting.pop(0).change(answer and slim(answer), **changes)
        if not waiting:
            del self._waiting[known]
        return True

    def _waiting_under(self, key: str | None, name: str | None) -> Hashable:
        for candidate in (key, ("name", name)):
            if candidate in self._waiting:
                return candidate
        if key is not None:
            return None
        return next((known for known, waiting in self._waiting.items() if waiting[0].call.name == name), None)

    def change(self, key: str, **changes: Any) -> None:
        """Add fields to the last call of an id that waits for its answer."""
        waiting = self._waiting.get(key)
        if waiting:
            waiting[-1].change(**changes)

    def calls(self) -> list[tuple[str, Call]]:
        """Each call so far with its position."""
        return [
            (f"s{number}c{index}", entry.call)
            for number, step in enumerate(self._steps, 1)
            for index, entry in enumerate(step.entries, 1)
        ]

    def last_step(self) -> list[Call]:
        """The calls that were issued last, together."""
        return [entry.call for entry in self._steps[-1].entries] if self._steps else []

    def trajectory(self, document: Document, reader: str, **fields: Any) -> Trajectory:
        """What was read; the log is empty then.

        Args:
            document: the file, whose name gives what the file itself does not say.
            reader: name of the reader.
            fields: further fields, which also go before what the log has.
        """
        model = self.model or document.model_name
        own: dict[str, Any] = {
            "id": self.identifier or document.task_name,
            "model": model,
            "task": Task(question=paragraphs(self._asked) or self.title),
            "source": Source(file=document.path, format=reader, position=self.place),
            "steps": self.steps(model),
            "final_reply": self.final_reply,
            "usage": usage_of(*self._tokens) if any(self._tokens) else None,
            "parent": self.parent,
            "started_at": self.started_at,
        }
        return Trajectory(**own | fields)

    def steps(self, model: str | None = None) -> tuple[Step, ...]:
        """The steps, numbered, and the log emptied. With the trajectory's model, only another is named in a step."""
        self._waiting.clear()
        finished: list[Step] = []
        for number, draft in enumerate(self._steps, 1):
            calls = tuple(entry.finished(f"s{number}c{index}") for index, entry in enumerate(draft.entries, 1))
            draft.entries.clear()  # a large session is not held twice
            other = draft.model if draft.model != model else None
            usage = usage_of(*self.step_tokens[draft.key]) if draft.key in self.step_tokens else draft.usage
            finished.append(slim(Step(calls=calls, text=draft.text, model=other, usage=usage)))
        return tuple(finished)


def seconds_of(value: Any) -> float | None:
    """A time as seconds since 1970: ISO 8601, or a number of seconds, milliseconds, microseconds or nanoseconds."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            count = whole_number(value)
            return None if count is None else seconds_of(count)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    number = None if isinstance(value, bool) else as_number(value)
    if number is None:
        return None
    for limit, unit in ((1e11, 1), (1e14, 1e3), (1e17, 1e6)):
        if abs(number) < limit:
            return number / unit
    return number / 1e9


def seconds_between(start: Any, moment: Any) -> float | None:
    """From one ISO 8601 time to another; None where one of them is not a time, or the clock went back."""
    try:
        seconds = (datetime.fromisoformat(moment) - datetime.fromisoformat(start)).total_seconds()
    except (TypeError, ValueError):
        return None
    return seconds if seconds >= 0 else None


def seconds_after(start: float | None, moment: float | None) -> float | None:
    """From one time in seconds to another, 0 where the clock went back; None where one of them is not known."""
    return None if start is None or moment is None else max(0.0, moment - start)


def earliest(records: Iterable[JsonObject]) -> float | None:
    """The earliest `timestamp` of records; None where none has one."""
    times = (seconds_of(record.get("timestamp")) for record in records)
    return min((moment for moment in times if moment is not None), default=None)


def iso_time(seconds: float | None) -> str | None:
    """Seconds since 1970 as ISO 8601 in UTC."""
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return None
