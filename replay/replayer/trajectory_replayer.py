"""One trajectory, replayed from its first step to its last."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import anyio

from replay.dag import Graph, infer_edges, rebind
from replay.drift import compare
from replay.errors import ReplayError
from replay.outcomes import CallTarget, Classifier, Registry
from replay.records import (
    FAILURES,
    Answer,
    Call,
    CallResult,
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
    qualified_name,
)
from replay.records.effects import EffectKey
from replay.replayer.absent_path import absent_path
from replay.replayer.backend import BackendSession, ToolRequest
from replay.replayer.checkpoint import Checkpoint, SentBefore
from replay.replayer.gaps import Gaps
from replay.replayer.input_calls import keys_of
from replay.replayer.keys import answer_key, next_state
from replay.replayer.missing_dependency import missing_program
from replay.replayer.server_stderr import shortened, with_stderr
from replay.replayer.verdicts import (
    HARMLESS,
    VerdictInputs,
    verdict_of_answer,
    verdict_of_replay_fault,
    verdict_unsent,
)


class TrajectoryReplayer:
    """Replays one trajectory on a session.

    Args:
        trajectory: as it was read.
        session: where answers come from.
        registry: the tools that exist.
        rules: the user's own rules, by server.
        checkpoint: what survives a crash.
        rebinding: whether new values of earlier answers replace the recorded ones in later arguments.
        wanted: whether a `server/tool` is asked for; of the others only those are sent that have a state to build up.
    """

    def __init__(
        self,
        trajectory: Trajectory,
        session: BackendSession,
        *,
        registry: Registry,
        rules: Mapping[str, Sequence[RuleSpec]],
        checkpoint: Checkpoint,
        rebinding: bool = True,
        wanted: Callable[[str], bool] = lambda name: True,
    ) -> None:
        self._trajectory, self._session, self._checkpoint = trajectory, session, checkpoint
        self._rebinding, self._wanted = rebinding, wanted
        self._classifier = Classifier(registry, rules)
        self._registry = registry
        self.edges: tuple[DataEdge, ...] = trajectory.edges if trajectory.edges is not None else infer_edges(trajectory)
        self._graph = Graph(trajectory, self.edges)
        self._gaps = Gaps(session.workspace_servers)
        self._state = session.state
        self._results: dict[str, CallResult] = {}
        self._sent: dict[str, tuple[str, dict[str, Any]]] = {}
        self._recorded = {call.position: call.answer for call in trajectory.calls() if call.answer is not None}
        self._answers: dict[str, Answer] = {}
        self._on_call: Callable[[], None] = lambda: None
        self._effect_keys: dict[str, EffectKey] | None = None
        self._not_repeated: set[str] = set()
        """Calls that had their answer from an earlier replay: what they did is not in this sandbox."""

    async def run(self, on_call: Callable[[], None] | None = None) -> list[CallResult]:
        """Replay the steps in order, the calls of a step together; independent calls go on after a failure.

        Args:
            on_call: called for each call that has its verdict.
        """
        self._on_call = on_call or (lambda: None)
        for step in self._trajectory.steps:
            if len(step.calls) == 1:
                await self._replay_call(step.calls[0])
            else:
                async with anyio.create_task_group() as group:
                    for call in step.calls:
                        group.start_soon(self._replay_call, call)
            self._end_step(step)
        results = (self._results[call.position] for call in self._trajectory.calls())
        return [result for result in results if self._wanted(name_of(result))]

    async def _replay_call(self, call: Call) -> None:
        kept = self._checkpoint.results.get(call.position)
        if kept is None:
            try:
                kept = await self._judge(call)
            except (ReplayError, sqlite3.Error):  # the fleet file or the run file: no other call would fare better
                raise
            except Exception as problem:  # noqa: BLE001 - what goes wrong with one call must not end the others
                kept = CallResult(call, verdict_of_replay_fault(problem), call.server, call.tool)
        self._results[call.position] = kept
        self._on_call()

    async def _judge(self, call: Call) -> CallResult:
        target = self._classifier.target(call)
        recorded = self._classifier.recorded(call, target)
        decided = self._classifier.before_sending(call, recorded)
        if decided is not None:
            return CallResult(call, verdict_unsent(decided, recorded), target.server, target.tool)
        if target.server is None or target.digest is None:
            return self._unsent(call, target, recorded)
        arguments, rebound = self._bound(call)
        request = self._request(call, target.server, target, arguments)
        inputs = VerdictInputs(recorded, rebound=rebound)
        key = self._effect_key(call) if self._session.has_effects(request.server, request.tool) else None
        sent = self._checkpoint.sent_before(key) if key is not None else None
        if sent is not None:
            return self._not_sent_again(call, target, request, sent, inputs)
        if not self._session.stateful(request.server) and not self._wanted(qualified_name(*request[:2])):
            return self._unsent(call, target, recorded)
        if not self._session.may_send(request.server, request.tool):
            return _with_finding(self._unsent(call, target, recorded), "withheld")
        return await self._send(call, target, request, key, inputs)

    def _not_sent_again(
        self, call: Call, target: CallTarget, request: ToolRequest, sent: SentBefore, inputs: VerdictInputs
    ) -> CallResult:
        """The verdict of a call with effects that an earlier replay sent."""
        self._not_repeated.add(call.position)
        if sent.answer is None:
            return CallResult(call, _interrupted(inputs.recorded), target.server, target.tool)
        replayed = self._classifier.answered(call, target, sent.answer, self._session.evidence)
        inputs = replace(inputs, stderr=shortened(sent.stderr))
        return self._answered(call, request, sent.answer, with_stderr(replayed, sent.stderr), inputs)

    def _effect_key(self, call: Call) -> EffectKey:
        if self._effect_keys is None:
            self._effect_keys = keys_of(self._trajectory.calls(), self._registry)
        return self._effect_keys[call.position]

    def _request(self, call: Call, server: str, target: CallTarget, arguments: dict[str, Any]) -> ToolRequest:
        state = None
        if self._session.stateful(server):
            state = self._state
            self._sent[call.position] = (qualified_name(server, target.tool), arguments)
        return ToolRequest(
            server, target.tool, arguments, answer_key(target.digest or "", target.tool, arguments, state)
        )

    async def _send(
        self,
        call: Call,
        target: CallTarget,
        request: ToolRequest,
        key: EffectKey | None,
        inputs: VerdictInputs,
    ) -> CallResult:
        if key is not None:
            await self._checkpoint.before_send(key)
        started = time.monotonic()
        mark = self._session.stderr_mark(request.server)
        answer = await self._session.send(request)
        if answer is None:
            return self._unsent(call, target, inputs.recorded)
        seconds = round(time.monotonic() - started, 6)
        if key is not None:
            self._checkpoint.after_send(key, answer)
        replayed = self._classifier.answered(call, target, answer, self._session.evidence)
        failed = replayed.outcome is not Outcome.SUCCESS
        stderr = await self._session.stderr_since(request, mark) if failed else ""
        if key is not None and stderr:
            self._checkpoint.after_send(key, answer, stderr)
        inputs = replace(inputs, seconds=seconds, stderr=shortened(stderr))
        return self._answered(call, request, answer, with_stderr(replayed, stderr), inputs)

    def _answered(
        self, call: Call, request: ToolRequest, answer: Answer, replayed: Judgement, inputs: VerdictInputs
    ) -> CallResult:
        verdict = verdict_of_answer(self._compared(call, request, answer, replayed, inputs))
        result = CallResult(call, verdict, request.server, request.tool, request.key, answer)
        result = self._with_cause(result)
        if not self._session.stateful(request.server):
            self._checkpoint.keep(result)
        return result

    def _compared(
        self, call: Call, request: ToolRequest, answer: Answer, replayed: Judgement, inputs: VerdictInputs
    ) -> VerdictInputs:
        """What the new answer says, beside what was recorded and what happened before."""
        if inputs.rebound:
            replayed = replayed.model_copy(update={"findings": (*replayed.findings, "rebound")})
        return replace(
            inputs,
            replayed=replayed,
            comparison=compare(call.answer, answer) if call.answer is not None else None,
            gap=self._gaps.before(request.server, self._graph.ancestors(call.position)),
            missing_dependency=missing_program(answer) if call.answer and not missing_program(call.answer) else None,
            absent_path=absent_path(request.arguments, answer) if replayed.outcome in FAILURES else None,
        )

    def _unsent(self, call: Call, target: CallTarget, recorded: Judgement | None) -> CallResult:
        judgement = self._classifier.not_reissued(target, recorded, offline=self._session.evidence == "stored")
        verdict = verdict_unsent(judgement, recorded)
        return CallResult(call, verdict, target.server, target.tool)

    def _bound(self, call: Call) -> tuple[dict[str, Any], tuple[Rebinding, ...]]:
        if not self._rebinding:
            return call.arguments or {}, ()
        arguments, rebound = rebind(call, self.edges, self._recorded, self._answers)
        return arguments, tuple(rebound)

    def _end_step(self, step: Step) -> None:
        """End a step: what its calls left behind for the later ones."""
        for call in step.calls:
            result = self._with_cause(self._results[call.position])
            self._results[call.position] = result
            if result.answer is not None:
                self._answers[call.position] = result.answer
            if result.verdict.outcome is Outcome.SUCCESS:
                self._classifier.remember(call)
            if self._leaves_gap(result):
                self._gaps.add(call.position, result.server if self._classifier.in_fleet(result.server) else None)
        sent = (self._sent[call.position] for call in step.calls if call.position in self._sent)
        self._state = next_state(self._state, sent)

    def _leaves_gap(self, result: CallResult) -> bool:
        """Whether the call may have changed something when it was recorded, and did not happen alike when replayed."""
        verdict = result.verdict
        if result.call.position in self._not_repeated and self._session.stateful(result.server or ""):
            return True
        if self._classifier.is_read_only(result.server, result.tool):
            return False
        if result.answer is not None and not isinstance(result.answer, TransportFault):
            return verdict.divergence not in (None, "state-gap") or verdict.replayed is Outcome.INCONCLUSIVE
        return not (verdict.recorded in FAILURES or verdict.outcome in FAILURES)

    def _with_cause(self, result: CallResult) -> CallResult:
        if result.verdict.caused_by or result.verdict.outcome not in FAILURES:
            return result
        failed = {
            position: other.verdict.outcome
            for position, other in self._results.items()
            if other.verdict.outcome in FAILURES and other.verdict.rule not in HARMLESS
        }
        failed[result.call.position] = result.verdict.outcome
        root = self._graph.root_cause(result.call.position, failed)
        if root is None or root == result.call.position:
            return result
        verdict = result.verdict.model_copy(update={"caused_by": root})
        return replace(result, verdict=verdict)


def name_of(result: CallResult) -> str:
    """`server/tool`, or the name as written where no server is known."""
    return qualified_name(result.server, result.tool) if result.server else result.call.name or ""


def _with_finding(result: CallResult, finding: str) -> CallResult:
    verdict = result.verdict
    return replace(result, verdict=verdict.model_copy(update={"findings": (*verdict.findings, finding)}))


def _interrupted(recorded: Judgement | None) -> Verdict:
    judgement = Judgement(
        outcome=Outcome.INCONCLUSIVE,
        reason=Reason.INTERRUPTED,
        rule="replay.interrupted",
        evidence="replay",
        message="The replay was cut off after this call had been sent; it has effects, so it is not sent again.",
    )
    return verdict_unsent(judgement, recorded)
