"""Whose fault the calls without success are: the model's, the environment's, the policy's, in every table alike."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from replay.records import FAILURES, Fault, Outcome, Reason, fault_of
from replay.runfile import Run
from replay.runfile.call_queries import matching_positions
from replay.runfile.filters import parse, read_vocabulary
from tests.in_process import replay_here
from tests.runs import call, failed, make_run, schema, server, write_trajectory

FILES = server("files", read=schema("path"), write=schema("path"))


@pytest.mark.parametrize("outcome", list(Outcome))
@pytest.mark.parametrize("reason", [None, *Reason])
def test_a_failure_is_the_models_and_what_could_not_be_judged_never_is(outcome: Outcome, reason: Reason | None) -> None:
    fault = fault_of(outcome, reason)
    assert (fault is Fault.MODEL) is (outcome in FAILURES)
    assert (fault is None) is (outcome is Outcome.SUCCESS)


def test_every_table_tells_the_three_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    calls = [
        call("files/read", {"path": "a"}, "text"),
        failed("files/read", {"path": "b"}, "ENOENT: no such file or directory, open 'b'"),
        failed("files/read", {"path": "c"}, "HTTP 429 Too Many Requests"),
        failed("files/read", {"path": "c"}, "getaddrinfo ENOTFOUND example.org"),
        call("files/write", {"path": "d"}, None),
        failed("files/read", {"path": "e"}, "E1042"),
    ]
    make_run(tmp_path / "run.db", [write_trajectory(tmp_path / "t.trajectory.json", calls)], FILES)
    said = "Whose fault the 5 calls without success are: the model's 1, the environment's 2,"
    for form in ("markdown", "html"):
        shown = " ".join(replay_here("report", "run.db", "--format", form).stdout.replace("&#39;", "'").split())
        assert said in shown.replace("\\'", "'"), form
    shown = replay_here("classify", "t.trajectory.json", "--offline", "--run", "again.db").stdout
    assert "calls without success are: the model's 1" in " ".join(shown.split())


def test_what_machines_read_and_compare_tell_them_apart_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    calls = [
        call("files/read", {"path": "a"}, "text"),
        failed("files/read", {"path": "b"}, "ENOENT: no such file or directory, open 'b'"),
        failed("files/read", {"path": "c"}, "HTTP 429 Too Many Requests"),
        failed("files/read", {"path": "e"}, "E1042"),
    ]
    run = make_run(tmp_path / "run.db", [write_trajectory(tmp_path / "t.trajectory.json", calls)], FILES)
    faults = [None, "model", "environment", "unknown"]
    document = json.loads(replay_here("report", "run.db", "--format", "json").stdout)
    assert [row["fault"] for row in document["calls"]] == faults
    counts = {"model": 1, "environment": 1, "policy": 0, "unknown": 1}
    assert document["summary"]["faults"] == document["summary"]["models"][0]["faults"] == counts
    rows = list(csv.DictReader(io.StringIO(replay_here("report", "run.db", "--format", "csv").stdout)))
    assert [row["fault"] or None for row in rows] == faults
    compared = replay_here("compare", "run.db").stdout
    assert "fault: policy" in compared
    assert "the model's 1, the environment's 1, the policy's of fleet or harness 0, not known 1" in compared
    figures = json.loads(replay_here("compare", "run.db", "--json").stdout)["models"][0]["figures"]
    assert {fault: figures[f"fault_{fault}"]["value"] for fault in Fault} == {name: n / 4 for name, n in counts.items()}
    with Run.read(run) as opened:
        vocabulary = read_vocabulary(opened.connection)
        for fault, positions in {
            "model": {"s2c1"},
            "environment": {"s3c1"},
            "unknown": {"s4c1"},
            "none": {"s1c1"},
        }.items():
            found = matching_positions(opened.connection, parse(f"fault:{fault}", vocabulary))
            assert [set(calls) for calls in found.values()] == [positions]
