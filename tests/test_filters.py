"""The filter language over a run, by the vectors that the HTML page's filter is tested with too."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from replay.errors import UsageError
from replay.runfile import Run, call_rows, queries
from replay.runfile.filters import Vocabulary, parse
from tests.filter_vectors import VECTORS, vectors_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with Run.read(vectors_run(tmp_path_factory.mktemp("vectors"))) as opened:
        yield opened


@pytest.fixture(params=[True, False], ids=["full-text", "no-full-text"])
def vocabulary(request: pytest.FixtureRequest, run: Run) -> Vocabulary:
    return replace(Vocabulary.of(run.connection), full_text=request.param)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["filter"])
def test_a_filter_matches_the_calls_of_its_vector(run: Run, vocabulary: Vocabulary, vector: dict[str, Any]) -> None:
    if "error" in vector:
        with pytest.raises(UsageError, match=vector["error"]):
            parse(vector["filter"], vocabulary)
        return
    if not vocabulary.full_text and vector["filter"] == "cafe":
        pytest.skip("without the full-text search an accent is a letter of its own")
    wanted = parse(vector["filter"], vocabulary)
    rows = {f"{row.trajectory}:{row.call}" for row in call_rows(run, *wanted.condition())}
    assert rows == set(vector["calls"])
    assert _listed(run.connection, wanted) == rows


def _listed(connection: sqlite3.Connection, wanted: Any) -> set[str]:
    """The same calls as the list of the terminal browser reads them."""
    ids = [mark[0] for chunk in queries.marks(connection, wanted) for mark in chunk]
    return {f"{line.task}:{line.position}" for line in queries.lines(connection, ids).values()}
