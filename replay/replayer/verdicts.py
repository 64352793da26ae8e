"""One verdict out of what the stages of the classification found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from replay.dag.drift import AnswerComparison
from replay.json_values import without_lone_surrogates
from replay.records import FAILURES, Divergence, Judgement, Outcome, Reason, Rebinding, Verdict
from replay.safety.text import one_line

HARMLESS = frozenset({"answer.exists-already"})
"""Rules of failures that cannot make a later call fail: what it would have made is there."""

_MAX_FAULT_LENGTH = 200


@dataclass(frozen=True)
class VerdictInputs:
    """What is known of a call once it was sent, or was not."""

    recorded: Judgement | None = None
    """Of the recorded answer."""
    replayed: Judgement | None = None
    """Of the answer that came when it was replayed."""
    comparison: AnswerComparison | None = None
    gap: str | None = None
    """The state gap that the call stands behind."""
    missing_dependency: str | None = None
    """A program or module that the new answer says is not on this machine."""
    absent_path: str | None = None
    """An absolute path in the arguments that the new answer, an error, speaks of."""
    stderr: str | None = None
    """What the server wrote to stderr meanwhile."""
    rebound: tuple[Rebinding, ...] = ()
    seconds: float | None = None


def verdict_unsent(judgement: Judgement, recorded: Judgement | None) -> Verdict:
    """The verdict of a call that was not sent: an earlier stage decided it, or it was kept back."""
    return _verdict(judgement, VerdictInputs(recorded=recorded))


def verdict_of_answer(inputs: VerdictInputs) -> Verdict:
    """The verdict of a call that was re-issued: its new answer decides, unless a state gap tainted the replay."""
    replayed, recorded = inputs.replayed, inputs.recorded
    if replayed is None:
        raise ValueError("a call that was re-issued has a judgement of its answer")
    if not _disagree(recorded, replayed):
        different = inputs.comparison is not None and inputs.comparison.drift == "different"
        return _verdict(replayed, inputs, gap=inputs.gap if different else None)
    if inputs.gap is not None and not _breaks_its_schema(replayed):
        return _tainted(inputs, inputs.gap, replayed)
    if recorded is not None and inputs.missing_dependency is not None:
        lacks = f"this machine lacks {inputs.missing_dependency}, which the one that was recorded on had."
        return _on_another_machine(inputs, recorded, lacks)
    if recorded is not None and recorded.outcome is Outcome.SUCCESS and inputs.absent_path is not None:
        return _without_its_files(inputs, recorded, inputs.absent_path)
    return _verdict(replayed, inputs, divergence=_divergence(inputs))


def verdict_of_replay_fault(problem: Exception) -> Verdict:
    """The verdict of a call at which the replay itself failed: the others go on."""
    judgement = Judgement(
        outcome=Outcome.INCONCLUSIVE,
        reason=Reason.REPLAY_FAULT,
        rule="replay.fault",
        evidence="replay",
        message=f"The replay of this call failed: {fault_in_words(problem)}.",
    )
    return _verdict(judgement, VerdictInputs())


def fault_in_words(problem: BaseException) -> str:
    """One line on an exception that nobody expected; of a group, on the first one in it."""
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    return without_lone_surrogates(one_line(f"{type(problem).__name__}: {problem}", _MAX_FAULT_LENGTH)).rstrip(".")


def _disagree(recorded: Judgement | None, replayed: Judgement) -> bool:
    if recorded is None:
        return replayed.outcome in FAILURES
    return recorded.outcome != replayed.outcome


def _tainted(inputs: VerdictInputs, gap: str, replayed: Judgement) -> Verdict:
    recorded = inputs.recorded
    replay = (
        f"Replayed it is {replayed.outcome} ({replayed.message.rstrip('.')}), but {gap} before it could not be replayed"
    )
    if recorded is None:
        judgement = replayed.model_copy(
            update={
                "outcome": Outcome.INCONCLUSIVE,
                "reason": Reason.STATE_GAP,
                "rule": "replay.state-gap",
                "certainty": "certain",
                "message": f"{replay} and may have made what this call needs.",
            }
        )
    else:
        judgement = recorded.model_copy(
            update={
                "reason": recorded.reason or Reason.STATE_GAP,
                "message": f"{recorded.message} [state-gap: judged by the recorded answer. {replay}.]",
            }
        )
    return _verdict(judgement, inputs, gap=gap, divergence="state-gap" if recorded else None)


def _breaks_its_schema(replayed: Judgement) -> bool:
    """Whether the call failed by what its own arguments break: no earlier call can have caused that."""
    return replayed.outcome is Outcome.INVALID_ARGUMENTS and bool(replayed.violations)


def _on_another_machine(inputs: VerdictInputs, recorded: Judgement, lacks: str) -> Verdict:
    message = f"{recorded.message} [judged by the recorded answer: {lacks}]"
    judgement = recorded.model_copy(update={"message": message})
    return _verdict(judgement, inputs, divergence="environment")


def _without_its_files(inputs: VerdictInputs, recorded: Judgement, path: str) -> Verdict:
    judgement = recorded.model_copy(
        update={
            "message": f"{recorded.message} [judged by the recorded answer: {path} was there when it was recorded, and "
            "is not in the workspace here.]"
        }
    )
    return _verdict(judgement, inputs, divergence="environment", absent_path=path)


def _divergence(inputs: VerdictInputs) -> Divergence | None:
    """Why an untainted replay disagrees with the recording, as far as the answers tell."""
    recorded, replayed, comparison = inputs.recorded, inputs.replayed, inputs.comparison
    if recorded is None or replayed is None or recorded.outcome == replayed.outcome:
        return None
    if Outcome.INCONCLUSIVE in (recorded.outcome, replayed.outcome):
        return "environment"
    return "volatile" if comparison and comparison.drift == "volatile" else "server-version"


def _verdict(judgement: Judgement, inputs: VerdictInputs, **fields: Any) -> Verdict:
    recorded, replayed, comparison = inputs.recorded, inputs.replayed, inputs.comparison
    known: dict[str, Any] = {
        "recorded": recorded.outcome if recorded else None,
        "recorded_rule": recorded.rule if recorded else None,
        "replayed": replayed.outcome if replayed else None,
        "replayed_rule": replayed.rule if replayed else None,
        "drift": comparison.drift if comparison else None,
        "difference": comparison.difference if comparison else None,
        "rebound": inputs.rebound,
        "stderr": inputs.stderr,
        "seconds": inputs.seconds,
    }
    return Verdict(**{**vars(judgement), **known, **fields})
