"""Results files that are as they were when their calls were judged: they keep their verdicts, and are not read again.

Only of verdicts by recorded and stored answers: those that servers gave are kept call by call.
"""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

import replay
from replay.errors import FormatError
from replay.formats.results_file import FileSummary, UnopenedFile
from replay.formats.sources import InputFile
from replay.interpreter import Fleet
from replay.records import digest
from replay.replayer.plan import FileListener, Options, Source, policy_of, stored_facts, unopened
from replay.runfile import Run
from replay.runfile.run_inputs import JudgedFile, digest_of_knowledge, judged_file, keep_judged_file

_CHUNK: Final = 1 << 20


class UnchangedFiles:
    """Tells the files of a classification whose verdicts the run holds, and notes those of the others.

    It stands between the classification and who listens to it.

    Args:
        run: open for writing.
        fleet: may be None.
        options: of the classification.
        listener: told what becomes of the files.
    """

    def __init__(self, run: Run, fleet: Fleet | None, options: Options, listener: FileListener) -> None:
        self._run, self._fleet, self._options, self._listener = run, fleet, options, listener
        self._policy = policy_of(stored_facts(run, fleet), options, fleet, live=False)
        self._begun = time.time()
        self._contents: dict[str, str] = {}
        """By path, of the files that are judged: a digest that was taken before they were read."""
        self._judged: list[tuple[InputFile, FileSummary, str]] = []
        self.kept = 0
        """Files that are not read again."""

    def changed(self, sources: Iterable[Source]) -> list[Source]:
        """Those of the files that must be judged; the listener is told of the others."""
        basis, left = self._basis(), []
        for source in sources:
            found = unopened(source)
            file = found.file
            try:
                content = _content_digest(found)
            except FormatError:  # told of where it is read
                left.append(source)
                continue
            known = judged_file(self._run.connection, file.path, self._policy)
            is_same = known and known.digest == _whole_digest(basis, content, file, known.beside)
            if known is None or not is_same or (known.last or "") < found.since:
                self._contents[file.path] = content
                left.append(source)
                continue
            self.kept += 1
            self._listener.opened(source, _summary(file.path, known))
        return left

    def opened(self, source: Source, file: FileSummary) -> None:
        """A file was looked through."""
        read = unopened(source).file
        if (content := self._contents.get(read.path)) is not None:
            self._judged.append((read, file, content))
        self._listener.opened(source, file)

    def refused(self, source: Source, error: FormatError) -> None:
        """A file cannot be read."""
        self._listener.refused(source, error)

    def keep(self) -> None:
        """Note what the files were that were judged; those whose verdicts are not all there are left out."""
        basis, clean = self._basis(), self._run.redactor
        with self._run.transaction() as db:
            for file, summary, content in self._judged:
                if any(self._is_being_written(path) for path in summary.beside):
                    continue
                limit = self._options.limit
                judged = JudgedFile(
                    digest=_whole_digest(basis, content, file, summary.beside),
                    trajectories=len(summary.ids[:limit]),
                    calls=summary.calls,
                    models=tuple(dict.fromkeys(map(clean.text, summary.models))),
                    format=summary.format,
                    warnings=tuple(map(clean.text, summary.warnings)),
                    signs=tuple(map(clean.text, summary.signs)),
                    lost=summary.lost,
                    beside=summary.beside,
                    last=summary.last,
                )
                keep_judged_file(db, file.path, self._policy, judged)

    def _is_being_written(self, path: str) -> bool:
        """Whether a file that is read beside another one may have changed since."""
        with suppress(OSError):
            return Path(path).stat().st_mtime >= self._begun
        return False

    def _basis(self) -> str:
        """Digest of all that verdicts rest on beside the files."""
        fleet = self._fleet
        named: list[Any] = [fleet.dispatchers, fleet.local_tools, list(fleet.servers)] if fleet else []
        return digest(
            [_program_digest(), self._policy, self._options.limit, named, digest_of_knowledge(self._run.connection)]
        )


@cache
def _program_digest() -> str:
    """Of the program: another version may read and judge otherwise."""
    content = hashlib.sha256(sys.version.encode())
    folder = Path(replay.__file__).parent
    for path in sorted(path for path in folder.rglob("*") if path.suffix in {".py", ".yaml"}):
        content.update(str(path.relative_to(folder)).encode())
        content.update(path.read_bytes())
    return content.hexdigest()


def _content_digest(source: UnopenedFile) -> str:
    """Of a file's bytes, its name as it was typed, and how that is read.

    Raises:
        FormatError: it cannot be read.
    """
    content = hashlib.sha256(digest([source.file.path, source.names.pattern, source.file.members]).encode())
    with source.file.open() as stream:
        while chunk := stream.read(_CHUNK):
            content.update(chunk)
    return content.hexdigest()


def _whole_digest(basis: str, content: str, file: InputFile, beside: Iterable[str]) -> str:
    """Of all that the verdicts on a file rest on."""
    return digest([basis, content, *(_digest_beside(file, path) for path in beside)])


def _digest_beside(file: InputFile, path: str) -> str | None:
    """Of a file beside another one; None where there is none."""
    try:
        with file.open_beside(path) as stream:
            return hashlib.sha256(stream.read()).hexdigest()
    except (OSError, FormatError):
        return None


def _summary(path: str, known: JudgedFile) -> FileSummary:
    """What looking a file through told of it, but for its trajectories' ids."""
    return FileSummary(
        path=path,
        model=known.models[0],
        format=known.format,
        ids=(),
        models=known.models,
        call_counts=(known.calls,),
        warnings=known.warnings,
        signs=known.signs,
        lost=known.lost,
        beside=known.beside,
    )
