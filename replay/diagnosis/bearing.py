"""What a call that the environment failed meant for its task, and whether a task's success rests on anything."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final

from replay.diagnosis.environment import own_doing
from replay.diagnosis.phrasing import counted, ended, listed, plain, quoted
from replay.diagnosis.requests import MIN_NAMED, Requests, did_its_work, full_text, holds, question_of, text_words
from replay.diagnosis.trajectory_context import TrajectoryContext
from replay.outcomes import answer_rules
from replay.records import ENVIRONMENT_REASONS, Outcome, Reason, canonical
from replay.records.audit import AuditedFault, Bearing
from replay.records.files import CallRow

_MAX_ENTRY: Final = 300
"""Characters of an entry of a listing."""
_FIGURE: Final = re.compile(r"\d[\d.,:-]*\d\d?|\b[\w.-]+@[\w.-]+\b|\b[\w-]{2,}\.[a-z]{2,5}\b")
"""What a reply says that it must have from somewhere: numbers of two digits and more, addresses, files."""
_WEIGHT: Final[Sequence[Bearing]] = ("on-path", "worked-around", "recovered", "beside")
"""The bearing that matters most first."""


def environment_faults(context: TrajectoryContext, passed: bool | None) -> Iterator[AuditedFault]:
    """What the environment failed when a trajectory was recorded, in the order of its steps; an outage is one fault.

    Args:
        context: the trajectory.
        passed: whether its task is reported as passed: then nothing lies on the way to a loss.
    """
    requests = Requests(context)
    failed = {
        position: (reason, _in_sandbox(requests, position, reason))
        for position, row in context.rows.items()
        if (reason := recorded_fault(row)) is not None
        and not own_doing(context, position, reason)
        and not _was_of_use(context, position)
        and not requests.says_only_itself(position)
    }
    for outage in _outages(requests, failed):
        (reason, in_sandbox), row = failed[outage[0]], context.rows[outage[0]]
        dependents = dict.fromkeys(later for at in outage for later in _dependents(context, at))
        bearing, why = _bearing_of(requests, outage, passed)
        yield AuditedFault(
            call=context.ref(outage[0]),
            more=tuple(outage[1:]),
            tool=row.tool,
            server=row.server,
            reason=reason,
            in_sandbox=in_sandbox,
            message=ended(plain(row.message, 200)),
            bearing=bearing,
            why=why,
            then=_then(context, outage[-1]),
            dependents=tuple(later for later in dependents if later not in outage),
        )


def _outages(requests: Requests, failed: Mapping[str, object]) -> list[list[str]]:
    """The calls that failed, those of an outage together: one server failed them by one cause, until one of the tools
    answered again.
    """
    outages: list[list[str]] = []
    running: dict[tuple[str | None, object], list[str]] = {}
    for position, row in requests.context.rows.items():
        if position in failed:
            outage = running.setdefault((row.server, failed[position]), [])
            outages += [outage] * (not outage)
            outage.append(position)
        elif running and did_its_work(row):
            tool = requests[position].tool
            running = {key: own for key, own in running.items() if all(requests[at].tool != tool for at in own)}
    return outages


def _in_sandbox(requests: Requests, position: str, reason: Reason) -> bool:
    """Whether a program of the model's lacked a package, another program, a right or a login where it ran."""
    unknown = reason is Reason.UNAUTHORIZED and requests[position].effect == "program"
    return unknown or requests.context.rows[position].recorded_rule == "program.missing"


def recorded_fault(row: CallRow) -> Reason | None:
    """Why the environment failed a call when it was recorded; None where it did not, or where nobody can tell."""
    if row.outcome is Outcome.ILLEGAL_FORMAT or (row.recorded is None and row.evidence != "recorded"):
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
    good = [position for position, row in context.rows.items() if did_its_work(row)]
    if not good:
        return f"Of {counted(len(context.rows), 'call')} none is known to have succeeded."
    return _unsupported_figures(context) if all(map(context.only_reads, good)) else None


def _unsupported_figures(context: TrajectoryContext) -> str | None:
    """Of a task in which nothing was written: that no figure of the reply stands anywhere before it."""
    figures = {match[0] for match in _FIGURE.finditer(context.trajectory.final_reply or "")}
    known = "\n".join([question_of(context), *(full_text(context, at) for at in context.calls)])
    digits = known.replace(",", "")
    if not figures or any(figure in known or figure.replace(",", "") in digits for figure in figures):
        return None
    shown = listed(sorted(map(quoted, figures)), most=3)
    return f"Nothing was written, and no answer holds what the reply says: {shown}."


@cache
def _reasons() -> dict[str, Reason | None]:
    return {rule.id: rule.reason for rule in answer_rules()}


def _was_of_use(context: TrajectoryContext, position: str) -> bool:
    """Whether calls that succeeded took values from the answer: then it was none that failed the call."""
    return any(
        edge.producer == position and edge.producer_place == "answer" and did_its_work(context.rows[edge.consumer])
        for edge in context.graph.edges
        if edge.consumer in context.rows
    )


def _bearing_of(requests: Requests, outage: Sequence[str], passed: bool | None) -> tuple[Bearing, str]:
    """What an outage meant, and why: what the first of those of its calls did that mattered most."""
    bearings = [_bearing(requests, at, _dependents(requests.context, at), passed) for at in outage]
    at, (bearing, why) = min(zip(outage, bearings, strict=True), key=lambda judged: _WEIGHT.index(judged[1][0]))
    return bearing, why if at == outage[0] else f"{at}, in the same outage: {why}"


def _bearing(requests: Requests, position: str, dependents: Sequence[str], passed: bool | None) -> tuple[Bearing, str]:
    """What a failed call meant, and why: the first that holds of it."""
    got = requests.got(position, passed)
    if got is not None or passed:
        return got or ("beside", "The task passed without it.")
    on_path = next(_ways_to_a_loss(requests, position, dependents), None)
    if on_path is not None:
        return "on-path", on_path
    named = [value for value in _names_of(requests, position) if holds(requests.question, value)]
    order = requests.context.order
    alike = sorted(requests.successes_alike(position), key=lambda at: order[at] < order[position])
    other = next((at for at in alike if any(holds(requests[at].text, value) for value in named)), None)
    task = f"{other} dealt with what the task names of it" if other else "the task does not name what it asked for"
    return "beside", f"Nothing depends on it, and {task}."


def _ways_to_a_loss(requests: Requests, position: str, dependents: Sequence[str]) -> Iterator[str]:
    """Why a failed call is thought to lie on the way to a loss, the strongest first."""
    context, own = requests.context, requests[position]
    failed = [at for at in dependents if _failed_and_mattered(requests, at)]
    if failed:
        yield f"{listed(failed)} depended on it and did not succeed."
    later = [at for at in context.rows if context.step_of[at] > context.step_of[position]]
    if (again := _never_answered(requests, position, later)) is not None:
        yield again
    writes, rows = own.effect == "writes", context.rows.items()
    good = set(requests.successes_alike(position) if writes else (at for at, row in rows if did_its_work(row)))
    if good.isdisjoint(later) and (writes or not good or context.graph.into(position)):
        after = "Nothing was written after it." if writes else "No later call succeeded."
        yield after if later else "The model stopped there."
    if (named := _named_by_task(requests, position)) is not None:
        yield f"The task asks for {quoted(named, 60)}, and no other call got it."
    if (word := _picked_by_task(requests, position)) is not None:
        yield f"It was picked for {quoted(word, 60)}, which the task names, and never got."


def _never_answered(requests: Requests, position: str, others: Sequence[str]) -> str | None:
    """That the same tool was asked in other calls as well, and never did what it is there for."""
    rows = requests.context.rows
    again = [at for at in others if at != position and requests[at].tool == requests[position].tool]
    if not again or any(_answered(rows[at]) or requests.got(at) for at in again):
        return None
    tool, _, action = requests[position].tool.rpartition("/")
    return f"{action or tool.rpartition('/')[2]} was asked {counted(len(again), 'more time')} and never answered."


def _answered(row: CallRow) -> bool:
    """Whether the tool did what it is there for, be it to say that there is no such thing."""
    return did_its_work(row) or Outcome.NOT_FOUND in (row.outcome, row.recorded)


def _failed_and_mattered(requests: Requests, position: str) -> bool:
    """Whether a call that depends on a failed one failed too, and was neither made up for nor beside the path."""
    row = requests.context.rows.get(position)
    return row is not None and not did_its_work(row) and _bearing(requests, position, [], None)[0] == "on-path"


def _dependents(context: TrajectoryContext, position: str) -> list[str]:
    """Calls that took a value from it, whose failure follows from it, or whose replay it tainted."""
    consumers = {edge.consumer for edge in context.graph.edges if edge.producer == position}
    consumers |= {later for later, row in context.rows.items() if position in (row.caused_by, row.gap)}
    return sorted(consumers, key=context.order.__getitem__)


def _named_by_task(requests: Requests, position: str) -> str | None:
    """What the task speaks of and no other call had: a value, or words of a text of which it has half."""
    own, words = requests[position], requests.question_words
    got = "\n".join(requests[other].text for other in requests.successes_alike(position))
    for value in sorted(_names_of(requests, position), key=lambda value: (-len(value), value)):
        if holds(requests.question, value) and not holds(got, value):
            return value
    missing = (own.words & words) - text_words(got)
    for text in map(str, () if own.statements else own.arguments.values()):
        said = text_words(text) & own.words
        if said & missing and len(said & words) >= MIN_NAMED * len(text_words(text)):
            return text
    return None


def _names_of(requests: Requests, position: str) -> set[str]:
    """What a call names that a task may speak of: values, tables."""
    own = requests[position]
    return {*own.values, *own.tables} - {""}


def _picked_by_task(requests: Requests, position: str) -> str | None:
    """A word of the task that stands, in the answer that a value came from, beside this value alone."""
    for edge in requests.context.graph.into(position):
        records = re.split(r"\n|\}\s*,\s*\{", full_text(requests.context, edge.producer))
        own = [record for record in records if str(edge.value) in record]
        others = text_words("\n".join(record for record in records if record not in own))
        picked = (requests.question_words & text_words("\n".join(own))) - others
        if picked and others and max(map(len, records)) <= _MAX_ENTRY:
            return min(picked)
    return None


def _then(context: TrajectoryContext, position: str) -> str:
    later = [at for at in context.rows if context.step_of[at] > context.step_of[position]]
    if not later:
        return "gave up"
    same = (context.calls[position].name, canonical(context.arguments(position)))
    if any((context.calls[at].name, canonical(context.arguments(at))) == same for at in later):
        return "asked again"
    if any(context.rows[at].tool == context.rows[position].tool for at in later):
        return "asked it with other arguments"
    return "went another way"
