"""The tables that `classify` prints: one row a model, then what went wrong most."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from textwrap import shorten, wrap

from rich.cells import cell_len

from replay.records import qualified_name
from replay.records.summary import Disagreements, FailureGroup, RootCause, RunSummary
from replay.reports.model_table import model_lines
from replay.safety.text import one_line

_MESSAGE_WIDTH = 88
_MIN_MESSAGE = 44
"""Columns under which a message stands on a line of its own."""


def summary_text(summary: RunSummary, width: int = 160, dim: Callable[[str], str] = str) -> str:
    """The summary of a run as text for a terminal or a log.

    Args:
        summary: of the run.
        width: columns that there are; only a call's id or a name may be longer.
        dim: makes a text less bright, where that can be shown.
    """
    parts = ["\n".join(model_lines(summary, width, dim))]
    if summary.disagreements is not None and summary.disagreements.calls:
        parts.append(_wrapped(disagreement_lines(summary.disagreements), width))
    if uncertain := certainty_line(summary):
        parts.append(_wrapped([uncertain], width))
    if summary.failures:
        parts.append(_listed("What went wrong most", summary.failures, width))
    if summary.root_causes:
        parts.append(
            "Root causes\n" + _wrapped((f"  {root_cause_line(cause)}" for cause in summary.root_causes), width)
        )
    if summary.trials > 1:
        title = f"Flaky over {summary.trials} trials"
        parts.append(_listed(title, summary.flaky, width) if summary.flaky else f"{title}: none")
    if summary.inconclusive:
        parts.append(_listed("Inconclusive: these count in no category", summary.inconclusive, width))
    return "\n\n".join(parts)


def certainty_line(summary: RunSummary) -> str:
    """How many verdicts are not certain; "" where all are."""
    levels = {level: count for level, count in summary.certainties.items() if level != "certain" and count}
    if not levels:
        return ""
    total, shown = sum(summary.certainties.values()), ", ".join(f"{count:,} {level}" for level, count in levels.items())
    return f"Not certain: {sum(levels.values()):,} of {total:,} verdicts ({shown})"


def _listed(title: str, groups: Sequence[FailureGroup], width: int) -> str:
    """A line a group; its message stands beside it, or below it where there is little room."""
    rows = [_failure_row(group) for group in groups]
    lines = list(_aligned(rows, indent=2))
    room = width - max(map(cell_len, lines)) - 2
    below = room < _MIN_MESSAGE
    room = min(width - 6, _MESSAGE_WIDTH) if below else min(room, _MESSAGE_WIDTH)
    messages = [shorten(one_line(group.example_message), max(room, 20), placeholder=" …") for group in groups]
    if below:
        shown = (f"{line.rstrip()}\n      {message}" for line, message in zip(lines, messages, strict=True))
    else:
        longest = max(map(cell_len, lines))
        shown = (
            f"{line}{' ' * (longest - cell_len(line))}  {message}".rstrip()
            for line, message in zip(lines, messages, strict=True)
        )
    return "\n".join([title, *shown])


def _wrapped(lines: Iterable[str], width: int) -> str:
    """Lines broken between words, the rest of each further in."""
    broken = (
        wrap(line, width, subsequent_indent="      ", break_long_words=False, break_on_hyphens=False) for line in lines
    )
    return "\n".join(part for parts in broken for part in parts)


def disagreement_lines(found: Disagreements) -> Iterator[str]:
    """How many calls came out otherwise than recorded; and what is missing here, with the setting that mends it."""
    by_recording = f", {found.by_recording:,} of them judged by the recording" if found.by_recording else ""
    yield f"Disagree with their recording: {found.calls:,} of {found.compared:,} re-issued calls{by_recording}"
    if found.absent_paths:
        below = one_line(found.absent_below or "/", 80)
        yield f"  {found.absent_paths:,} name a file that is not here, below {below}. In the fleet file set"
        yield "  workspace.template: the directory that they started from, and"
        yield f"  workspace.recorded_as: {below}"


def root_cause_line(cause: RootCause) -> str:
    """Such as `9 not_found, 1 root cause: s1c2 excel/create_workbook`."""
    followed = ", ".join(f"{count} {outcome}" for outcome, count in cause.followed.items())
    return one_line(
        f"{followed}, 1 root cause: {cause.call} {cause.tool} ({cause.outcome}) in {cause.trajectory}",
        2 * _MESSAGE_WIDTH,
    )


def _failure_row(group: FailureGroup) -> Sequence[str]:
    tool = qualified_name(group.server, group.tool) or "(no name)"
    example = f"{one_line(group.example_trajectory, 30)}:{group.example_call}"
    return [
        str(group.calls),
        str(group.reason or group.outcome.label),
        one_line(tool, 32),
        example,
    ]


def _aligned(rows: Iterable[Sequence[str]], indent: int = 0) -> Iterator[str]:
    """Rows as lines, each column as wide as its widest cell; columns of counts stand to the right."""
    table = [list(row) for row in rows]
    widths = [max(cell_len(row[column]) for row in table) for column in range(len(table[0]))]
    for row in table:
        cells = (
            _pad(cell, width, right=_is_count(table, column))
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield (" " * indent + "  ".join(cells)).rstrip()


def _is_count(table: Sequence[Sequence[str]], column: int) -> bool:
    """Whether a column holds counts, below a heading or without one."""
    cells = [row[column] for row in table]
    counts = [cell[:1].isdigit() and cell[-1:] in "0123456789%-" for cell in cells]
    return counts[-1] and all(counts[min(2, len(counts) - 1) :])


def _pad(cell: str, width: int, *, right: bool) -> str:
    space = " " * (width - cell_len(cell))
    return space + cell if right else cell + space
