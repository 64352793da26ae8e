"""What the calls of a trajectory show together, and what went right after a failed one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from replay.diagnosis.phrasing import counted, listed, quoted, times
from replay.diagnosis.repairs import repair_of
from replay.diagnosis.trajectory_context import TrajectoryContext, explains
from replay.diagnosis.unchecked_writes import unchecked_writes
from replay.records import FAILURES, Outcome, canonical, texts_of
from replay.records.alignment import AlignedTask
from replay.records.finding import Finding
from replay.records.tool_name import read_name


def findings_of_trajectory(context: TrajectoryContext) -> tuple[Finding, ...]:
    """Root causes, repetitions, repairs, and a reply that rests on nothing."""
    angles = (
        _root_causes,
        _repeated_failures,
        _repeated_reads,
        _repairs,
        _unsupported,
        unchecked_writes,
        unused_reference_tools,
    )
    return tuple(finding for angle in angles for finding in angle(context))


def _root_causes(context: TrajectoryContext) -> Iterator[Finding]:
    followers: dict[str, list[str]] = defaultdict(list)
    for position, row in context.rows.items():
        if row.caused_by is not None and explains(context, row.caused_by, position):
            followers[row.caused_by].append(position)
    for cause, followed in followers.items():
        row = context.rows[cause]
        yield context.finding_together(
            "root-cause",
            f"{cause} ({_tool(context, cause)}) was judged {row.outcome.label}, and "
            f"{counted(len(followed), 'later failure')} {'follows' if len(followed) == 1 else 'follow'} from it: "
            f"{listed(followed)}.",
            [cause, *followed],
            f"Put {cause} right; the others may be right as they are.",
            certainty="likely",
            followed=len(followed),
        )


def _repeated_failures(context: TrajectoryContext) -> Iterator[Finding]:
    for positions in _identical(context):
        failed = [position for position in positions if context.outcome(position) in FAILURES]
        if len(failed) > 1 and len({context.step_of[position] for position in failed}) > 1:
            yield context.finding_together(
                "repeated-failure",
                f"The same call to {_tool(context, failed[0])} failed {times(len(failed))}, unchanged: "
                f"{listed(failed)}.",
                failed,
                f"After {failed[0]} the call should have been changed, as its answer says.",
                count=len(failed),
            )


def _repeated_reads(context: TrajectoryContext) -> Iterator[Finding]:
    """Reads only: two equal calls that write may both be needed."""
    for positions in _identical(context):
        good = [position for position in positions if context.outcome(position) is Outcome.SUCCESS]
        if len(good) < 2 or not context.only_reads(good[0]):
            continue
        answers = {_answer_text(context, position) for position in good}
        if len(answers) == 1 and answers != {None}:
            yield context.finding_together(
                "repeated-call",
                f"{_tool(context, good[0])} was asked the same {times(len(good))} and gave the same answer "
                f"each time: {listed(good)}.",
                good,
                f"The answer of {good[0]} was enough.",
                count=len(good),
            )


def _repairs(context: TrajectoryContext) -> Iterator[Finding]:
    for position, row in context.rows.items():
        repair = repair_of(context, position) if row.outcome in FAILURES else None
        if repair is not None:
            yield context.finding_together(
                "repaired",
                f"The failure of {position} ({_tool(context, position)}) was repaired "
                f"{counted(repair.calls_later, 'call')} later by {repair.succeeded}"
                f"{f': {repair.difference}' if repair.difference else ''}.",
                [position, repair.succeeded],
                certainty="likely",
                calls_later=repair.calls_later,
            )


def _unsupported(context: TrajectoryContext) -> Iterator[Finding]:
    """Silent where any call may have succeeded: judged, recorded or simply not known."""
    if (
        not (context.trajectory.final_reply or "").strip()
        or not context.rows
        or len(context.rows) != len(context.calls)
    ):
        return
    if all(row.outcome in FAILURES and row.recorded is not Outcome.SUCCESS for row in context.rows.values()):
        failed = "the only call failed" if len(context.rows) == 1 else f"all {len(context.rows)} calls failed"
        sentence = f"The final reply rests on no successful call: {failed}."
        yield context.finding_together("unsupported-reply", sentence, context.rows)


def _identical(context: TrajectoryContext) -> list[list[str]]:
    """Calls with the same name and arguments, in groups of two or more."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for position in context.rows:
        call = context.calls[position]
        if call.name is not None:
            groups[call.name, canonical(call.arguments) if call.arguments is not None else call.raw or ""].append(
                position
            )
    return [positions for positions in groups.values() if len(positions) > 1]


def _answer_text(context: TrajectoryContext, position: str) -> str | None:
    answer = context.calls[position].answer or context.answers.get(position)
    return "\n".join(texts_of(answer)) if answer is not None else None


def _tool(context: TrajectoryContext, position: str) -> str:
    return quoted(context.rows[position].tool or context.calls[position].name or "?", 60)


def unused_reference_tools(context: TrajectoryContext) -> Iterator[Finding]:
    """Tools that the reference calls for the task and the trajectory does not, whatever their arguments."""
    if missed := _never_called(context):
        names = listed([quoted(name, 60) for name in missed], most=5)
        verb = "was" if len(missed) == 1 else "were"
        sentence = f"The reference calls {names} for this task, which {verb} never called."
        yield context.finding_together("reference-tool-unused", sentence, (), tools=missed)


def wrong_tools(context: TrajectoryContext, position: str, aligned: AlignedTask) -> Iterator[Finding]:
    """A tool that the reference does not call, of a server of which it calls another that was never called.

    Silent about calls that failed: what is wrong with those is said otherwise.
    """
    row = context.rows[position]
    if row.outcome in FAILURES or not row.server:
        return
    own = next((call for call in aligned.calls if call.position == position), None)
    if own is None or own.why != "no-such-tool":
        return
    instead = [name for name in _never_called(context) if _server_of(context, name) == row.server]
    if instead:
        yield context.finding(
            position,
            "wrong-tool-of-server",
            f"The reference does not call {quoted(own.name or '?', 60)} for this task, but "
            f"{listed([quoted(name, 60) for name in instead], 'and', most=4)} of the same server, which "
            f"{'was' if len(instead) == 1 else 'were'} never called.",
            f"Call {listed([quoted(name, 60) for name in instead], 'or', most=4)}.",
            certainty="likely",
            details={"instead": instead},
        )


def _never_called(context: TrajectoryContext) -> list[str]:
    """The names of the reference's calls of which no call of that name is on our side."""
    missed = context.aligned.missed if context.aligned else ()
    return list(dict.fromkeys(call.name for call in missed if call.why == "no-such-tool" and call.name))


def _server_of(context: TrajectoryContext, name: str) -> str:
    known = dict.fromkeys([*context.servers, *(row.server for row in context.rows.values() if row.server)])
    return read_name(name, list(known)).server or ""
