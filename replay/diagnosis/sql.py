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
_KEYWORDS: Final = frozenset(
    """
    all and any as asc between by case cascade concurrently cross current date desc distinct do each else end exists
    false first for from full function group having if ilike in index inner interval into is join key last lateral left
    like limit materialized not null nulls numeric offset on only or order outer over partition policy primary
    procedure public recursive right role schema set some table temp temporary then to trigger true union unique using
    values varchar view when where with
    """.split()  # noqa: SIM905 a list would take a line a word
)
_ROWS: Final = frozenset(["insert", "update", "delete", "merge"])
"""What changes rows, whose numbers count: those of a table that is made are sizes."""
_MOST: Final = 0.75
"""Share of a row's numbers, or of the literals of a computed change, that the same change in other words has."""


class Statement(NamedTuple):
    """One statement."""

    verb: str
    target: str
    """What a changing statement changes: the first name behind its keywords; empty of one that reads."""
    tables: frozenset[str]
    names: frozenset[str]
    """Of tables, columns and functions, without those that the statement gives itself."""
    literals: frozenset[str]
    numbers: tuple[str, ...]
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


def covered(wanted: Statement, others: Sequence[Statement]) -> bool:
    """Whether other statements ask for what one asks for: one that reads by itself, those that change together."""
    if not wanted.changes:
        return any(_reads_as_much(other, wanted) for other in others if not other.changes)
    same = [other for other in others if (other.verb, other.target) == (wanted.verb, wanted.target)]
    computed = bool(wanted.tables - {wanted.target})
    literals = _share(wanted.literals, [other.literals for other in same])
    numbers = _share(frozenset(wanted.numbers), [frozenset(other.numbers) for other in same])
    rows = computed or wanted.verb not in _ROWS or numbers >= _MOST
    return bool(same) and rows and literals >= (_MOST if computed else 1)


def _share(wanted: frozenset[str], others: Sequence[frozenset[str]]) -> float:
    """How much of what one has others have as well."""
    return sum(any(value in other for other in others) for value in wanted) / len(wanted) if wanted else 1.0


def _reads_as_much(other: Statement, wanted: Statement) -> bool:
    if other.verb != wanted.verb or not wanted.literals <= other.literals:
        return False
    if not wanted.names:
        return (other.names, other.literals, other.numbers) == (wanted.names, wanted.literals, wanted.numbers)
    if not wanted.tables <= other.tables or (wanted.all_columns and not other.all_columns):
        return False
    return other.all_columns or wanted.names <= other.names


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
    words = [(token["name"] or token["mark"] or "").lower() for token in tokens]
    start = next((at for at, word in enumerate(words) if word.isidentifier()), len(words))
    if start < len(words) and words[start] in _WRAPPERS:
        inner = (at for at, word in enumerate(words) if word in _CHANGES | {"select"})
        changing = (at for at, word in enumerate(words) if word in _CHANGES and words[at + 1 : at + 2] != ["("])
        start = next(changing, next(inner, len(words)))
    if start >= len(words) or words[start] not in _CHANGES | _READS:
        return None
    own = {
        words[at - 1] if words[at + 1] == "(" else words[at + 1] for at, word in enumerate(words[:-1]) if word == "as"
    }
    names = [(at, word.rpartition(".")[2]) for at, word in enumerate(words) if at != start and word[:1].isidentifier()]
    kept = [(at, name) for at, name in names if name not in _KEYWORDS | _CHANGES | _READS and name not in own]
    return Statement(
        verb=words[start],
        target=next((name for at, name in kept if at > start and words[start] in _CHANGES), ""),
        tables=frozenset(name for at, name in kept if words[at - 1] in ("from", "join", "table", "describe")),
        names=frozenset(name for _, name in kept if len(name) > 2),
        literals=frozenset(token["text"].lower() for token in tokens if token["text"]),
        numbers=tuple(
            token["number"]
            for at, token in enumerate(tokens)
            if token["number"] and (words[at - 1], *words[at + 1 : at + 2]) != ("select", "from")
        ),
        all_columns=any(words[at - 1] in ("select", "distinct") for at, word in enumerate(words) if word == "*"),
    )
