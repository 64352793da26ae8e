"""Call by call: the class of each predicted call, and why a call has no partner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from replay.alignment.matching import Block
from replay.alignment.tasks import SignedCall, SignedTask
from replay.records import Outcome
from replay.records.alignment import AlignedCall, CallClass, Candidate, MatchTriple, MissedCall, Why

_MODELS_FAULT = {Outcome.ILLEGAL_FORMAT, Outcome.UNKNOWN_TOOL, Outcome.INVALID_ARGUMENTS}
_UNDECIDED = {None, Outcome.INCONCLUSIVE}
"""Where nobody knows whether an unmatched call is hallucinated or redundant."""


def predicted_calls(
    task: SignedTask,
    blocks: Sequence[Block],
    matches: Sequence[MatchTriple],
    *,
    tau_strong: float,
    tau_weak: float,
    outcomes: Mapping[str, Outcome] | None,
) -> tuple[AlignedCall, ...]:
    """Every predicted call with its class, illegal ones last.

    Args:
        task: the prediction.
        blocks: the similarities by tool.
        matches: the chosen pairs.
        tau_strong: least similarity of a correct call.
        tau_weak: least similarity of a pair.
        outcomes: by position, from the run; None without one, and then no unmatched call that can be read is taken to
            be hallucinated or redundant.
    """
    similarity = {predicted: value for _, predicted, value in matches}
    rivals = {reference: predicted for reference, predicted, _ in matches}
    best = {number: _best(found, rivals) for number, found in _candidates(blocks, by_row=False)}

    def of(call: SignedCall) -> AlignedCall:
        matched = similarity.get(call.index)
        outcome = (outcomes or {}).get(call.position)
        candidate = best.get(call.index)
        return AlignedCall(
            index=call.index,
            position=call.position,
            name=call.name or None,
            kind=_kind(matched, tau_strong, outcome, readable=call.readable),
            why=None if matched is not None else _why(candidate, tau_weak),
            best=None if matched is not None else _shown(candidate, tau_weak),
            outcome=outcome,
        )

    return (*map(of, task.calls), *_illegal(task))


def missed_calls(
    reference: Sequence[SignedCall], blocks: Sequence[Block], matches: Sequence[MatchTriple], tau_weak: float
) -> tuple[MissedCall, ...]:
    """Every reference call without a partner."""
    found = {number for number, _, _ in matches}
    rivals = {predicted: number for number, predicted, _ in matches}
    best = {number: _best(candidates, rivals) for number, candidates in _candidates(blocks, by_row=True)}
    return tuple(
        MissedCall(
            index=call.index,
            position=call.position,
            name=call.name or None,
            why=_why(best.get(call.index), tau_weak),
            best=_shown(best.get(call.index), tau_weak),
        )
        for call in reference
        if call.index not in found
    )


def _candidates(blocks: Sequence[Block], *, by_row: bool) -> Iterator[tuple[int, list[tuple[int, float]]]]:
    """Each call of one side with the calls of its tool on the other, and their similarities."""
    for block in blocks:
        grid = block.similarity.tolist()
        own, others = (block.reference, block.predicted) if by_row else (block.predicted, block.reference)
        for place, number in enumerate(own):
            values = grid[place] if by_row else [row[place] for row in grid]
            yield number, list(zip(others, values, strict=True))


def _best(found: list[tuple[int, float]], rivals: Mapping[int, int]) -> Candidate:
    number, value = max(found, key=lambda candidate: candidate[1])
    return Candidate(call=number, similarity=value, taken_by=rivals.get(number))


def _why(best: Candidate | None, tau_weak: float) -> Why:
    if best is None:
        return "no-such-tool"
    return "below-threshold" if best.similarity < tau_weak else "taken"


def _shown(best: Candidate | None, tau_weak: float) -> Candidate | None:
    """The candidate; who took it is named only where that was the reason."""
    if best is None or best.similarity >= tau_weak:
        return best
    return Candidate(call=best.call, similarity=best.similarity)


def _kind(matched: float | None, tau_strong: float, outcome: Outcome | None, *, readable: bool) -> CallClass:
    if matched is not None:
        return CallClass.CORRECT if matched >= tau_strong else CallClass.PARTIALLY_CORRECT
    if not readable or outcome in _MODELS_FAULT:
        return CallClass.HALLUCINATED
    return CallClass.UNMATCHED if outcome in _UNDECIDED else CallClass.REDUNDANT


def _illegal(task: SignedTask) -> Iterator[AlignedCall]:
    for position in task.illegal:
        yield AlignedCall(
            index=None,
            position=position,
            kind=CallClass.HALLUCINATED,
            why="illegal",
            outcome=Outcome.ILLEGAL_FORMAT,
        )
