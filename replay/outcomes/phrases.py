"""Phrases as data: `phrases.yaml` read once, and all of its rows asked of a text in one go, in linear time."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final, NamedTuple

from replay.outcomes.codes import read_yaml

_FOREIGN: Final = re.compile(r"[^\x00-\x7f]+")
"""Letters whose case the table does not fold: it has them in lower case."""
_MAX_MEMORY: Final = 256 << 20
_NOTHING: Final[frozenset[str]] = frozenset()
FORMS: Final = frozenset(
    """
    opens opens-sdk opens-short opens-loose denies clause missing-clause done done-somewhere nothing too-large
    """.split()  # noqa: SIM905 a list would take a line a word
)
"""What tells a report from content; all other meanings are causes, which are looked for in reports alone."""


class Phrase(NamedTuple):
    """One row of the table."""

    means: str
    pattern: str
    sources: tuple[str, ...]
    matches: str
    """A text that holds it."""
    not_in: str
    """A text that is like it and does not."""


class PhraseTable:
    """Rows that are all looked for at once, in texts as bytes.

    Args:
        rows: of the table.

    Raises:
        PatternError: a pattern is not a regular expression, or cannot be matched in linear time.
    """

    def __init__(self, rows: Iterable[Phrase]) -> None:
        self.rows = tuple(rows)
        self._means = tuple(row.means for row in self.rows)
        self._set = _compiled(tuple(row.pattern for row in self.rows))

    def meanings(self, text: str) -> frozenset[str]:
        """What the phrases in a text mean."""
        if not text.isascii():
            text = _FOREIGN.sub(lambda match: match[0].lower(), text)
        matches = self._set.Match(text.encode("utf-8", "replace")) if text else None
        return frozenset([self._means[index] for index in matches]) if matches else _NOTHING


def _compiled(patterns: tuple[str, ...]) -> Any:
    import re2  # not at the top: it is loaded when an answer is first judged

    from replay.safety.linear_regex import PatternError

    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    options.encoding = re2.Options.Encoding.LATIN1  # bytes: all that is not ASCII stands in the table as it is written
    options.max_mem = _MAX_MEMORY
    compiled = re2.Set.SearchSet(options)
    for pattern in patterns:
        try:
            compiled.Add(pattern.encode())
        except re2.error:
            raise PatternError(f"the phrase {pattern!r} cannot be matched in linear time") from None
    compiled.Compile()
    return compiled


def read_phrases() -> tuple[Phrase, ...]:
    """The rows of `phrases.yaml`."""
    return tuple(
        Phrase(row["means"], row["pattern"], tuple(row["sources"]), row["matches"], row["not"])
        for row in read_yaml("phrases.yaml")
    )


@lru_cache(maxsize=1)
def _tables() -> tuple[PhraseTable, PhraseTable]:
    rows = read_phrases()
    return (
        PhraseTable(row for row in rows if row.means in FORMS),
        PhraseTable(row for row in rows if row.means not in FORMS or row.means == "too-large"),
    )


@lru_cache(maxsize=512)
def forms_in(text: str) -> frozenset[str]:
    """Which forms of a report, or of good news, a text has; asked of nearly every answer."""
    return _tables()[0].meanings(text)


@lru_cache(maxsize=512)
def causes_said(text: str) -> frozenset[str]:
    """Which causes the words of a report name."""
    return _tables()[1].meanings(text)
