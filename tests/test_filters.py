"""The filter language over a run, by the vectors that the HTML page's filter is tested with too."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from replay.errors import UsageError
from replay.runfile import Run, call_queries
from replay.runfile.filters import Filter, Vocabulary, parse, read_vocabulary
from tests.filter_vectors import VECTORS, vectors_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with Run.read(vectors_run(tmp_path_factory.mktemp("vectors"))) as opened:
        yield opened


@pytest.fixture(params=[True, False], ids=["full-text", "no-full-text"])
def vocabulary(request: pytest.FixtureRequest, run: Run) -> Vocabulary:
    return replace(read_vocabulary(run.connection), full_text=request.param)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["filter"])
def test_a_filter_matches_the_calls_of_its_vector(run: Run, vocabulary: Vocabulary, vector: dict[str, Any]) -> None:
    if "error" in vector:
        with pytest.raises(UsageError, match=vector["error"]):
            parse(vector["filter"], vocabulary)
        return
    if not vocabulary.full_text and vector["filter"] == "cafe":
        pytest.skip("without the full-text search an accent is a letter of its own")
    assert _listed(run.connection, parse(vector["filter"], vocabulary)) == set(vector["calls"])


def _listed(connection: sqlite3.Connection, wanted: Filter) -> set[str]:
    """The calls as the list of the terminal browser reads them."""
    ids = [call[0] for chunk in call_queries.matching_calls(connection, wanted) for call in chunk]
    return {f"{line.task}:{line.position}" for line in call_queries.lines(connection, ids).values()}


@pytest.mark.parametrize(("wrong", "known"), [("q:1", "passed, when"), ("outcome:xyz", "inconclusive, failed")])
def test_a_wrong_key_or_value_is_answered_with_all_that_there_are(
    vocabulary: Vocabulary, wrong: str, known: str
) -> None:
    with pytest.raises(UsageError, match=known):
        parse(wrong, vocabulary)
