"""What a call that the environment failed meant for its task, and whether a task's success rests on anything."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from replay.diagnosis.phrasing import counted, listed, plain, quoted
from replay.diagnosis.repairs import repair_of
from replay.diagnosis.trajectory_context import TrajectoryContext
from replay.outcomes import RULES
from replay.records import ENVIRONMENT_REASONS, Outcome, Reason, canonical, texts_of
from replay.records.audit import AuditedFault, Bearing
from replay.records.files import CallRow

_WORD: Final = re.compile(r"[^\W\d_]{4,}")
_MIN_NAMED: Final = 0.5
"""Share of an argument's words that the task must hold to have asked for it."""
_FEW: Final = 2
_FIGURE: Final = re.compile(r"\d[\d.,:-]*\d\d?|\b[\w.-]+@[\w.-]+\b|\b[\w-]{2,}\.[a-z]{2,5}\b")
"""What a reply says that it must have from somewhere: numbers of two digits and more, addresses, files."""


class _Bearing(NamedTuple):
    kind: Bearing
    why: str


def environment_faults(context: TrajectoryContext) -> Iterator[AuditedFault]:
    """The calls of a trajectory that the environment failed when it was recorded, in the order of its steps."""
    for position, row in context.rows.items():
        reason = recorded_fault(row)
        if reason is None:
            continue
        dependents = _dependents(context, position)
        kind, why = next(_bearings(context, position, dependents))
        yield AuditedFault(
            call=context.ref(position),
            tool=row.tool,
            server=row.server,
            reason=reason,
            message=plain(row.message, 200) + ".",
            bearing=kind,
            why=why,
            then=_then(context, position),
            dependents=tuple(dependents),
        )


def recorded_fault(row: CallRow) -> Reason | None:
    """Why the environment failed a call when it was recorded; None where it did not, or where nobody can tell."""
    if row.recorded is None and row.evidence != "recorded":
        return None
    reason = row.reason if row.evidence == "recorded" else _reasons().get(row.recorded_rule or "")
    judged = row.outcome if row.evidence == "recorded" else row.recorded
    return reason if judged is Outcome.INCONCLUSIVE and reason in ENVIRONMENT_REASONS else None


def unfounded(context: TrajectoryContext) -> str | None:
    """Why a task that is reported as won rests on nothing that the trajectory shows; None where it rests on something.

    Returns:
        One sentence: no call was made, none succeeded, or nothing was written and no figure of the reply stands in any
        answer or in the question.
    """
    if not context.calls:
        return "No call was made."
    if len(context.rows) != len(context.calls):
        return None
    good = [position for position, row in context.rows.items() if _did_its_work(row)]
    if not good:
        return f"Of {counted(len(context.rows), 'call')} none is known to have succeeded."
    return _unsupported_figures(context) if all(map(context.only_reads, good)) else None


def _unsupported_figures(context: TrajectoryContext) -> str | None:
    """Of a task in which nothing was written: that no figure of the reply stands anywhere before it."""
    figures = {match[0] for match in _FIGURE.finditer(context.trajectory.final_reply or "")}
    known = "\n".join([context.trajectory.task.question or "", *(_text(context, at) for at in context.calls)])
    digits = known.replace(",", "")
    if not figures or any(figure in known or figure.replace(",", "") in digits for figure in figures):
        return None
    shown = listed(sorted(map(quoted, figures)), most=3)
    return f"Nothing was written, and no answer holds what the reply says: {shown}."


def _did_its_work(row: CallRow) -> bool:
    return row.outcome is Outcome.SUCCESS or row.recorded is Outcome.SUCCESS


@cache
def _reasons() -> dict[str, Reason | None]:
    return {rule.id: rule.reason for rule in RULES}


def _bearings(context: TrajectoryContext, position: str, dependents: list[str]) -> Iterator[_Bearing]:
    """What holds of a failed call; the first decides."""
    if (repair := repair_of(context, position)) is not None:
        yield _Bearing("recovered", f"{repair.succeeded} asked for the same and got it.")
    if (other := _got_otherwise(context, position)) is not None:
        yield _Bearing("recovered", f"{other} got it from another tool.")
    failed = [at for at in dependents if not _did_its_work(context.rows[at])]
    if failed:
        yield _Bearing("on-path", f"{listed(failed)} depended on it and did not succeed.")
    later = _later(context, position)
    again = [at for at in later if context.rows[at].tool == context.rows[position].tool]
    if again and not any(_did_its_work(context.rows[at]) for at in again):
        yield _Bearing("on-path", f"The same tool was asked {counted(len(again), 'more time')} and never answered.")
    if not later:
        yield _Bearing("on-path", "The model stopped there.")
    elif not any(_did_its_work(context.rows[at]) for at in later):
        yield _Bearing("on-path", "No later call succeeded.")
    if (named := _named_by_task(context, position)) is not None:
        yield _Bearing("on-path", f"The task asks for {quoted(named, 60)}, and no later call got it.")
    yield _Bearing("beside", "Nothing depends on it, and the task does not name what it asked for.")


def _later(context: TrajectoryContext, position: str) -> list[str]:
    """The judged calls of later steps."""
    step = context.step_of[position]
    return [later for later in context.rows if context.step_of[later] > step]


def _dependents(context: TrajectoryContext, position: str) -> list[str]:
    """Calls that took a value from it, whose failure follows from it, or whose replay it tainted."""
    consumers = {edge.consumer for edge in context.graph.edges if edge.producer == position}
    consumers |= {later for later, row in context.rows.items() if position in (row.caused_by, row.gap)}
    return sorted(consumers, key=context.order.__getitem__)


def _got_otherwise(context: TrajectoryContext, position: str) -> str | None:
    """The first later call of another tool that asked for all that few other calls mention, and succeeded."""
    uses = Counter(text for texts in context.mentions.values() for text in texts)
    wanted = {text for text in context.mentions[position] if uses[text] <= max(_FEW, len(context.calls) // 2)}
    for later in _later(context, position) if wanted else ():
        row = context.rows[later]
        if row.tool != context.rows[position].tool and _did_its_work(row) and wanted <= context.mentions[later]:
            return later
    return None


def _named_by_task(context: TrajectoryContext, position: str) -> str | None:
    """The argument that the task speaks of: the question holds it, or half of its words."""
    question = (context.trajectory.task.question or "").casefold()
    words = set(_WORD.findall(question))
    for text in sorted(context.mentions[position], key=lambda text: (-len(text), text)):
        if text.casefold() in question:
            return text
    for argument in context.scalars(position):
        own = set(_WORD.findall(str(argument.value).casefold()))
        if own and len(own & words) >= _MIN_NAMED * len(own):
            return str(argument.value)
    return None


def _then(context: TrajectoryContext, position: str) -> str:
    later = _later(context, position)
    if not later:
        return "gave up"
    same = (context.calls[position].name, canonical(context.arguments(position)))
    if any((context.calls[at].name, canonical(context.arguments(at))) == same for at in later):
        return "asked again"
    if any(context.rows[at].tool == context.rows[position].tool for at in later):
        return "asked it with other arguments"
    return "went another way"


def _text(context: TrajectoryContext, position: str) -> str:
    call = context.calls[position]
    answers = (call.answer, context.answers.get(position))
    return "\n".join(text for answer in answers if answer is not None for text in texts_of(answer))
