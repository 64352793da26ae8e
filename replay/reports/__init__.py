"""Each report renders the same records: markdown, html, json, csv, junit, svg, and the table of the terminal."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from tempfile import SpooledTemporaryFile
from typing import Any, Final, Self

from replay.records import Record
from replay.records.files import stamped
from replay.records.finding import KnownFailure
from replay.runfile import Run
from replay.safety.redaction import Redactor

FORMATS: Mapping[str, str] = {
    "markdown": "replay.reports.markdown:render",
    "html": "replay.reports.html:render",
    "json": "replay.reports.json_:render",
    "csv": "replay.reports.csv_:render",
    "junit": "replay.reports.junit:render",
    "svg": "replay.reports.html:render_chart",
}
"""Each format: what renders a run and a selection, whole, or in pieces where it grows with the run; imported when it is
used."""
_CLEAN: Final = frozenset({"html", "json", "junit"})
"""Formats whose values are cleaned one by one. Their text is not: what is found there could reach from one value, cut
off in its middle, into the next."""

_IN_MEMORY: Final = 4_000_000
"""Bytes that are held before they go to a file, which nobody else can open."""


@dataclass(frozen=True)
class Selection:
    """What a report is about: the whole run where nothing is named."""

    call: str | None = None
    """`TRAJECTORY:s2c1`, or `MODEL:TRAJECTORY:s2c1`."""
    trajectory: str | None = None
    """Its id, or `MODEL:ID`."""
    model: str | None = None
    filter: str | None = None
    """The calls that it matches, written as in the browser."""
    reference: Path | None = None
    """The reference file, whose own faults are reported with those of the run."""
    known: Mapping[str, KnownFailure] = field(default_factory=dict)
    """What is known of failures, by their fingerprints."""


class Spool:
    """Texts that stand further down in a report than what they are found with, held in no more than a few megabytes."""

    def __enter__(self) -> Self:
        self._file = SpooledTemporaryFile(_IN_MEMORY)
        return self

    def __exit__(self, *problem: object) -> None:
        self._file.close()

    def add(self, text: str) -> None:
        """Put a text behind the others."""
        self._file.write(json.dumps(text).encode() + b"\n")

    def __iter__(self) -> Iterator[str]:
        """The texts from the first on; nothing may be added any more."""
        self._file.seek(0)
        return map(json.loads, self._file)


def document_text(document: Record) -> str:
    """A document as JSON, its stamp first, without secrets; what is not known is null, as its schema says."""
    dumped = document.model_dump(mode="json", by_alias=True)
    return json.dumps(Redactor().json(stamped(dumped)), ensure_ascii=True, indent=1) + "\n"


def render_document(document: Record, form: str, renderers: Mapping[str, Callable[[Any], str]]) -> str:
    """A document as JSON, or as the renderer of its format writes it; without secrets."""
    return document_text(document) if form == "json" else Redactor().text(renderers[form](document))


def render(run: Run, format: str, selection: Selection | None = None) -> str:  # noqa: A002
    """A report as text, without secrets, and with hostile text shown literally.

    Args:
        run: open for reading or writing.
        format: one of `FORMATS`.
        selection: what it is about; by default the whole run.

    Raises:
        UsageError: an id that is not there, a filter that matches nothing, or a run without verdicts.
    """
    return "".join(pieces(run, format, selection or Selection()))


def pieces(run: Run, format: str, selection: Selection) -> Iterator[str]:  # noqa: A002
    """The text that `render` gives, piece by piece: what a report says of the calls of a large run is not held.

    Raises:
        UsageError: as `render`, when the first piece is asked for.
    """
    renderer: Callable[[Run, Selection], str | Iterable[str]] = resolve_name(FORMATS[format])
    rendered = renderer(run, selection)
    texts = [rendered] if isinstance(rendered, str) else rendered
    yield from texts if format in _CLEAN else map(Redactor().text, texts)
