"""Which one argument an error speaks of: the longest that it repeats, or the one that it names."""

from __future__ import annotations

from replay.diagnosis.named_arguments import argument_by_name, argument_by_value


def test_an_error_speaks_of_the_longest_argument_that_it_repeats_or_of_none() -> None:
    arguments = {"table": "orders", "column": "orders_total", "name": "name"}
    longest = argument_by_value(arguments, "no such column: orders_total in orders")
    assert longest is not None
    assert longest.pointer == "/column"
    assert argument_by_value({"a": "north", "b": "south"}, "north or south") is None
    assert argument_by_value(arguments, "the name is wrong") is None


def test_an_error_speaks_of_the_one_argument_that_it_names() -> None:
    arguments = {"start_date": "x", "end_date": {"year": 1}}
    named = argument_by_name(arguments, "startDate is in the past")
    assert named is not None
    assert named.pointer == "/start_date"
    assert argument_by_name(arguments, "start_date is after end_date") is None
