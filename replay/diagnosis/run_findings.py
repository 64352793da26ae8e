"""What a whole run shows: the worst tools and servers, schemas that lie, servers that drift, a faulty reference."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Final

from replay.alignment.tasks import Reference
from replay.diagnosis.diagnose import Diagnosed
from replay.diagnosis.phrasing import counted, ended, plain, quoted
from replay.outcomes import read_name
from replay.records import FAILURES, Outcome
from replay.records.finding import CallRef, Finding
from replay.runfile import Run
from replay.runfile.trajectory_queries import Addresses

_MAX_TOOLS: Final = 5
_MAX_CALLS: Final = 50
_MIN_CALLS: Final = 2
_SCHEMA_FLAGS: Final = {
    "accepted-though-invalid": ("took arguments that break its inputSchema", "schema-too-strict"),
    "refused-though-valid": ("refused arguments that keep to its inputSchema", "schema-too-lax"),
}
SECONDARY: Final = frozenset({"follows-from", "later-succeeded", "outcome-moved", "rebound", "flaky"})
"""Kinds that say something beside why a call failed."""


class RunTally:
    """What the calls of a run show together, counted call by call: of no call more than its place is held."""

    def __init__(self) -> None:
        self._tools: dict[str, _Failures] = defaultdict(_Failures)
        self._servers: dict[str, _Failures] = defaultdict(_Failures)
        self._schemas: dict[str, dict[str, _Group]] = {flag: defaultdict(_Group) for flag in _SCHEMA_FLAGS}
        self._flaky: dict[str, _Group] = defaultdict(_Group)
        self._drifts: dict[str, _Drift] = defaultdict(_Drift)

    def add(self, call: Diagnosed) -> None:
        """Count one call; those of a run come in its order."""
        row = call.row
        if row.server:
            self._servers[row.server].add(call, failed=row.outcome in FAILURES and row.caused_by is None)
            if row.drift is not None and not call.behind_gap:
                self._drifts[row.server].add(call)
        if not row.tool:
            return
        self._tools[row.tool].add(call, failed=row.outcome in FAILURES)
        for flag, tools in self._schemas.items():
            if flag in row.findings:
                tools[row.tool].add(call)
        if len(row.trials or {}) > 1:
            self._flaky[row.tool].add(call)

    def findings(self, run: Run, reference: Reference | None = None) -> tuple[Finding, ...]:
        """The worst tools and the worst server, tools whose schemas lie, flaky tools, servers that drift.

        Args:
            run: whose calls were counted.
            reference: what they are scored against, where its own faults are to be found too.
        """
        return (
            *self._found(Addresses.of(run)),
            *(_reference_findings(reference, run) if reference is not None else ()),
        )

    def _found(self, addresses: Addresses) -> Iterator[Finding]:
        yield from self._worst_tools(addresses)
        yield from self._worst_server(addresses)
        for flag, tools in self._schemas.items():
            for tool, group in tools.items():
                yield _schema_finding(tool, group, addresses, *_SCHEMA_FLAGS[flag])
        for tool, group in self._flaky.items():
            calls = counted(group.count, "call")
            sentence = f"Tool {quoted(tool)} was judged differently from trial to trial in {calls}."
            yield _finding("flaky-tool", sentence, group.first, calls=group.count)
        for server, drift in self._drifts.items():
            if drift.moved >= _MIN_CALLS or drift.changed.count:
                yield _drift_finding(server, drift)

    def _worst_tools(self, addresses: Addresses) -> Iterator[Finding]:
        failing = (tool for tool, of_tool in self._tools.items() if of_tool.failed.count >= _MIN_CALLS)
        for tool in sorted(failing, key=lambda tool: -self._tools[tool].failed.count)[:_MAX_TOOLS]:
            yield self._tools[tool].finding("failing-tool", f"Tool {quoted(tool)}", addresses)

    def _worst_server(self, addresses: Addresses) -> Iterator[Finding]:
        """A name under which no tool was ever found is not a server that could fail."""
        servers = {name: of_server for name, of_server in self._servers.items() if of_server.is_known}
        worst = max(servers, key=lambda name: servers[name].failed.count, default=None)
        if worst is not None and servers[worst].failed.count >= _MIN_CALLS:
            yield servers[worst].finding("failing-server", f"Server {quoted(worst)}", addresses)


class _Group:
    """Calls with something in common: how many, the places of the first, and what the very first one says."""

    def __init__(self) -> None:
        self.count = 0
        self.first: list[CallRef] = []
        self.says = ""

    def add(self, call: Diagnosed) -> None:
        row = call.row
        self.count += 1
        if not self.first:
            self.says = plain(call.findings[0].sentence if call.findings else row.message, 200)
        if len(self.first) < _MAX_CALLS:
            self.first.append(CallRef(file=row.file, model=row.model, trajectory=row.trajectory, call=row.call))


class _Failures:
    """The calls of one tool or server, and those of them that failed."""

    def __init__(self) -> None:
        self.calls = 0
        self.is_known = False
        """Whether any of them named a tool that there is."""
        self.failed = _Group()
        self._causes: dict[str, _Group] = defaultdict(_Group)

    def add(self, call: Diagnosed, *, failed: bool) -> None:
        self.calls += 1
        self.is_known = self.is_known or call.row.outcome is not Outcome.UNKNOWN_TOOL
        if failed:
            primary = (finding.kind for finding in call.findings if finding.kind not in SECONDARY)
            self.failed.add(call)
            self._causes[next(primary, str(call.row.outcome))].add(call)

    def finding(self, kind: str, subject: str, addresses: Addresses) -> Finding:
        causes = dict(sorted(self._causes.items(), key=lambda item: -item[1].count))
        cause, most = next(iter(causes.items()))
        example = most.first[0]
        return _finding(
            kind,
            f"{subject} failed in {self.failed.count} of {counted(self.calls, 'call')}; "
            f"most often ({most.count}): {cause}, as in {_address(example, addresses)}: {ended(most.says)}",
            [example, *(ref for ref in self.failed.first if ref != example)],
            failed=self.failed.count,
            calls=self.calls,
            causes={name: group.count for name, group in causes.items()},
        )


class _Drift:
    """The re-issued calls of a server: those that were answered otherwise than recorded."""

    def __init__(self) -> None:
        self.compared = 0
        self.changed, self.only_moved = _Group(), _Group()
        """Those with another outcome, and those with another answer alone."""

    def add(self, call: Diagnosed) -> None:
        self.compared += 1
        if call.row.drift == "different":
            (self.changed if call.row.divergence == "server-version" else self.only_moved).add(call)

    @property
    def moved(self) -> int:
        """How many there are of both."""
        return self.changed.count + self.only_moved.count


def _finding(
    kind: str, sentence: str, refs: Iterable[CallRef], suggestion: str | None = None, **details: Any
) -> Finding:
    shown = tuple(refs)[:_MAX_CALLS]
    return Finding(kind=kind, scope="run", sentence=sentence, suggestion=suggestion, calls=shown, details=details)


def _address(call: CallRef, addresses: Addresses) -> str:
    return addresses.call(call.file, call.trajectory, call.call)


def _schema_finding(tool: str, group: _Group, addresses: Addresses, words: str, kind: str) -> Finding:
    """A tool whose schema says one thing and whose server does another."""
    return _finding(
        kind,
        f"Tool {quoted(tool)} {words} in {counted(group.count, 'call')}, "
        f"as in {_address(group.first[0], addresses)}: {ended(group.says)}",
        group.first,
        "Schema and server should agree; one of the two is wrong.",
        calls=group.count,
    )


def _drift_finding(server: str, drift: _Drift) -> Finding:
    changed = drift.changed.count
    outcomes = f"; {changed} had another outcome" if changed else ""
    return _finding(
        "drifting-server",
        f"Server {quoted(server)} answered {drift.moved} of {counted(drift.compared, 're-issued call')} "
        f"otherwise than recorded{outcomes}.",
        [*drift.changed.first, *drift.only_moved.first],
        "Pin the version that the recording was made with, or record anew." if changed else None,
        different=drift.moved,
        compared=drift.compared,
        other_class=changed,
    )


def _reference_findings(reference: Reference, run: Run) -> Iterator[Finding]:
    """Calls of the reference that no model can be scored against; of servers that the fleet lacks nothing is known."""
    names = tuple(run.servers())
    known = [
        fault
        for fault in reference.faults
        if fault.outcome is not Outcome.UNKNOWN_TOOL or read_name(fault.name or "", names).server in names
    ]
    for outcome in dict.fromkeys(fault.outcome for fault in known):
        faults = [fault for fault in known if fault.outcome is outcome]
        first = faults[0]
        yield _finding(
            "reference-fault",
            f"The reference itself has {counted(len(faults), 'call')} that would be judged "
            f"{outcome.label}, as in {first.task}:{first.position} "
            f"({plain(first.name or 'no name', 60)}): {plain(first.message, 200)}.",
            (
                CallRef(file=reference.path, model="reference", trajectory=fault.task, call=fault.position)
                for fault in faults
            ),
            "Put the reference right, or leave these tasks out of the scores.",
            count=len(faults),
        )
