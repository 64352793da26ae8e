"""One verdict out of what the stages of the classification said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from replay.drift import Comparison
from replay.records import FAILURES, Divergence, Judgement, Outcome, Reason, Rebinding, Verdict

HARMLESS = frozenset({"answer.exists-already"})
"""Rules of failures that cannot make a later call fail: what it would have made is there."""


@dataclass(frozen=True)
class VerdictInputs:
    """What is known of a call once it was sent, or was not."""

    recorded: Judgement | None = None
    """Of the recorded answer."""
    replayed: Judgement | None = None
    """Of the answer that came now."""
    comparison: Comparison | None = None
    gap: str | None = None
    """The state gap that the call stands behind."""
    machine_lacks: str | None = None
    """A program or module that the new answer says is not on this machine."""
    rebound: tuple[Rebinding, ...] = ()
    seconds: float | None = None


def verdict_unsent(judgement: Judgement, recorded: Judgement | None) -> Verdict:
    """The verdict of a call that was not sent: an earlier stage decided it, or it was kept back."""
    return _verdict(judgement, VerdictInputs(recorded=recorded))


def verdict_of_answer(findings: VerdictInputs) -> Verdict:
    """The verdict of a call that was re-issued: its new answer decides, unless a state gap tainted the replay."""
    replayed, recorded = findings.replayed, findings.recorded
    if replayed is None:
        raise ValueError("a call that was re-issued has a judgement of its answer")
    if not _disagree(recorded, replayed):
        different = findings.comparison is not None and findings.comparison.drift == "different"
        return _verdict(replayed, findings, gap=findings.gap if different else None)
    if findings.gap is not None:
        return _tainted(findings, findings.gap, replayed)
    if recorded is not None and findings.machine_lacks is not None:
        return _on_another_machine(findings, recorded, findings.machine_lacks)
    return _verdict(replayed, findings, divergence=_divergence(findings))


def _disagree(recorded: Judgement | None, replayed: Judgement) -> bool:
    if recorded is None:
        return replayed.outcome in FAILURES
    return recorded.outcome != replayed.outcome


def _tainted(findings: VerdictInputs, gap: str, replayed: Judgement) -> Verdict:
    recorded = findings.recorded
    now = (
        f"Replayed it is {replayed.outcome} ({replayed.message.rstrip('.')}), but {gap} before it could not be replayed"
    )
    if recorded is None:
        judgement = replayed.model_copy(
            update={
                "outcome": Outcome.INCONCLUSIVE,
                "reason": Reason.STATE_GAP,
                "rule": "replay.state-gap",
                "certainty": "certain",
                "message": f"{now} and may have made what this call needs.",
            }
        )
    else:
        judgement = recorded.model_copy(
            update={
                "reason": recorded.reason or Reason.STATE_GAP,
                "message": f"{recorded.message} [state-gap: judged by the recorded answer. {now}.]",
            }
        )
    return _verdict(judgement, findings, gap=gap, divergence="state-gap" if recorded else None)


def _on_another_machine(findings: VerdictInputs, recorded: Judgement, lacks: str) -> Verdict:
    judgement = recorded.model_copy(
        update={
            "message": f"{recorded.message} [judged by the recorded answer: this machine lacks {lacks}, "
            "which the one that was recorded on had.]"
        }
    )
    return _verdict(judgement, findings, divergence="environment")


def _divergence(findings: VerdictInputs) -> Divergence | None:
    """Why an untainted replay disagrees with the recording, as far as the answers tell."""
    recorded, replayed, comparison = findings.recorded, findings.replayed, findings.comparison
    if recorded is None or replayed is None or recorded.outcome == replayed.outcome:
        return None
    if Outcome.INCONCLUSIVE in (recorded.outcome, replayed.outcome):
        return "environment"
    return "volatile" if comparison and comparison.drift == "volatile" else "server-version"


def _verdict(judgement: Judgement, findings: VerdictInputs, **fields: Any) -> Verdict:
    recorded, replayed, comparison = findings.recorded, findings.replayed, findings.comparison
    known: dict[str, Any] = {
        "recorded": recorded.outcome if recorded else None,
        "recorded_rule": recorded.rule if recorded else None,
        "replayed": replayed.outcome if replayed else None,
        "replayed_rule": replayed.rule if replayed else None,
        "drift": comparison.drift if comparison else None,
        "difference": comparison.difference if comparison else None,
        "rebound": findings.rebound,
        "seconds": findings.seconds,
    }
    return Verdict(**{**dict(judgement), **known, **fields})
