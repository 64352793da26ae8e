"""A trajectory as the metrics see it: which calls count, of which tool, with which text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from replay.records import Call, JsonObject, Step, Trajectory


@dataclass(frozen=True, slots=True)
class SignedCall:
    """A call that counts."""

    index: int
    """From 0 over the trajectory's steps in order."""
    step: int
    """From 0; steps without a call count too."""
    position: str
    name: str
    """As written, without surrounding space; empty where there was none."""
    signature: str
    arguments: JsonObject | None
    readable: bool


@dataclass(frozen=True, slots=True)
class SignedTask:
    """A trajectory's calls, ready to be compared."""

    id: str
    type: str | None
    calls: tuple[SignedCall, ...]
    calls_per_step: tuple[int, ...]
    illegal: tuple[str, ...]
    """Positions of replies that were meant as calls and are not: they stand in no step and enter no metric."""


def sign(trajectory: Trajectory) -> SignedTask:
    """Take from a trajectory what the metrics need.

    A reply that could not be read as a call at all is in none of the published evaluator's steps, so it is neither a
    call nor, where it stands alone, a step.
    """
    steps = [step for step in trajectory.steps if not _is_illegal_round(step)]
    kept = [[call for call in step.calls if call.unreadable != "call"] for step in steps]
    numbered = ((number, call) for number, calls in enumerate(kept) for call in calls)
    return SignedTask(
        id=trajectory.id,
        type=trajectory.task.type,
        calls=tuple(_signed(index, number, call) for index, (number, call) in enumerate(numbered)),
        calls_per_step=tuple(map(len, kept)),
        illegal=tuple(call.position for call in trajectory.calls() if call.unreadable == "call"),
    )


def signature(call: Call) -> str:
    """The text that stands for a call's arguments: JSON with sorted keys and no spaces.

    Arguments that are absent count as null, and those that are not an object as what they are, as in the published
    evaluator; text that is not JSON counts as a string.
    """
    if call.arguments is not None:
        return _canonical(call.arguments)
    return "null" if call.raw is None or call.unreadable != "arguments" else _canonical(_value_of(call.raw))


def _is_illegal_round(step: Step) -> bool:
    return bool(step.calls) and all(call.unreadable == "call" for call in step.calls)


def _signed(index: int, step: int, call: Call) -> SignedCall:
    return SignedCall(
        index=index,
        step=step,
        position=call.position,
        name=(call.name or "").strip(),
        signature=signature(call),
        arguments=call.arguments,
        readable=call.unreadable is None,
    )


def _canonical(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _value_of(raw: str) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return raw
