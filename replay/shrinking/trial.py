"""One replay of a part of a trajectory, in a sandbox of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from replay.diagnosis.failure_words import drawn_values, failure_words
from replay.interpreter import Fleet, Interpreter
from replay.outcomes import Registry
from replay.records import Answer, Call, CallResult, FleetFacts, Outcome, RuleSpec, Step, Trajectory, Verdict, texts_of
from replay.replayer import LiveBackend, TrajectoryReplayer, servers_named
from replay.replayer.journal import NothingKept
from replay.replayer.plan import Options, registry_of, rules_of


class Failure(NamedTuple):
    """What must stay the same: outcome, rule, what is wrong with the arguments, and the words of the error without what
    differs from run to run.
    """

    outcome: Outcome
    rule: str
    violations: frozenset[tuple[str, str, str]]
    """Place in the arguments, without the numbers of list items, the schema's keyword, and what is missing there."""
    words: str

    @classmethod
    def of(cls, verdict: Verdict, call: Call, answer: Answer | None, drawn: frozenset[str]) -> Failure:
        """The failure of a call.

        Args:
            verdict: of the call.
            call: with the arguments that the answer may echo.
            answer: the one that the verdict rests on; None where the call was not sent.
            drawn: values of the trajectory that its servers draw anew each time.
        """
        told = answer is not None and verdict.rule != "replay.server-traceback"
        words = "\n".join(texts_of(answer)) if answer is not None and told else verdict.message
        violations = frozenset(
            (re.sub(r"/\d+(?=/|$)", "/#", found.pointer), found.keyword, found.message * (found.keyword == "required"))
            for found in verdict.violations
        )
        return cls(verdict.outcome, verdict.rule, violations, failure_words(words, call, drawn))


class Trial(NamedTuple):
    """What one replay showed of a call."""

    failure: Failure
    result: CallResult
    drawn: frozenset[str]
    """The values that the servers drew anew."""


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

    async def replay(self, trajectory: Trajectory, position: str) -> Trial:
        """Replay a trajectory, and look at one of its calls."""
        self.count += 1
        async with self._backend.session(trajectory, self.servers(trajectory)) as session:
            replayer = TrajectoryReplayer(
                trajectory, session, registry=self.registry, rules=self._rules, checkpoint=NothingKept()
            )
            results = {result.call.position: result for result in await replayer.run()}
        answers = {position: result.answer for position, result in results.items() if result.answer is not None}
        rebound = (value for result in results.values() for value in result.verdict.rebound)
        drawn = drawn_values(trajectory, answers, rebound)
        result = results[position]
        return Trial(Failure.of(result.verdict, result.call, result.answer, drawn), result, drawn)

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
