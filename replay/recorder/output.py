"""Where recordings go: one trajectory a file, none ever overwritten."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from replay.errors import InputError
from replay.recorder.journal import PARTIAL_SUFFIX, Journal
from replay.recorder.recording import About, Recording
from replay.redaction import Redactor

_SUFFIXES = (".trajectory.json", ".json")


class Output:
    """Hands out a recording for each trajectory, and finishes it.

    The first goes to `path`, the next to `NAME-2`, `NAME-3` and so on, past what is there already.
    The partial file of `path` itself stays locked throughout, so that a second recorder of the same name is refused.

    Args:
        path: the trajectory file asked for.
        about: id, model and task; an empty id means the file's name.
        redactor: takes the secrets out.
        tell: says one line to the user.

    Raises:
        InputError: the file cannot be written.
        UsageError: another recorder is writing to it.
    """

    def __init__(
        self, path: Path, about: About, redactor: Redactor, tell: Callable[[str], None] = lambda line: None
    ) -> None:
        self._path, self._about, self._redactor, self.tell = path, about, redactor, tell
        self._begun = 0
        self._open: dict[Recording, Path] = {}
        if path.is_dir():
            raise InputError(str(path), "cannot be written: it is a directory")
        self._base = Journal(_partial(path))
        try:
            self._save_what_was_cut_off(self._base, path)
        except BaseException:
            self._base.close()
            raise

    def begin(self, identifier: str | None = None) -> Recording:
        """Begin the next trajectory.

        Args:
            identifier: its id, where it is not to be the one that was given for all.
        """
        journal, target = self._next_free()
        self._begun += 1
        about = About(identifier or self._identifier(target), self._about.model, self._about.task)
        recording = Recording(journal, about, self._redactor, self.tell)
        self._open[recording] = target
        return recording

    def finish(self, recording: Recording) -> Path | None:
        """Turn a recording into its DAG file; one in which nothing happened leaves none."""
        target = self._open.pop(recording)
        if recording.worth_keeping:
            from replay.recorder.assembly import write_trajectory

            written = write_trajectory(recording.journal.path, target)
            self.tell(f"recorded {written}")
        self._release(recording.journal)
        return target if recording.worth_keeping else None

    def close(self) -> None:
        """Finish all that is open, and let go of the files."""
        try:
            for recording in list(self._open):
                self.finish(recording)
        finally:
            self._base.close(remove=self._base.empty)

    def _next_free(self) -> tuple[Journal, Path]:
        for number in range(1, 1_000_000):
            target = numbered(self._path, number)
            if target.exists() or target in self._open.values():
                continue
            journal = self._base if number == 1 else Journal(_partial(target))
            self._save_what_was_cut_off(journal, target)
            if not target.exists():
                if number > 1:
                    self.tell(f"{numbered(self._path, number - 1)} is there already; recording to {target}")
                return journal, target
            self._release(journal)
        raise InputError(str(self._path), "no free name is left beside it")

    def _save_what_was_cut_off(self, journal: Journal, target: Path) -> None:
        if journal.empty:
            return
        from replay.recorder.recovery import recovered

        try:
            saved = recovered(journal.path, target)
        except InputError as error:
            raise InputError(
                error.path, f"is in the way, and is no recording; move it away ({error.message})"
            ) from error
        self.tell(f"{journal.path} was cut off; recovered {saved}")
        journal.clear()

    def _identifier(self, target: Path) -> str:
        if not self._about.id:
            return stem_of(target)
        return self._about.id if self._begun == 1 else f"{self._about.id}-{self._begun}"

    def _release(self, journal: Journal) -> None:
        if journal is self._base:
            journal.clear()
        else:
            journal.close(remove=True)


def stem_of(path: Path) -> str:
    """The file's name without what makes it a trajectory file."""
    suffix = _suffix_of(path)
    return path.name[: -len(suffix)] if suffix else path.name


def numbered(path: Path, number: int) -> Path:
    """`run.trajectory.json`, `run-2.trajectory.json`, ..."""
    if number == 1:
        return path
    return path.with_name(f"{stem_of(path)}-{number}{_suffix_of(path)}")


def free_name(path: Path) -> Path:
    """The first of the numbered names that is not taken."""
    return next(name for number in range(1, 1_000_000) if not (name := numbered(path, number)).exists())


def _suffix_of(path: Path) -> str:
    known = next((suffix for suffix in _SUFFIXES if path.name.endswith(suffix) and path.name != suffix), None)
    return path.suffix if known is None else known


def _partial(path: Path) -> Path:
    return path.with_name(path.name + PARTIAL_SUFFIX)
