"""What the alignment with a reference shows: tools that were never called, and others that were called instead."""

from __future__ import annotations

from collections.abc import Iterator

from replay.diagnosis.phrasing import listed, quoted, unique
from replay.diagnosis.trajectory_context import TrajectoryContext
from replay.records import FAILURES
from replay.records.finding import Finding
from replay.records.tool_name import read_name


def unused_reference_tools(context: TrajectoryContext) -> Iterator[Finding]:
    """Tools that the reference calls for the task and the trajectory does not, whatever their arguments."""
    missed = _never_called(context)
    if not missed:
        return
    names = listed([quoted(name, 60) for name in missed], most=5)
    verb = "was" if len(missed) == 1 else "were"
    yield Finding(
        kind="reference-tool-unused",
        scope="trajectory",
        sentence=f"The reference calls {names} for this task, which {verb} never called.",
        calls=(),
        details={"tools": missed},
    )


def wrong_tools(context: TrajectoryContext, position: str) -> Iterator[Finding]:
    """A tool that the reference does not call, of a server of which it calls another that was never called.

    Silent about calls that failed: what is wrong with those is said otherwise.
    """
    row = context.rows[position]
    if context.aligned is None or row.outcome in FAILURES or not row.server:
        return
    own = next((call for call in context.aligned.calls if call.position == position), None)
    if own is None or own.why != "no-such-tool":
        return
    instead = [name for name in _never_called(context) if _server_of(context, name) == row.server]
    if instead:
        yield Finding(
            kind="wrong-tool-of-server",
            scope="call",
            sentence=f"The reference does not call {quoted(own.name or '?', 60)} for this task, but "
            f"{listed([quoted(name, 60) for name in instead], 'and', most=4)} of the same server, which "
            f"{'was' if len(instead) == 1 else 'were'} never called.",
            suggestion=f"Call {listed([quoted(name, 60) for name in instead], 'or', most=4)}.",
            calls=context.refs(position),
            certainty="likely",
            details={"instead": instead},
        )


def _never_called(context: TrajectoryContext) -> list[str]:
    """The names of the reference's calls of which no call of that name is on our side."""
    aligned = context.aligned
    return unique(call.name for call in aligned.missed if call.why == "no-such-tool" and call.name) if aligned else []


def _server_of(context: TrajectoryContext, name: str) -> str:
    known = [*context.servers, *(row.server for row in context.rows.values() if row.server)]
    return read_name(name, unique(known)).server or ""
