"""Prints a GitHub annotation for each failed call of a run: `python annotations.py replay-run.db`."""

from __future__ import annotations

import sys

import replay

MOST = 10
"""So many GitHub shows of a step."""
FAILED = {"illegal_format", "unknown_tool", "invalid_arguments", "not_found"}


def escaped(text: str, *, in_property: bool = False) -> str:
    """A text of somebody else's, so that it ends no annotation and begins none."""
    for mark, code in (("%", "%25"), ("\r", "%0D"), ("\n", "%0A")):
        text = text.replace(mark, code)
    return text.replace(":", "%3A").replace(",", "%2C") if in_property else text


def main() -> None:
    """Print them."""
    with replay.open_run(sys.argv[1]) as run:
        rows = [row for row in run.calls() if row.outcome in FAILED]
    for row in rows[:MOST]:
        title = f"{row.tool or '(no name)'}: {row.outcome.label}"
        place = f"{row.trajectory}:{row.call}"
        file, title = escaped(row.file, in_property=True), escaped(title, in_property=True)
        print(f"::warning file={file},title={title}::{escaped(f'{place}: {row.message}')}")  # noqa: T201
    if len(rows) > MOST:
        print(f"::notice::{len(rows) - MOST} more calls failed; the summary of the job has all")  # noqa: T201


if __name__ == "__main__":
    main()
