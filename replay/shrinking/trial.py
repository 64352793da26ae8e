"""One replay of a part of a trajectory, in a sandbox of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from replay.classification import registry_of
from replay.interpreter import Fleet, Interpreter
from replay.outcomes import Registry, read_name
from replay.records import Answer, Call, CallResult, FleetFacts, Outcome, RuleSpec, Step, Trajectory, texts_of
from replay.records.effects import EffectKey
from replay.replayer import LiveBackend, TrajectoryReplayer
from replay.volatile import masked

_QUOTED: Final = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|`[^`\n]*`")
_MIN_VALUE_LENGTH: Final = 3
_MAX_LENGTH: Final = 300


class Failure(NamedTuple):
    """What must stay the same: outcome, rule, and the words of the error without names, values and numbers."""

    outcome: Outcome
    rule: str
    words: str


class Trials:
    """Replays parts of one trajectory on live servers, and counts how often it did.

    Args:
        interpreter: started.
        facts: of its fleet.
        allowed: servers whose effects the user allowed.
    """

    def __init__(self, interpreter: Interpreter, facts: FleetFacts, allowed: frozenset[str]) -> None:
        fleet: Fleet = interpreter.fleet
        self._backend = LiveBackend(interpreter, facts, allowed)
        self.registry: Registry = registry_of(
            interpreter.servers, fleet.local_tools, tuple(fleet.servers), complete=True
        )
        self._rules: Mapping[str, Sequence[RuleSpec]] = {name: spec.rules for name, spec in fleet.servers.items()}
        self.count = 0

    async def failure(self, trajectory: Trajectory, position: str) -> tuple[Failure, CallResult]:
        """Replay a trajectory; gives how one of its calls came out."""
        self.count += 1
        async with self._backend.session(trajectory, self.servers(trajectory)) as session:
            replayer = TrajectoryReplayer(
                trajectory, session, registry=self.registry, rules=self._rules, checkpoint=_NoCheckpoint()
            )
            results = {result.call.position: result for result in await replayer.run()}
        found = results[position]
        words = "\n".join(texts_of(found.answer)) if found.answer is not None else found.verdict.message
        verdict = found.verdict
        return Failure(verdict.outcome, verdict.rule, bare_words(words, found.call)), found

    def servers(self, trajectory: Trajectory) -> frozenset[str]:
        """The servers of the fleet that a trajectory names."""
        names = (read_name(call.name, self.registry.server_names).server for call in trajectory.calls() if call.name)
        return frozenset(name for name in names if name)


class _NoCheckpoint:
    """The checkpoint of a replay that is forgotten."""

    results: Mapping[str, CallResult] = {}

    def sent_before(self, key: EffectKey) -> None:
        """Nothing is kept."""

    def before_send(self, key: EffectKey) -> None:
        """Nothing is kept."""

    def after_send(self, key: EffectKey, answer: Answer) -> None:
        """Nothing is kept."""

    def keep(self, result: CallResult) -> None:
        """Nothing is kept."""


def part_of(trajectory: Trajectory, positions: Sequence[str]) -> Trajectory:
    """The trajectory with only these calls, each in its step, and the data edges between them."""
    kept = set(positions)
    steps = (
        step.model_copy(update={"calls": tuple(call for call in step.calls if call.position in kept)})
        for step in trajectory.steps
    )
    edges = tuple(edge for edge in trajectory.edges or () if edge.producer in kept and edge.consumer in kept)
    filled: tuple[Step, ...] = tuple(step for step in steps if step.calls)
    return trajectory.model_copy(update={"steps": filled, "edges": edges})


def bare_words(text: str, call: Call) -> str:
    """The words of an error without what differs from call to call: values, names in quotes, numbers, times."""
    for value in sorted(_strings(call.arguments or {}), key=len, reverse=True):
        text = text.replace(value, " ")
    text = re.sub(r"\d+", "#", masked(_QUOTED.sub(" ", text)))
    return " ".join(text.split())[:_MAX_LENGTH]


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value] if len(value) >= _MIN_VALUE_LENGTH else []
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for member in members for text in _strings(member)]
