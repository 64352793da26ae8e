"""Several replays of one trajectory, put side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from replay.drift import volatile_pointers
from replay.records import CallResult


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
