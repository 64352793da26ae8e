"""The tables that `classify` prints: one row a model, then what went wrong most."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len

from replay.records import Outcome, qualified_name
from replay.records.summary import Disagreements, FailureGroup, RootCause, RunSummary
from replay.text import one_line

_MESSAGE_WIDTH = 88


def summary_text(summary: RunSummary) -> str:
    """The summary of a run as text for a terminal or a log."""
    parts = ["\n".join(_aligned(_model_rows(summary)))]
    if summary.disagreements is not None and summary.disagreements.calls:
        parts.append("\n".join(disagreement_lines(summary.disagreements)))
    if summary.failures:
        parts.append("What went wrong most\n" + "\n".join(_aligned(map(_failure_row, summary.failures), indent=2)))
    if summary.root_causes:
        parts.append("Root causes\n" + "\n".join(f"  {line}" for line in map(root_cause_line, summary.root_causes)))
    if summary.trials > 1:
        flaky = [*map(_failure_row, summary.flaky)]
        found = "\n" + "\n".join(_aligned(flaky, indent=2)) if flaky else ": none"
        parts.append(f"Flaky over {summary.trials} trials{found}")
    if summary.inconclusive:
        rows = map(_failure_row, summary.inconclusive)
        parts.append("Inconclusive: these count in no category\n" + "\n".join(_aligned(rows, indent=2)))
    return "\n\n".join(parts)


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


def _model_rows(summary: RunSummary) -> Iterator[Sequence[str]]:
    yield ["", "", *(outcome.label.rpartition(" ")[0] for outcome in Outcome)]
    yield ["model", "calls", *(outcome.label.rpartition(" ")[2] for outcome in Outcome)]
    for model in summary.models:
        yield _row(one_line(model.model, 40), model.calls, model.outcomes)
    if len(summary.models) > 1:
        yield _row("all", sum(model.calls for model in summary.models), summary.outcomes)


def _row(name: str, calls: int, outcomes: dict[Outcome, int]) -> list[str]:
    judged = calls - outcomes[Outcome.INCONCLUSIVE]
    shares = [_count_and_share(outcomes[outcome], judged) for outcome in Outcome if outcome is not Outcome.INCONCLUSIVE]
    return [name, str(calls), *shares, str(outcomes[Outcome.INCONCLUSIVE])]


def _count_and_share(count: int, judged: int) -> str:
    return f"{count} {count / judged:6.1%}" if judged else f"{count}      -"


def _failure_row(group: FailureGroup) -> Sequence[str]:
    tool = qualified_name(group.server, group.tool) or "(no name)"
    example = f"{one_line(group.example_trajectory, 30)}:{group.example_call}"
    return [
        str(group.calls),
        str(group.reason or group.outcome.label),
        one_line(tool, 44),
        example,
        one_line(group.example_message, _MESSAGE_WIDTH),
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
