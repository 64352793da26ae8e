"""Driven trajectories as an M3-Bench results file: `[{id, type, question, steps, dialogue, final_reply}]`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from replay.records import Call, Step, Trajectory, texts_of
from replay.safety.filesystem import write_atomically


def write_m3_results(trajectories: Iterable[Trajectory], path: Path) -> None:
    """Write the file, whole or not at all."""
    records = [_record(trajectory) for trajectory in trajectories]
    write_atomically(path, json.dumps(records, ensure_ascii=False, indent=1) + "\n", "replace", private=True)


def _record(trajectory: Trajectory) -> dict[str, Any]:
    usage = trajectory.usage
    readable = [step for step in trajectory.steps if not _is_unreadable(step)]
    tokens = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens} if usage else None
    return {
        "id": trajectory.id,
        "model": trajectory.model,
        "type": trajectory.task.type,
        "image": list(trajectory.task.images) or None,
        "question": trajectory.task.question,
        "steps": [
            {"step": number, "calls": [_call(call) for call in step.calls]} for number, step in enumerate(readable, 1)
        ],
        "dialogue": [{"prepare": step.text, "work": _work(step)} for step in trajectory.steps],
        "final_reply": trajectory.final_reply,
        **({"usage": tokens} if tokens else {}),
    }


def _is_unreadable(step: Step) -> bool:
    return all(call.unreadable == "call" for call in step.calls)


def _work(step: Step) -> dict[str, Any]:
    """What a round of the dialogue called; one whose reply could not be read has no call, and its text."""
    if _is_unreadable(step):
        return {"tool_calls": [], "raw": step.calls[0].raw if step.calls else None}
    return {"tool_calls": [_written(call) for call in step.calls]}


def _written(call: Call) -> dict[str, Any]:
    return {"name": call.name, "arguments": call.raw if call.unreadable == "arguments" else call.arguments}


def _call(call: Call) -> dict[str, Any]:
    return {**_written(call), "result": None if call.answer is None else "\n".join(texts_of(call.answer))}
