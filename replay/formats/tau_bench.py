"""tau-bench results: a list of (or one) `{task_id, reward, info, traj, trial}`; `traj` is OpenAI chat messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from replay.formats.document import Document, Head
from replay.formats.file_names import FileNames
from replay.formats.loose_json import objects
from replay.formats.openai_chat import conversation_steps, user_text
from replay.formats.reader import NO_MATCH, Match
from replay.formats.record_builders import as_number, number_calls
from replay.formats.task_facts import labels_of
from replay.formats.tau2_bench import is_results, is_simulation, model_of, simulation_trajectory
from replay.records import JsonObject, ReportedResult, Source, Task, Trajectory


class TauBenchReader:
    """Reads tau-bench results."""

    name = "tau-bench"
    title = "tau-bench and tau2-bench results"
    expected_shape = 'tau-bench results ([{"task_id", "reward", "traj": [...]}] or {"info", "simulations": [...]})'

    def sniff(self, head: Head) -> Match:
        """A task with its trajectory and reward."""
        first = next(iter(head.elements), None)
        if is_results(head.first) or is_simulation(first):
            return Match(0.95, '"simulations" of tau2-bench')
        if not isinstance(first, dict) or "task_id" not in first:
            return NO_MATCH
        if "traj" in first:
            return Match(0.95, '"task_id" and "traj"')
        return Match(0.6, '"task_id", "reward" and "info"') if {"reward", "info"} <= first.keys() else NO_MATCH

    def trajectories(self, document: Document, names: FileNames) -> Iterator[Trajectory]:
        """One a task and trial."""
        for element in document.elements():
            record = element.value
            if is_results(record):
                model = model_of(record) or names.model(document.path)
                for number, simulation in enumerate(objects(record["simulations"])):
                    place = f"{element.place}.simulations[{number}]"
                    yield simulation_trajectory(simulation, model, document.path, place, self.name)
            elif is_simulation(record):
                model = names.model(document.path)
                yield simulation_trajectory(record, model, document.path, element.place, self.name)
            elif isinstance(record, dict) and isinstance(record.get("traj"), list):
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
        task=Task(question=user_text(messages), id=None if trial is None else identifier, labels=labels_of(record)),
        source=Source(file=document.path, format=TauBenchReader.name, position=place),
        steps=number_calls(steps),
        final_reply=reply,
        reported=_reported(reward),
    )


def _reported(reward: Any) -> ReportedResult | None:
    score = None if isinstance(reward, bool) else as_number(reward)
    return None if score is None else ReportedResult(passed=abs(score - 1) < 1e-6, score=score)
