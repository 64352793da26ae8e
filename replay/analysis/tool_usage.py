"""A run as the authors of its servers may want to see it: tool by tool, over all models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from replay.analysis.known_failures import cause_in_any_tool, fingerprint, primary_finding
from replay.analysis.tool_advice import advice_on
from replay.dag.documents import join, resolve
from replay.diagnosis import TrajectoryContext
from replay.diagnosis.diagnose import Diagnosis, diagnoses
from replay.diagnosis.format_and_registry import tools_meant
from replay.diagnosis.phrasing import quoted
from replay.diagnosis.schema_violations import field_location, keyword_location
from replay.records import FAILURES, Certainty, Outcome, Reason, Server, Tool
from replay.records.files import CallRow
from replay.records.finding import CallRef, Finding
from replay.records.tool_usage import (
    FailureCause,
    FieldProblem,
    ModelCalls,
    NameInstead,
    RefusedValue,
    RepeatedCall,
    SchemaDisagreement,
    SharedCause,
    Sighting,
    StrayName,
    ToolReport,
    ToolUsage,
    UncalledTools,
)
from replay.runfile import Run, filters
from replay.runfile.filters import Vocabulary, parse, read_vocabulary
from replay.runfile.trajectory_queries import trajectory_places

_FIELD_FAULTS: Final = {"missing-field": "missing", "misnamed-field": "misnamed", "unexpected-field": "unexpected"}
_VALUE_KINDS: Final = frozenset(
    {
        "wrong-type",
        "not-a-choice",
        "out-of-bounds",
        "schema-violation",
        "malformed-value",
        "refused-value",
        "refused-by-policy",
        "missing-thing",
        "placeholder-argument",
    }
)
_REPEATED: Final = frozenset({"repeated-call", "repeated-failure"})
_CRASHES: Final = frozenset({"replay.server-traceback", "answer.crash", "answer.own-output"})
"""Rules of failures of the server's own code."""
_MAX_VALUES: Final = 5
_MAX_VALUE_LENGTH: Final = 60


_Seen = TypeVar("_Seen", bound=Sighting)


@dataclass
class Sightings:
    """How often one thing was seen, and where."""

    fixed: dict[str, Any] = field(default_factory=dict)
    """What is the same in all of them."""
    calls: int = 0
    models: dict[str, None] = field(default_factory=dict)
    example: CallRef | None = None
    last: CallRef | None = None
    values: Counter[str] = field(default_factory=Counter)

    def add(self, ref: CallRef) -> None:
        """Count a call, once."""
        if self.last != ref:
            self.calls += 1
            self.models[ref.model] = None
            self.example, self.last = self.example or ref, ref

    def record(self, kind: type[_Seen]) -> _Seen:
        """What was seen, as it is reported."""
        values = {"values": tuple(value for value, _ in self.values.most_common(_MAX_VALUES))}
        more = values if kind is RefusedValue else {}
        assert self.example is not None
        return kind(calls=self.calls, models=tuple(self.models), example=self.example, **self.fixed, **more)


@dataclass
class _ToolTally:
    """What is counted of one tool, call by call."""

    server: str
    name: str
    tool: Tool | None
    models: dict[str, Counter[Outcome]] = field(default_factory=dict)
    _seen: dict[tuple[type[Sighting], Hashable], Sightings] = field(default_factory=dict)

    @property
    def schema(self) -> Any:
        """Its inputSchema; None where it is not known."""
        return self.tool.input_schema if self.tool is not None else None

    def add(self, context: TrajectoryContext, row: CallRow, findings: tuple[Finding, ...]) -> None:
        """Count a call of this tool."""
        self.models.setdefault(row.model, Counter())[row.outcome] += 1
        ref = context.ref(row.call)
        if is_failed(row):
            kind, sentence = _why(row, findings)
            key = fingerprint(context, row, findings) or cause_in_any_tool(context, row, findings)
            self._see(FailureCause, key, ref, kind=kind, sentence=sentence)
        for finding in findings:
            if finding.kind in _FIELD_FAULTS:
                self._add_field(ref, finding)
            elif finding.kind in _VALUE_KINDS and finding.pointer and not finding.details.get("accepted"):
                self._add_value(context, row, ref, finding)
        if "accepted-though-invalid" in row.findings:
            self._add_too_strict(row, ref)
        if "refused-though-valid" in row.findings:
            self._add_too_lax(row, ref, findings)

    def add_name(self, name: str, ref: CallRef, shown_by: str) -> None:
        """Count a call of another name that was to be one of this tool."""
        self._see(NameInstead, (name, shown_by), ref, name=name, shown_by=shown_by)

    def add_repeats(self, repeated: Finding) -> None:
        """Count a call that was made again and again in one trajectory."""
        fixed = {"kind": repeated.kind, "sentence": repeated.sentence, "trajectories": 0}
        for ref in repeated.calls:
            seen = self._see(RepeatedCall, repeated.kind, ref, **fixed)
        seen.fixed["trajectories"] += 1

    def usage(self) -> ToolUsage:
        """What was counted, with what to write otherwise."""
        total: Counter[Outcome] = sum(self.models.values(), Counter())
        usage = ToolUsage(
            server=self.server,
            tool=self.name,
            listed=self.tool is not None,
            description=self.tool.description if self.tool else None,
            calls=total.total(),
            outcomes={outcome: total[outcome] for outcome in Outcome},
            models=tuple(
                ModelCalls(model=model, calls=counts.total(), outcomes={each: counts[each] for each in Outcome})
                for model, counts in sorted(self.models.items(), key=lambda item: -item[1].total())
            ),
            causes=self._of(FailureCause),
            repeats=self._of(RepeatedCall),
            names_instead=self._of(NameInstead),
            fields=self._of(FieldProblem),
            values=self._of(RefusedValue),
            schema_faults=self._of(SchemaDisagreement),
            advice=(),
        )
        return usage.model_copy(update={"advice": advice_on(usage, self.tool)})

    def _see(self, sort: type[Sighting], key: Hashable, ref: CallRef, /, **fixed: Any) -> Sightings:
        seen = self._seen.setdefault((sort, key), Sightings(fixed))
        seen.add(ref)
        return seen

    def _of(self, kind: type[_Seen]) -> tuple[_Seen, ...]:
        """What was seen of one sort, that of most calls first."""
        seen = [sightings for (sort, _), sightings in self._seen.items() if sort is kind]
        return tuple(sightings.record(kind) for sightings in sorted(seen, key=lambda sightings: -sightings.calls))

    def _add_field(self, ref: CallRef, finding: Finding) -> None:
        fault = _FIELD_FAULTS[finding.kind]
        given = finding.details.get("found") if fault != "missing" else None
        name = str(finding.details.get("expected") or given or "")
        pointer = _without_indices(finding.pointer or "")
        pointer = join(pointer.rpartition("/")[0], name) if fault == "misnamed" else pointer
        written = str(given) if fault == "misnamed" else None
        fixed = {"fault": fault, "pointer": pointer, "field": name, "written": written}
        seen = self._see(FieldProblem, (fault, pointer, written), ref, **fixed, accepted=0)
        seen.fixed["accepted"] += bool(finding.details.get("accepted"))

    def _add_value(self, context: TrajectoryContext, row: CallRow, ref: CallRef, finding: Finding) -> None:
        pointer = _without_indices(finding.pointer or "")
        violation = next((violation for violation in row.violations if violation.pointer == finding.pointer), None)
        told = finding.details.get("keyword") or _KEYWORDS.get(finding.kind)
        keyword = told or (violation.keyword if violation else None)
        expected = finding.details.get("expected", violation.expected if violation and not told else None)
        seen = self._see(
            RefusedValue,
            (pointer, finding.kind, keyword),
            ref,
            pointer=pointer,
            kind=finding.kind,
            keyword=keyword,
            expected=expected,
            by_server=violation is None,
            message=finding.sentence,
        )
        try:
            value = resolve(context.arguments(row.call), finding.pointer or "")
        except LookupError:
            return
        seen.values[quoted(value, _MAX_VALUE_LENGTH)] += 1

    def _add_too_strict(self, row: CallRow, ref: CallRef) -> None:
        for violation in row.violations:
            pointer = keyword_location(self.schema, violation.schema_pointer)
            self._see(
                SchemaDisagreement,
                ("too-strict", pointer),
                ref,
                fault="too-strict",
                pointer=pointer,
                keyword=violation.keyword,
                sentence=f"The server took what the schema forbids: {violation.message.rstrip('.')}.",
            )

    def _add_too_lax(self, row: CallRow, ref: CallRef, findings: tuple[Finding, ...]) -> None:
        """The finding that says what was refused tells the place; without one it is the whole."""
        telling = [finding for finding in findings if finding.kind in _VALUE_KINDS or finding.kind in _FIELD_FAULTS]
        told: list[Finding | None] = [*telling] or [None]
        for finding in told:
            place = field_location(self.schema, (finding.pointer or "") if finding else "")
            keyword = finding.details.get("keyword") or _KEYWORDS.get(finding.kind) if finding else None
            self._see(
                SchemaDisagreement,
                ("too-lax", place.pointer, keyword),
                ref,
                fault="too-lax",
                pointer=place.pointer,
                keyword=keyword,
                sentence=finding.sentence if finding else row.message,
            )


def is_failed(row: CallRow) -> bool:
    """Whether a tool's author has something to learn: it failed or crashed, or met an error that nothing explains."""
    return row.outcome in FAILURES or row.reason is Reason.UNEXPLAINED or row.rule in _CRASHES


def _why(row: CallRow, findings: tuple[Finding, ...]) -> tuple[str, str]:
    """Kind and sentence of the most telling finding; the outcome where there is none."""
    first = primary_finding(findings)
    return (first.kind, first.sentence) if first else (str(row.outcome), row.message)


_KEYWORDS: Final = {
    "wrong-type": "type",
    "not-a-choice": "enum",
    "missing-field": "required",
    "unexpected-field": "additionalProperties",
}
"""The keyword that would forbid what a finding of this kind tells of."""


def _without_indices(pointer: str) -> str:
    """A pointer in arguments with `*` for each place in a list: elements are all declared in one line."""
    return "".join(f"/{part}" if not part.isdecimal() else "/*" for part in pointer.split("/")[1:])


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
    gatherer = _Gatherer(servers, wanted)
    for diagnosis in diagnoses(run, places):
        for position, row in diagnosis.context.rows.items():
            gatherer.add(diagnosis, row, diagnosis.calls.get(position, ()))
        gatherer.add_repeats(diagnosis)
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
            terms = parse(f"{key}:{','.join(map(filters.filter_value, names))}", vocabulary).terms if names else ()
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
    certainties: Counter[Certainty] = field(default_factory=Counter)
    _tallies: dict[tuple[str, str], _ToolTally] = field(default_factory=dict)
    _strays: dict[str, Sightings] = field(default_factory=dict)
    _causes: dict[str, Sightings] = field(default_factory=dict)
    _models: dict[str, None] = field(default_factory=dict)

    def add(self, diagnosis: Diagnosis, row: CallRow, findings: tuple[Finding, ...]) -> None:
        """Count a call."""
        if row.tool is None or row.outcome is Outcome.UNKNOWN_TOOL:
            self._add_unknown(diagnosis, row, findings)
            return
        tally = self._tally(row.server or "", row.tool.removeprefix(f"{row.server}/"))
        if tally is not None:
            self._models[row.model] = None
            self.calls += 1
            self.certainties[row.certainty] += 1
            tally.add(diagnosis.context, row, findings)
            if is_failed(row):
                kind, sentence = _why(row, findings)
                cause = cause_in_any_tool(diagnosis.context, row, findings)
                seen = self._causes.setdefault(cause, Sightings({"kind": kind, "sentence": sentence}))
                seen.add(diagnosis.context.ref(row.call))
                seen.values[row.tool] += 1

    def add_repeats(self, diagnosis: Diagnosis) -> None:
        """Count the calls of a trajectory that were made again unchanged."""
        for finding in diagnosis.together:
            if finding.kind in _REPEATED:
                row = diagnosis.context.rows[finding.calls[0].call]
                tally = self._tallies.get((row.server or "", (row.tool or "").removeprefix(f"{row.server}/")))
                if tally is not None:
                    tally.add_repeats(finding)

    def _add_unknown(self, diagnosis: Diagnosis, row: CallRow, findings: tuple[Finding, ...]) -> None:
        """A name that is no tool: counted with the tool that was meant, where that can be known."""
        context = diagnosis.context
        later = next((finding.calls[1].call for finding in findings if finding.kind == "later-succeeded"), None)
        name = row.tool if row.tool and row.server in self.servers else context.calls[row.call].name or row.tool
        if later is not None and (made := context.rows[later]).tool is not None:
            meant, shown_by = (made.server or "", made.tool.removeprefix(f"{made.server}/")), "later-call"
        elif row.rule in _NEAR_ENOUGH and (nearest := tools_meant(context, row.call)):
            server, _, tool = nearest[0].partition("/")
            meant, shown_by = (server, tool), "nearest-name"
        else:
            if not (self.wanted.servers or self.wanted.tools) or row.server in self.wanted.servers:
                self._models[row.model] = None
                stray = self._strays.setdefault(
                    name or "", Sightings({"name": name or "", "nearest": tools_meant(context, row.call)})
                )
                stray.add(context.ref(row.call))
            return
        tally = self._tally(*meant)
        if tally is not None:
            self._models[row.model] = None
            tally.add_name(name or "", context.ref(row.call), shown_by)

    def _tally(self, server: str, name: str) -> _ToolTally | None:
        """None where the tool is not asked for."""
        if (server, name) not in self._tallies:
            if not self.wanted.has(server, name):
                return None
            known = self.servers.get(server)
            self._tallies[server, name] = _ToolTally(server, name, known.tool(name) if known else None)
        return self._tallies[server, name]

    def report(self) -> ToolReport:
        """What was gathered, the tools with most failures first."""
        tools = sorted((tally.usage() for tally in self._tallies.values()), key=_order)
        strays = [sightings.record(StrayName) for sightings in self._strays.values()]
        causes = [
            SharedCause(**dict(seen.record(FailureCause)), tools=tuple(tool for tool, _ in seen.values.most_common()))
            for seen in self._causes.values()
        ]
        return ToolReport(
            tools=tuple(tools),
            causes=tuple(sorted(causes, key=lambda cause: -cause.calls)),
            stray_names=tuple(sorted(strays, key=lambda stray: (-stray.calls, stray.name))),
            uncalled=tuple(self._uncalled()),
            models=tuple(self._models),
            calls=self.calls,
            certainties=dict(self.certainties),
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
