"""The tables that `classify` and `sessions` print: a row a model or a server, then what went wrong most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from textwrap import shorten, wrap
from typing import Final

from rich.cells import cell_len

from replay.diagnosis.phrasing import without_preamble
from replay.records import Outcome, qualified_name
from replay.records.summary import Disagreements, FailureGroup, ModelSummary, RootCause, RunSummary, Unread
from replay.records.tool_name import read_name
from replay.reports.basis import certainty_line, fault_line, repeated_line, unread_calls, unread_label, unread_lines
from replay.reports.tables import column_widths, laid_out
from replay.runfile import Run
from replay.runfile.summary import breakdown, failed
from replay.safety.text import one_line

FEW_JUDGED: Final = 0.3
"""Share of judged calls under which the shares of a model say little."""
MAX_LISTED: Final = 100
"""Models that have a line of their own."""
_MAX_EXPLAINED: Final = 5
_JUDGED: Final = tuple(outcome for outcome in Outcome if outcome is not Outcome.INCONCLUSIVE)
_SHORT: Final = {Outcome.INVALID_ARGUMENTS: ("invalid", "args")}
_MIN_NAME, _MAX_NAME = 8, 40
_MESSAGE_WIDTH: Final = 88
_MAX_TOOL = 32
_MIN_MESSAGE: Final = 44
"""Columns under which a message stands on a line of its own."""
NO_SERVER: Final = "(no server named)"
"""Tools of the agent itself, and those whose server cannot be told from their names."""
MOST_SERVERS: Final = 15
WORST: Final = 3


def summary_text(summary: RunSummary, width: int = 160, dim: Callable[[str], str] = str) -> str:
    """The summary of a run as text for a terminal or a log.

    Args:
        summary: of the run.
        width: columns that there are; only a call's id or a name may be longer.
        dim: makes a text less bright, where that can be shown.
    """
    basis = [repeated_line(summary.repeated), certainty_line(summary.certainties), fault_line(summary.faults)]
    causes = list(_wrapped((f"  {_root_cause_line(cause)}" for cause in summary.root_causes), width))
    flaky = f"Flaky over {summary.trials} trials"
    parts = [
        "\n".join(_model_lines(summary, width, dim)),
        "\n".join(_wrapped(_disagreement_lines(summary.disagreements), width)),
        "\n".join(_wrapped(basis, width)),
        groups_text("What went wrong most", summary.failures, width),
        "\n".join(["Root causes", *causes] if causes else []),
        (groups_text(flaky, summary.flaky, width) or f"{flaky}: none") if summary.trials > 1 else "",
        groups_text("Inconclusive: these count in no category", summary.inconclusive, width),
    ]
    return "\n\n".join(filter(None, parts))


def _model_lines(summary: RunSummary, width: int, dim: Callable[[str], str]) -> Iterator[str]:
    """A line a model, and one for all; then why shares are dimmed, where they are.

    Args:
        summary: of the run.
        width: columns of the terminal.
        dim: makes a text less bright.
    """
    listed = summary.models[:MAX_LISTED]
    rows = list(listed)
    if len(rows) > 1:
        rows.append(
            ModelSummary(
                model="all",
                files=(),
                trajectories=sum(model.trajectories for model in summary.models),
                calls=sum(summary.outcomes.values()),
                outcomes=summary.outcomes,
                reasons=summary.reasons,
            )
        )
    for number, line in enumerate(_fitting(rows, summary.unread, width)):
        yield dim(line) if 2 <= number < len(rows) + 2 and _is_few(rows[number - 2]) else line
    yield from _wrapped(unread_lines(summary.unread), width)
    if summary.model_count > len(listed):
        yield f"(the first {len(listed)} of {summary.model_count:,} models; replay compare has all)"
    few = list(filter(_is_few, listed))
    for model in few[:_MAX_EXPLAINED]:
        name = _cut(one_line(model.model), _MAX_NAME)
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in list(model.reasons.items())[:3])
        yield from _wrapped([f"{name}: few calls were judged, so its shares say little ({reasons})"], width)
    if len(few) > _MAX_EXPLAINED:
        yield f"few calls were judged of {len(few) - _MAX_EXPLAINED} more models as well"


def _is_few(model: ModelSummary) -> bool:
    return model.conclusive < FEW_JUDGED * model.calls


def _fitting(rows: Sequence[ModelSummary], unread: Unread | None, width: int) -> list[str]:
    """The richest layout that fits; of the poorest, the name is cut."""
    layouts: tuple[tuple[Callable[[int, int], str], bool], ...] = ((_tenths, True), (_whole, False), (_count, False))
    for cell, inconclusive in layouts:
        table = _model_cells(rows, cell, inconclusive=inconclusive)
        if unread is not None:
            judged = f"0 of {unread_calls(unread.files)}"
            table.append([unread_label(unread.files), judged, *["-"] * (len(table[0]) - 2)])
        rest = sum(column + 2 for column in column_widths(table)[1:])
        longest = min(max(cell_len(line[0]) for line in table), _MAX_NAME)
        if longest + rest <= width or cell is _count:
            name = min(longest, max(_MIN_NAME, width - rest)) if cell is _count else longest
            return laid_out([[_cut(line[0], max(name, 5)), *line[1:]] for line in table])
    return []


def _model_cells(
    rows: Sequence[ModelSummary], cell: Callable[[int, int], str], *, inconclusive: bool
) -> list[list[str]]:
    outcomes = list(Outcome) if inconclusive else list(_JUDGED)
    heads = [_head(outcome, short=not inconclusive) for outcome in outcomes]
    if inconclusive:
        heads.insert(-1, ("well", "formed"))
    lines = [["", "", *(head[0] for head in heads)], ["model", "judged", *(head[1] for head in heads)]]
    for row in rows:
        share = f" ({100 * row.conclusive / row.calls:.0f} %)" if row.calls else ""
        cells = [cell(row.outcomes[outcome], row.conclusive) for outcome in _JUDGED]
        if inconclusive:
            cells.append(cell(row.well_formed, row.conclusive))
            cells.append(f"{row.outcomes[Outcome.INCONCLUSIVE]:,}")
        lines.append([one_line(row.model), f"{row.conclusive:,} of {row.calls:,}{share}", *cells])
    return lines


def _head(outcome: Outcome, *, short: bool) -> tuple[str, str]:
    if short and outcome in _SHORT:
        return _SHORT[outcome]
    first, _, last = outcome.label.rpartition(" ")
    return first, last


def _tenths(count: int, judged: int) -> str:
    return f"{count:,} {count / judged:6.1%}" if judged else f"{count:,}      -"


def _whole(count: int, judged: int) -> str:
    if not judged:
        return f"{count:,}   -"
    share = "<1%" if 0 < count < 0.005 * judged else f"{100 * count / judged:.0f}%"
    return f"{count:,} {share:>4}"


def _count(count: int, judged: int) -> str:
    return f"{count:,}" if judged else "-"


def _cut(text: str, width: int) -> str:
    if cell_len(text) <= width:
        return text
    while text and cell_len(text) > width - 1:
        text = text[:-1]
    return f"{text}…"


def groups_text(title: str, groups: Sequence[FailureGroup], width: int) -> str:
    """A title, and a line a group; its message stands beside it, or below it where there is little room.

    Nothing where there are no groups.
    """
    if not groups:
        return ""
    lines, addresses = _group_lines(groups, _MAX_TOOL), [""] * len(groups)
    if (excess := max(map(cell_len, lines)) - width) > 0:
        lines = _group_lines(groups, max(_MAX_TOOL - excess, _MIN_NAME))
    if max(map(cell_len, lines)) > width:  # an address that is cut cannot be pasted back
        lines, addresses = _group_lines(groups, _MAX_TOOL, addressed=False), [group.example for group in groups]
    longest = max(map(cell_len, lines))
    room = width - longest - 2
    below = room < _MIN_MESSAGE
    room = min(width - 6, _MESSAGE_WIDTH) if below else min(room, _MESSAGE_WIDTH)
    shown = [title]
    for line, address, group in zip(lines, addresses, groups, strict=True):
        message = shorten(without_preamble(one_line(group.said, None)), max(room, 20), placeholder=" …")
        beside = f"{line}{' ' * (longest - cell_len(line))}  {message}".rstrip()
        if address:
            shown.append(f"{line}\n      {one_line(address, None)}\n      {message}")
            continue
        shown.append(f"{line}\n      {message}" if below else beside)
    return "\n".join(shown)


def _group_lines(groups: Sequence[FailureGroup], tool: int, *, addressed: bool = True) -> list[str]:
    """Count, outcome, tool of so many characters, and example of each group."""
    rows = [
        [
            str(group.calls),
            str(group.reason or group.outcome.label),
            one_line(qualified_name(group.server, group.tool) or "(no name)", tool),
            *([one_line(group.example, None)] if addressed else []),
        ]
        for group in groups
    ]
    return [f"  {line}" for line in laid_out(rows, left=(1, 2, 3))]


def _wrapped(lines: Iterable[str], width: int) -> Iterator[str]:
    """Lines broken between words, the rest of each further in."""
    for line in lines:
        yield from wrap(line, width, subsequent_indent="      ", break_long_words=False, break_on_hyphens=False)


def _disagreement_lines(found: Disagreements | None) -> Iterator[str]:
    """How many calls were judged otherwise than recorded; and what is missing here, with the setting that mends it."""
    if found is None or not found.calls:
        return
    by_recording = f", {found.by_recording:,} of them judged by the recording" if found.by_recording else ""
    yield f"Disagree with their recording: {found.calls:,} of {found.compared:,} re-issued calls{by_recording}"
    if found.absent_paths:
        below = one_line(found.absent_below or "/", 80)
        yield f"  {found.absent_paths:,} name a file that is not here, below {below}. In the fleet file set"
        yield "  workspace.template: the directory that they started from, and"
        yield f"  workspace.recorded_as: {below}"


def _root_cause_line(cause: RootCause) -> str:
    """Such as `9 not_found, 1 root cause: trip:s1c2 excel/create_workbook`."""
    followed = ", ".join(f"{count} {outcome}" for outcome, count in cause.followed.items())
    return one_line(
        f"{followed}, 1 root cause: {cause.address} {cause.tool} ({cause.outcome})",
        2 * _MESSAGE_WIDTH,
    )


def sessions_text(run: Run, summary: RunSummary, width: int = 160) -> str:
    """Tables for a terminal.

    Args:
        run: of the sessions.
        summary: of the run.
        width: columns that there are.
    """
    servers = [*_server_lines(run), repeated_line(summary.repeated), certainty_line(summary.certainties)]
    parts = [
        "\n".join(filter(None, servers)),
        groups_text("What failed most, by tool and cause", summary.failures, width),
        groups_text("Inconclusive: these count as neither", summary.inconclusive, width),
    ]
    return "\n\n".join(filter(None, parts))


def worst_lines(summary: RunSummary) -> Iterator[tuple[FailureGroup, str]]:
    """The failures that were made most often, each with a sentence."""
    for group in summary.failures[:WORST]:
        tool = qualified_name(group.server, group.tool) or "(no name)"
        yield group, one_line(f"{tool}, {group.calls} times {group.outcome.label}: {group.said}", 200)


def _server_lines(run: Run) -> Iterator[str]:
    counts: dict[str, Counter[Outcome]] = {}
    for group in breakdown(run.connection, "tool"):
        server, tool = (*group.names, "", "")[:2]
        server = server or read_name(tool or "", ()).server or NO_SERVER
        counts.setdefault(server, Counter()).update(group.outcomes)
    rows = sorted(counts.items(), key=lambda row: (-failed(row[1]), -row[1].total(), row[0]))
    lines = [["server", "calls", "failed", "", "inconclusive"]]
    for server, outcomes in rows[:MOST_SERVERS]:
        judged = outcomes.total() - outcomes[Outcome.INCONCLUSIVE]
        share = f"{failed(outcomes) / judged:.1%}" if judged else "-"
        numbers = [f"{outcomes.total():,}", f"{failed(outcomes):,}", share, f"{outcomes[Outcome.INCONCLUSIVE]:,}"]
        lines.append([one_line(server, 40), *numbers])
    yield from laid_out(lines)
    if len(rows) > MOST_SERVERS:
        yield f"(and {len(rows) - MOST_SERVERS} more servers; replay report has all)"
