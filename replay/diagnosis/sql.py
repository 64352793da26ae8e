"""What statements of SQL ask for, as far as two of them can be told to want the same.

There is no parser for every dialect: a statement is known by its leading keyword, the names and the literals in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

_TOKEN: Final = re.compile(
    r"--[^\n]*|/\*[\s\S]*?\*/|'(?P<text>(?:[^']|'')*)'|(?P<name>[A-Za-z_][\w$]*(?:\.[A-Za-z_][\w$]*)*)"
    r"|(?P<number>\d[\d.]*)|(?P<mark>[;*(,])"
)
_CHANGES: Final = frozenset(
    """
    alter call copy create delete drop grant insert merge refresh replace revoke truncate update upsert
    """.split()  # noqa: SIM905 a list would take a line a word
)
_READS: Final = frozenset(["desc", "describe", "explain", "pragma", "select", "show", "table", "values"])
_WRAPPERS: Final = frozenset(["begin", "do", "with"])
"""What a statement of any kind may stand behind."""
_SESSION: Final = frozenset(["commit", "end", "reset", "rollback", "set", "start", "use"])
_STARTS: Final = re.compile(
    rf"(?:\s|--[^\n]*\n|/\*[\s\S]*?\*/)*(?:{'|'.join(sorted(_CHANGES | _READS | _WRAPPERS | _SESSION))})\b", re.I
)
_SYNTAX: Final = re.compile(r"[;*=(]|\b(?:from|into|table|view|schema|as)\b|select\s+\S+\s*$", re.IGNORECASE)
_TYPES: Final = frozenset(
    """
    bigint bigserial bool boolean char character decimal double float int integer json jsonb numeric precision real
    serial smallint text timestamp timestamptz uuid varchar
    """.split()  # noqa: SIM905 a list would take a line a word
)
"""A table made with other types is the same table."""
_KEYWORDS: Final = frozenset(
    """
    all and any as asc between by case cascade concurrently cross current date desc distinct do each else end exists
    false first for from full function group having if ilike in index inner interval into is join key last lateral left
    like limit materialized not null nulls numeric offset on only or order outer over partition policy primary
    procedure public recursive right role schema set some table temp temporary then to trigger true union unique using
    values varchar view when where with
    """.split()  # noqa: SIM905 a list would take a line a word
)
_AGGREGATES: Final = frozenset(["avg", "count", "max", "min", "sum"])
_MOST: Final = 0.75
"""Share of a row's numbers, or of the literals of a computed change, that the same change in other words has."""
_MANY: Final = 0.5
"""Share of the names in a definition."""


class Statement(NamedTuple):
    """One statement."""

    verb: str
    target: str
    """What a changing statement changes: the first name behind its keywords; empty of one that reads."""
    tables: frozenset[str]
    """What it reads."""
    names: frozenset[str]
    """Of columns and functions too, without those that the statement gives itself."""
    literals: frozenset[str]
    numbers: tuple[str, ...]
    """Without how many rows are wanted."""
    all_columns: bool

    @property
    def changes(self) -> bool:
        """Whether it changes something."""
        return self.verb in _CHANGES


def statements_of(text: str) -> tuple[Statement, ...]:
    """The statements of a text that do something; none where the text is no SQL."""
    if not (_STARTS.match(text) and _SYNTAX.search(text)):
        return ()
    return tuple(statement for tokens in _split(text) if (statement := _statement(tokens)) is not None)


def covered(wanted: Statement, others: Sequence[Statement], *, exactly: bool) -> bool:
    """Whether other statements ask for what one asks for: one that reads by itself, those that change together.

    Args:
        wanted: the one.
        others: that may ask for it.
        exactly: whether they must have all of its names, literals and numbers, and not most of them.
    """
    if not wanted.changes:
        return any(_reads_as_much(other, wanted) for other in others)
    verbs = {wanted.verb, "alter"} if wanted.verb == "create" else {wanted.verb}
    same = [other for other in others if other.verb in verbs and other.target == wanted.target]
    if all(other.verb != wanted.verb for other in same):
        return False
    most = 1 if exactly else _MOST
    if wanted.verb == "create":
        return _share(wanted.names, [other.names for other in same]) >= (1 if exactly else _MANY)
    literals = _share(wanted.literals, [other.literals for other in same])
    if wanted.tables - {wanted.target}:
        return literals >= most
    return literals == 1 and _share(wanted.numbers, [other.numbers for other in same]) >= most


def reads_of_the_same(wanted: Statement, others: Sequence[Statement]) -> bool:
    """Whether one of other statements reads the tables that one reads, row by row or added up as it does."""
    added_up = wanted.names & _AGGREGATES
    alike = (other for other in others if not other.changes and other.names & _AGGREGATES == added_up)
    return not wanted.changes and any(wanted.tables and wanted.tables <= other.tables for other in alike)


def _share(wanted: Sequence[str] | frozenset[str], others: Sequence[Sequence[str] | frozenset[str]]) -> float:
    """How much of what one statement has others have as well."""
    return sum(any(value in other for other in others) for value in wanted) / len(wanted) if wanted else 1.0


def _reads_as_much(other: Statement, wanted: Statement) -> bool:
    return (
        other._replace(names=wanted.names, all_columns=wanted.all_columns) == wanted
        and wanted.names & _AGGREGATES == other.names & _AGGREGATES
        and (other.all_columns or (wanted.names <= other.names and not wanted.all_columns))
    )


def _split(text: str) -> Iterator[list[re.Match[str]]]:
    tokens: list[re.Match[str]] = []
    for token in _TOKEN.finditer(text.replace('"', "").replace("`", "")):
        if token["mark"] == ";":
            yield tokens
            tokens = []
        elif token.lastgroup:
            tokens.append(token)
    yield tokens


def _statement(tokens: list[re.Match[str]]) -> Statement | None:
    words = ["", *((token["name"] or token["mark"] or "").lower().rpartition(".")[2] for token in tokens), ""]
    start = next((at for at, word in enumerate(words) if word.isidentifier()), 0)
    if words[start] in _WRAPPERS:
        inner = [at for at, word in enumerate(words) if word in _CHANGES | {"select"} and words[at + 1] != "("]
        start = next((at for at in inner if words[at] in _CHANGES), next(iter(inner), 0))
    verb = "delete" if words[start] == "truncate" else words[start]
    if verb not in _CHANGES | _READS:
        return None
    read = [at for at, word in enumerate(words) if word.isidentifier() and words[at - 1] in ("from", "join", "table")]
    own = {words[at + 1] for at in read} | {
        words[at - 1] if words[at + 1] == "(" else words[at + 1] for at, word in enumerate(words) if word == "as"
    }
    ignored = _KEYWORDS | _TYPES | _CHANGES | _READS | own
    names = {at: word for at, word in enumerate(words) if word.isidentifier() and word not in ignored}
    numbers = ((words[at - 1], token["number"], words[at + 1]) for at, token in enumerate(tokens, 1) if token["number"])
    return Statement(
        verb=verb,
        target=next((name for at, name in names.items() if at > start and verb in _CHANGES), ""),
        tables=frozenset(names[at] for at in read if at in names),
        names=frozenset(names.values()),
        literals=frozenset(token["text"].lower() for token in tokens if token["text"]),
        numbers=tuple(n for before, n, after in numbers if before != "limit" and (before, after) != ("select", "from")),
        all_columns=any(words[at - 1] in ("select", "distinct") for at, word in enumerate(words) if word == "*"),
    )
