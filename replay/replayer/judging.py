"""One classification of a run: what its calls are judged by, and where its verdicts go, whoever replays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from replay.errors import FormatError
from replay.formats.results_file import FileSummary, ResultsFile, UnopenedFile
from replay.records import CallResult, Trajectory
from replay.replayer.plan import Options, Piece, Progress, ReplayContext, count_calls
from replay.replayer.verdict import fault_in_words, verdict_of_replay_fault
from replay.runfile import Run
from replay.runfile.repeated_calls import keep_session_calls

Source = ResultsFile | UnopenedFile

_UNKEPT = (ValueError, TypeError, RecursionError)
"""What a trajectory raises that cannot be written."""
_NOTHING_FOUND = (*_UNKEPT, LookupError, AttributeError)


class FileListener(Protocol):
    """Is told what becomes of files that are looked through and judged in one go."""

    def opened(self, source: Source, file: FileSummary) -> None:
        """A file was looked through."""

    def refused(self, source: Source, error: FormatError) -> None:
        """A file cannot be read. Raises where the others must not go on."""


class NoListener:
    """A file that cannot be read ends the classification."""

    def opened(self, source: Source, file: FileSummary) -> None:
        """Nobody is told."""

    def refused(self, source: Source, error: FormatError) -> None:
        """Raise the error."""
        raise error


@dataclass
class Judging:
    """What the trajectories of a classification share."""

    run: Run
    context: ReplayContext
    options: Options
    progress: Progress
    listener: FileListener = field(default_factory=NoListener)
    _rows: dict[str, list[int]] = field(default_factory=dict)
    """By path, the rows that were reserved for the trajectories of a file that workers judge."""

    # --- files

    def file_opened(self, source: Source, file: FileSummary, number: int | None = None) -> None:
        """Take note of a file that is judged in one go with being read: what the run holds of it follows it.

        Args:
            source: as it was named.
            file: what is in it.
            number: the run's own, where files are not opened in their order; by default the next.
        """
        count = count_calls(file, self.options)
        self.progress.file_opened(count)
        with self.run.transaction():
            self.progress.notes += self.run.follow(file.path, file.model, file.ids)
            self.run.forget_verdicts([file.path])
            keep_session_calls(self.run, file.path, file.ids, file.call_counts, file.call_ids, file.last)
            if number is not None:
                self.run.file_row(file.path, file.model, file.format, number)
        self.listener.opened(source, file)

    def file_refused(self, source: Source, error: FormatError) -> None:
        """Take note of a file that cannot be read."""
        self.progress.file_opened(0)
        self.listener.refused(source, error)

    # --- trajectories

    def keep(
        self,
        piece: Piece,
        replayed: Trajectory,
        results: Iterable[CallResult],
        saved: Mapping[str, CallResult] | None = None,
    ) -> None:
        """Write the verdicts of a trajectory, all or none; then its findings, which can be made later too.

        Args:
            piece: the trajectory, as it was read.
            replayed: with its data edges.
            results: its calls, each with its verdict.
            saved: what stands in the run already, by position.
        """
        with self.run.transaction():
            state = piece.state or self.run.begin(
                piece.trajectory, file=piece.file, format=piece.format, policy=self.context.policy, record=False
            )
            kept = self.run.finish(state.row, replayed, results, saved)
        if self.options.on_done is not None:
            try:
                with self.run.transaction():
                    self.options.on_done(state.row, kept)
            except _NOTHING_FOUND as problem:  # what fails there takes no verdict back
                note = f"{replayed.id}: its findings could not be kept: {fault_in_words(problem)}"
                self.progress.notes.append(note)

    def give_up(self, piece: Piece, problem: Exception) -> None:
        """Note what went wrong with a trajectory, and make each of its calls inconclusive."""
        trajectory = piece.trajectory
        self.progress.notes.append(f"{trajectory.id}: could not be replayed: {fault_in_words(problem)}")
        verdict = verdict_of_replay_fault(problem)
        try:
            self.keep(piece, trajectory, (CallResult(call, verdict) for call in trajectory.calls()))
        except _UNKEPT as worse:
            self.progress.notes.append(f"{trajectory.id}: could not be kept: {fault_in_words(worse)}")
