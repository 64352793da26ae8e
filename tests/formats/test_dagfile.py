from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from replay.errors import FormatError
from replay.formats import open_file


def document(**changes: Any) -> dict[str, Any]:
    calls = [{"position": f"s{n}c1", "name": "x/a", "arguments": {}} for n in (1, 2)]
    base = {
        "format": "replay.trajectory",
        "version": 1,
        "id": "t",
        "model": "m",
        "source": {"file": "f", "format": "test"},
        "steps": [{"calls": [call]} for call in calls],
    }
    return {**base, **changes}


def edge(producer: str, consumer: str) -> dict[str, Any]:
    return {
        "producer": producer,
        "producer_pointer": "/a",
        "consumer": consumer,
        "consumer_pointer": "/b",
        "value": "v",
    }


def complaint(tmp_path: Path, content: dict[str, Any]) -> str:
    path = tmp_path / "bad.trajectory.json"
    path.write_text(json.dumps(content), "utf-8")
    with pytest.raises(FormatError) as caught:
        open_file(path)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    return message


def test_a_cycle_is_named_in_one_line(tmp_path: Path) -> None:
    steps: list[dict[str, Any]] = [{"calls": [{"position": p, "name": "x", "arguments": {}} for p in ("s1c1", "s1c2")]}]
    both = [edge("s1c1", "s1c2"), edge("s1c2", "s1c1")]
    message = complaint(tmp_path, document(steps=steps, edges=both))
    assert "cycle" in message
    assert "s1c1" in message
    assert "s1c2" in message


def test_an_edge_against_the_order_of_the_steps_is_named(tmp_path: Path) -> None:
    message = complaint(tmp_path, document(edges=[edge("s2c1", "s1c1")]))
    assert "s2c1 -> s1c1 makes a cycle" in message


def test_an_edge_to_a_call_that_is_not_there_is_named(tmp_path: Path) -> None:
    message = complaint(tmp_path, document(edges=[edge("s1c1", "s2c1"), edge("s1c1", "s9c9")]))
    assert "edges[1]" in message
    assert "there is no call s9c9" in message


def test_a_duplicate_position_is_named(tmp_path: Path) -> None:
    steps = [{"calls": [{"position": "s1c1", "name": "x", "arguments": {}}]}] * 2
    assert "position s1c1 stands for 2 calls" in complaint(tmp_path, document(steps=steps))


def test_an_unknown_version_is_named(tmp_path: Path) -> None:
    assert "version 99 is newer" in complaint(tmp_path, document(version=99))
    assert "version 0" in complaint(tmp_path, document(version=0))
    assert '"version" is missing' in complaint(tmp_path, document(version=None))


def test_a_field_that_we_do_not_know_is_named(tmp_path: Path) -> None:
    assert "colour" in complaint(tmp_path, document(colour="red"))


def test_a_sound_dag_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "good.trajectory.json"
    path.write_text(json.dumps(document(edges=[edge("s1c1", "s2c1")])), "utf-8")
    (trajectory,) = open_file(path).trajectories()
    assert [(item.producer, item.consumer) for item in trajectory.edges or ()] == [("s1c1", "s2c1")]
