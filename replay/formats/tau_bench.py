"""tau-bench results: a list of (or one) `{task_id, reward, info, traj, trial}`; `traj` is OpenAI chat messages.

tau2-bench results: `{info, tasks, simulations: [{task_id, messages, reward_info, trial}]}`, or one simulation, which
may stand in a folder of its own: `results.json` (what was run) beside `simulations/ID.json`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from replay.errors import NoTrajectoryError
from replay.formats.call_log import CallLog, seconds_between
from replay.formats.document import NO_MATCH, Document, Head, Match
from replay.formats.fields import MISSING, as_number, object_in, objects, python_value, text_of
from replay.formats.openai_chat import conversation_steps, user_text
from replay.formats.record_builders import json_text_call, number_calls, result_with_flag
from replay.formats.task_facts import labels_of
from replay.json_values import json_text
from replay.records import JsonObject, ReportedResult, Source, Task, Trajectory

_MAX_LITERAL: Final = 100_000
"""Characters of arguments that are read as Python."""


class TauBenchReader:
    """Reads tau-bench results."""

    name = "tau-bench"
    title = "tau-bench and tau2-bench results"
    expected_shape = 'tau-bench results ([{"task_id", "reward", "traj": [...]}] or {"info", "simulations": [...]})'

    def __init__(self) -> None:
        self._runs: tuple[str | None, JsonObject] = (None, {})

    def sniff(self, head: Head) -> Match:
        """A task with its trajectory and reward."""
        first = next(iter(head.elements), None)
        if _is_results(head.first) or _is_simulation(first):
            return Match(0.95, '"simulations" of tau2-bench')
        if _is_run(head.first):
            return Match(0.9, '"info" and "tasks" of tau2-bench')
        if not isinstance(first, dict) or "task_id" not in first:
            return NO_MATCH
        if "traj" in first:
            return Match(0.95, '"task_id" and "traj"')
        return Match(0.6, '"task_id", "reward" and "info"') if {"reward", "info"} <= first.keys() else NO_MATCH

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """One a task and trial."""
        for element in document.elements():
            record = element.value
            if _is_results(record):
                for number, simulation in enumerate(objects(record["simulations"])):
                    place = f"{element.place}.simulations[{number}]"
                    yield _simulation(simulation, record, place, document)
            elif _is_simulation(record):
                yield _simulation(record, self._run_beside(document), element.place, document)
            elif _is_run(record):
                raise NoTrajectoryError(document.path, "its simulations stand in the folder simulations/ beside it")
            elif isinstance(record, dict) and isinstance(record.get("traj"), list):
                yield _trajectory(record, element.place, document)
            elif isinstance(record, dict) and "task_id" in record:
                document.note('has no list "traj"; not read', element.place)
            else:
                document.leave(element)

    def _run_beside(self, document: Document) -> JsonObject:
        """What was run, of a simulation in a file of its own; kept for the other files of the folder."""
        folder = document.path.rpartition("/")[0]
        if self._runs[0] != folder:
            run = document.beside("..", "results.json")
            self._runs = folder, run if _is_run(run) else {}
        return self._runs[1]


def _trajectory(record: JsonObject, place: str, document: Document) -> Trajectory:
    messages = [_with_json(message) for message in record["traj"]]
    steps, reply = conversation_steps(messages, document.path, place)
    identifier, task_id = _ids(record, place)
    return Trajectory(
        id=identifier,
        model=text_of(record.get("model")) or document.model_of_results,
        task=Task(question=user_text(messages), id=task_id, labels=labels_of(record)),
        source=Source(file=document.path, format=TauBenchReader.name, position=place),
        steps=number_calls(steps),
        final_reply=reply,
        reported=_reported(record.get("reward")),
    )


def _ids(record: JsonObject, place: str) -> tuple[str, str | None]:
    """The id of a trajectory, and that of its task where it is one of several trials of it."""
    task, trial = str(record.get("task_id", place)), record.get("trial")
    return (task, None) if trial is None else (f"{task}_trial_{trial}", task)


def _with_json(message: Any) -> Any:
    """A message whose calls have their arguments as JSON.

    Some agents for tau-bench keep the object that they parsed as Python writes it; what was no JSON ended their run.
    """
    functions = [object_in(call, "function") for call in objects(message.get("tool_calls"))] if message else []
    if not any(str(function.get("arguments")).startswith("{'") for function in functions):
        return message
    calls = [
        {**call, "function": {**function, "arguments": _as_json(function.get("arguments"))}}
        for call, function in zip(objects(message["tool_calls"]), functions, strict=True)
    ]
    return {**message, "tool_calls": calls}


def _as_json(arguments: Any) -> Any:
    short = isinstance(arguments, str) and len(arguments) <= _MAX_LITERAL
    value = python_value(arguments) if short else None
    return json_text(value) if isinstance(value, dict) else arguments


def _reported(reward: Any) -> ReportedResult | None:
    score = None if isinstance(reward, bool) else as_number(reward)
    return None if score is None else ReportedResult(passed=abs(score - 1) < 1e-6, score=score)


def _is_results(value: Any) -> bool:
    return isinstance(object_in(value).get("simulations"), list)


def _is_simulation(value: Any) -> bool:
    record = object_in(value)
    listed = any(isinstance(record.get(key), list) for key in ("messages", "ticks"))
    return listed and "task_id" in record and bool({"reward_info", "termination_reason"} & record.keys())


def _is_run(value: Any) -> bool:
    """Whether a record says what was run, and keeps the simulations in files of their own."""
    record = object_in(value)
    told = {"agent_info", "user_info"} <= object_in(record, "info").keys()
    return told and "tasks" in record and not record.get("simulations")


def _simulation(record: JsonObject, run: JsonObject, place: str, document: Document) -> Trajectory:
    """One simulation of tau2-bench; what was run tells its model and its domain, each of which counts tasks anew."""
    identifier, task_id = _ids(record, place)
    log = CallLog(place, identifier)
    log.model = text_of(object_in(run, "info", "agent_info").get("llm"))
    log.started_at = text_of(record.get("start_time"))
    for number, message in enumerate(_messages(record)):
        role, text = message.get("role"), text_of(message.get("content"))
        if role == "assistant":
            log.say(text)
            for written in objects(message.get("tool_calls")):
                started = seconds_between(log.started_at, message.get("timestamp"))
                fields = {"id": text_of(written.get("id")), "started": started}
                log.add(json_text_call(written.get("name"), written.get("arguments", MISSING), **fields), number)
        elif role == "tool" and message.get("requestor") != "user":
            content = message.get("content")
            answer = result_with_flag(content if isinstance(content, str) else None, message.get("error"))
            log.answer(text_of(message.get("id")), answer)
        elif role == "user" and not log.first_prompt:
            log.ask(text)
    reported = _reported(object_in(record, "reward_info").get("reward"))
    task = Task(
        question=log.first_prompt,
        id=task_id,
        labels=labels_of({"domain": object_in(run, "info", "environment_info").get("domain_name")}),
    )
    return log.trajectory(document, TauBenchReader.name, reported=reported, task=task)


def _messages(record: JsonObject) -> list[JsonObject]:
    """The messages, with those that answer several calls at once taken apart; of a voice run, those of its ticks."""
    messages = objects(record.get("messages"))
    for tick in [] if messages else objects(record.get("ticks")):
        said = object_in(tick, "agent_chunk")
        called = objects(tick.get("agent_tool_calls"))
        messages += [{**said, "role": "assistant", "tool_calls": called}] if called else []
        messages += objects(tick.get("agent_tool_results"))
    return [inner for message in messages for inner in (objects(message.get("tool_messages")) or [message])]
