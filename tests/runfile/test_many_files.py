"""A run of very many models costs no more queries than one of a few."""

from __future__ import annotations

from pathlib import Path

from replay.runfile import Run, summarize
from tests.runs import call, make_run, schema, server, write_trajectory


def test_the_models_of_a_run_are_counted_in_as_many_queries_as_one(tmp_path: Path) -> None:
    assert queries_of(tmp_path, 1) == queries_of(tmp_path, 6)


def queries_of(directory: Path, models: int) -> int:
    steps = [call("files/read", {"path": "/w/x"}, "text")]
    paths = [
        write_trajectory(directory / f"{models}-{number}.trajectory.json", steps, model=f"m{number}")
        for number in range(models)
    ]
    queries: list[str] = []
    with Run.read(make_run(directory / f"{models}.db", paths, server("files", read=schema("path")))) as run:
        run.connection.set_trace_callback(queries.append)
        assert [model.calls for model in summarize(run).models] == [1] * models
        run.connection.set_trace_callback(None)
    return len(queries)
