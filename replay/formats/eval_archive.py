"""Inspect's `.eval` logs, read by the package that writes them.

They are zips whose members may be compressed in ways that Python's own zipfile does not open.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from replay.errors import FormatError, install_command
from replay.formats.document import Document, Head
from replay.records import JsonObject

if TYPE_CHECKING:
    from types import ModuleType

_FIRST_MEMBERS = (b"_journal/start.json", b"header.json", b"samples/", b"summaries.json", b"_journal/summaries/")


def looks_like_eval_archive(head: Head) -> bool:
    """Whether a file is a zip with the members of an Inspect log."""
    if head.members:
        return "header.json" in head.members or "_journal/start.json" in head.members
    return head.data[:4] == b"PK\x03\x04" and head.data[30:].startswith(_FIRST_MEMBERS)


def read_eval_archive(document: Document) -> tuple[JsonObject, Iterator[JsonObject]]:
    """The header of an `.eval` log, and its samples one after the other; one that is missing is noted.

    Raises:
        FormatError: the package is not installed, or cannot read the log.
    """
    log = _package(document.path)
    with _on_disk(document) as path:
        header = _asked(document, log.read_eval_log, path, header_only=True).model_dump(mode="json")
    return header, _samples(document, log)


def _samples(document: Document, log: ModuleType) -> Iterator[JsonObject]:
    with _on_disk(document) as path:
        for summary in _asked(document, log.read_eval_log_sample_summaries, path):
            chosen = {"id": summary.id, "epoch": summary.epoch, "resolve_attachments": True}
            try:
                sample = _asked(document, log.read_eval_log_sample, path, **chosen)
            except FormatError as error:
                document.note(error.message, f"samples/{summary.id}_epoch_{summary.epoch}.json")
                continue
            yield sample.model_dump(mode="json")


def _asked(document: Document, question: Callable[..., Any], *arguments: Any, **choices: Any) -> Any:
    """What the package answers. In another thread: it runs an event loop of its own, and ours may be running here."""
    with ThreadPoolExecutor(1) as pool:
        try:
            return pool.submit(question, *arguments, **choices).result()
        except Exception as error:  # noqa: BLE001 - the package documents none, and a broken log is no fault of ours
            raise FormatError(document.path, f"inspect_ai cannot read it: {type(error).__name__}: {error}") from None


def _package(path: str) -> ModuleType:
    try:
        import inspect_ai.log
    except ImportError:
        raise FormatError(
            path,
            "an Inspect .eval log, which the package inspect_ai reads; "
            f"install it with: {install_command('inspect')}, "
            "or turn the log into JSON with: inspect log convert --to json",
        ) from None
    module: ModuleType = inspect_ai.log
    return module


@contextmanager
def _on_disk(document: Document) -> Iterator[str]:
    """A path of the file: its own, or, out of an archive or a pipe, that of a copy."""
    own = Path(document.path)
    if own.is_file() and own.suffix == ".eval":
        yield str(own)
        return
    with TemporaryDirectory(prefix="replay-") as directory:
        copy = Path(directory) / "log.eval"
        with document.open() as source, copy.open("wb") as target:
            shutil.copyfileobj(source, target)
        yield str(copy)
