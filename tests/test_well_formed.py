"""The share of well-formed calls, beside the share of successes."""

from __future__ import annotations

from replay.records import Outcome
from replay.records.summary import ModelSummary, RunSummary
from replay.reports.summary import summary_text


def _model(name, **counts):
    outcomes = {outcome: counts.get(outcome.value, 0) for outcome in Outcome}
    calls = sum(outcomes.values())
    return ModelSummary(model=name, files=("f",), trajectories=1, calls=calls, outcomes=outcomes, reasons={})


def test_a_call_whose_resource_was_missing_is_well_formed_and_no_success():
    model = _model("tea", success=4, not_found=4, invalid_arguments=2, inconclusive=3)
    assert (model.well_formed, model.conclusive) == (8, 10)


def test_the_table_shows_well_formed_calls_beside_successes():
    model = _model("tea", success=4, not_found=4, invalid_arguments=2, inconclusive=3)
    summary = RunSummary(
        models=(model,), outcomes=model.outcomes, reasons={}, failures=(), inconclusive=(), root_causes=()
    )
    head, names, row = summary_text(summary).splitlines()
    assert names.split()[-3:] == ["success", "formed", "inconclusive"]
    assert head.split()[-1] == "well"
    assert row.split()[-5:] == ["4", "40.0%", "8", "80.0%", "3"]
