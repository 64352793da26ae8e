"""Many figures are made at once; each is what it is when made alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.special import ndtri

from replay.analysis.compare import CompareSettings, compare_models
from replay.analysis.statistics import CONFIDENCE, QUANTILE, Resampling
from replay.runfile import Run
from tests.runs import failed, make_run, write_trajectory


def test_the_quantile_is_that_of_scipy() -> None:
    assert float(ndtri((1 + CONFIDENCE) / 2)) == QUANTILE


def test_intervals_made_together_are_those_made_alone_also_where_draws_are_unknown() -> None:
    values = np.random.default_rng(5).random((1000, 4))
    values[::3, 1], values[:, 2] = np.nan, np.nan
    resampling = Resampling(7)
    together = resampling.intervals(values)
    assert together == [resampling.interval(column) for column in values.T]
    assert [interval is None for interval in together] == [False, False, True, False]
    assert Resampling(1).intervals(values) == [None] * 4


def test_tools_with_equally_many_failures_stand_in_the_order_of_their_names(tmp_path: Path) -> None:
    calls = [
        failed(f"f/{tool}", {"path": "x"}, "Error: file not found: x") for tool in ("write", "list", "read", "read")
    ]
    run_path = make_run(tmp_path / "run.db", [write_trajectory(tmp_path / "t1.trajectory.json", calls, model="ada")])
    with Run.read(run_path) as run:
        found = compare_models(run, CompareSettings(by="server"))
    assert [row.name for row in found.recoveries if row.subject == "tool"] == ["f/read", "f/list", "f/write"]
