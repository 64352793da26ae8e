"""One trajectory, replayed from its first step to its last."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import anyio

from replay.dag import Graph, infer_edges, rebind
from replay.dag.drift import compare
from replay.errors import ReplayError
from replay.outcomes import CallTarget, Classifier, Registry
from replay.outcomes.second_look import second_look
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
from replay.records.digests import EffectKey
from replay.replayer.absent_path import absent_path
from replay.replayer.backend import BackendSession, ToolRequest
from replay.replayer.checkpoint import Checkpoint, SentBefore
from replay.replayer.gaps import Gaps
from replay.replayer.input_calls import keys_of
from replay.replayer.keys import answer_key, next_state
from replay.replayer.meanwhile import Meanwhile
from replay.replayer.missing_dependency import missing_program
from replay.replayer.server_stderr import shortened, with_stderr
from replay.replayer.verdicts import (
    HARMLESS,
    VerdictInputs,
    verdict_of_answer,
    verdict_of_replay_fault,
    verdict_unsent,
)


class _Asked(NamedTuple):
    """A call of which nothing more is to be asked."""

    call: Call
    answer: Answer | None
    result: Callable[[], CallResult]
    """Makes the verdict of it, and keeps that."""


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
        self._unsettled: Callable[[], None] | None = None
        self._effect_keys: dict[str, EffectKey] | None = None
        self._not_repeated: set[str] = set()
        """Calls that had their answer from an earlier replay: what they did is not in this sandbox."""

    async def run(self, on_call: Callable[[], None] | None = None) -> list[CallResult]:
        """Replay the steps in order, the calls of a step together; independent calls go on after a failure.

        Args:
            on_call: called for each call that has its verdict.
        """
        self._on_call = on_call or (lambda: None)
        try:
            for step in self._trajectory.steps:
                if len(step.calls) == 1:
                    await self._replay_alone(step, step.calls[0])
                else:
                    await self._replay_together(step)
        finally:
            self._settle()
        self._look_again()
        results = (self._results[call.position] for call in self._trajectory.calls())
        return [result for result in results if self._wanted(name_of(result))]

    def _look_again(self) -> None:
        """Judge the answers that said nothing by the tool's other answers and by the model's next words.

        Those speak of the recorded answers, so a call counts whose verdict rests on its recording, or on the same.
        """
        verdicts = {
            position: result.verdict
            for position, result in self._results.items()
            if result.verdict.evidence == "recorded" or result.verdict.drift in ("same", "volatile")
        }
        for position, verdict in second_look(self._trajectory, verdicts).items():
            of_both = {"recorded": verdict.outcome} if verdict.recorded is not None else {}
            amended = verdict.model_copy(update=of_both)
            self._results[position] = replace(self._results[position], verdict=amended)

    async def _replay_alone(self, step: Step, call: Call) -> None:
        """Ask the only call of a step; what is to be made of its answer waits until the next call is on its way."""
        asked = await self._asked(call)
        self._settle()
        self._advance(step, {call.position: asked.answer})
        self._unsettled = partial(self._conclude, step, asked)

    async def _replay_together(self, step: Step) -> None:
        self._settle()
        asked: list[_Asked] = []

        async def ask(call: Call) -> None:
            asked.append(await self._asked(call))
            self._enter(asked[-1])

        async with anyio.create_task_group() as group:
            for call in step.calls:
                group.start_soon(ask, call)
        self._advance(step, {one.call.position: one.answer for one in asked})
        self._learn(step)

    def _settle(self) -> None:
        """Make of the last answer what has been put off; every later judgement builds on it."""
        unsettled, self._unsettled = self._unsettled, None
        if unsettled is not None:
            unsettled()

    def _conclude(self, step: Step, asked: _Asked) -> None:
        self._enter(asked)
        self._learn(step)

    def _enter(self, asked: _Asked) -> None:
        call = asked.call
        self._results[call.position] = _guarded(call, asked.result)
        self._on_call()

    async def _asked(self, call: Call) -> _Asked:
        kept = self._checkpoint.results.get(call.position)
        if kept is not None:
            return _settled(kept)
        try:
            return await self._ask(call)
        except Exception as problem:  # noqa: BLE001 - what goes wrong with one call must not end the others
            return _settled(_fault_of(call, problem))

    async def _ask(self, call: Call) -> _Asked:
        target = self._classifier.target(call)
        recorded = Meanwhile(partial(self._recorded_judgement, call, target))
        if not target.listed or target.server is None or target.digest is None:
            decided = self._classifier.before_sending(call, recorded.result())
        else:  # a tool that is listed exists, whatever the recording says
            decided = self._classifier.before_sending(call, None)
        if decided is not None:
            return _settled(CallResult(call, verdict_unsent(decided, recorded.result()), target.server, target.tool))
        if target.server is None or target.digest is None:
            return self._unsent(call, target, recorded.result())
        arguments, rebound = self._bound(call)
        request = self._request(call, target.server, target, arguments)
        key = self._effect_key(call) if self._session.has_effects(request.server, request.tool) else None
        sent = self._checkpoint.sent_before(key) if key is not None else None
        if sent is not None:
            inputs = VerdictInputs(recorded.result(), rebound=rebound)
            return self._not_sent_again(call, target, request, sent, inputs)
        if not self._session.stateful(request.server) and not self._wanted(qualified_name(*request[:2])):
            return self._unsent(call, target, recorded.result())
        if not self._session.may_send(request.server, request.tool):
            return self._unsent(call, target, recorded.result(), "withheld")
        return await self._send(call, target, request, key, recorded, rebound)

    def _recorded_judgement(self, call: Call, target: CallTarget) -> Judgement | None:
        self._settle()
        return self._classifier.recorded(call, target)

    def _not_sent_again(
        self, call: Call, target: CallTarget, request: ToolRequest, sent: SentBefore, inputs: VerdictInputs
    ) -> _Asked:
        """The verdict of a call with effects that an earlier replay sent."""
        self._not_repeated.add(call.position)
        if sent.answer is None:
            return _settled(CallResult(call, _interrupted(inputs.recorded), target.server, target.tool))
        replayed = self._classifier.answered(call, target, sent.answer, self._session.evidence)
        if sent.stderr:
            inputs, replayed = replace(inputs, stderr=shortened(sent.stderr)), with_stderr(replayed, sent.stderr)
        return _Asked(call, sent.answer, partial(self._answered, call, request, sent.answer, replayed, inputs))

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
        recorded: Meanwhile[Judgement | None],
        rebound: tuple[Rebinding, ...],
    ) -> _Asked:
        if key is not None:
            await self._checkpoint.before_send(key)
        started = time.monotonic()
        mark = self._session.stderr_mark(request.server)
        answer = await self._session.send(request, recorded)
        if answer is None:
            return self._unsent(call, target, recorded.result())
        seconds = round(time.monotonic() - started, 6)
        if key is not None:
            self._checkpoint.after_send(key, answer)
        inputs = VerdictInputs(recorded.result(), rebound=rebound, seconds=seconds)
        replayed = self._classifier.answered(call, target, answer, self._session.evidence)
        failed = replayed.outcome is not Outcome.SUCCESS
        stderr = await self._session.stderr_since(request, mark) if failed else ""
        if stderr:
            inputs, replayed = replace(inputs, stderr=shortened(stderr)), with_stderr(replayed, stderr)
        if key is not None and stderr:
            self._checkpoint.after_send(key, answer, stderr)
        return _Asked(call, answer, partial(self._answered, call, request, answer, replayed, inputs))

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

    def _unsent(self, call: Call, target: CallTarget, recorded: Judgement | None, *findings: str) -> _Asked:
        judgement = self._classifier.not_reissued(target, recorded, offline=self._session.evidence == "stored")
        verdict = verdict_unsent(judgement, recorded)
        if findings:
            verdict = verdict.model_copy(update={"findings": (*verdict.findings, *findings)})
        return _settled(CallResult(call, verdict, target.server, target.tool))

    def _bound(self, call: Call) -> tuple[dict[str, Any], tuple[Rebinding, ...]]:
        if not self._rebinding:
            return call.arguments or {}, ()
        arguments, rebound = rebind(call, self.edges, self._recorded, self._answers)
        return arguments, tuple(rebound)

    def _advance(self, step: Step, answers: Mapping[str, Answer | None]) -> None:
        """What the later calls are sent with: the answers of a step, and what was sent in it."""
        self._answers.update((position, answer) for position, answer in answers.items() if answer is not None)
        sent = (self._sent[call.position] for call in step.calls if call.position in self._sent)
        self._state = next_state(self._state, sent)

    def _learn(self, step: Step) -> None:
        """What the later calls are judged by: the verdicts of a step."""
        for call in step.calls:
            result = self._with_cause(self._results[call.position])
            self._results[call.position] = result
            if result.verdict.outcome is Outcome.SUCCESS:
                self._classifier.remember(call)
            if self._leaves_gap(result):
                self._gaps.add(call.position, result.server if self._classifier.in_fleet(result.server) else None)

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


def _settled(result: CallResult) -> _Asked:
    return _Asked(result.call, result.answer, lambda: result)


def _guarded(call: Call, result: Callable[[], CallResult]) -> CallResult:
    try:
        return result()
    except Exception as problem:  # noqa: BLE001 - what goes wrong with one call must not end the others
        return _fault_of(call, problem)


def _fault_of(call: Call, problem: Exception) -> CallResult:
    """The verdict of a call at which the replay failed; raises what no other call would fare better with."""
    if isinstance(problem, ReplayError | sqlite3.Error):  # the fleet file or the run file
        raise problem
    return CallResult(call, verdict_of_replay_fault(problem), call.server, call.tool)


def _interrupted(recorded: Judgement | None) -> Verdict:
    judgement = Judgement(
        outcome=Outcome.INCONCLUSIVE,
        reason=Reason.INTERRUPTED,
        rule="replay.interrupted",
        evidence="replay",
        message="The replay was cut off after this call had been sent; it has effects, so it is not sent again.",
    )
    return verdict_unsent(judgement, recorded)
