"""One module looks for values in texts; what a match is differs with the question."""

from __future__ import annotations

import pytest

from replay.dag.value_matching import argument_by_name, argument_by_value, occurrences


@pytest.mark.parametrize(
    ("text", "value", "found"),
    [
        ("id 4711 is open", "4711", [3]),
        ("id 14711 is open", "4711", []),
        ("v4711.5", "4711", []),
        ("see notes.txt", "notes", []),
        ("job_8f3a2b.txt", "8f3a2b", [4]),
    ],
)
def test_a_value_flows_only_where_it_stands_as_a_whole(text: str, value: str, found: list[int]) -> None:
    assert list(occurrences(text, value)) == found


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
