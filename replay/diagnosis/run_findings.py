"""What a whole run shows: the worst tools and servers, schemas that lie, servers that drift, a faulty reference."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Final

from replay.alignment.tasks import Reference
from replay.diagnosis.diagnose import Diagnosed
from replay.diagnosis.phrasing import counted, ended, plain, quoted
from replay.outcomes import read_name
from replay.records import FAILURES, Outcome
from replay.records.files import CallRow
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
                self._drifts[row.server].add(row)
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
            yield Finding(
                kind="flaky-tool",
                scope="run",
                sentence=f"Tool {quoted(tool)} was judged differently from trial to trial in "
                f"{counted(group.count, 'call')}.",
                calls=tuple(group.first),
                details={"calls": group.count},
            )
        for server, drift in self._drifts.items():
            if drift.moved >= _MIN_CALLS or drift.changed:
                yield _drift_finding(server, drift)

    def _worst_tools(self, addresses: Addresses) -> Iterator[Finding]:
        failing = (tool for tool, of_tool in self._tools.items() if of_tool.failed >= _MIN_CALLS)
        for tool in sorted(failing, key=lambda tool: -self._tools[tool].failed)[:_MAX_TOOLS]:
            yield self._tools[tool].finding("failing-tool", f"Tool {quoted(tool)}", addresses)

    def _worst_server(self, addresses: Addresses) -> Iterator[Finding]:
        """A name under which no tool was ever found is not a server that could fail."""
        servers = {name: of_server for name, of_server in self._servers.items() if of_server.is_known}
        worst = max(servers, key=lambda name: servers[name].failed, default=None)
        if worst is not None and servers[worst].failed >= _MIN_CALLS:
            yield servers[worst].finding("failing-server", f"Server {quoted(worst)}", addresses)


class _Failures:
    """The calls of one tool or server, and those of them that failed."""

    def __init__(self) -> None:
        self.calls = self.failed = 0
        self.is_known = False
        """Whether any of them named a tool that there is."""
        self._causes: Counter[str] = Counter()
        self._examples: dict[str, tuple[CallRef, str]] = {}
        """The first call with each cause, and what it says."""
        self._first: list[CallRef] = []

    def add(self, call: Diagnosed, *, failed: bool) -> None:
        self.calls += 1
        self.is_known = self.is_known or call.row.outcome is not Outcome.UNKNOWN_TOOL
        if not failed:
            return
        self.failed += 1
        cause = _cause(call)
        self._causes[cause] += 1
        if cause not in self._examples:
            self._examples[cause] = _ref(call.row), plain(_words(call), 200)
        if len(self._first) <= _MAX_CALLS:
            self._first.append(_ref(call.row))

    def finding(self, kind: str, subject: str, addresses: Addresses) -> Finding:
        cause, count = self._causes.most_common(1)[0]
        example, says = self._examples[cause]
        return Finding(
            kind=kind,
            scope="run",
            sentence=f"{subject} failed in {self.failed} of {counted(self.calls, 'call')}; "
            f"most often ({count}): {cause}, as in {_address(example, addresses)}: {ended(says)}",
            calls=tuple([example, *(ref for ref in self._first if ref != example)][:_MAX_CALLS]),
            details={"failed": self.failed, "calls": self.calls, "causes": dict(self._causes.most_common())},
        )


class _Group:
    """Calls with something in common: how many, the places of the first, and what the very first one says."""

    def __init__(self) -> None:
        self.count = 0
        self.first: list[CallRef] = []
        self.says = ""

    def add(self, call: Diagnosed) -> None:
        self.count += 1
        if not self.first:
            self.says = plain(_words(call), 200)
        if len(self.first) < _MAX_CALLS:
            self.first.append(_ref(call.row))


class _Drift:
    """The re-issued calls of a server: how many were answered otherwise than recorded."""

    def __init__(self) -> None:
        self.compared = self.moved = self.changed = 0
        self._changed: list[CallRef] = []
        self._only_moved: list[CallRef] = []

    def add(self, row: CallRow) -> None:
        self.compared += 1
        if row.drift != "different":
            return
        self.moved += 1
        changed = row.divergence == "server-version"
        self.changed += changed
        refs = self._changed if changed else self._only_moved
        if len(refs) < _MAX_CALLS:
            refs.append(_ref(row))

    @property
    def first(self) -> tuple[CallRef, ...]:
        """Those with another outcome before those with another answer alone."""
        return tuple([*self._changed, *self._only_moved][:_MAX_CALLS])


def _cause(call: Diagnosed) -> str:
    primary = (finding.kind for finding in call.findings if finding.kind not in SECONDARY)
    return next(primary, str(call.row.outcome))


def _address(call: CallRef, addresses: Addresses) -> str:
    return addresses.call(call.file, call.trajectory, call.call)


def _words(call: Diagnosed) -> str:
    return call.findings[0].sentence if call.findings else call.row.message


def _schema_finding(tool: str, group: _Group, addresses: Addresses, words: str, kind: str) -> Finding:
    """A tool whose schema says one thing and whose server does another."""
    return Finding(
        kind=kind,
        scope="run",
        sentence=f"Tool {quoted(tool)} {words} in {counted(group.count, 'call')}, "
        f"as in {_address(group.first[0], addresses)}: {ended(group.says)}",
        suggestion="Schema and server should agree; one of the two is wrong.",
        calls=tuple(group.first),
        details={"calls": group.count},
    )


def _drift_finding(server: str, drift: _Drift) -> Finding:
    outcomes = f"; {drift.changed} had another outcome" if drift.changed else ""
    return Finding(
        kind="drifting-server",
        scope="run",
        sentence=f"Server {quoted(server)} answered {drift.moved} of {counted(drift.compared, 're-issued call')} "
        f"otherwise than recorded{outcomes}.",
        suggestion="Pin the version that the recording was made with, or record anew." if drift.changed else None,
        calls=drift.first,
        details={"different": drift.moved, "compared": drift.compared, "other_class": drift.changed},
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
        refs = (
            CallRef(file=reference.path, model="reference", trajectory=fault.task, call=fault.position)
            for fault in faults
        )
        first = faults[0]
        yield Finding(
            kind="reference-fault",
            scope="run",
            sentence=f"The reference itself has {counted(len(faults), 'call')} that would be judged "
            f"{outcome.label}, as in {first.task}:{first.position} "
            f"({plain(first.name or 'no name', 60)}): {plain(first.message, 200)}.",
            suggestion="Put the reference right, or leave these tasks out of the scores.",
            calls=tuple(refs)[:_MAX_CALLS],
            details={"count": len(faults)},
        )


def _ref(row: CallRow) -> CallRef:
    return CallRef(file=row.file, model=row.model, trajectory=row.trajectory, call=row.call)
