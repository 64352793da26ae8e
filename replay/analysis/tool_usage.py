"""A run as the authors of its servers may want to see it: tool by tool, over all models."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from replay.analysis.tool_advice import advice_on
from replay.analysis.tool_tally import Seen, ToolTally
from replay.diagnosis.diagnose import Diagnosis, diagnoses
from replay.records import Outcome, Server
from replay.records.files import CallRow
from replay.records.finding import Finding
from replay.records.tool_usage import StrayName, ToolReport, ToolUsage, UncalledTools
from replay.runfile import Run
from replay.runfile.filter_sql import read_vocabulary
from replay.runfile.filters import Vocabulary, parse, quoted
from replay.runfile.lookup import trajectory_places

_NEAR_ENOUGH: Final = frozenset({"registry.misspelt", "registry.bare-name", "registry.other-server"})
"""Rules whose nearest name is taken for the one that was meant."""


@dataclass(frozen=True)
class ToolSelection:
    """Which tools, and the calls of which models; all where nothing is named."""

    servers: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    """Tool, server/tool, or a pattern of either."""
    models: tuple[str, ...] = ()


def tool_report(run: Run, selection: ToolSelection | None = None) -> ToolReport:
    """Gather what the calls of a run say of each tool.

    Args:
        run: open for reading or writing.
        selection: which tools and models; by default all.

    Raises:
        UsageError: a server, tool or model that the run does not have; the nearest are named.
    """
    servers = run.servers()
    wanted = _Wanted.of(selection or ToolSelection(), _vocabulary(run, servers))
    places = [place for place in trajectory_places(run) if wanted.has_file(place.file)]
    return gather(diagnoses(run, places), servers, wanted)


def gather(found: Iterable[Diagnosis], servers: dict[str, Server], wanted: _Wanted | None = None) -> ToolReport:
    """The same from trajectories that were diagnosed before."""
    gatherer = _Gatherer(servers, wanted or _Wanted())
    for diagnosis in found:
        for position, row in diagnosis.context.rows.items():
            gatherer.add(diagnosis, row, diagnosis.calls.get(position, ()))
    return gatherer.report()


@dataclass(frozen=True)
class _Wanted:
    """The selection, as what is stored."""

    servers: frozenset[object] = frozenset()
    tools: frozenset[object] = frozenset()
    files: frozenset[str] = frozenset()

    @classmethod
    def of(cls, selection: ToolSelection, vocabulary: Vocabulary) -> _Wanted:
        """Read by the grammar of the filters, so that patterns and nearest names are the same everywhere."""

        def values(key: str, names: tuple[str, ...]) -> list[object]:
            terms = parse(f"{key}:{','.join(map(quoted, names))}", vocabulary).terms if names else ()
            return [value for term in terms for value in term.values]

        files = values("model", selection.models)
        return cls(
            frozenset(values("server", selection.servers)),
            frozenset(values("tool", selection.tools)),
            frozenset(path for number, _, path in vocabulary.models if number in files),
        )

    def has_file(self, path: str) -> bool:
        return not self.files or path in self.files

    def has(self, server: str, tool: str) -> bool:
        return (not self.servers or server in self.servers) and (not self.tools or (server, tool) in self.tools)


def _vocabulary(run: Run, servers: dict[str, Server]) -> Vocabulary:
    """The names of the run, and of what its servers list beside."""
    known = read_vocabulary(run.connection)
    listed = [(name, tool.name) for name, server in servers.items() for tool in server.tools]
    return replace(
        known,
        servers=tuple(dict.fromkeys([*known.servers, *servers])),
        tools=tuple(dict.fromkeys([*known.tools, *listed])),
    )


@dataclass
class _Gatherer:
    servers: dict[str, Server]
    wanted: _Wanted
    calls: int = 0
    _tallies: dict[tuple[str, str], ToolTally] = field(default_factory=dict)
    _strays: dict[str, tuple[tuple[str, ...], Seen]] = field(default_factory=dict)
    _models: dict[str, None] = field(default_factory=dict)

    def add(self, diagnosis: Diagnosis, row: CallRow, findings: tuple[Finding, ...]) -> None:
        """Count a call."""
        if row.tool is None:
            return
        if row.outcome is Outcome.UNKNOWN_TOOL:
            self._add_unknown(diagnosis, row, findings)
            return
        tally = self._tally(row.server or "", row.tool.removeprefix(f"{row.server}/"))
        if tally is not None:
            self._models[row.model] = None
            self.calls += 1
            tally.add(diagnosis.context, row, findings)

    def _add_unknown(self, diagnosis: Diagnosis, row: CallRow, findings: tuple[Finding, ...]) -> None:
        """A name that is no tool: counted with the tool that was meant, where that can be known."""
        context = diagnosis.context
        later = next((finding.calls[1].call for finding in findings if finding.kind == "later-succeeded"), None)
        name = context.calls[row.call].name or row.tool or ""
        if later is not None and (made := context.rows[later]).tool is not None:
            meant, shown_by = (made.server or "", made.tool.removeprefix(f"{made.server}/")), "later-call"
        elif row.nearest and row.rule in _NEAR_ENOUGH:
            server, _, tool = row.nearest[0].partition("/")
            meant, shown_by = (server, tool), "nearest-name"
        else:
            if not (self.wanted.servers or self.wanted.tools) or row.server in self.wanted.servers:
                self._models[row.model] = None
                self._strays.setdefault(name, (row.nearest, Seen()))[1].add(context.ref(row.call))
            return
        tally = self._tally(*meant)
        if tally is not None:
            self._models[row.model] = None
            tally.add_name(name, context.ref(row.call), shown_by)

    def _tally(self, server: str, name: str) -> ToolTally | None:
        """None where the tool is not asked for."""
        if (server, name) not in self._tallies:
            if not self.wanted.has(server, name):
                return None
            known = self.servers.get(server)
            self._tallies[server, name] = ToolTally(server, name, known.tool(name) if known else None)
        return self._tallies[server, name]

    def report(self) -> ToolReport:
        """What was gathered, the tools with most failures first."""
        tools = sorted(map(_usage, self._tallies.values()), key=_order)
        strays = [
            StrayName(name=name, nearest=nearest, **seen.common) for name, (nearest, seen) in self._strays.items()
        ]
        return ToolReport(
            tools=tuple(tools),
            stray_names=tuple(sorted(strays, key=lambda stray: (-stray.calls, stray.name))),
            uncalled=tuple(self._uncalled()),
            models=tuple(self._models),
            calls=self.calls,
        )

    def _uncalled(self) -> Iterable[UncalledTools]:
        for name, server in self.servers.items():
            idle = [
                tool.name
                for tool in server.tools
                if self.wanted.has(name, tool.name) and (name, tool.name) not in self._tallies
            ]
            if idle:
                yield UncalledTools(server=name, tools=tuple(idle))


def _order(tool: ToolUsage) -> tuple[int, int, int, str]:
    """What most calls went wrong with first, be it for the tool or for its name."""
    instead = sum(name.calls for name in tool.names_instead)
    return -(tool.failed + instead), -tool.failed, -tool.calls, tool.name


def _usage(tally: ToolTally) -> ToolUsage:
    usage = ToolUsage(
        server=tally.server,
        tool=tally.name,
        listed=tally.tool is not None,
        description=tally.tool.description if tally.tool else None,
        calls=sum(counts.total() for counts in tally.models.values()),
        outcomes=tally.outcomes(),
        models=tally.by_model(),
        causes=tally.causes(),
        names_instead=tally.names_instead(),
        fields=tally.fields(),
        values=tally.values(),
        schema_faults=tally.schema_faults(),
        advice=(),
    )
    return usage.model_copy(update={"advice": advice_on(usage, tally.tool)})
