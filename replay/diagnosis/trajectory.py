"""What the calls of a trajectory show together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from replay.diagnosis.flags import explains
from replay.diagnosis.phrasing import counted, listed, quoted, times
from replay.diagnosis.repair import repair_of
from replay.diagnosis.trajectory_context import TrajectoryContext
from replay.records import FAILURES, Outcome, canonical, texts_of
from replay.records.finding import Finding


def findings_of_trajectory(case: TrajectoryContext) -> tuple[Finding, ...]:
    """Root causes, repetitions, repairs, and a reply that rests on nothing."""
    angles = (_root_causes, _repeated_failures, _repeated_reads, _repairs, _unsupported)
    return tuple(finding for angle in angles for finding in angle(case))


def _root_causes(case: TrajectoryContext) -> Iterator[Finding]:
    followers: dict[str, list[str]] = defaultdict(list)
    for position, row in case.rows.items():
        if row.caused_by is not None and explains(case, row.caused_by):
            followers[row.caused_by].append(position)
    for cause, followed in followers.items():
        row = case.rows[cause]
        yield Finding(
            kind="root-cause",
            scope="trajectory",
            sentence=f"{cause} ({_tool(case, cause)}) came out {_words(row.outcome)}, and "
            f"{counted(len(followed), 'later failure')} {_follow(followed)} from it: {listed(followed)}.",
            suggestion=f"Put {cause} right; the others may be right as they are.",
            calls=case.refs(cause, *followed),
            certainty="likely",
            details={"followed": len(followed)},
        )


def _repeated_failures(case: TrajectoryContext) -> Iterator[Finding]:
    for positions in _identical(case):
        failed = [position for position in positions if case.outcome(position) in FAILURES]
        if len(failed) > 1 and len({case.step_of[position] for position in failed}) > 1:
            yield Finding(
                kind="repeated-failure",
                scope="trajectory",
                sentence=f"The same call to {_tool(case, failed[0])} failed {times(len(failed))}, unchanged: "
                f"{listed(failed)}.",
                suggestion=f"After {failed[0]} the call should have been changed, as its answer says.",
                calls=case.refs(*failed),
                details={"count": len(failed)},
            )


def _repeated_reads(case: TrajectoryContext) -> Iterator[Finding]:
    """Reads only: two equal calls that write may both be needed."""
    for positions in _identical(case):
        good = [position for position in positions if case.outcome(position) is Outcome.SUCCESS]
        if len(good) < 2 or not case.only_reads(good[0]):
            continue
        answers = {_answer_text(case, position) for position in good}
        if len(answers) == 1 and answers != {None}:
            yield Finding(
                kind="repeated-call",
                scope="trajectory",
                sentence=f"{_tool(case, good[0])} was asked the same {times(len(good))} and gave the same answer "
                f"each time: {listed(good)}.",
                suggestion=f"The answer of {good[0]} was enough.",
                calls=case.refs(*good),
                details={"count": len(good)},
            )


def _repairs(case: TrajectoryContext) -> Iterator[Finding]:
    for position in case.rows:
        repair = repair_of(case, position)
        if repair is not None:
            yield Finding(
                kind="repaired",
                scope="trajectory",
                sentence=f"The failure of {position} ({_tool(case, position)}) was repaired "
                f"{counted(repair.calls_later, 'call')} later by {repair.succeeded}"
                f"{f': {repair.difference}' if repair.difference else ''}.",
                calls=case.refs(position, repair.succeeded),
                certainty="likely",
                details={"calls_later": repair.calls_later},
            )


def _unsupported(case: TrajectoryContext) -> Iterator[Finding]:
    """Silent where any call may have succeeded: judged, recorded or simply not known."""
    if not (case.trajectory.final_reply or "").strip() or not case.rows or len(case.rows) != len(case.calls):
        return
    if all(row.outcome in FAILURES and row.recorded is not Outcome.SUCCESS for row in case.rows.values()):
        yield Finding(
            kind="unsupported-reply",
            scope="trajectory",
            sentence=f"The final reply rests on no successful call: {_all_failed(len(case.rows))}.",
            calls=case.refs(*case.rows),
        )


def _identical(case: TrajectoryContext) -> list[list[str]]:
    """Calls with the same name and arguments, in groups of two or more."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for position in case.rows:
        call = case.calls[position]
        if call.name is not None:
            groups[call.name, canonical(call.arguments) if call.arguments is not None else call.raw or ""].append(
                position
            )
    return [positions for positions in groups.values() if len(positions) > 1]


def _answer_text(case: TrajectoryContext, position: str) -> str | None:
    answer = case.calls[position].answer or case.answers.get(position)
    return "\n".join(texts_of(answer)) if answer is not None else None


def _tool(case: TrajectoryContext, position: str) -> str:
    return quoted(case.rows[position].tool or case.calls[position].name or "?", 60)


def _words(outcome: Outcome) -> str:
    return str(outcome).replace("_", " ")


def _follow(followed: list[str]) -> str:
    return "follows" if len(followed) == 1 else "follow"


def _all_failed(count: int) -> str:
    return "the only call failed" if count == 1 else f"all {count} calls failed"
