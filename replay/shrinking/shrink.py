"""From a failing call in a long trajectory to the few calls that it takes to fail, each part replayed in a sandbox."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from replay.dag import Graph
from replay.diagnosis.failure_words import drawn_values, failure_words
from replay.diagnosis.phrasing import counted
from replay.errors import NoServerReachedError, UsageError
from replay.interpreter import Fleet, Interpreter
from replay.outcomes import Registry
from replay.records import (
    ERRORS_OF_TOOLS,
    FAILURES,
    Answer,
    Call,
    CallResult,
    FleetFacts,
    Outcome,
    Reason,
    RuleSpec,
    Server,
    Step,
    Trajectory,
    Verdict,
    texts_of,
)
from replay.replayer import LiveBackend, TrajectoryReplayer, servers_named, with_fleet_names
from replay.replayer.journal import Checkpoint
from replay.replayer.plan import Options, facts_of, live_registry, rules_of
from replay.safety.redaction import Redactor
from replay.shrinking.reduce import Reduction, bound_pointers, shorter, with_arguments

MAX_REPLAYS = 58
_RESERVED = 3
"""Replays that are kept back: the first, and those of what is written."""


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
        self.registry: Registry = live_registry(fleet, interpreter.servers)
        self._rules: Mapping[str, Sequence[RuleSpec]] = rules_of(fleet, Options(labels=labels))
        self.count = 0

    async def replay(self, trajectory: Trajectory, position: str) -> Trial:
        """Replay a trajectory, and look at one of its calls."""
        self.count += 1
        async with self._backend.session(trajectory, self.servers(trajectory)) as session:
            replayer = TrajectoryReplayer(
                trajectory, session, registry=self.registry, rules=self._rules, checkpoint=Checkpoint()
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


@dataclass(frozen=True)
class Shrunk:
    """The smallest trajectory that was found to fail in the same way."""

    trajectory: Trajectory
    """Without secrets: what is written."""
    position: str
    result: CallResult
    """The call's result when this very trajectory was replayed for the last time."""
    drawn: frozenset[str]
    """The values that the servers drew anew in that replay."""
    replays: int
    calls_before: int
    servers: dict[str, Server]
    redaction_matters: bool
    """With the secrets taken out the call has another result."""
    allowed: frozenset[str]
    """Servers whose effects had to be allowed."""


async def shrink(
    trajectory: Trajectory,
    position: str,
    fleet: Fleet,
    *,
    logs: Path,
    allowed: frozenset[str] = frozenset(),
    labels: tuple[RuleSpec, ...] = (),
    max_replays: int = MAX_REPLAYS,
    tell: Callable[[str], None] = lambda text: None,
) -> Shrunk:
    """Find the fewest calls, and then the shortest arguments, with which a call still fails in the same way.

    Args:
        trajectory: with its data edges.
        position: of the failing call.
        fleet: the servers.
        logs: directory for the servers' stderr.
        allowed: servers whose effects the user allowed.
        labels: what a person said that answers mean.
        max_replays: after which the smallest so far stands.
        tell: takes a line about each replay.

    Raises:
        UsageError: the call does not fail when it is replayed, or is not sent.
        NoServerReachedError: its server does not start.
    """
    fleet = _fresh_for_each(fleet, allowed)
    whole = _up_to(trajectory, position)
    named = servers_named(whole, fleet.servers)
    async with Interpreter(fleet, names=[name for name in fleet.servers if name in named], logs=logs) as interpreter:
        await interpreter.start()
        whole = with_fleet_names(whole, interpreter.servers)
        trials = Trials(interpreter, facts_of(fleet), allowed, labels)
        first, result, _ = await trials.replay(whole, position)
        _check(first, result, position)
        tell(f"{position} fails: {result.verdict.message}")
        search = _Search(trials, whole, position, first, max_replays - _RESERVED, tell)
        small = await search.shorten(await search.fewest())
        return await search.finish(small, fleet, interpreter.servers, allowed)


class _Search:
    """The two passes: fewer calls, then shorter arguments."""

    def __init__(
        self,
        trials: Trials,
        whole: Trajectory,
        position: str,
        failure: Failure,
        budget: int,
        tell: Callable[[str], None],
    ) -> None:
        self._trials, self._whole, self._position = trials, whole, position
        self._failure, self._budget, self._tell = failure, budget, tell

    async def fewest(self) -> Trajectory:
        """The calls that the failure needs: the ancestors in the graph first, then delta debugging."""
        earlier = [call.position for call in self._whole.calls() if call.position != self._position]
        ancestors = [position for position in Graph(self._whole).ancestors(self._position) if position in set(earlier)]

        async def fails(positions: Sequence[str]) -> bool:
            same = await self._fails(part_of(self._whole, [*positions, self._position]))
            result = "the same" if same else "not so"
            self._tell(f"replay {self._trials.count}: {counted(len(positions) + 1, 'call')}, {result}")
            return same

        reduction: Reduction[str] = Reduction(fails, self._left)
        needed = await reduction.smallest(earlier, guess=ancestors)
        return part_of(self._whole, [*needed, self._position])

    async def shorten(self, trajectory: Trajectory) -> Trajectory:
        """Shorter arguments, one thing at a time, as long as replays are left."""
        for position in [call.position for call in reversed(list(trajectory.calls()))]:
            progress = True
            while progress and self._left > 0:
                progress = False
                for arguments in self._candidates(trajectory, position):
                    candidate = with_arguments(trajectory, position, arguments)
                    if self._left <= 0:
                        return trajectory
                    if await self._fails(candidate):
                        trajectory, progress = candidate, True
                        self._tell(f"replay {self._trials.count}: shorter arguments in {position}")
                        break
        return trajectory

    @property
    def _left(self) -> int:
        return self._budget - self._trials.count

    def _candidates(self, trajectory: Trajectory, position: str) -> list[dict[str, object]]:
        call = next(call for call in trajectory.calls() if call.position == position)
        if not call.arguments:
            return []
        server, name = self._trials.registry.read(call)
        known = self._trials.registry.servers.get(server or "")
        return list(shorter(call, known.tool(name) if known else None, bound_pointers(trajectory, position)))

    async def _fails(self, trajectory: Trajectory) -> bool:
        trial = await self._trials.replay(trajectory, self._position)
        return trial.failure == self._failure

    async def finish(
        self, small: Trajectory, fleet: Fleet, servers: Mapping[str, Server], allowed: frozenset[str]
    ) -> Shrunk:
        """Take the secrets out, and replay once more what will be written."""
        cleaned = Trajectory.model_validate(Redactor(fleet.secrets()).json(small.model_dump(mode="json")))
        again, result, drawn = await self._trials.replay(cleaned, self._position)
        if again != self._failure and cleaned == small:
            raise UsageError(
                f"{self._position} does not fail the same way each time: it is flaky, and nothing was written"
            )
        needed = {name: server for name, server in servers.items() if name in self._trials.servers(cleaned)}
        return Shrunk(
            trajectory=cleaned,
            position=self._position,
            result=result,
            drawn=drawn,
            replays=self._trials.count,
            calls_before=sum(1 for _ in self._whole.calls()),
            servers=needed,
            redaction_matters=again != self._failure,
            allowed=allowed & needed.keys(),
        )


def _check(failure: Failure, result: CallResult, position: str) -> None:
    reason = result.verdict.reason
    if result.verdict.evidence == "recorded":
        if "withheld" in result.verdict.findings:
            why = (
                f"it may change something, so it was not sent (--allow-effects {result.server} sends it in each replay)"
            )
        else:
            why = "no server of the fleet gave its verdict, which rests on the recorded answer"
        raise UsageError(f"{position} cannot be shrunk: {why}")
    if failure.outcome in FAILURES or reason in ERRORS_OF_TOOLS:
        return
    if failure.outcome is Outcome.INCONCLUSIVE:
        kind = NoServerReachedError if reason is Reason.SERVER_UNAVAILABLE else UsageError
        raise kind(f"{position} cannot be shrunk: it is inconclusive, {result.verdict.message}")
    raise UsageError(f"{position} cannot be shrunk: replayed, it is judged {failure.outcome}")


def _up_to(trajectory: Trajectory, position: str) -> Trajectory:
    """The calls of earlier steps, and the one itself."""
    step = next(
        number for number, step in enumerate(trajectory.steps) if any(call.position == position for call in step.calls)
    )
    earlier = [call.position for step in trajectory.steps[:step] for call in step.calls]
    return part_of(trajectory, [*earlier, position])


def _fresh_for_each(fleet: Fleet, allowed: frozenset[str]) -> Fleet:
    """The fleet with a process of its own in each replay for every server that a call may change."""
    servers = {
        name: spec.model_copy(update={"state": "trajectory"})
        if spec.command is not None and (spec.effects != "read-only" or name in allowed)
        else spec
        for name, spec in fleet.servers.items()
    }
    return fleet.model_copy(update={"servers": servers})
