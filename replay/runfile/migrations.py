"""How the tables of an older run file become those of today, one step a version."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Final

from replay.runfile.schema import VERSION

_FROM_1_TO_2: Final = """
ALTER TABLE tallies RENAME TO outcome_counts;
ALTER TABLE kinds RENAME TO call_groups;
ALTER TABLE call_groups RENAME COLUMN rooted TO caused;
ALTER TABLE marks RENAME TO call_group_index;
ALTER TABLE call_group_index RENAME COLUMN kind TO call_group;
ALTER TABLE files RENAME COLUMN place TO absolute_path;
DROP INDEX marks_by_kind;
CREATE INDEX calls_by_group ON call_group_index (call_group, trajectory, ordinal, call);
"""
"""Names only. SQLite writes the new ones into the triggers too."""

STEPS: Final[Mapping[int, str]] = {1: _FROM_1_TO_2}
"""Version n to n + 1: the statements that do it."""


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Bring the tables from `version` up to today's; each step is done whole or not at all."""
    for number in range(version, VERSION):
        try:
            connection.executescript(f"BEGIN IMMEDIATE; {STEPS[number]}")
            connection.execute("UPDATE meta SET value = ? WHERE key = 'version'", (str(number + 1),))
            connection.execute("COMMIT")
        except sqlite3.Error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
