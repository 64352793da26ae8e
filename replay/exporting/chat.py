"""Formats of chat messages: OpenAI's, and Inspect's evaluation logs (JSON), for `inspect view`.

OpenAI's `{"messages": [...]}` has the verdicts in `replay.calls`, by the call's id; a sample of Inspect has them in the
metadata of its score `replay`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import groupby

from replay import __version__
from replay.exporting.judged_call import JudgedCall, judged_steps, outcome_counts
from replay.formats.fields import to_json
from replay.formats.task_facts import task_details
from replay.records import JsonObject, Outcome
from replay.records.trajectory import ReportedResult
from replay.runfile.trajectory_queries import StoredTrajectory

_INSPECT_VERSION = 2


def openai_documents(trajectories: Iterable[StoredTrajectory]) -> Iterator[tuple[str, JsonObject]]:
    """One a trajectory."""
    for stored in trajectories:
        yield stored.record.id, _openai_document(stored)


def _openai_document(stored: StoredTrajectory) -> JsonObject:
    record = stored.record
    messages: list[JsonObject] = []
    judged: JsonObject = {}
    if record.task.question:
        messages.append({"role": "user", "content": record.task.question})
    for text, calls in judged_steps(stored):
        messages += _openai_messages(text, calls)
        judged |= {item.id: item.details() for item in calls}
    if record.final_reply:
        messages.append({"role": "assistant", "content": record.final_reply})
    passed = record.reported and record.reported.passed
    return {
        "id": record.id,
        "model": record.model,
        "messages": messages,
        "tools": [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
            }
            for tool in record.tools
        ],
        **({} if passed is None else {"pass": passed}),
        "replay": {"outcomes": outcome_counts(stored), "calls": judged, **task_details(record)},
    }


def _openai_messages(text: str | None, calls: list[JudgedCall]) -> list[JsonObject]:
    """A reply with its calls, and their answers; a call that nobody could read stays the text that it was."""
    readable = [item for item in calls if item.call.unreadable != "call"]
    unreadable = [item.call.raw for item in calls if item.call.unreadable == "call" and item.call.raw]
    messages: list[JsonObject] = [{"role": "assistant", "content": raw} for raw in unreadable]
    if readable:
        messages.append({"role": "assistant", "content": text, "tool_calls": [_openai_call(item) for item in readable]})
    answers = [(item.id, item.answer_text) for item in readable]
    return messages + [
        {"role": "tool", "tool_call_id": identifier, "content": answer}
        for identifier, answer in answers
        if answer is not None
    ]


def _openai_call(item: JudgedCall) -> JsonObject:
    call = item.call
    arguments = call.raw if call.arguments is None and call.raw is not None else to_json(item.arguments)
    return {"id": item.id, "type": "function", "function": {"name": call.name or "", "arguments": arguments}}


def inspect_documents(trajectories: Iterable[StoredTrajectory]) -> Iterator[tuple[str, JsonObject]]:
    """One a results file, as its trajectories stand together in the run."""
    for (_, model), group in groupby(trajectories, key=lambda stored: (stored.file, stored.model)):
        yield model, _inspect_log(model, list(group))


def _inspect_log(model: str, group: list[StoredTrajectory]) -> JsonObject:
    samples = [_inspect_sample(stored, model) for stored in group]
    identifier = hashlib.sha256(to_json([model, group[0].path]).encode("utf-8", "surrogatepass")).hexdigest()[:22]
    now = datetime.now(UTC).isoformat(timespec="seconds")
    dataset = {
        "name": group[0].path,
        "samples": len(samples),
        "sample_ids": [sample["id"] for sample in samples],
        "shuffled": False,
    }
    return {
        "version": _INSPECT_VERSION,
        "status": "success",
        "eval": {
            "run_id": identifier,
            "created": now,
            "task": "mcp-replay",
            "task_id": identifier,
            "task_version": 0,
            "task_attribs": {},
            "task_args": {},
            "dataset": dataset,
            "model": model,
            "model_args": {},
            "config": {},
            "packages": {"mcp-replay": __version__},
        },
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {"total_samples": len(samples), "completed_samples": len(samples), "scores": []},
        "stats": {"started_at": now, "completed_at": now, "model_usage": {}},
        "samples": samples,
    }


def _inspect_sample(stored: StoredTrajectory, model: str) -> JsonObject:
    record = stored.record
    question = record.task.question or ""
    messages: list[JsonObject] = [{"role": "user", "content": question}]
    judged = []
    for text, calls in judged_steps(stored):
        messages += _inspect_messages(text, calls, model)
        judged += [{"id": item.id, **item.details()} for item in calls]
    if record.final_reply:
        messages.append({"role": "assistant", "content": record.final_reply, "model": model})
    counts = outcome_counts(stored)
    score = {
        "value": {str(outcome): counts.get(str(outcome), 0) for outcome in Outcome},
        "explanation": ", ".join(f"{count} {Outcome(name).label}" for name, count in counts.items()) or "no calls",
        "metadata": {"calls": judged, **task_details(record)},
    }
    metadata: JsonObject = {"file": stored.path, "format": stored.format}
    if record.parent is not None:
        metadata["parent"] = record.parent.model_dump(mode="json")
    usage = record.usage
    spent = {"input_tokens": (usage.input_tokens or 0), "output_tokens": (usage.output_tokens or 0)} if usage else None
    return {
        "id": record.id,
        "epoch": 1,
        "input": question,
        "target": "",
        "messages": messages,
        "output": {"model": model, "choices": []},
        "scores": {"replay": score, **_task_score(record.reported)},
        "metadata": metadata,
        "store": {},
        "events": [],
        "model_usage": {model: {**spent, "total_tokens": sum(spent.values())}} if spent else {},
        "attachments": {},
    }


def _task_score(reported: ReportedResult | None) -> JsonObject:
    """Whether the task passed, as Inspect grades it, or its score."""
    if reported is None or (reported.passed is None and reported.score is None):
        return {}
    return {"task": {"value": reported.score if reported.passed is None else "C" if reported.passed else "I"}}


def _inspect_messages(text: str | None, calls: list[JudgedCall], model: str) -> list[JsonObject]:
    reply: JsonObject = {
        "role": "assistant",
        "content": text or "",
        "model": model,
        "tool_calls": [_inspect_call(item) for item in calls],
    }
    return [reply, *(message for item in calls if (message := _inspect_answer(item)))]


def _inspect_call(item: JudgedCall) -> JsonObject:
    call = item.call
    written: JsonObject = {
        "id": item.id,
        "function": call.name or "",
        "arguments": item.arguments,
        "type": "function",
    }
    if call.unreadable is not None:
        written["parse_error"] = (
            f"Error parsing the following tool call arguments:\n\n{call.raw or ''}\n\nError details: not readable"
        )
    return written


def _inspect_answer(item: JudgedCall) -> JsonObject | None:
    text = item.answer_text
    if text is None:
        return None
    message: JsonObject = {
        "role": "tool",
        "content": text,
        "tool_call_id": item.id,
        "function": item.call.name or "",
    }
    if item.is_error:
        message["error"] = {"type": "unknown", "message": text}
    return message
