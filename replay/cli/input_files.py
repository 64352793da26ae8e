"""The files of a command line: opened in one way, and what of them could not be read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from replay.cli.terminal import SlowLines, echo_err, error_text, note
from replay.errors import FormatError, InputError, PartlyReadError, TooOldError

if TYPE_CHECKING:
    from replay.formats import FilesOpened
    from replay.formats.results_file import FileSummary, ResultsFile, UnopenedFile
    from replay.records.summary import UnreadFile
    from replay.replayer.plan import Source


class InputFiles:
    """The files of a command line, and what opening them shows.

    Args:
        files: as they were typed.
        names: the pattern of `--names`.
        since: the time of `--since`, as `utc` writes it.
    """

    def __init__(self, files: tuple[Path, ...], names: str | None, since: str = "") -> None:
        from replay.formats import FilesOpened, files_of
        from replay.formats.file_names import FileNames

        self.unread: list[UnreadFile] = []
        """Those that could not be read, or not as a whole."""
        self.paths: list[str] = []
        """Of those that could be read."""
        self._named_broken = self._any_too_old = False
        self._calls = 0
        self._opened: FilesOpened = FilesOpened(self._note_broken, note)
        self._sources = list(files_of(files, FileNames(names), self._note_broken, note, since))

    def _note_broken(self, error: FormatError) -> None:
        self._named_broken |= error.named
        self._note_unread("broken", error.path, error.message, error.model, error.calls, error.most_calls)
        echo_err(f"replay: {error_text(error)}")

    def _note_unread(
        self,
        kind: Literal["broken", "in-part", "no-call"],
        path: str,
        message: str,
        model: str | None,
        calls: int | None = None,
        most_calls: int | None = None,
    ) -> None:
        from replay.records.summary import UnreadFile

        file = UnreadFile(path=path, kind=kind, message=message, model=model, calls=calls, most_calls=most_calls)
        self.unread.append(file)

    def opened(self, source: Source, file: FileSummary) -> None:
        """Tell what is odd about a file."""
        self._opened.note(_source(source), file)
        self.paths.append(file.path)
        if file.signs:
            self._note_unread("no-call", file.path, "no call was found in it, but it speaks of calls", file.model)
        elif file.lost:
            self._note_unread("in-part", file.path, "parts of it could not be read", file.model)
        self._calls += file.calls
        for warning in file.warnings:
            note(warning)
        if not file.calls:
            note(f"{file.path}: no call in it ({file.format})")

    def refused(self, source: Source, error: FormatError) -> None:
        """Tell that a file cannot be read; the others go on."""
        self._any_too_old |= isinstance(error, TooOldError)
        self._opened.refuse(_source(source), error)

    def open_all(self, *, need_calls: bool = True) -> list[ResultsFile]:
        """The files, looked through: who starts servers must know which ones they name.

        Raises:
            InputError: none can be read, or none has a call although that is needed.
        """
        from replay.formats.results_file import Room, look_through

        room, files, lines = Room(), [], SlowLines()
        for number, source in enumerate(self._sources):
            lines.tell(f"reading: {number}/{len(self._sources)} files done")
            try:
                file = look_through(*source, room)
            except FormatError as error:
                self.refused(source, error)
            else:
                self.opened(source, file.summary)
                files.append(file)
        if need_calls or not files:
            self.check()
        else:
            self._opened.finish()
        return files

    def sources(self, *, is_known: bool = False) -> list[Source]:
        """The files, to be looked through and judged in one go; those before the first that can be read are told of.

        Args:
            is_known: there is a run, which may hold them: none is looked through yet.

        Raises:
            InputError: none can be read.
        """
        from replay.formats.results_file import look_through

        if is_known and self._sources:
            return [*self._sources]
        for number, source in enumerate(self._sources):
            try:
                first = look_through(*source)
            except FormatError as error:
                self.refused(source, error)
            else:
                return [first, *self._sources[number + 1 :]]
        self.check()
        return []

    def check(self) -> None:
        """See whether there is anything to judge, once all files were opened.

        Raises:
            InputError: there is not.
        """
        self._opened.finish()
        if not self.paths and self._any_too_old and not self.unread:
            raise InputError("", "no session is as new as --since says; name an earlier time")
        if not self.paths:
            raise InputError("", "no file could be read; see above")
        if not self._calls:
            raise InputError("", "no call was found in any file; see above")

    def end(self, *, strict: bool = False) -> None:
        """End the command so that a script can tell, where something was not read.

        Args:
            strict: that is an error whoever named the files.

        Raises:
            InputError: a file that was named could not be read.
            PartlyReadError: one that was found in a folder or an archive could not, or not as a whole.
        """
        from replay.diagnosis.phrasing import counted

        if self.unread:
            message = f"{counted(len(self.unread), 'file')} could not be read, or not as a whole; see above"
            if strict or self._named_broken:
                raise InputError("", message)
            raise PartlyReadError(message)


def _source(source: Source) -> UnopenedFile:
    from replay.formats.results_file import ResultsFile

    return source.source if isinstance(source, ResultsFile) else source
