"""Where recordings go: one trajectory a file, none ever overwritten."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from replay.errors import InputError, ReplayError
from replay.recorder.journal import Journal
from replay.recorder.recording import Recording, RecordingInfo
from replay.recorder.recovery import write_recovered
from replay.recorder.trajectory_paths import numbered, partial_of, stem_of
from replay.safety.redaction import Redactor


class RecordingStore:
    """Hands out a recording for each trajectory, and finishes it.

    The first goes to `path`, the next to `NAME-2`, `NAME-3` and so on, past what is there already.
    The partial file of `path` itself stays locked throughout, so that a second recorder of the same name is refused.

    Args:
        path: the trajectory file asked for.
        info: id, model and task; an empty id means the file's name.
        redactor: takes the secrets out.
        notify: shows the user one line.

    Raises:
        InputError: the file cannot be written.
        UsageError: another recorder is writing to it.
    """

    def __init__(
        self, path: Path, info: RecordingInfo, redactor: Redactor, notify: Callable[[str], None] = lambda line: None
    ) -> None:
        self._path, self._info, self._redactor, self.notify = path, info, redactor, notify
        self._begun_count = 0
        self._open: dict[Recording, Path] = {}
        if path.is_dir():
            raise InputError(str(path), "cannot be written: it is a directory")
        self._base = Journal(partial_of(path))
        try:
            self._recover_interrupted(self._base, path)
        except BaseException:
            self._base.close()
            raise

    def begin(self, identifier: str | None = None) -> Recording:
        """Begin the next trajectory.

        Args:
            identifier: its id, where it is not to be the one that was given for all.
        """
        journal, target = self._next_free()
        self._begun_count += 1
        info = RecordingInfo(identifier or self._identifier(target), self._info.model, self._info.task)
        recording = Recording(journal, info, self._redactor, self.notify)
        self._open[recording] = target
        return recording

    def finish(self, recording: Recording) -> Path | None:
        """Turn a recording into its DAG file; one in which nothing happened leaves none."""
        target = self._open.pop(recording)
        if recording.has_content:
            from replay.recorder.assembly import write_trajectory

            try:
                written = write_trajectory(recording.journal.path, target)
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
                recording.journal.close()
                raise InputError(str(recording.journal.path), f"cannot be finished: {problem}") from problem
            self.notify(f"recorded {written}")
        self._release(recording.journal)
        return target if recording.has_content else None

    def close(self) -> None:
        """Finish all that is open, and let go of the files."""
        problems = []
        for recording in list(self._open):
            try:
                self.finish(recording)
            except (ReplayError, OSError) as problem:
                problems.append(problem)
        if not self._base.closed:
            self._base.close(remove=self._base.empty)
        if problems:
            raise problems[0]

    def _next_free(self) -> tuple[Journal, Path]:
        for number in range(1, 1_000_000):
            target = numbered(self._path, number)
            if target.exists() or target in self._open.values():
                continue
            journal = self._base if number == 1 else Journal(partial_of(target))
            self._recover_interrupted(journal, target)
            if not target.exists():
                if number > 1:
                    self.notify(f"{numbered(self._path, number - 1)} is there already; recording to {target}")
                return journal, target
            self._release(journal)
        raise InputError(str(self._path), "no free name is left beside it")

    def _recover_interrupted(self, journal: Journal, target: Path) -> None:
        if journal.empty:
            return
        try:
            saved = write_recovered(journal.path, target)
        except InputError as error:
            raise InputError(
                error.path, f"is in the way, and is not a recording; move it away ({error.message})"
            ) from error
        self.notify(f"{journal.path} was interrupted; recovered {saved}")
        journal.clear()

    def _identifier(self, target: Path) -> str:
        if not self._info.id:
            return stem_of(target)
        return self._info.id if self._begun_count == 1 else f"{self._info.id}-{self._begun_count}"

    def _release(self, journal: Journal) -> None:
        if journal is self._base:
            journal.clear()
        else:
            journal.close(remove=True)
