"""Filters as SQL conditions, and the names that a run knows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Final, TypeAlias

from replay.runfile.conditions import placeholders
from replay.runfile.filters import CALL_KEYS, WORD, Filter, Term, Vocabulary
from replay.runfile.finding_queries import kinds_found

Condition: TypeAlias = tuple[str, tuple[object, ...]]
"""SQL, and the values for its question marks."""

_TRAJECTORIES: Final = (
    "SELECT id FROM trajectories WHERE lower(name) GLOB ? OR instr(lower(name), ?) "
    "AND NOT EXISTS (SELECT 1 FROM trajectories WHERE lower(name) GLOB ?)"
)
"""Those whose id is written exactly so, or as the pattern says; else those that hold it anywhere."""
_BEGINS_A_WORD: Final = (
    "lower(' ' || ifnull(server, '') || ' ' || ifnull(tool, '') || ' ' || ifnull(arguments, '') || ' ' || message) "
    "GLOB '*[^a-z0-9\u0080-\U0010ffff]' || ? || '*'"
)
"""What the full-text search finds, in a run file that was made without it."""
_SUBQUERIES: Final = {
    "finding": "EXISTS (SELECT 1 FROM findings n WHERE n.kind IN ({}) AND n.trajectory = m.trajectory "
    "AND n.ordinal IN (m.ordinal, -1))",
    "passed": "ifnull((SELECT CASE passed WHEN 1 THEN 'yes' WHEN 0 THEN 'no' END FROM task_runs k "
    "WHERE k.trajectory = m.trajectory), '') IN ({})",
}
_COLUMNS: Final = {"model": "file"}
"""The columns of `call_groups` that are not called like the filter's key."""


def read_vocabulary(connection: sqlite3.Connection) -> Vocabulary:
    """The names that filters of this run may hold."""

    def names(query: str) -> tuple[str, ...]:
        return tuple(value for (value,) in connection.execute(query) if value)

    tools = connection.execute("SELECT DISTINCT server, tool FROM call_groups WHERE n > 0 ORDER BY 1, 2").fetchall()
    words = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'words'").fetchone()[0]
    return Vocabulary(
        servers=tuple(dict.fromkeys(server for server, _ in tools if server)),
        tools=tuple(tools),
        models=tuple(connection.execute("SELECT id, model, path FROM files ORDER BY id")),
        task_types=names("SELECT DISTINCT task_type FROM outcome_counts WHERE n > 0 ORDER BY 1"),
        rules=names("SELECT DISTINCT rule FROM call_groups WHERE n > 0 ORDER BY 1"),
        findings=kinds_found(connection),
        full_text=bool(words),
    )


def group_condition(wanted: Filter) -> Condition:
    """What a filter says of whole groups of calls, over the table `call_groups`; `1` where that is nothing."""
    return _all(_of_group(term) for term in wanted.terms if term.key not in CALL_KEYS)


def call_condition(wanted: Filter) -> Condition:
    """What must be asked of each call, over `m` (the table `call_group_index`); `1` where that is nothing."""
    return _all(_of_call(term, full_text=wanted.full_text) for term in wanted.terms if term.key in CALL_KEYS)


def _of_group(term: Term) -> Condition:
    negation = "NOT " if term.negated else ""
    if term.key == "tool":
        pairs = [pair for pair in term.values if isinstance(pair, tuple)]
        rows = ", ".join(["(?, ?)"] * len(pairs))
        return f"(server, tool) {negation}IN (VALUES {rows})", tuple(name for pair in pairs for name in pair)
    return f"{_COLUMNS.get(term.key, term.key)} {negation}IN ({placeholders(term.values)})", term.values


def _of_call(term: Term, *, full_text: bool) -> Condition:
    negation = "NOT " if term.negated else ""
    if term.key == "task":
        inner = f"SELECT id FROM trajectories WHERE ifnull(task_type, '') IN ({placeholders(term.values)})"  # noqa: S608
        return f"m.trajectory {negation}IN ({inner})", term.values
    if term.key == "trajectory":
        inner = " UNION ".join([_TRAJECTORIES] * len(term.values))
        values = tuple(part for value in term.values for part in (_glob(value), value, _glob(value)))
        return f"m.trajectory {negation}IN ({inner})", values
    if term.key in _SUBQUERIES:
        return f"{negation}{_SUBQUERIES[term.key].format(placeholders(term.values))}", term.values
    if full_text:
        query = " AND ".join(f'"{word}"*' for word in WORD.findall(term.written))
        return f"m.call {negation}IN (SELECT rowid FROM words WHERE words MATCH ?)", (query,)  # noqa: S608
    words = tuple(word.lower() for word in WORD.findall(term.written))
    inner = f"SELECT id FROM calls WHERE {' AND '.join([_BEGINS_A_WORD] * len(words))}"  # noqa: S608
    return f"m.call {negation}IN ({inner})", words


def _all(conditions: Iterable[Condition]) -> Condition:
    parts = list(conditions)
    if not parts:
        return "1", ()
    return " AND ".join(f"({part})" for part, _ in parts), tuple(value for _, values in parts for value in values)


def _glob(value: object) -> str:
    return str(value).replace("[", "[[]")
