"""Each report renders the same records: markdown, html, json, csv, junit, svg, and the table of the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from replay.records.finding import KnownFailure
from replay.runfile import Run
from replay.safety.redaction import Redactor

FORMATS: Mapping[str, str] = {
    "markdown": "replay.reports.markdown",
    "html": "replay.reports.html",
    "json": "replay.reports.json_",
    "csv": "replay.reports.csv_",
    "junit": "replay.reports.junit",
    "svg": "replay.reports.svg",
}
"""Each format: the module that has its `render(run, selection)`, which gives the report whole, or in pieces where it
grows with the run; imported when it is used."""


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


def render(
    run: Run,
    format: str,  # noqa: A002
    *,
    call: str | None = None,
    trajectory: str | None = None,
    model: str | None = None,
    filter: str | None = None,  # noqa: A002
    reference: Path | None = None,
    known: Mapping[str, KnownFailure] | None = None,
) -> str:
    """A report as text, without secrets, and with hostile text shown literally.

    Args:
        run: open for reading or writing.
        format: one of `FORMATS`.
        call: the id of the one call that it is about.
        trajectory: the id of the one trajectory that it is about.
        model: the one model that it is about.
        filter: the calls that it is about, written as in the browser.
        reference: the file that the calls are scored against; its own faults are findings of the run.
        known: what is known of failures, by their fingerprints.

    Raises:
        UsageError: an id that is not there, a filter that matches nothing, or a run without verdicts.
    """
    selection = Selection(call, trajectory, model, filter, reference, known or {})
    return "".join(pieces(run, format, selection))


def pieces(run: Run, format: str, selection: Selection) -> Iterator[str]:  # noqa: A002
    """The text that `render` gives, piece by piece: what a report says of the calls of a large run is not held.

    Args:
        run: open for reading or writing.
        format: one of `FORMATS`.
        selection: what it is about.

    Raises:
        UsageError: as `render`, when the first piece is asked for.
    """
    renderer: Callable[[Run, Selection], str | Iterable[str]] = import_module(FORMATS[format]).render
    rendered = renderer(run, selection)
    yield from map(Redactor().text, [rendered] if isinstance(rendered, str) else rendered)


def call_markdown(run: Run, call_ref: str) -> str:
    """The diagnosis of one call as Markdown for an issue tracker; what `y` copies in the terminal browser."""
    return render(run, "markdown", call=call_ref)
