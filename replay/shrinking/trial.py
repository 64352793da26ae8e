"""One replay of a part of a trajectory, in a sandbox of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from replay.diagnosis.error_answers import normalized_error
from replay.interpreter import Fleet, Interpreter
from replay.outcomes import Registry
from replay.records import Answer, Call, CallResult, FleetFacts, Outcome, RuleSpec, Step, Trajectory, Verdict, texts_of
from replay.replayer import LiveBackend, TrajectoryReplayer, servers_named
from replay.replayer.journal import NothingKept
from replay.replayer.plan import Options, registry_of, rules_of


class Failure(NamedTuple):
    """What must stay the same: outcome, rule, what is wrong with the arguments, and the words of the error without the
    values of the arguments, numbers and times.
    """

    outcome: Outcome
    rule: str
    violations: frozenset[tuple[str, str, str]]
    """Place in the arguments, without the numbers of list items, the schema's keyword, and what is missing there."""
    words: str

    @classmethod
    def of(cls, verdict: Verdict, call: Call, answer: Answer | None) -> Failure:
        """The failure of a call.

        Args:
            verdict: of the call.
            call: with the arguments that the answer may echo.
            answer: the one that the verdict rests on; None where the call was not sent.
        """
        words = "\n".join(texts_of(answer)) if answer is not None else verdict.message
        violations = frozenset(
            (re.sub(r"/\d+(?=/|$)", "/#", found.pointer), found.keyword, found.message * (found.keyword == "required"))
            for found in verdict.violations
        )
        return cls(verdict.outcome, verdict.rule, violations, normalized_error(words, call))


class Trials:
    """Replays parts of one trajectory on live servers, and counts how often it did.

    Args:
        interpreter: started.
        facts: of its fleet.
        allowed: servers whose effects the user allowed.
        labels: what a person said that answers mean.
    """

    def __init__(
        self,
        interpreter: Interpreter,
        facts: FleetFacts,
        allowed: frozenset[str],
        labels: tuple[RuleSpec, ...] = (),
    ) -> None:
        fleet: Fleet = interpreter.fleet
        self._backend = LiveBackend(interpreter, facts, allowed)
        self.registry: Registry = registry_of(
            interpreter.servers, fleet.local_tools, tuple(fleet.servers), complete=True
        )
        self._rules: Mapping[str, Sequence[RuleSpec]] = rules_of(fleet, Options(labels=labels))
        self.count = 0

    async def failure(self, trajectory: Trajectory, position: str) -> tuple[Failure, CallResult]:
        """Replay a trajectory; gives the failure and the result of one of its calls."""
        self.count += 1
        async with self._backend.session(trajectory, self.servers(trajectory)) as session:
            replayer = TrajectoryReplayer(
                trajectory, session, registry=self.registry, rules=self._rules, checkpoint=NothingKept()
            )
            results = {result.call.position: result for result in await replayer.run()}
        found = results[position]
        return Failure.of(found.verdict, found.call, found.answer), found

    def servers(self, trajectory: Trajectory) -> frozenset[str]:
        """The servers of the fleet that a trajectory names."""
        return frozenset(servers_named(trajectory, self.registry.server_names))


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
