"""One trajectory, replayed from its first step to its last."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import anyio

from replay.dag import Graph, rebind
from replay.dag.documents import as_text
from replay.dag.drift import compare_answers, volatile_pointers
from replay.dag.history import failed_visibly
from replay.dag.rebinding import new_values
from replay.errors import ReplayError
from replay.interpreter import Exchange
from replay.outcomes import CallTarget, Classifier, Registry
from replay.outcomes.second_look import second_look
from replay.records import (
    FAILURES,
    Answer,
    Call,
    CallResult,
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
from replay.replayer.backends import BackendSession, ToolRequest, answer_key, next_state
from replay.replayer.journal import Checkpoint, keys_of
from replay.replayer.plan import Options, ReplayContext
from replay.replayer.recorded_names import servers_named
from replay.replayer.verdict import (
    ALIKE,
    HARMLESS,
    Gaps,
    VerdictInputs,
    absent_path,
    missing_program,
    recorded_by_flag,
    shortened,
    verdict_of_answer,
    verdict_of_replay_fault,
    verdict_unsent,
    with_stderr,
)
from replay.runfile.effects_journal import EffectKey, SentCall


class TrajectoryReplayer:
    """Replays one trajectory on a session.

    Args:
        trajectory: as it was read.
        session: where answers come from.
        registry: the tools that exist.
        rules: the user's own rules, by server.
        checkpoint: what survives a crash.
        resumes: whether verdicts that the checkpoint has stand, and new ones are kept in it; what was sent counts in
            any case.
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
        resumes: bool = True,
        rebinding: bool = True,
        wanted: Callable[[str], bool] = lambda name: True,
    ) -> None:
        self._trajectory, self._session, self._checkpoint = trajectory, session, checkpoint
        self._resumes, self._rebinding, self._wanted = resumes, rebinding, wanted
        self._classifier = Classifier(registry, rules)
        self._registry = registry
        self.graph = Graph(trajectory)
        self._gaps = Gaps(session.workspace_servers)
        self._state = session.state
        self._results: dict[str, CallResult] = {}
        self._sent: dict[str, tuple[str, dict[str, Any]]] = {}
        self._recorded = {call.position: call.answer for call in trajectory.calls() if call.answer is not None}
        self._answers: dict[str, Answer] = {}
        self._drawn: dict[str, str] = {}
        """Recorded ids, each with what its server drew in its place."""
        self._effect_keys: dict[str, EffectKey] | None = None
        self._not_repeated: set[str] = set()
        """Calls that had their answer from an earlier replay: what they did is not in this sandbox."""

    async def run(self, on_call: Callable[[], None] = lambda: None) -> list[CallResult]:
        """Replay the steps in order, the calls of a step together; independent calls go on after a failure.

        Args:
            on_call: called for each call that has its verdict.
        """
        for step in self._trajectory.steps:
            if len(step.calls) == 1:
                await self._replay(step.calls[0], on_call)
            else:
                async with anyio.create_task_group() as group:
                    for call in step.calls:
                        group.start_soon(self._replay, call, on_call)
            self._close_step(step)
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
            if result.verdict.evidence == "recorded" or result.verdict.drift in ALIKE
        }
        for position, verdict in second_look(self._trajectory, verdicts).items():
            of_both = {"recorded": verdict.outcome} if verdict.recorded is not None else {}
            amended = verdict.model_copy(update=of_both)
            self._results[position] = replace(self._results[position], verdict=amended)

    async def _replay(self, call: Call, on_call: Callable[[], None]) -> None:
        """Give a call its verdict, whatever goes wrong with it: the others go on."""
        result = self._checkpoint.results.get(call.position) if self._resumes else None
        if result is None:
            target = self._classifier.target(call)
            try:
                result = self._decided(call, target) or await self._sent_and_judged(call, target)
            except (ReplayError, sqlite3.Error):  # the fleet file or the run file: no other call would fare better
                raise
            except Exception as problem:  # noqa: BLE001 - what goes wrong with one call must not end the others
                result = CallResult(call, verdict_of_replay_fault(problem), call.server, call.tool)
        self._results[call.position] = result
        on_call()

    def _decided(self, call: Call, target: CallTarget) -> CallResult | None:
        """The result of a call that its format, the registry or its arguments decide; None where its answer must."""
        listed = target.listed and target.server is not None and target.digest is not None
        recorded = self._classifier.recorded(call, target) if not listed else None
        decided = self._classifier.before_sending(call, recorded)  # what is listed exists, whatever was recorded
        if decided is not None:
            recorded = recorded or self._classifier.recorded(call, target)
            return CallResult(call, verdict_unsent(decided, recorded), target.server, target.tool)
        return None if listed else self._unsent(call, target, recorded)

    async def _sent_and_judged(self, call: Call, target: CallTarget) -> CallResult:
        """Send a call whose tool is listed, wait, judge what came and what was recorded, compare, and save."""
        arguments, rebound = self._bound(call)
        request = self._request(call, target, arguments)
        key = self._effect_key(call) if self._session.has_effects(request.server, request.tool) else None
        before = self._checkpoint.sent_before(key) if key is not None else None
        if before is not None and not before.is_placed:
            return self._unsent(call, target, self._classifier.recorded(call, target), "withheld")
        if before is not None:
            return self._not_sent_again(call, target, request, before, rebound)
        if not self._session.stateful(request.server) and not self._wanted(qualified_name(*request[:2])):
            return self._unsent(call, target, self._classifier.recorded(call, target))
        if not self._session.may_send(request):
            return self._unsent(call, target, self._classifier.recorded(call, target), "withheld")
        if key is not None:
            await self._checkpoint.before_send(key)
        exchange = Exchange()
        answer = await self._session.send(request, exchange)
        recorded = self._classifier.recorded(call, target)
        if answer is None:
            return self._unsent(call, target, recorded)
        if key is not None:
            self._checkpoint.after_send(key, answer)
        sent = call.model_copy(update={"arguments": arguments}) if rebound else call
        replayed = self._classifier.answered(sent, target, answer, self._session.evidence)
        failed = replayed.outcome is not Outcome.SUCCESS
        stderr = await self._session.stderr_since(request, exchange) if failed else ""
        if key is not None and stderr:
            self._checkpoint.after_send(key, answer, stderr)
        inputs = VerdictInputs(recorded, replayed, rebound=rebound, seconds=exchange.seconds)
        return self._judged(call, request, answer, _with_stderr(inputs, stderr))

    def _not_sent_again(
        self,
        call: Call,
        target: CallTarget,
        request: ToolRequest,
        sent: SentCall,
        rebound: tuple[Rebinding, ...],
    ) -> CallResult:
        """The verdict of a call with effects that an earlier replay sent."""
        self._not_repeated.add(call.position)
        recorded = self._classifier.recorded(call, target)
        if sent.answer is None:
            return CallResult(call, _interrupted(recorded), target.server, target.tool)
        as_sent = call.model_copy(update={"arguments": request.arguments}) if rebound else call
        replayed = self._classifier.answered(as_sent, target, sent.answer, self._session.evidence)
        inputs = _with_stderr(VerdictInputs(recorded, replayed, rebound=rebound), sent.stderr)
        return self._judged(call, request, sent.answer, inputs)

    def _effect_key(self, call: Call) -> EffectKey:
        if self._effect_keys is None:
            self._effect_keys = keys_of(self._trajectory.calls(), self._registry)
        return self._effect_keys[call.position]

    def _request(self, call: Call, target: CallTarget, arguments: dict[str, Any]) -> ToolRequest:
        server, state = target.server or "", None
        if self._session.stateful(server):
            state = self._state
            self._sent[call.position] = (qualified_name(server, target.tool), arguments)
        return ToolRequest(
            server, target.tool, arguments, answer_key(target.digest or "", target.tool, arguments, state)
        )

    def _judged(self, call: Call, request: ToolRequest, answer: Answer, inputs: VerdictInputs) -> CallResult:
        """The verdict by the new answer, beside what was recorded and what happened before; it is saved."""
        replayed = inputs.replayed
        failed = replayed is not None and replayed.outcome in FAILURES
        if replayed is not None and inputs.rebound:
            replayed = replayed.model_copy(update={"findings": (*replayed.findings, "rebound")})
        comparison = None
        if call.answer is not None:
            if self._rebinding:  # ids that were rebound, or will be, are volatile
                self._drawn.update((as_text(value.recorded), as_text(value.replayed)) for value in inputs.rebound)
                self._drawn.update(new_values(call, self.graph.edges, call.answer, answer))
            comparison = compare_answers(call.answer, answer, self._drawn)
        inputs = replace(
            inputs,
            replayed=replayed,
            comparison=comparison,
            gap=self._gaps.before(request.server, self.graph.ancestors(call.position)),
            missing_dependency=missing_program(answer) if call.answer and not missing_program(call.answer) else None,
            absent_path=absent_path(request.arguments, answer) if failed else None,
        )
        if call.answer is not None:
            inputs = replace(inputs, recorded=recorded_by_flag(inputs, call.answer, answer))
        verdict = verdict_of_answer(inputs)
        result = self._with_cause(CallResult(call, verdict, request.server, request.tool, request.key, answer))
        if self._resumes and not self._session.stateful(request.server):
            self._checkpoint.keep(result)
        return result

    def _unsent(self, call: Call, target: CallTarget, recorded: Judgement | None, *findings: str) -> CallResult:
        judgement = self._classifier.not_reissued(target, recorded, offline=self._session.evidence == "stored")
        verdict = verdict_unsent(judgement, recorded)
        if findings:
            verdict = verdict.model_copy(update={"findings": (*verdict.findings, *findings)})
        return CallResult(call, verdict, target.server, target.tool)

    def _bound(self, call: Call) -> tuple[dict[str, Any], tuple[Rebinding, ...]]:
        if not self._rebinding:
            return call.arguments or {}, ()
        arguments, rebound = rebind(call, self.graph.edges, self._recorded, self._answers)
        return arguments, tuple(rebound)

    def _close_step(self, step: Step) -> None:
        """What the later calls are sent with and judged by: the answers and verdicts of a step."""
        for call in step.calls:
            result = self._results[call.position] = self._with_cause(self._results[call.position])
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
            # a tool that only reads may still load what later calls are about
            by_recording = verdict.outcome is Outcome.SUCCESS and verdict.replayed in FAILURES
            return by_recording and verdict.divergence == "environment"
        if result.answer is not None and not isinstance(result.answer, TransportFault):
            failed_before = failed_visibly(result.call.answer) or verdict.drift in ALIKE
            if failed_before and failed_visibly(result.answer):
                return False
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
        root = self.graph.root_cause(result.call.position, failed)
        if root is None or root == result.call.position:
            return result
        verdict = result.verdict.model_copy(update={"caused_by": root})
        return replace(result, verdict=verdict)


def name_of(result: CallResult) -> str:
    """`server/tool`, or the name as written where no server is known."""
    return qualified_name(result.server, result.tool) if result.server else result.call.name or ""


def _with_stderr(inputs: VerdictInputs, stderr: str) -> VerdictInputs:
    """What is known of a call, and what its server wrote to stderr meanwhile."""
    if not stderr or inputs.replayed is None:
        return inputs
    return replace(inputs, replayed=with_stderr(inputs.replayed, stderr), stderr=shortened(stderr))


def _interrupted(recorded: Judgement | None) -> Verdict:
    judgement = Judgement(
        outcome=Outcome.INCONCLUSIVE,
        reason=Reason.INTERRUPTED,
        rule="replay.interrupted",
        evidence="replay",
        message="The replay was cut off after this call had been sent; it has effects, so it is not sent again.",
    )
    return verdict_unsent(judgement, recorded)


async def replay_trials(
    trajectory: Trajectory,
    context: ReplayContext,
    options: Options,
    checkpoint: Checkpoint,
    on_call: Callable[[], None],
) -> tuple[Trajectory, list[CallResult]]:
    """Replay a trajectory; gives it with its data edges, as far as they are wanted, and its verdicts.

    Args:
        trajectory: as `context.as_named_here` gives it.
        context: what it is judged by.
        options: how often, and how.
        checkpoint: keeps the verdicts of the first trial, and knows what any of them sent.
        on_call: called for each call of the first trial that has its verdict.
    """
    names = frozenset(servers_named(trajectory, context.registry.server_names))
    trials: list[list[CallResult]] = []
    for trial in range(max(1, options.trials)):
        async with context.backend.session(trajectory, names) as session:
            replayer = TrajectoryReplayer(
                trajectory,
                session,
                registry=context.registry,
                rules=context.rules,
                checkpoint=checkpoint,
                resumes=trial == 0,
                rebinding=options.rebinding,
                wanted=options.wanted,
            )
            trials.append(await (replayer.run(on_call) if trial == 0 else replayer.run()))
        graph = replayer.graph
        trajectory = trajectory.model_copy(update={"edges": graph.edges if options.all_edges else graph.known_edges})
    return trajectory, merge_trials(trials) if len(trials) > 1 else trials[0]


def merge_trials(trials: Sequence[Sequence[CallResult]]) -> list[CallResult]:
    """The first trial's verdicts, each with how often each outcome came, and what moved from trial to trial.

    Args:
        trials: one list a trial, each with the same calls in the same order.
    """
    return [_merge(calls) for calls in zip(*trials, strict=True)]


def _happened_again(first: CallResult, call: CallResult) -> bool:
    """Whether a later trial did the same as the first: it sent the call, and nothing before it was missing."""
    return call.answer is not None and call.verdict.seconds is not None and call.verdict.gap == first.verdict.gap


def _merge(calls: Sequence[CallResult]) -> CallResult:
    first = calls[0]
    sent = [first, *(call for call in calls[1:] if _happened_again(first, call))]
    if first.answer is None or len(sent) < 2:
        return first
    outcomes = Counter(str(call.verdict.replayed or call.verdict.outcome) for call in sent)
    volatile = volatile_pointers([call.answer for call in sent if call.answer is not None])
    flaky = ("flaky",) if len(outcomes) > 1 else ()
    verdict = first.verdict.model_copy(
        update={
            "trials": dict(outcomes.most_common()),
            "volatile": volatile,
            "findings": (*first.verdict.findings, *flaky),
            "certainty": "likely" if flaky and first.verdict.certainty == "certain" else first.verdict.certainty,
        }
    )
    return replace(first, verdict=verdict)
