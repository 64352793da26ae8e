"""What failed in the sessions of coding agents: by server, by tool and cause, and the worst of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from replay.records import Outcome, qualified_name
from replay.records.summary import FailureGroup, RunSummary
from replay.records.tool_name import read_name
from replay.reports.basis import certainty_line, repeated_line
from replay.reports.summary import groups_text
from replay.reports.tables import laid_out
from replay.runfile import Run
from replay.runfile.summary import breakdown, failed
from replay.safety.text import one_line

NO_SERVER: Final = "(no server named)"
"""Tools of the agent itself, and those whose server cannot be told from their names."""
MOST_SERVERS: Final = 15
WORST: Final = 3


def sessions_text(run: Run, summary: RunSummary, width: int = 160) -> str:
    """Tables for a terminal.

    Args:
        run: of the sessions.
        summary: of the run.
        width: columns that there are.
    """
    parts = [
        "\n".join(
            filter(None, [*_server_lines(run), repeated_line(summary.repeated), certainty_line(summary.certainties)])
        )
    ]
    if summary.failures:
        parts.append(groups_text("What failed most, by tool and cause", summary.failures, width))
    if summary.inconclusive:
        parts.append(groups_text("Inconclusive: these count as neither", summary.inconclusive, width))
    return "\n\n".join(parts)


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
