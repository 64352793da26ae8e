"""tau-bench results: a list of (or one) `{task_id, reward, info, traj, trial}`; `traj` is OpenAI chat messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from replay.formats.document import Document
from replay.formats.file_names import FileNames
from replay.formats.head import Head
from replay.formats.openai_chat import conversation_steps, user_text
from replay.formats.reader import NO_MATCH, Match
from replay.formats.record_builders import as_number, number_calls
from replay.records import JsonObject, ReportedResult, Source, Task, Trajectory


class TauBenchReader:
    """Reads tau-bench results."""

    name = "tau-bench"
    title = "tau-bench results"
    expected_shape = 'tau-bench results ([{"task_id", "reward", "traj": [...]}])'

    def sniff(self, head: Head) -> Match:
        """A task with its trajectory and reward."""
        first = next(iter(head.elements), None)
        if not isinstance(first, dict) or "task_id" not in first:
            return NO_MATCH
        if "traj" in first:
            return Match(0.95, '"task_id" and "traj"')
        return Match(0.6, '"task_id", "reward" and "info"') if {"reward", "info"} <= first.keys() else NO_MATCH

    def trajectories(self, document: Document, names: FileNames) -> Iterator[Trajectory]:
        """One a task and trial."""
        for element in document.elements():
            record = element.value
            if isinstance(record, dict) and isinstance(record.get("traj"), list):
                yield _trajectory(record, element.place, document, names)
            elif isinstance(record, dict) and "task_id" in record:
                document.note('has no list "traj"; not read', element.place)
            else:
                document.leave(element)


def _trajectory(record: JsonObject, place: str, document: Document, names: FileNames) -> Trajectory:
    messages, trial = record["traj"], record.get("trial")
    steps, reply = conversation_steps(messages, document.path, place)
    reward, model = record.get("reward"), record.get("model")
    identifier = str(record.get("task_id", place))
    return Trajectory(
        id=identifier if trial is None else f"{identifier}_trial_{trial}",
        model=model if isinstance(model, str) and model else names.model(document.path),
        task=Task(question=user_text(messages)),
        source=Source(file=document.path, format=TauBenchReader.name, position=place),
        steps=number_calls(steps),
        final_reply=reply,
        reported=_reported(reward),
    )


def _reported(reward: Any) -> ReportedResult | None:
    score = None if isinstance(reward, bool) else as_number(reward)
    return None if score is None else ReportedResult(passed=abs(score - 1) < 1e-6, score=score)
