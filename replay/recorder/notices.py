"""Lines for the user while a recorder runs."""

from __future__ import annotations

import sys

from replay.safety.text import printable


def print_notice(line: str) -> None:
    """One line to the user, on standard error; standard output is the protocol's."""
    if sys.stderr is not None:
        sys.stderr.write(printable(f"replay: {line}") + "\n")
        sys.stderr.flush()
