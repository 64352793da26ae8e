"""Where recordings go: one trajectory a file, none ever overwritten, and an interrupted one finished."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from replay.errors import InputError, ReplayError, UsageError
from replay.recorder.recording import (
    JOURNAL_FORMAT,
    JOURNAL_VERSION,
    MAX_LINE,
    Journal,
    Recording,
    RecordingInfo,
    entry_of,
)
from replay.safety.filesystem import atomic_writer, open_regular
from replay.safety.redaction import Redactor

PARTIAL_SUFFIX: Final = ".partial"
_SUFFIXES: Final = (".trajectory.json", ".json")


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
                written = write_trajectory(RecordedEntries(recording.journal.path), target)
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


def recover(partial: Path, target: Path | None = None) -> str:
    """Turn a `FILE.partial` that a recorder left behind into `FILE`, or the next free name, and remove it.

    Args:
        partial: the recording. Where lines of it cannot be read, a copy of it stays beside it.
        target: the trajectory file, where it is to be another.

    Returns:
        What was written, in words.

    Raises:
        InputError: there is no such file, or it is not a recording.
        UsageError: its recorder is still at work, or `target` is there already.
    """
    if not partial.is_file():
        raise InputError(str(partial), "there is no such file")
    if target is not None and target.exists():
        raise UsageError(f"{target} exists; name another with -o")
    journal = Journal(partial, timeout=0)
    try:
        if journal.empty:
            raise InputError(str(partial), "is empty: nothing had been recorded")
        saved = write_recovered(partial, target or target_of(partial))
    except BaseException:
        journal.close()
        raise
    journal.close(remove=True)
    return saved


def write_recovered(partial: Path, target: Path) -> str:
    """Write the trajectory of a partial file whose lock the caller holds, and which the caller will clear."""
    from replay.recorder.assembly import write_trajectory

    entries = RecordedEntries(partial)
    written = write_trajectory(entries, free_name(target))
    if not entries.lost:
        return written
    kept = partial.with_name(f"{partial.name}.damaged")
    with open_regular(partial) as source, atomic_writer(kept, private=True) as copy:
        shutil.copyfileobj(source, copy.buffer)
    lines = "1 line" if entries.lost == 1 else f"{entries.lost} lines"
    return f"{written} ({lines} could not be read; {kept} has what was there)"


class RecordedEntries:
    """The entries of a recording that can be read, the header first; of one whose header is lost, what is known.

    To iterate over it raises InputError where the recording cannot be read, or is none.
    """

    def __init__(self, partial: Path) -> None:
        self._partial = partial
        self.lost = 0
        """Whole lines that could not be read; the last one of a recording that was cut off is none."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        entries = self._lines()
        first = next(entries, None)
        if first is None or ("event" not in first and first.get("format") != JOURNAL_FORMAT):
            raise InputError(
                str(self._partial), f'expected a recording ({{"format": "{JOURNAL_FORMAT}", ...}})', "line 1"
            )
        header: dict[str, Any] = {"id": stem_of(target_of(self._partial)), "model": "unknown"}
        if "event" in first:
            yield header
            yield first
        else:
            if first.get("version") != JOURNAL_VERSION:
                raise InputError(str(self._partial), f"recording version {first.get('version')} is not known", "line 1")
            task = first.get("task")
            yield {**header, **first, "task": task if isinstance(task, str) else None}
        yield from (entry for entry in entries if "event" in entry)

    def _lines(self) -> Iterator[dict[str, Any]]:
        try:
            with open_regular(self._partial) as file:
                for line in iter(lambda: file.readline(MAX_LINE), b""):
                    entry = entry_of(line)
                    if entry is not None and line.endswith(b"\n"):
                        yield entry
                    elif line.endswith(b"\n"):
                        self.lost += 1
        except OSError as error:
            raise InputError(str(self._partial), f"cannot be read: {error.strerror}") from error


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


def partial_of(path: Path) -> Path:
    """The journal of a trajectory file while it is being recorded."""
    return path.with_name(path.name + PARTIAL_SUFFIX)


def target_of(partial: Path) -> Path:
    """The trajectory file of a journal."""
    name = partial.name.removesuffix(PARTIAL_SUFFIX)
    return partial.with_name(name if name != partial.name else f"{name}.trajectory.json")


def _suffix_of(path: Path) -> str:
    known = next((suffix for suffix in _SUFFIXES if path.name.endswith(suffix) and path.name != suffix), None)
    return path.suffix if known is None else known
