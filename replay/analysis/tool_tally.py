"""What is counted of one tool, call by call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from replay.dag.pointers import join, parts, resolve
from replay.diagnosis.phrasing import quoted
from replay.diagnosis.run_findings import SECONDARY
from replay.diagnosis.schema_violations import field_location, keyword_location
from replay.diagnosis.trajectory_context import TrajectoryContext
from replay.records import FAILURES, Outcome, SchemaViolation, Tool
from replay.records.files import CallRow
from replay.records.finding import CallRef, Finding
from replay.records.tool_usage import (
    FailureCause,
    FieldProblem,
    ModelCalls,
    NameInstead,
    RefusedValue,
    SchemaDisagreement,
)

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
_MAX_VALUES: Final = 5
_MAX_VALUE_LENGTH: Final = 60


@dataclass
class Seen:
    """How often one thing was seen, and where."""

    calls: int = 0
    models: dict[str, None] = field(default_factory=dict)
    examples: list[CallRef] = field(default_factory=list)
    values: Counter[str] = field(default_factory=Counter)
    accepted: int = 0
    fixed: dict[str, Any] = field(default_factory=dict)
    """What is the same in all of them."""

    def add(self, ref: CallRef) -> None:
        """Count a call, once."""
        if self.examples and self.examples[-1] == ref:
            return
        self.calls += 1
        self.models[ref.model] = None
        self.examples[1:] = [ref]

    @property
    def common(self) -> dict[str, Any]:
        """The fields of a `Sighting`."""
        return {"calls": self.calls, "models": tuple(self.models), "example": self.examples[0]}


@dataclass
class ToolTally:
    """One tool."""

    server: str
    name: str
    tool: Tool | None
    models: dict[str, Counter[Outcome]] = field(default_factory=dict)
    _seen: dict[tuple[str, Hashable], Seen] = field(default_factory=dict)

    @property
    def schema(self) -> Any:
        """Its inputSchema; None where it is not known."""
        return self.tool.input_schema if self.tool is not None else None

    def add(self, context: TrajectoryContext, row: CallRow, findings: tuple[Finding, ...]) -> None:
        """Count a call of this tool."""
        self.models.setdefault(row.model, Counter())[row.outcome] += 1
        ref = context.ref(row.call)
        if row.outcome in FAILURES:
            first = next((finding for finding in findings if finding.kind not in SECONDARY), None)
            kind = first.kind if first else str(row.outcome)
            self._see("cause", kind, ref, kind=kind, sentence=first.sentence if first else row.message)
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
        self._see("name", (name, shown_by), ref, name=name, shown_by=shown_by)

    def outcomes(self) -> dict[Outcome, int]:
        """Of all its calls."""
        total: Counter[Outcome] = sum(self.models.values(), Counter())
        return {outcome: total[outcome] for outcome in Outcome}

    def by_model(self) -> tuple[ModelCalls, ...]:
        """Of each model, the one with most calls first."""
        ordered = sorted(self.models.items(), key=lambda item: -item[1].total())
        return tuple(
            ModelCalls(model=model, calls=counts.total(), outcomes={outcome: counts[outcome] for outcome in Outcome})
            for model, counts in ordered
        )

    def names_instead(self) -> tuple[NameInstead, ...]:
        """The names that were called in its place."""
        return tuple(NameInstead(**seen.common, **seen.fixed) for seen in self._of("name"))

    def causes(self) -> tuple[FailureCause, ...]:
        """Why its calls failed."""
        return tuple(FailureCause(**seen.common, **seen.fixed) for seen in self._of("cause"))

    def fields(self) -> tuple[FieldProblem, ...]:
        """Fields that were missing, misnamed or unexpected."""
        found = self._of("field")
        return tuple(FieldProblem(**seen.common, **seen.fixed, accepted=seen.accepted) for seen in found)

    def values(self) -> tuple[RefusedValue, ...]:
        """Values that were refused."""
        return tuple(
            RefusedValue(
                **seen.common, **seen.fixed, values=tuple(value for value, _ in seen.values.most_common(_MAX_VALUES))
            )
            for seen in self._of("value")
        )

    def schema_faults(self) -> tuple[SchemaDisagreement, ...]:
        """Where schema and server say different things."""
        return tuple(SchemaDisagreement(**seen.common, **seen.fixed) for seen in self._of("schema"))

    def _see(self, what: str, key: Hashable, ref: CallRef, **fixed: Any) -> Seen:
        seen = self._seen.setdefault((what, key), Seen(fixed=fixed))
        seen.add(ref)
        return seen

    def _of(self, what: str) -> Iterator[Seen]:
        """What was seen of one sort, that of most calls first."""
        found = [seen for (sort, _), seen in self._seen.items() if sort == what]
        yield from sorted(found, key=lambda seen: -seen.calls)

    def _add_field(self, ref: CallRef, finding: Finding) -> None:
        fault = _FIELD_FAULTS[finding.kind]
        given = finding.details.get("found") if fault != "missing" else None
        name = str(finding.details.get("expected") or given or "")
        pointer = without_indices(finding.pointer or "")
        pointer = join(pointer.rpartition("/")[0], name) if fault == "misnamed" else pointer
        written = str(given) if fault == "misnamed" else None
        seen = self._see(
            "field", (fault, pointer, written), ref, fault=fault, pointer=pointer, field=name, written=written
        )
        seen.accepted += bool(finding.details.get("accepted"))

    def _add_value(self, context: TrajectoryContext, row: CallRow, ref: CallRef, finding: Finding) -> None:
        pointer = without_indices(finding.pointer or "")
        violation = _violation_at(row, finding.pointer or "")
        keyword = violation.keyword if violation else _KEYWORDS.get(finding.kind)
        expected = violation.expected if violation else finding.details.get("expected")
        seen = self._see(
            "value",
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
                "schema",
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
                "schema",
                ("too-lax", place.pointer, keyword),
                ref,
                fault="too-lax",
                pointer=place.pointer,
                keyword=keyword,
                sentence=finding.sentence if finding else row.message,
            )


_KEYWORDS: Final = {
    "wrong-type": "type",
    "not-a-choice": "enum",
    "missing-field": "required",
    "unexpected-field": "additionalProperties",
}
"""The keyword that would forbid what a finding of this kind tells of."""


def without_indices(pointer: str) -> str:
    """A pointer in arguments with `*` for each place in a list: elements are all declared in one line."""
    return "".join(f"/{part}" if not part.isdecimal() else "/*" for part in _escaped_parts(pointer))


def _escaped_parts(pointer: str) -> list[str]:
    return pointer.split("/")[1:]


def _violation_at(row: CallRow, pointer: str) -> SchemaViolation | None:
    return next((violation for violation in row.violations if violation.pointer == pointer), None)


def last_part(pointer: str) -> str:
    """The name of the field that a pointer in arguments leads to; of an element, that of its list."""
    names = [part for part in parts(pointer) if part != "*"]
    return names[-1] if names else ""
