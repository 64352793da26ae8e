"""One task laid open: the similarities of each tool with the chosen pairs, and why the rest has none."""

from __future__ import annotations

from collections.abc import Iterator

from replay.alignment.aligner import Alignment
from replay.alignment.matching import Block
from replay.alignment.signature import SignedCall, SignedTask
from replay.alignment.tables import table
from replay.alignment.ties import STEP_METRICS
from replay.records.alignment import AlignedCall, AlignedTask, Candidate, MissedCall
from replay.safety.text import one_line

_ARGUMENTS_WIDTH = 100


def explain(alignment: Alignment, reference: SignedTask, predicted: SignedTask) -> str:
    """The whole account of one task.

    Args:
        alignment: of the file.
        reference: the task in the reference.
        predicted: the task in the results.
    """
    task = next(task for task in alignment.tasks if task.id == reference.id)
    model = alignment.model
    head = (
        f"{one_line(model.model)}, task {one_line(task.id)}: {task.matched} of {task.total_gt_calls} reference calls "
        f"matched, {task.total_pred_calls} predicted (tau_weak {model.tau_weak:g}, tau_strong {model.tau_strong:g})"
    )
    parts = [
        head,
        "\n".join(_calls("R", reference)),
        "\n".join(_calls("P", predicted)),
        *(_matrix(block, task) for block in alignment.blocks[task.id]),
        _ties(task),
        "\n".join(_unmatched(task, model.tau_weak)),
    ]
    return "\n\n".join(part for part in parts if part)


def _calls(side: str, task: SignedTask) -> Iterator[str]:
    yield f"{'reference' if side == 'R' else 'predicted'} calls ({side})"
    for call in task.calls:
        yield f"  {side}{call.index}  {call.position}  {_name(call)}  {one_line(call.signature, _ARGUMENTS_WIDTH)}"


def _name(call: SignedCall) -> str:
    return one_line(call.name) or "(no name)"


def _matrix(block: Block, task: AlignedTask) -> str:
    """A row a reference call, a column a predicted one; chosen pairs in brackets."""
    chosen = {(row_call, column_call) for row_call, column_call, _ in task.matches}
    rows = [
        [
            f"R{row_call}",
            *(
                _cell(value, (row_call, column_call) in chosen)
                for column_call, value in zip(block.predicted, row, strict=True)
            ),
        ]
        for row_call, row in zip(block.reference, block.similarity.tolist(), strict=True)
    ]
    return f"{one_line(block.name) or '(no name)'}\n{table(['', *(f'P{number} ' for number in block.predicted)], rows)}"


def _cell(value: float, chosen: bool) -> str:
    return f"[{value:.4f}]" if chosen else f"{value:.4f} "


def _ties(task: AlignedTask) -> str:
    if task.ties is None:
        return ""
    more = "" if task.ties.complete else "more than "
    ranges = (
        f"{name.replace('_', ' ')} {values.least:.4f}-{values.greatest:.4f}"
        for name, values in ((name, getattr(task.ties, name)) for name in STEP_METRICS)
    )
    return f"{more}{task.ties.assignments} assignments are equally good: {', '.join(ranges)}"


def _unmatched(task: AlignedTask, tau_weak: float) -> Iterator[str]:
    predicted = [call for call in task.calls if call.why]
    if predicted or task.missed:
        yield "without a partner"
    for missed in task.missed:
        yield f"  R{missed.index}  {one_line(missed.name or '(no name)')}: {reason(missed, 'P', 'R', tau_weak)}"
    for call in predicted:
        number = "" if call.index is None else f"P{call.index}"
        name = one_line(call.name or "(no name)")
        yield f"  {number or call.position}  {name}: {call.kind.value}: {reason(call, 'R', 'P', tau_weak)}"


def reason(call: AlignedCall | MissedCall, candidates: str, own: str, tau_weak: float) -> str:
    """Why a call has no partner, in words.

    Args:
        call: the call.
        candidates: letter of the other side's calls.
        own: letter of this side's calls.
        tau_weak: the threshold in use.
    """
    best: Candidate | None = call.best
    if call.why == "illegal":
        return "not a call that could be read; it is counted nowhere"
    if best is None:
        return "no call of this tool in the " + ("reference" if candidates == "R" else "prediction")
    if call.why == "below-threshold":
        return f"best candidate {candidates}{best.call} at {best.similarity:.4f}, below tau_weak {tau_weak:g}"
    taken = f"{own}{best.taken_by}" if best.taken_by is not None else "another call"
    return f"best candidate {candidates}{best.call} at {best.similarity:.4f} was taken by {taken}"
