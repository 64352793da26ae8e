"""Small tasks and vectors for the tests of the alignment."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from replay.alignment.metrics import MatchSet, Pair
from replay.alignment.tasks import SignedTask, sign
from replay.records import Call, Source, Step, Task, Trajectory

Written = tuple[str | None, Any]
"""Name and arguments of a call."""


def trajectory(steps: Sequence[Sequence[Written]], identifier: str = "t", kind: str | None = None) -> Trajectory:
    return Trajectory(
        id=identifier,
        model="m",
        task=Task(type=kind),
        source=Source(file="f.json", format="m3bench"),
        steps=tuple(
            Step(calls=tuple(_call(f"s{s}c{c}", *written) for c, written in enumerate(step, 1)))
            for s, step in enumerate(steps, 1)
        ),
    )


def task(steps: Sequence[Sequence[Written]], identifier: str = "t", kind: str | None = None) -> SignedTask:
    return sign(trajectory(steps, identifier, kind))


def _call(position: str, name: str | None, arguments: Any) -> Call:
    if isinstance(arguments, dict):
        return Call(position=position, name=name, arguments=arguments)
    return Call(position=position, name=name, unreadable="arguments", raw=json.dumps(arguments))


def matches(calls_per_step: Sequence[int], predicted: int, pairs: Iterable[tuple[int, int, float]]) -> MatchSet:
    """Reference calls in each step, predicted calls, and pairs of (reference step, predicted step, similarity)."""
    return MatchSet(tuple(calls_per_step), predicted, tuple(Pair(*pair) for pair in pairs))


def vectors(texts: Iterable[str]) -> dict[str, np.ndarray]:
    """A made-up vector of length 1 for each text: its direction hangs on the text alone, and all are rather similar."""
    made = {}
    for text in texts:
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "little")
        vector = np.random.default_rng(seed).normal(size=16) * 0.25
        vector[0] = 1.0
        made[text] = (vector / np.linalg.norm(vector)).astype(np.float32)
    return made


def results_file(records: Iterable[dict[str, Any]]) -> str:
    return json.dumps(list(records))


def record(identifier: Any, steps: Sequence[Sequence[Written]], kind: str = "kind") -> dict[str, Any]:
    """An M3-Bench record."""
    return {
        "id": identifier,
        "type": kind,
        "question": "?",
        "steps": [
            {"step": number, "calls": [{"name": name, "arguments": arguments} for name, arguments in step]}
            for number, step in enumerate(steps, 1)
        ],
    }
