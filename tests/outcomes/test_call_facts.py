"""What is known of a call before its answer is read."""

from __future__ import annotations

from replay.outcomes.call_facts import ArgumentIndex


def test_an_answer_names_a_value_also_by_the_last_segment_of_its_path() -> None:
    index = ArgumentIndex({"path": "/data/reports/may.csv", "rows": [12, True]})
    assert index.value_named_in("cannot open MAY.CSV")
    assert index.value_named_in("row 12 is empty")
    assert not index.value_named_in("row 120 is empty")
    assert not index.value_named_in("True")


def test_an_error_that_is_only_the_value_has_nothing_else_in_it() -> None:
    index = ArgumentIndex({"repo": "/data/nope/"})
    assert index.holds_only_values("'/data/nope'")
    assert not index.holds_only_values("/data/nope is missing")
    assert not index.holds_only_values("")


def test_keys_that_look_like_ids_are_no_values_of_the_call() -> None:
    assert ArgumentIndex({"cells": {"A1": "total"}}).texts == ("total",)


def test_a_field_repeats_an_argument_by_its_name_or_by_a_value_of_some_length() -> None:
    index = ArgumentIndex({"orderId": "4711-b", "n": "3"})
    assert index.repeats_argument("orderid", None)
    assert index.repeats_argument("id", "4711-b")
    assert not index.repeats_argument("count", "3")
