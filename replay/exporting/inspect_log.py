"""Inspect's evaluation logs (JSON), for `inspect view`. A sample's score `replay` has the verdicts in its metadata."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import groupby

from replay import __version__
from replay.exporting.judged_call import JudgedCall, judged_steps, outcome_counts
from replay.formats.record_builders import to_json
from replay.records import JsonObject, Outcome
from replay.runfile.trajectory_queries import StoredTrajectory

_VERSION = 2
_TASK = "mcp-replay"


def documents(trajectories: Iterable[StoredTrajectory]) -> Iterator[tuple[str, JsonObject]]:
    """One a results file, as its trajectories stand together in the run."""
    for (_, model), group in groupby(trajectories, key=lambda stored: (stored.file, stored.model)):
        yield model, _log(model, list(group))


def _log(model: str, group: list[StoredTrajectory]) -> JsonObject:
    samples = [_sample(stored, model) for stored in group]
    identifier = hashlib.sha256(to_json([model, group[0].path]).encode("utf-8", "surrogatepass")).hexdigest()[:22]
    now = datetime.now(UTC).isoformat(timespec="seconds")
    dataset = {
        "name": group[0].path,
        "samples": len(samples),
        "sample_ids": [sample["id"] for sample in samples],
        "shuffled": False,
    }
    return {
        "version": _VERSION,
        "status": "success",
        "eval": {
            "run_id": identifier,
            "created": now,
            "task": _TASK,
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


def _sample(stored: StoredTrajectory, model: str) -> JsonObject:
    record = stored.record
    question = record.task.question or ""
    messages: list[JsonObject] = [{"role": "user", "content": question}]
    judged = []
    for text, calls in judged_steps(stored):
        messages += _messages(text, calls, model)
        judged += [{"id": item.id, **item.details()} for item in calls]
    if record.final_reply:
        messages.append({"role": "assistant", "content": record.final_reply, "model": model})
    counts = outcome_counts(stored)
    score = {
        "value": {str(outcome): counts.get(str(outcome), 0) for outcome in Outcome},
        "explanation": _explanation(counts),
        "metadata": {"calls": judged},
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
        "scores": {"replay": score},
        "metadata": metadata,
        "store": {},
        "events": [],
        "model_usage": {model: {**spent, "total_tokens": sum(spent.values())}} if spent else {},
        "attachments": {},
    }


def _explanation(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {Outcome(outcome).label}" for outcome, count in counts.items()) or "no calls"


def _messages(text: str | None, calls: list[JudgedCall], model: str) -> list[JsonObject]:
    reply: JsonObject = {
        "role": "assistant",
        "content": text or "",
        "model": model,
        "tool_calls": [_tool_call(item) for item in calls],
    }
    return [reply, *(message for item in calls if (message := _answer(item)))]


def _tool_call(item: JudgedCall) -> JsonObject:
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


def _answer(item: JudgedCall) -> JsonObject | None:
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
