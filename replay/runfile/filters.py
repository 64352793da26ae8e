"""The grammar of filters: `outcome:not_found server:excel model:gpt tool:create* drift:different words`.

One grammar for the browser and the reports. A filter is parsed against the names that the run knows, so that a slip
is an error with the nearest names, and a condition over the calls never needs a pattern.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final, TypeAlias, get_args

from replay.errors import UsageError
from replay.records import FAILURES, Certainty, Drift, Evidence, Fault, Outcome, Reason, qualified_name
from replay.records.time_span import Span
from replay.runfile.rows import fault_in_sql, placeholders
from replay.runfile.task_runs import kinds_found
from replay.suggestions import nearest_names

__all__ = ["CALL_KEYS", "KEYS", "Completion", "Filter", "Term", "Vocabulary", "complete", "filter_value", "parse"]

NONE: Final = "none"
"""Stands for the absence of a value: `drift:none`."""

KEYS: Final[Mapping[str, str]] = {
    "outcome": "outcome of the call; `failed` for the four that are failures",
    "reason": "why a call is inconclusive",
    "fault": "whose fault it is that a call did not succeed",
    "server": "server it was sent to",
    "tool": "tool, or server/tool",
    "model": "model, or its results file",
    "task": "type of the task",
    "trajectory": "id of the trajectory",
    "rule": "rule that decided",
    "evidence": "what the rule went by",
    "certainty": "how sure it is",
    "drift": "replayed answer against recorded answer",
    "recorded": "outcome of the recorded answer; `failed` for the four that are failures",
    "caused": "yes: failed because an earlier call did",
    "finding": "kind of finding about the call, or about its trajectory as a whole",
    "passed": "yes or no: what the recording says of the task",
    "when": "when its trajectory began: 7d (the last seven days), 2026-11, 2026-11-20..2026-11-22",
}
"""Each key, and what it is about."""

_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "outcome": (*map(str, Outcome), "failed"),
    "reason": (*map(str, Reason), NONE),
    "fault": (*map(str, Fault), NONE),
    "recorded": (*map(str, Outcome), "failed", NONE),
    "when": ("1d", "7d", "30d", NONE),
    "evidence": get_args(Evidence),
    "certainty": get_args(Certainty),
    "drift": (*get_args(Drift), NONE),
    "caused": ("yes", "no"),
    "passed": ("yes", "no", NONE),
}
_MOST_KNOWN: Final = 20
"""Names that an error lists."""
CALL_KEYS: Final = frozenset({"", "task", "trajectory", "finding", "passed", "recorded", "when"})
"""Keys that tell apart calls of one group; no key is for words."""
_TOKEN: Final = re.compile(r'(?P<not>-)?(?:(?P<key>[a-zA-Z_]+):)?(?P<value>(?:"[^"]*"?|[^\s"])*)')
WORD: Final = re.compile(r"(?:[^\W_]|[\u0300-\u036f])+")
"""A word as the full-text search parts them: letters and digits, with the accents on them; `_` ends one."""


@dataclass(frozen=True)
class Vocabulary:
    """The names that a run knows."""

    servers: tuple[str, ...] = ()
    tools: tuple[tuple[str, str], ...] = ()
    """Server and tool; the server is empty where none is known."""
    models: tuple[tuple[int, str, str], ...] = ()
    """File id, model, path."""
    task_types: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    """The kinds that were found."""
    full_text: bool = True
    """Whether the run has the table `words`."""

    def values(self, key: str) -> tuple[str, ...]:
        """What may stand behind a key; nothing for `trajectory`, of which there may be very many."""
        if key in _CHOICES:
            return _CHOICES[key]
        names: Mapping[str, Iterable[str]] = {
            "server": (*self.servers, NONE),
            "tool": (qualified_name(*tool) for tool in self.tools),
            "model": (model for _, model, _ in self.models),
            "task": (*self.task_types, NONE),
            "rule": self.rules,
            "finding": self.findings,
        }
        return tuple(dict.fromkeys(names.get(key, ())))


@dataclass(frozen=True)
class Term:
    """One condition."""

    key: str
    """Empty for words."""
    written: str
    negated: bool
    values: tuple[object, ...] = ()
    """What is stored, and is asked for: one of them must stand there."""


@dataclass(frozen=True)
class Filter:
    """A parsed filter."""

    text: str = ""
    terms: tuple[Term, ...] = ()
    full_text: bool = field(default=True, repr=False)

    @property
    def needs_each_call(self) -> bool:
        """Whether counting takes more than a look at the groups of calls."""
        return any(term.key in CALL_KEYS for term in self.terms)


def parse(text: str, vocabulary: Vocabulary) -> Filter:
    """Read a filter.

    Raises:
        UsageError: a key or a value is not known; the nearest ones are named.
    """
    terms = tuple(term for part in _TOKEN.finditer(text) if (term := _term(part, vocabulary)) is not None)
    return Filter(text.strip(), terms, vocabulary.full_text)


@dataclass(frozen=True)
class Completion:
    """One way to go on typing."""

    text: str
    """The whole filter with this taken."""
    label: str
    hint: str = ""


def complete(text: str, vocabulary: Vocabulary, limit: int = 12) -> list[Completion]:
    """How the last part of a filter could go on: keys, then the values of a key."""
    head, tail = _last_part(text)
    negation = "-" if tail.startswith("-") else ""
    key, colon, value = tail[len(negation) :].partition(":")
    if not colon:
        wanted = key.lower()
        keys = [name for name in KEYS if name.startswith(wanted)]
        return [Completion(f"{head}{negation}{name}:", f"{name}:", KEYS[name]) for name in keys[:limit]]
    earlier, comma, last = value.rpartition(",")
    wanted = last.strip('"').lower()
    names = sorted((name for name in vocabulary.values(key.lower()) if wanted in name.lower()), key=_starts(wanted))
    return [Completion(f"{head}{negation}{key}:{earlier}{comma}{filter_value(name)} ", name) for name in names[:limit]]


def filter_value(value: str) -> str:
    """A value as it must be written in a filter."""
    value = value.replace('"', "?")
    return f'"{value}"' if re.search(r"[\s,:]", value) or not value or value.startswith("-") else value


def _last_part(text: str) -> tuple[str, str]:
    parts = list(_TOKEN.finditer(text))
    if not parts or not text or text[-1].isspace():
        return text, ""
    last = [part for part in parts if part[0]][-1]
    return text[: last.start()], last[0]


def _starts(wanted: str) -> Callable[[str], tuple[bool, str]]:
    return lambda name: (not name.lower().startswith(wanted), name.lower())


def _term(part: re.Match[str], vocabulary: Vocabulary) -> Term | None:
    key, negated = (part["key"] or "").lower(), part["not"] is not None
    written = part["value"]
    if not key:
        words = written.replace('"', " ").strip()
        return Term("", words, negated) if WORD.search(words) else None
    if key not in KEYS:
        raise UsageError(_unknown("filter key", key, KEYS) + '; to search for the text itself, put it in "quotes"')
    values = [value.strip('"') for value in re.findall(r'"[^"]*"?|[^,]+', written)]
    if not values:
        raise UsageError(f"{key}: needs a value{_such_as(vocabulary.values(key))}")
    if key == "trajectory":
        return Term(key, written, negated, tuple(value.lower() for value in values))
    found = dict.fromkeys(stored for value in values for stored in _resolve(key, value, vocabulary))
    return Term(key, written, negated, tuple(found))


def _resolve(key: str, value: str, vocabulary: Vocabulary) -> list[object]:
    """The stored values that a written one stands for."""
    if key == "when" and value.lower() != NONE:
        try:
            return [Span.read(value)]
        except ValueError as error:
            raise UsageError(f"when: {error}") from None
    if key in _CHOICES:
        return _resolve_choice(key, value)
    wanted = value.lower()
    if wanted == NONE and key in {"server", "task"}:
        return [""]
    found = _matching(wanted, _spelled(key, vocabulary))
    if not found:
        raise UsageError(_unknown(key, value, vocabulary.values(key)))
    return found


def _spelled(key: str, vocabulary: Vocabulary) -> list[tuple[object, tuple[str, ...]]]:
    """What is stored, each with the ways to write it."""
    if key == "model":
        return [(file, (model, path)) for file, model, path in vocabulary.models]
    if key == "tool":
        return [((server, tool), (tool, qualified_name(server, tool))) for server, tool in vocabulary.tools]
    return [(name, (name,)) for name in vocabulary.values(key) if name != NONE]


def _matching(wanted: str, spelled: list[tuple[object, tuple[str, ...]]]) -> list[object]:
    """What is written exactly so, or as the pattern says; else what holds it anywhere."""
    found = [stored for stored, names in spelled if any(_fits(name.lower(), wanted) for name in names)]
    return found or [stored for stored, names in spelled if any(wanted in name.lower() for name in names)]


def _resolve_choice(key: str, value: str) -> list[object]:
    of_outcomes = key in ("outcome", "recorded")
    wanted = value.lower().replace("-", "_") if of_outcomes else value.lower()
    if of_outcomes and wanted == "failed":
        return [str(outcome) for outcome in FAILURES]
    if wanted == NONE and NONE in _CHOICES[key]:
        return [""]
    found: list[object] = [name for name in _CHOICES[key] if _fits(name, wanted) and name not in {NONE, "failed"}]
    if not found:
        raise UsageError(_unknown(key, value, _CHOICES[key]))
    return [int(name == "yes") for name in found] if key == "caused" else found


def _fits(name: str, wanted: str) -> bool:
    return name == wanted or fnmatchcase(name, wanted.replace("[", "[[]"))


def _unknown(what: str, value: str, known: Iterable[str]) -> str:
    names = list(known)
    nearest = nearest_names(value.lower(), names, min_score=50)
    if nearest:
        return f"no {what} {value!r}; nearest: {', '.join(nearest)}"
    return f"no {what} {value!r}{_such_as(names)}"


def _such_as(names: Iterable[str]) -> str:
    some = [name for name in names if name]
    more = ", ..." if len(some) > _MOST_KNOWN else ""
    return f"; known: {', '.join(some[:_MOST_KNOWN])}{more}" if some else ""


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
    "recorded": "ifnull((SELECT recorded FROM calls c WHERE c.id = m.call), '') IN ({})",
    "passed": "ifnull((SELECT CASE passed WHEN 1 THEN 'yes' WHEN 0 THEN 'no' END FROM task_runs k "
    "WHERE k.trajectory = m.trajectory), '') IN ({})",
}
_COLUMNS: Final = {"model": "file", "fault": f"({fault_in_sql()})"}
"""What stands for a key over the table `call_groups` that has no column of its name."""


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
    if term.key == "when":
        began = [
            span.condition("started_at") if isinstance(span, Span) else "started_at IS NULL" for span in term.values
        ]
        inner = f"SELECT trajectory FROM task_runs WHERE {' OR '.join(began)}"  # noqa: S608
        return f"m.trajectory {negation}IN ({inner})", ()
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
