"""What a whole run shows: the worst tools and servers, schemas that lie, servers that drift, a faulty reference."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from replay.alignment.reference import Reference
from replay.diagnosis.diagnose import Diagnosed, diagnosed_calls
from replay.diagnosis.phrasing import counted, plain, quoted
from replay.outcomes import read_name
from replay.records import FAILURES, Outcome
from replay.records.files import CallRow
from replay.records.finding import CallRef, Finding
from replay.runfile import Run

_MAX_TOOLS: Final = 5
_MAX_CALLS: Final = 50
_MIN_CALLS: Final = 2
SECONDARY: Final = frozenset({"follows-from", "later-succeeded", "outcome-moved", "rebound", "flaky"})
"""Kinds that say something beside why a call failed."""


def findings_of_run(
    run: Run, calls: Iterable[Diagnosed] | None = None, reference: Reference | None = None
) -> tuple[Finding, ...]:
    """What the whole run shows.

    Args:
        run: open for reading or writing.
        calls: of the run, where they were diagnosed before.
        reference: what the calls are scored against, where its own faults are to be found too.
    """
    known = list(diagnosed_calls(run) if calls is None else calls)
    angles = (_worst_tools, _worst_server, _schemas, _unsteady, _drifting)
    found = [finding for angle in angles for finding in angle(known)]
    return (*found, *(_reference(reference, run) if reference is not None else ()))


def _worst_tools(calls: Sequence[Diagnosed]) -> Iterator[Finding]:
    tools = _grouped(calls, lambda call: call.row.tool)
    failed = {tool: [call for call in group if call.row.outcome in FAILURES] for tool, group in tools.items()}
    ordered = sorted((tool for tool in failed if len(failed[tool]) >= _MIN_CALLS), key=lambda tool: -len(failed[tool]))
    for tool in ordered[:_MAX_TOOLS]:
        yield _worst("failing-tool", f"Tool {quoted(tool)}", failed[tool], tools[tool])


def _worst_server(calls: Sequence[Diagnosed]) -> Iterator[Finding]:
    """A name under which no tool was ever found is not a server that could fail."""
    grouped = _grouped(calls, lambda call: call.row.server)
    servers = {
        name: group
        for name, group in grouped.items()
        if any(call.row.outcome is not Outcome.UNKNOWN_TOOL for call in group)
    }
    failed = {name: [call for call in group if _is_root(call)] for name, group in servers.items()}
    worst = max(failed, key=lambda name: len(failed[name]), default=None)
    if worst is not None and len(failed[worst]) >= _MIN_CALLS:
        yield _worst("failing-server", f"Server {quoted(worst)}", failed[worst], servers[worst])


def _is_root(call: Diagnosed) -> bool:
    """Whether a call failed, and not because one before it had."""
    return call.row.outcome in FAILURES and call.row.caused_by is None


def _worst(kind: str, subject: str, failed: Sequence[Diagnosed], group: Sequence[Diagnosed]) -> Finding:
    causes = Counter(_cause(call) for call in failed)
    cause, count = causes.most_common(1)[0]
    example = next(call for call in failed if _cause(call) == cause)
    example_text = f", as in {example.row.trajectory}:{example.row.call}: {plain(_words(example), 200)}"
    return Finding(
        kind=kind,
        scope="run",
        sentence=f"{subject} failed in {len(failed)} of {counted(len(group), 'call')}; "
        f"most often ({count}): {cause}{example_text}.",
        calls=_refs([example.row, *(call.row for call in failed if call is not example)]),
        details={"failed": len(failed), "calls": len(group), "causes": dict(causes.most_common())},
    )


def _cause(call: Diagnosed) -> str:
    primary = (finding.kind for finding in call.findings if finding.kind not in SECONDARY)
    return next(primary, str(call.row.outcome))


def _words(call: Diagnosed) -> str:
    return call.findings[0].sentence if call.findings else call.row.message


def _schemas(calls: Sequence[Diagnosed]) -> Iterator[Finding]:
    """Tools whose schema says one thing and whose server does another."""
    flags = (
        ("accepted-though-invalid", "took arguments that break its inputSchema", "schema-too-strict"),
        ("refused-though-valid", "refused arguments that keep to its inputSchema", "schema-too-lax"),
    )
    for flag, words, kind in flags:
        flagged = [call for call in calls if flag in call.row.findings]
        for tool, group in _grouped(flagged, lambda call: call.row.tool).items():
            yield Finding(
                kind=kind,
                scope="run",
                sentence=f"Tool {quoted(tool)} {words} in {counted(len(group), 'call')}, "
                f"as in {group[0].row.trajectory}:{group[0].row.call}: {plain(_words(group[0]), 200)}.",
                suggestion="Schema and server should agree; one of the two is wrong.",
                calls=_refs(call.row for call in group),
                details={"calls": len(group)},
            )


def _unsteady(calls: Sequence[Diagnosed]) -> Iterator[Finding]:
    flaky = [call for call in calls if len(call.row.trials or {}) > 1]
    for tool, group in _grouped(flaky, lambda call: call.row.tool).items():
        yield Finding(
            kind="flaky-tool",
            scope="run",
            sentence=f"Tool {quoted(tool)} came out differently from trial to trial in {counted(len(group), 'call')}.",
            calls=_refs(call.row for call in group),
            details={"calls": len(group)},
        )


def _drifting(calls: Sequence[Diagnosed]) -> Iterator[Finding]:
    compared = [call for call in calls if call.row.drift is not None and not call.behind_gap]
    for server, group in _grouped(compared, lambda call: call.row.server).items():
        moved = [call for call in group if call.row.drift == "different"]
        changed = [call for call in moved if call.row.divergence == "server-version"]
        if len(moved) < _MIN_CALLS and not changed:
            continue
        outcomes = f"; {len(changed)} had another outcome" if changed else ""
        yield Finding(
            kind="drifting-server",
            scope="run",
            sentence=f"Server {quoted(server)} answered {len(moved)} of {counted(len(group), 're-issued call')} "
            f"otherwise than recorded{outcomes}.",
            suggestion="Pin the version that the recording was made with, or record anew." if changed else None,
            calls=_refs(call.row for call in [*changed, *(call for call in moved if call not in changed)]),
            details={"different": len(moved), "compared": len(group), "other_class": len(changed)},
        )


def _reference(reference: Reference, run: Run) -> Iterator[Finding]:
    """Calls of the reference that no model can be scored against; of servers that the fleet lacks nothing is known."""
    names = tuple(run.servers())
    known = [
        fault
        for fault in reference.faults
        if fault.outcome is not Outcome.UNKNOWN_TOOL or read_name(fault.name or "", names).server in names
    ]
    for outcome in dict.fromkeys(fault.outcome for fault in known):
        faults = [fault for fault in known if fault.outcome is outcome]
        refs = (
            CallRef(file=reference.path, model="reference", trajectory=fault.task, call=fault.position)
            for fault in faults
        )
        first = faults[0]
        yield Finding(
            kind="reference-fault",
            scope="run",
            sentence=f"The reference itself has {counted(len(faults), 'call')} that would come out as "
            f"{str(outcome).replace('_', ' ')}, as in {first.task}:{first.position} "
            f"({plain(first.name or 'no name', 60)}): {plain(first.message, 200)}.",
            suggestion="Put the reference right, or leave these tasks out of the scores.",
            calls=tuple(refs)[:_MAX_CALLS],
            details={"count": len(faults)},
        )


def _grouped(calls: Iterable[Diagnosed], key: Any) -> dict[str, list[Diagnosed]]:
    groups: dict[str, list[Diagnosed]] = defaultdict(list)
    for call in calls:
        name = key(call)
        if name:
            groups[name].append(call)
    return groups


def _refs(rows: Iterable[CallRow]) -> tuple[CallRef, ...]:
    refs = (CallRef(file=row.file, model=row.model, trajectory=row.trajectory, call=row.call) for row in rows)
    return tuple(refs)[:_MAX_CALLS]
