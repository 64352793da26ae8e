"""From a recording's journal to its DAG file."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from replay.errors import InputError
from replay.recorder.call_draft import CallDraft
from replay.recorder.journal import read_journal
from replay.recorder.server_metadata import ServerMetadata
from replay.recorder.step_grouper import StepGrouper
from replay.records import Call, Source, Step, Task
from replay.records.files import TrajectoryFile
from replay.safety.filesystem import write_json

SOURCE_FORMAT = "recorder"


def write_trajectory(partial: Path, target: Path) -> str:
    """Write the DAG file of a journal.

    Returns:
        What was written, in words.

    Raises:
        InputError: the journal cannot be read.
    """
    return write_assembled(read_journal(partial), target)


def write_assembled(entries: Iterable[dict[str, Any]], target: Path) -> str:
    """Write the DAG file of a journal's entries; returns what was written, in words."""
    try:
        trajectory = assemble(entries, target.name)
    except ValidationError as problem:
        why = problem.errors(include_url=False)[0]["msg"]
        raise InputError(str(target), f"the recording cannot be made a trajectory: {why}") from None
    write_json(trajectory, target, private=True)
    calls = sum(1 for _ in trajectory.calls())
    return f"{_count(calls, 'call')} in {_count(len(trajectory.steps), 'step')}: {target}"


def assemble(entries: Iterable[dict[str, Any]], file: str) -> TrajectoryFile:
    """The trajectory that a journal records; an entry that cannot be read, as damage makes them, is left out.

    Args:
        entries: the journal, its header first.
        file: name of the trajectory file.
    """
    entries = iter(entries)
    header = next(entries)
    builder = _TrajectoryBuilder()
    for entry in entries:
        with suppress(
            KeyError, TypeError, AttributeError, ValueError, ArithmeticError
        ):  # a damaged entry costs itself, not the rest
            builder.apply_event(entry)
    return TrajectoryFile(
        id=str(header.get("id") or file),
        model=str(header.get("model") or "unknown"),
        task=Task(question=header.get("task")),
        source=Source(file=file, format=SOURCE_FORMAT),
        steps=tuple(builder.steps()),
        final_reply=builder.grouper.trailing_text(),
        servers=builder.metadata.servers(),
    )


class _TrajectoryBuilder:
    """Rebuilds a trajectory from the events of its journal, in their order."""

    def __init__(self) -> None:
        self.grouper = StepGrouper()
        self.metadata = ServerMetadata()
        self._drafts: dict[int, CallDraft] = {}

    def apply_event(self, entry: dict[str, Any]) -> None:
        """Take one journal entry."""
        event, message, number = entry.get("event"), entry.get("message"), entry.get("n", 0)
        if event == "call":
            self._drafts[number] = CallDraft(message, float(entry["t"]), entry.get("server"), entry.get("tool"))
            self.grouper.call_sent(number)
        elif event == "unparsed":
            self._drafts[number] = CallDraft.unparsed(str(message), float(entry["t"]))
            if entry.get("open"):
                self.grouper.call_sent(number)
            else:
                self.grouper.call_not_sent(number)
        elif event == "over":
            self.grouper.call_ended(number)
        elif event in {"answer", "fault"}:
            self._drafts[number].end(message, float(entry["t"]), fault=event == "fault")
            self.grouper.call_ended(number)
        elif event == "note":
            self.grouper.note(str(message))
        elif event == "step":
            self.grouper.mark_step(begins=bool(message))
        else:
            self.metadata.apply_event(entry)

    def steps(self) -> Iterable[Step]:
        for index, (numbers, text) in enumerate(self.grouper.steps(), 1):
            calls = (self._call(number, f"s{index}c{place}") for place, number in enumerate(numbers, 1))
            yield Step(calls=tuple(calls), text=text)

    def _call(self, number: int, position: str) -> Call:
        return self._drafts[number].call(position, self.metadata.only_name())


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
