"""The reference is checked before anything is scored against it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replay.alignment.tables import reference_faults
from replay.alignment.tasks import read_reference
from replay.formats import open_file
from replay.records import Outcome, Server, Tool

from .builders import record

SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
SERVERS = {
    "s": Server(name="s", digest="d", tools=(Tool(name="t", input_schema=SCHEMA),)),
    "down": Server(name="down", error="did not start"),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    calls = [("s/t", {"x": 1}), ("s/t", {}), ("s/made_up", {}), ("down/any", {}), ("s/t", [1])]
    file = tmp_path / "ref.json"
    file.write_text(json.dumps([record("t1", [calls])]))
    return file


def test_against_a_fleet(path: Path) -> None:
    found = read_reference(open_file(path), SERVERS).faults
    assert [(fault.position, fault.outcome) for fault in found] == [
        ("s1c2", Outcome.INVALID_ARGUMENTS),
        ("s1c3", Outcome.UNKNOWN_TOOL),
        ("s1c5", Outcome.ILLEGAL_FORMAT),
    ]
    assert found[0].violations[0].keyword == "required"
    assert "s1c2 s/t: invalid_arguments" in reference_faults(found)


def test_without_a_fleet_only_the_form_is_judged(path: Path) -> None:
    assert [fault.position for fault in read_reference(open_file(path), {}).faults] == ["s1c5"]
