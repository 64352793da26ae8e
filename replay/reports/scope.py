"""What a report is about, found in the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePath
from typing import Final

from replay.alignment.tasks import Reference, read_reference
from replay.analysis.known_failures import fingerprint
from replay.analysis.spending import spending_of
from replay.diagnosis import Diagnosis, RunTally, TrajectoryContext, diagnoses
from replay.errors import UsageError
from replay.formats import open_file
from replay.records import Certainty, Fault, Outcome, faults_of
from replay.records.alignment import AlignedModel
from replay.records.files import CallRow
from replay.records.finding import Finding, KnownFailure
from replay.records.summary import ModelSummary, RunSummary, Unread
from replay.reports import Selection
from replay.reports.basis import certainty_line, fault_line, repeated_line, spending_line, unread_lines
from replay.runfile import Run, call_rows, summarize
from replay.runfile.alignment_queries import aligned_models
from replay.runfile.call_queries import matching_positions
from replay.runfile.filters import parse, read_vocabulary
from replay.runfile.summary import failed
from replay.runfile.task_runs import outcomes_by_trajectory
from replay.runfile.trajectory_queries import Addresses, TrajectoryPlace, find_call, find_trajectory, trajectory_places
from replay.safety.text import one_line
from replay.suggestions import nearest_names

MAX_MODELS: Final = 500
"""Models of a whole run that a report lists."""
MAX_CALLS: Final = 10_000
"""Calls on one page of HTML, which a browser must hold: some 20 MB."""


@dataclass(frozen=True)
class ReportScope:
    """The trajectories that a report is about, and the one call where it is about one."""

    run: Run
    selection: Selection
    places: list[TrajectoryPlace]
    call: str | None = None
    """Its position, where the report is about one call."""
    matching: Mapping[int, frozenset[str]] | None = None
    """The positions of the calls that a filter matches, by the rows of their trajectories; None without a filter."""
    left_out: bool = False
    """Whether more trajectories belong to it than it holds."""

    @property
    def whole(self) -> bool:
        """Nothing was named: the report is about the whole run."""
        return not self.is_of_one and not self.selection.filter and self.selection.model is None

    @property
    def is_of_one(self) -> bool:
        """Whether a trajectory or a call was named, which the reference's own faults do not belong to."""
        return self.selection.call is not None or self.selection.trajectory is not None

    def diagnoses(self) -> Iterator[Diagnosis]:
        """The trajectories with their findings, one at a time."""
        return diagnoses(self.run, self.places)

    def rows(self, diagnosis: Diagnosis) -> list[CallRow]:
        """The verdicts that the report is about."""
        rows = diagnosis.context.rows
        if self.call is not None:
            return [rows[self.call]]
        if self.matching is None:
            return list(rows.values())
        context = diagnosis.context
        wanted = self.matching[self._row_of[context.file, context.trajectory.id]]
        return [row for row in rows.values() if row.call in wanted]

    @cached_property
    def _row_of(self) -> dict[tuple[str, str], int]:
        return {(place.file, place.trajectory): place.row for place in self.places}

    def count(self, diagnosis: Diagnosis, tally: RunTally) -> None:
        """Count the calls that the report is about."""
        positions = {row.call for row in self.rows(diagnosis)}
        for call in diagnosis.compact():
            if self.matching is None or call.row.call in positions:
                tally.add(call)

    def mark(self, diagnosis: Diagnosis, row: CallRow) -> tuple[str | None, KnownFailure | None]:
        """The fingerprint of a failed call, and what is known of the failure; None twice for another call."""
        found = fingerprint(diagnosis.context, row, diagnosis.calls.get(row.call, ()))
        return found, self.selection.known.get(found) if found is not None else None

    def findings(self, tally: RunTally) -> tuple[Finding, ...]:
        """What the calls that were counted show together, and what is wrong with the reference."""
        return tally.findings(self.run, self.read_reference)

    def call_id(self, context: TrajectoryContext, position: str) -> str:
        """The shortest id that finds a call again."""
        return self.addresses.call(context.file, context.trajectory.id, position)

    @cached_property
    def addresses(self) -> Addresses:
        """Of the whole run."""
        return Addresses.of(self.run)

    @cached_property
    def read_reference(self) -> Reference | None:
        """The reference, where the report was given one."""
        if self.selection.reference is None or self.is_of_one:
            return None
        known = {name: server for name, server in self.run.servers().items() if server.error is None}
        return read_reference(open_file(self.selection.reference), known)

    @cached_property
    def aligned_models(self) -> dict[int, AlignedModel]:
        """What `replay align` left in the run, by file."""
        return aligned_models(self.run.connection)

    @cached_property
    def summary(self) -> RunSummary:
        """Of the whole run, with its first models."""
        return summarize(self.run, most_models=MAX_MODELS)

    @cached_property
    def models(self) -> tuple[ModelSummary, ...]:
        """The counts of the models that the report is about; of a whole run those of the first ones."""
        if self.whole:
            return self.summary.models
        models: dict[str, list[TrajectoryPlace]] = {}
        for place in self.places:
            models.setdefault(place.model, []).append(place)
        if self.matching is not None:
            return tuple(self._counted(model, places) for model, places in models.items())
        return tuple(model for model in summarize(self.run).models if model.model in models)

    @property
    def model_count(self) -> int:
        """How many models the report is about."""
        return self.summary.model_count if self.whole else len(self.models)

    @property
    def outcomes(self) -> Mapping[Outcome, int]:
        """How the calls of all models were judged."""
        if self.whole:
            return self.summary.outcomes
        return {outcome: sum(model.outcomes[outcome] for model in self.models) for outcome in Outcome}

    @property
    def faults(self) -> Mapping[Fault, int]:
        """Whose fault the calls without success of all models are."""
        if self.whole:
            return self.summary.faults
        return {fault: sum(model.faults.get(fault, 0) for model in self.models) for fault in Fault}

    @property
    def unread(self) -> Unread | None:
        """What could not be read; told of a whole run alone."""
        return self.summary.unread if self.whole else None

    @cached_property
    def certainties(self) -> Mapping[Certainty, int]:
        """How many of the verdicts that the report is about are how certain."""
        if self.whole:
            return self.summary.certainties
        return Counter(row.certainty for row in self._rows_of(self.places))

    def _rows_of(self, places: Sequence[TrajectoryPlace]) -> Iterator[CallRow]:
        """The verdicts of trajectories; where there is a filter, of the calls that it matches."""
        for place in places:
            rows = call_rows(self.run, trajectory=place.row)
            yield from (row for row in rows if self.matching is None or row.call in self.matching[place.row])

    def _counted(self, model: str, places: Sequence[TrajectoryPlace]) -> ModelSummary:
        rows = list(self._rows_of(places))
        outcomes = Counter(row.outcome for row in rows)
        reasons = Counter(row.reason for row in rows if row.reason and row.outcome is Outcome.INCONCLUSIVE)
        return ModelSummary(
            model=model,
            files=tuple(dict.fromkeys(place.file for place in places)),
            trajectories=len(places),
            calls=len(rows),
            outcomes={outcome: outcomes[outcome] for outcome in Outcome},
            reasons=dict(reasons),
            faults=faults_of(outcomes, reasons),
        )


def basis_lines(scope: ReportScope) -> list[str]:
    """What stands beside outcomes: what was not read, what rests on nothing, whose fault failures are, their cost."""
    lines = [certainty_line(scope.certainties), fault_line(scope.faults)]
    if scope.whole:
        lines = [repeated_line(scope.summary.repeated), *lines, spending_line(spending_of(scope.run))]
    return [*unread_lines(scope.unread), *filter(None, lines)]


def scope_of(run: Run, selection: Selection) -> ReportScope:
    """What a selection stands for.

    Raises:
        UsageError: an id that is not there, a filter that matches nothing, or a run without verdicts.
    """
    places = trajectory_places(run)
    run.check_has_verdicts()
    if selection.call is not None:
        place, position = find_call(run, selection.call)
        return ReportScope(run, selection, [place], position)
    if selection.trajectory is not None:
        return ReportScope(run, selection, [find_trajectory(run, selection.trajectory)])
    if selection.filter:
        matching = matching_positions(run.connection, parse(selection.filter, read_vocabulary(run.connection)))
        if not matching:
            raise UsageError(f"no call of this run matches the filter {one_line(selection.filter, 120)}")
        return ReportScope(run, selection, [place for place in places if place.row in matching], matching=matching)
    if selection.model is not None:
        return ReportScope(run, selection, _of_model(places, selection.model))
    return ReportScope(run, selection, places)


def _of_model(places: list[TrajectoryPlace], wanted: str) -> list[TrajectoryPlace]:
    found = [place for place in places if wanted in (place.model, place.file, PurePath(place.file).stem)]
    if found:
        return found
    names = list(dict.fromkeys(place.model for place in places))
    nearest = ", ".join(one_line(name, 80) for name in nearest_names(wanted, names))
    raise UsageError(f"there is no model {one_line(wanted, 80)} in this run; nearest: {nearest}")


def shown_share(scope: ReportScope, most: int | None = None) -> tuple[ReportScope, str]:
    """The scope with no more calls than a page holds, and a sentence on what is left out; "" where all is shown.

    Whole trajectories are left out. Those with failed calls come first, and all stand in the order of the run.

    Args:
        scope: of the report.
        most: calls, by default `MAX_CALLS`; the first trajectory is shown whatever it holds.
    """
    counts = _counts(scope)
    places = [place for place in scope.places if place.row in counts]
    total = sum(calls for calls, _ in counts.values())
    room = MAX_CALLS if most is None else most
    if total <= room or len(places) < 2:
        return scope, ""
    chosen: set[int] = set()
    for place in sorted(places, key=lambda place: counts[place.row][1] == 0):
        calls = counts[place.row][0]
        if calls <= room or not chosen:
            chosen.add(place.row)
            room -= calls
    shown = replace(scope, places=[place for place in scope.places if place.row in chosen], left_out=True)
    says = (
        f"This page shows {sum(counts[row][0] for row in chosen):,} of {total:,} calls, in {len(chosen):,} of "
        f"{len(places):,} trajectories: those with failed calls first. Tables and bars of models count all; "
        "findings are of what is shown. For the others: replay report --model, --trajectory "
        "or --filter, or replay browse."
    )
    return shown, says


def _counts(scope: ReportScope) -> Mapping[int, tuple[int, int]]:
    """Calls that the report is about, and how many of them failed, by the rows of their trajectories."""
    counts = {
        row: (sum(outcomes.values()), failed(outcomes))
        for row, outcomes in outcomes_by_trajectory(scope.run.connection).items()
    }
    if scope.matching is None:
        return {place.row: counts[place.row] for place in scope.places if place.row in counts}
    return {row: (len(positions), counts.get(row, (0, 0))[1]) for row, positions in scope.matching.items()}
