"""The tool that a wrong name is taken for: what the model did next, and what its arguments fit, before letters."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay.diagnosis.format_and_registry import tools_meant
from tests.runs import Step, call, case_of, schema, server

SHOP = server(
    "shop",
    search=schema("query"),
    fund=schema("account", "amount"),
    ship_order=schema("order_id"),
    delete_order=schema("order_id"),
    list_orders={"type": "object", "properties": {}},
)


def meant(tmp_path: Path, *calls: Step) -> tuple[str, ...]:
    return tools_meant(case_of(tmp_path, calls, SHOP), "s1c1")


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("shop/find", {"query": "lamps"}, "shop/search"),
        ("shop/find", {"q": "lamps"}, "shop/search"),
        ("shop/send", {"account": "A", "amount": "5"}, "shop/fund"),
        ("shop/delete_orders", {"order_id": "17"}, "shop/delete_order"),
        ("shop/list_order", {}, "shop/list_orders"),
    ],
)
def test_the_tool_that_takes_the_arguments_is_the_nearest(
    tmp_path: Path, name: str, arguments: dict[str, str], expected: str
) -> None:
    assert meant(tmp_path, call(name, arguments, "Error: no such tool", error=True))[0] == expected


def test_what_the_model_called_next_with_the_same_value_comes_first(tmp_path: Path) -> None:
    first = call("shop/remove", {"order_id": "ord-17"}, "Error: no such tool", error=True)
    assert meant(tmp_path, first, call("shop/delete_order", {"order_id": "ord-17"}))[0] == "shop/delete_order"
    assert meant(tmp_path, first, call("shop/ship_order", {"order_id": "ord-17"}))[0] == "shop/ship_order"


def test_a_name_that_is_the_same_but_for_case_and_separators_comes_before_what_was_called_next(tmp_path: Path) -> None:
    first = call("shop/deleteOrder", {"order_id": "ord-17"}, "Error: no such tool", error=True)
    assert meant(tmp_path, first, call("shop/ship_order", {"order_id": "ord-17"}))[0] == "shop/delete_order"


def test_a_tool_that_takes_other_arguments_is_not_offered_for_its_letters(tmp_path: Path) -> None:
    assert meant(tmp_path, call("shop/find", {"title": "lamps"}, "Error: no such tool", error=True)) == ()
    assert "shop/delete_order" not in meant(
        tmp_path, call("shop/delete_note", {"note_id": "5"}, "Error: no such tool", error=True)
    )
