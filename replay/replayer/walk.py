"""One trajectory, walked from its first step to its last."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import anyio

from replay.dag import Graph, infer_edges, rebind
from replay.drift import compare
from replay.outcomes import Registry
from replay.records import (
    Answer,
    Call,
    DataEdge,
    Judgement,
    Outcome,
    Reason,
    Rebinding,
    RuleSpec,
    Step,
    Trajectory,
    TransportFault,
    Verdict,
)
from replay.replayer.bench import Bench, Target
from replay.replayer.gaps import Gaps
from replay.replayer.keys import answer_key, next_state
from replay.replayer.machine import missing_program
from replay.replayer.source import Notebook, Question, Settled, Stage
from replay.replayer.verdicts import (
    FAILURES,
    HARMLESS,
    Findings,
    verdict_of_answer,
    verdict_unsent,
)


class Walk:
    """Replays one trajectory on a stage.

    Args:
        trajectory: as it was read.
        stage: where answers come from.
        registry: the tools that exist.
        rules: the user's own rules, by server.
        notebook: what survives a crash.
        rebinding: whether new values of earlier answers replace the recorded ones in later arguments.
        wanted: whether a `server/tool` is asked for; of the others only those are sent that have a state to build up.
    """

    def __init__(
        self,
        trajectory: Trajectory,
        stage: Stage,
        *,
        registry: Registry,
        rules: Mapping[str, Sequence[RuleSpec]],
        notebook: Notebook,
        rebinding: bool = True,
        wanted: Callable[[str], bool] = lambda name: True,
    ) -> None:
        self._trajectory, self._stage, self._notebook = trajectory, stage, notebook
        self._rebinding, self._wanted = rebinding, wanted
        self._bench = Bench(registry, rules)
        self.edges: tuple[DataEdge, ...] = trajectory.edges if trajectory.edges is not None else infer_edges(trajectory)
        self._graph = Graph(trajectory, self.edges)
        self._gaps = Gaps(stage.workspace_servers)
        self._state = stage.state
        self._settled: dict[str, Settled] = {}
        self._asked: dict[str, tuple[str, dict[str, Any]]] = {}
        self._recorded = {call.position: call.answer for call in trajectory.calls() if call.answer is not None}
        self._answers: dict[str, Answer] = {}
        self._on_call: Callable[[], None] = lambda: None

    async def settle_all(self, on_call: Callable[[], None] | None = None) -> list[Settled]:
        """Walk the steps in order, the calls of a step together; independent calls go on after a failure.

        Args:
            on_call: told of each call that has its verdict.
        """
        self._on_call = on_call or (lambda: None)
        for step in self._trajectory.steps:
            if len(step.calls) == 1:
                await self._settle(step.calls[0])
            else:
                async with anyio.create_task_group() as group:
                    for call in step.calls:
                        group.start_soon(self._settle, call)
            self._close(step)
        settled = (self._settled[call.position] for call in self._trajectory.calls())
        return [one for one in settled if self._wanted(name_of(one))]

    async def _settle(self, call: Call) -> None:
        kept = self._notebook.settled.get(call.position)
        self._settled[call.position] = kept if kept is not None else await self._judge(call)
        self._on_call()

    async def _judge(self, call: Call) -> Settled:
        target = self._bench.target(call)
        recorded = self._bench.recorded(call, target)
        early = self._bench.before_sending(call)
        if early is not None:
            return Settled(call, verdict_unsent(early, recorded), target.server, target.tool)
        if target.server is None or target.digest is None:
            return self._unsent(call, target, recorded)
        if call.position in self._notebook.in_flight:
            return Settled(call, _interrupted(recorded), target.server, target.tool)
        arguments, rebound = self._bound(call)
        question = self._question(call, target.server, target, arguments)
        if not self._stage.stateful(target.server) and not self._wanted(f"{target.server}/{target.tool}"):
            return self._unsent(call, target, recorded)
        if not self._stage.may_ask(target.server, target.tool):
            return _marked(self._unsent(call, target, recorded), "withheld")
        return await self._send(call, target, question, recorded, rebound)

    def _question(self, call: Call, server: str, target: Target, arguments: dict[str, Any]) -> Question:
        state = None
        if self._stage.stateful(server):
            state = self._state
            self._asked[call.position] = (f"{server}/{target.tool}", arguments)
        return Question(server, target.tool, arguments, answer_key(target.digest or "", target.tool, arguments, state))

    async def _send(
        self,
        call: Call,
        target: Target,
        question: Question,
        recorded: Judgement | None,
        rebound: tuple[Rebinding, ...],
    ) -> Settled:
        shared = not self._stage.stateful(question.server)
        if shared:
            effects = self._stage.has_effects(question.server, question.tool)
            self._notebook.before_send(call.position, effects=effects)
        started = time.monotonic()
        answer = await self._stage.ask(question)
        if answer is None:
            return self._unsent(call, target, recorded)
        seconds = round(time.monotonic() - started, 6)
        findings = replace(self._compared(call, target, answer, rebound), recorded=recorded, seconds=seconds)
        verdict = verdict_of_answer(findings)
        settled = Settled(call, verdict, question.server, question.tool, question.key, answer)
        settled = self._with_cause(settled)
        if shared:
            self._notebook.keep(settled)
        return settled

    def _compared(self, call: Call, target: Target, answer: Answer, rebound: tuple[Rebinding, ...]) -> Findings:
        """What the new answer says, beside what was recorded and what happened before."""
        replayed = self._bench.answered(call, target, answer, self._stage.evidence)
        if rebound:
            replayed = replayed.model_copy(update={"findings": (*replayed.findings, "rebound")})
        return Findings(
            replayed=replayed,
            comparison=compare(call.answer, answer) if call.answer is not None else None,
            gap=self._gaps.before(target.server or "", self._graph.ancestors(call.position)),
            machine_lacks=missing_program(answer) if call.answer and not missing_program(call.answer) else None,
            rebound=rebound,
        )

    def _unsent(self, call: Call, target: Target, recorded: Judgement | None) -> Settled:
        verdict = verdict_unsent(self._bench.unsent(call, target), recorded)
        return Settled(call, verdict, target.server, target.tool)

    def _bound(self, call: Call) -> tuple[dict[str, Any], tuple[Rebinding, ...]]:
        if not self._rebinding:
            return call.arguments or {}, ()
        arguments, rebound = rebind(call, self.edges, self._recorded, self._answers)
        return arguments, tuple(rebound)

    def _close(self, step: Step) -> None:
        """End a step: what its calls left behind for the later ones."""
        for call in step.calls:
            settled = self._with_cause(self._settled[call.position])
            self._settled[call.position] = settled
            if settled.answer is not None:
                self._answers[call.position] = settled.answer
            if settled.verdict.outcome is Outcome.SUCCESS:
                self._bench.remember(call)
            if self._leaves_gap(settled):
                self._gaps.mark(call.position, settled.server if self._bench.in_fleet(settled.server) else None)
        asked = (self._asked[call.position] for call in step.calls if call.position in self._asked)
        self._state = next_state(self._state, asked)

    def _leaves_gap(self, settled: Settled) -> bool:
        """Whether the call happened when it was recorded, may have changed something, and did not happen now alike."""
        verdict = settled.verdict
        if self._bench.is_read_only(settled.server, settled.tool):
            return False
        if settled.answer is not None and not isinstance(settled.answer, TransportFault):
            return verdict.divergence not in (None, "state-gap") or verdict.replayed is Outcome.INCONCLUSIVE
        return not (verdict.recorded in FAILURES or verdict.outcome in FAILURES)

    def _with_cause(self, settled: Settled) -> Settled:
        if settled.verdict.caused_by or settled.verdict.outcome not in FAILURES:
            return settled
        failed = {
            position: other.verdict.outcome
            for position, other in self._settled.items()
            if other.verdict.outcome in FAILURES and other.verdict.rule not in HARMLESS
        }
        failed[settled.call.position] = settled.verdict.outcome
        root = self._graph.root_cause(settled.call.position, failed)
        if root is None or root == settled.call.position:
            return settled
        verdict = settled.verdict.model_copy(update={"caused_by": root})
        return replace(settled, verdict=verdict)


def name_of(settled: Settled) -> str:
    """`server/tool`, or the name as written where no server is known."""
    return f"{settled.server}/{settled.tool}" if settled.server else settled.call.name or ""


def _marked(settled: Settled, finding: str) -> Settled:
    verdict = settled.verdict
    return replace(settled, verdict=verdict.model_copy(update={"findings": (*verdict.findings, finding)}))


def _interrupted(recorded: Judgement | None) -> Verdict:
    judgement = Judgement(
        outcome=Outcome.INCONCLUSIVE,
        reason=Reason.INTERRUPTED,
        rule="replay.interrupted",
        evidence="replay",
        message="The replay was cut off after this call had been sent; it has effects, so it is not sent again.",
    )
    return verdict_unsent(judgement, recorded)
