from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from replay.dag import infer_edges
from replay.dag.documents import resolve
from replay.formats import open_file
from replay.records import DataEdge, Trajectory

CHECKED: dict[str, Any] = json.loads(Path(__file__).with_name("edges.json").read_text("utf-8"))


@cache
def trajectories(path: Path) -> dict[str, Trajectory]:
    return {trajectory.id: trajectory for trajectory in open_file(path).trajectories()}


@cache
def edges_of(path: Path, trajectory: str) -> tuple[DataEdge, ...]:
    return infer_edges(trajectories(path)[trajectory])


def is_found(row: dict[str, str], data: Path) -> bool:
    return any(
        edge.consumer == row["consumer"]
        and row["producer"] in {edge.producer, "*"}
        and edge.consumer_pointer == row["pointer"]
        and (row["value"] in str(edge.value) or str(edge.value) in row["value"])
        for edge in edges_of(data / row["file"], row["trajectory"])
    )


def test_there_are_enough_hand_checked_edges_from_real_runs() -> None:
    assert len(CHECKED["edges"]) >= 30
    assert len(CHECKED["non_edges"]) >= 30
    assert all(row["why"] for row in CHECKED["edges"] + CHECKED["non_edges"])


def test_every_hand_checked_row_names_a_call_and_a_place_that_exist(shared_data: Path) -> None:
    for row in CHECKED["edges"] + CHECKED["non_edges"]:
        trajectory = trajectories(shared_data / row["file"])[row["trajectory"]]
        calls = {call.position: call for call in trajectory.calls()}
        assert row["producer"] in {*calls, "*"}
        assert resolve(calls[row["consumer"]].arguments or {}, row["pointer"]) is not None


def test_edges_reach_the_wanted_precision_and_recall_on_hand_checked_runs(shared_data: Path) -> None:
    missed = [row for row in CHECKED["edges"] if not is_found(row, shared_data)]
    wrong = [row for row in CHECKED["non_edges"] if is_found(row, shared_data)]
    found = len(CHECKED["edges"]) - len(missed)
    recall, precision = found / len(CHECKED["edges"]), found / (found + len(wrong))
    assert recall >= 0.9, missed
    assert precision >= 0.95, wrong


def test_every_edge_has_its_evidence(shared_data: Path) -> None:
    for file, trajectory in {(row["file"], row["trajectory"]) for row in CHECKED["edges"]}:
        for edge in edges_of(shared_data / file, trajectory):
            assert edge.producer_pointer.startswith("/")
            assert len(str(edge.value)) >= 3
