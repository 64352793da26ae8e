"""Our statistics against those of scipy.stats, and where there is nothing to compute."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from replay.analysis.statistics import (
    Numbers,
    PairedTest,
    Resampling,
    holm,
    mcnemar,
    odds_ratio,
    paired_tests,
    task_values,
    wilson,
)


def paired_test(first: Numbers, second: Numbers) -> PairedTest:
    return paired_tests((first - second)[:, None])[0]


@pytest.mark.parametrize(("part", "whole"), [(0, 5), (5, 5), (1, 3), (47, 400), (9999, 10000)])
def test_wilsons_interval_is_that_of_scipy(part: int, whole: int) -> None:
    expected = stats.binomtest(part, whole).proportion_ci(method="wilson")
    assert wilson(part, whole) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_no_trial_has_no_share_and_no_interval() -> None:
    assert wilson(0, 0) is None


def test_the_draws_are_the_same_each_time_and_their_interval_is_that_of_scipy() -> None:
    generator = np.random.default_rng(1)
    parts, wholes = generator.poisson(3, 80).astype(float), generator.poisson(5, 80).astype(float)
    ours = Resampling(80).interval(Resampling(80).ratios(parts, wholes))
    assert ours == Resampling(80).interval(Resampling(80).ratios(parts, wholes))
    theirs = stats.bootstrap(
        (parts, wholes),
        lambda p, w, axis: p.sum(axis=axis) / w.sum(axis=axis),
        paired=True,
        vectorized=True,
        method="percentile",
        n_resamples=4000,
        rng=2,
    ).confidence_interval
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.02)


def test_one_task_has_no_interval() -> None:
    one = Resampling(1)
    assert one.interval(one.ratios(np.ones(1), np.ones(1))) is None


def test_what_tasks_contribute_has_the_ratio_as_its_mean() -> None:
    parts, wholes = np.array([[1.0], [0.0], [4.0]]), np.array([[2.0], [0.0], [6.0]])
    assert task_values(parts, wholes).mean() == pytest.approx(5 / 8)


def test_few_tasks_are_tested_exactly_as_scipy_does() -> None:
    first, second = np.array([3.0, 5, 4, 8, 6, 7]), np.array([2.0, 5, 1, 4, 3, 6.5])
    expected = stats.permutation_test(
        (first, second), lambda a, b, axis: (a - b).mean(axis=axis), permutation_type="samples", vectorized=True
    )
    found = paired_test(first, second)
    assert found.tasks == 6
    assert found.difference == pytest.approx(float(np.mean(first - second)))
    assert found.p_value == pytest.approx(expected.pvalue)
    assert found.interval is not None
    assert found.interval.low <= found.difference <= found.interval.high


def test_many_tasks_are_tested_by_the_paired_t_test() -> None:
    generator = np.random.default_rng(3)
    first = generator.normal(0.5, 0.2, 60)
    second = first + generator.normal(0.05, 0.2, 60)
    assert paired_test(first, second).p_value == pytest.approx(stats.ttest_rel(first, second).pvalue)


@pytest.mark.parametrize("count", [0, 1, 5, 40])
def test_equal_models_do_not_differ(count: int) -> None:
    assert paired_test(np.ones(count), np.ones(count)).p_value == 1.0


def test_holm_corrects_the_least_p_value_most_and_keeps_their_order() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


def test_the_odds_ratio_and_its_test_are_those_of_scipy() -> None:
    table = np.array([[30, 200], [50, 120]])
    found = odds_ratio(30, 200, 50, 120)
    expected = stats.contingency.odds_ratio(table, kind="sample")
    assert found is not None
    assert found.value == pytest.approx(expected.statistic)
    assert found.interval == pytest.approx(tuple(expected.confidence_interval()))
    assert found.p_value == pytest.approx(stats.fisher_exact(table).pvalue)


def test_an_empty_cell_gives_a_finite_odds_ratio() -> None:
    found = odds_ratio(5, 0, 3, 7)
    assert found is not None
    assert math.isfinite(found.interval.high)
    assert found.p_value == pytest.approx(stats.fisher_exact([[5, 0], [3, 7]]).pvalue)


def test_a_property_that_all_have_has_no_odds_ratio() -> None:
    assert odds_ratio(5, 3, 0, 0) is None


@pytest.mark.parametrize(("fixed", "broken", "expected"), [(0, 0, 1.0), (1, 0, 1.0), (0, 6, 2 / 64), (5, 5, 1.0)])
def test_pairs_that_changed_are_tested_exactly_by_which_way_they_changed(
    fixed: int, broken: int, expected: float
) -> None:
    assert mcnemar(fixed, broken) == mcnemar(broken, fixed) == pytest.approx(expected)
