"""Prints the section of CHANGELOG.md about a version, for its release: `python docs/changes_of.py v0.2.0`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

CHANGELOG = Path(__file__).parents[1] / "CHANGELOG.md"


def changes_of(version: str, text: str) -> str:
    """What stands below the heading of a version.

    Args:
        version: with or without a `v`.
        text: of the changelog.

    Raises:
        LookupError: there is no such heading, or nothing stands below it.
    """
    parts = re.split(r"(?m)^## (.+)$\n", text)
    sections = {head.split()[0]: body.strip() for head, body in zip(parts[1::2], parts[2::2], strict=True)}
    section = sections.get(version.removeprefix("v"))
    if not section:
        raise LookupError(f"CHANGELOG.md has no section {version.removeprefix('v')}")
    return section


if __name__ == "__main__":
    try:
        print(changes_of(sys.argv[1], CHANGELOG.read_text("utf-8")))  # noqa: T201
    except LookupError as problem:
        sys.exit(str(problem))
