"""The table of phrases, read row by row."""

from __future__ import annotations

import pytest

from replay.outcomes.codes import PhraseTable, causes_said, forms_in, read_phrases
from replay.safety.linear_regex import PatternError

ROWS = read_phrases()


@pytest.mark.parametrize("row", ROWS, ids=[f"{number}-{row.means}" for number, row in enumerate(ROWS)])
def test_a_row_has_two_sources_and_matches_its_example_and_not_the_other(row):
    assert len(set(row.sources)) >= 2
    table = PhraseTable([row])
    assert table.meanings(row.matches) == {row.means}
    assert table.meanings(row.not_in) == frozenset()


@pytest.mark.parametrize("row", ROWS, ids=[f"{number}-{row.means}" for number, row in enumerate(ROWS)])
def test_all_rows_are_looked_for_at_once(row):
    assert row.means in forms_in(row.matches) | causes_said(row.matches)


@pytest.mark.parametrize("pattern", [r"(a+)+\1", r"a(?=b)", "("])
def test_a_pattern_that_cannot_be_matched_in_linear_time_is_refused(pattern):
    with pytest.raises(PatternError, match="linear time"):
        PhraseTable([ROWS[0]._replace(pattern=pattern)])


def test_a_pattern_that_makes_others_backtrack_is_matched_at_once():
    table = PhraseTable([ROWS[0]._replace(means="not-found", pattern=r"^(a+)+$")])
    assert table.meanings("a" * 50_000 + "!") == frozenset()
    assert table.meanings("a" * 50_000) == {"not-found"}


def test_case_does_not_matter_in_any_writing():
    assert "unauthorized" in causes_said("Недостаточно прав")
    assert "not-found" in causes_said("NOT FOUND")
