"""From a recording's journal to its DAG file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from replay.filesystem import write_json
from replay.recorder.calls import CallDraft
from replay.recorder.introductions import Introductions
from replay.recorder.journal import read_journal
from replay.recorder.stepping import Stepping
from replay.records import Call, Source, Step, Task
from replay.records.files import TrajectoryFile

SOURCE_FORMAT = "recorder"


def write_trajectory(partial: Path, target: Path) -> str:
    """Write the DAG file of a journal.

    Returns:
        What was written, in words.

    Raises:
        InputError: the journal cannot be read.
    """
    trajectory = assemble(read_journal(partial), target.name)
    write_json(trajectory, target)
    calls = sum(1 for _ in trajectory.calls())
    return f"{_count(calls, 'call')} in {_count(len(trajectory.steps), 'step')}: {target}"


def assemble(entries: Iterable[dict[str, Any]], file: str) -> TrajectoryFile:
    """The trajectory that a journal tells of.

    Args:
        entries: the journal, its header first.
        file: name of the trajectory file.
    """
    entries = iter(entries)
    header = next(entries)
    story = _Story()
    for entry in entries:
        story.tell(entry)
    return TrajectoryFile(
        id=str(header["id"]),
        model=str(header["model"]),
        task=Task(question=header.get("task")),
        source=Source(file=file, format=SOURCE_FORMAT),
        steps=tuple(story.steps()),
        final_reply=story.stepping.last_words(),
        servers=story.introductions.servers(),
    )


class _Story:
    """The journal, told again from its start."""

    def __init__(self) -> None:
        self.stepping = Stepping()
        self.introductions = Introductions()
        self._drafts: dict[int, CallDraft] = {}

    def tell(self, entry: dict[str, Any]) -> None:
        event, message, number = entry.get("event"), entry.get("message"), entry.get("n", 0)
        if event == "call":
            self._drafts[number] = CallDraft(message, entry["t"], entry.get("server"), entry.get("tool"))
            self.stepping.begin(number)
        elif event == "unparsed":
            self._drafts[number] = CallDraft.unparsed(str(message), entry["t"])
            if entry.get("open"):
                self.stepping.begin(number)
            else:
                self.stepping.instant(number)
        elif event == "over":
            self.stepping.end(number)
        elif event in {"answer", "fault"}:
            self._drafts[number].end(message, entry["t"], fault=event == "fault")
            self.stepping.end(number)
        elif event == "note":
            self.stepping.note(str(message))
        elif event == "step":
            self.stepping.mark(begins=bool(message))
        else:
            self.introductions.hear(entry)

    def steps(self) -> Iterable[Step]:
        for index, (numbers, text) in enumerate(self.stepping.steps(), 1):
            calls = (self._call(number, f"s{index}c{place}") for place, number in enumerate(numbers, 1))
            yield Step(calls=tuple(calls), text=text)

    def _call(self, number: int, position: str) -> Call:
        return self._drafts[number].call(position, self.introductions.only_name())


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
