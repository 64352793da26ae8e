"""tau2-bench results: `{info, tasks, simulations: [{task_id, trial, messages, reward_info}]}`.

Its messages are OpenAI's in another dress: a call is `{id, name, arguments, requestor}`, and a tool's message carries
the call's id as its own `id`, with an `error` flag. Calls of the simulated user are the user's, not the model's.
"""

from __future__ import annotations

from typing import Any

from replay.formats.call_log import CallLog
from replay.formats.loose_json import objects
from replay.formats.record_builders import MISSING, as_object, json_text_call, result_with_flag, seconds_between
from replay.records import JsonObject, ReportedResult, Source, Task, Trajectory


def is_results(value: Any) -> bool:
    """Whether a record holds the simulations of a run."""
    return isinstance(value, dict) and isinstance(value.get("simulations"), list)


def is_simulation(value: Any) -> bool:
    """Whether a record is one simulation."""
    return (
        isinstance(value, dict)
        and "task_id" in value
        and isinstance(value.get("messages"), list)
        and bool({"reward_info", "termination_reason"} & value.keys())
    )


def model_of(results: JsonObject) -> str | None:
    """The model of the agent, which stands beside the simulations."""
    agent = as_object((as_object(results.get("info")) or {}).get("agent_info")) or {}
    model = agent.get("llm")
    return model if isinstance(model, str) and model else None


def simulation_trajectory(record: JsonObject, model: str, path: str, place: str, name: str) -> Trajectory:
    """One simulation."""
    log, prompts, started_at = CallLog(), [], record.get("start_time")
    started_at = started_at if isinstance(started_at, str) else None
    for number, message in enumerate(_messages(record)):
        role, content = message.get("role"), message.get("content")
        text = content if isinstance(content, str) else None
        if role == "assistant":
            log.say(text)
            for written in objects(message.get("tool_calls")):
                identifier = written.get("id") if isinstance(written.get("id"), str) else None
                started = seconds_between(started_at, message.get("timestamp"))
                arguments = written.get("arguments", MISSING)
                log.add(json_text_call(written.get("name"), arguments, id=identifier, started=started), number)
        elif role == "tool" and message.get("requestor") != "user":
            failed = message.get("error")
            identifier = message.get("id") if isinstance(message.get("id"), str) else None
            log.answer(identifier, result_with_flag(text, failed if isinstance(failed, bool) else None))
        elif role == "user" and text:
            prompts.append(text)
    identifier, trial = str(record.get("task_id", place)), record.get("trial")
    return Trajectory(
        id=identifier if trial is None else f"{identifier}_trial_{trial}",
        model=model,
        task=Task(question=prompts[0] if prompts else None),
        source=Source(file=path, format=name, position=place),
        steps=log.steps(model),
        final_reply=log.final_reply,
        reported=_reported(as_object(record.get("reward_info")) or {}),
        started_at=started_at,
    )


def _messages(record: JsonObject) -> list[JsonObject]:
    """The messages, with those that answer several calls at once taken apart."""
    return [
        inner
        for message in objects(record.get("messages"))
        for inner in (objects(message.get("tool_messages")) or [message])
    ]


def _reported(info: JsonObject) -> ReportedResult | None:
    reward = info.get("reward")
    if not isinstance(reward, int | float) or isinstance(reward, bool):
        return None
    return ReportedResult(passed=abs(reward - 1) < 1e-6, score=float(reward))
