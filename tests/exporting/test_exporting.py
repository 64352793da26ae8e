from __future__ import annotations

import importlib.util
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from replay.errors import UsageError
from replay.exporting import FORMATS, export
from replay.formats import open_file
from replay.records import Call, Trajectory
from replay.records.trajectory import texts_of
from replay.runfile import Run
from tests.runs import call, failed, make_run, write_trajectory

HAS_INSPECT = importlib.util.find_spec("inspect_ai") is not None
SECRET = "ghp_" + "a1B2" * 9
Replay = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    calls = [
        call("mcp__files__read", {"path": "a", "lines": [1, 2]}, "text of a", id="c1"),
        failed("files/read", {"path": "gone"}, "no such file"),
        call("files/list", {"of": {"deep": None}}, None, id="c1"),
        call("files/write", None, None, unreadable="arguments", raw='{"path": ') | {"arguments": None},
    ]
    path = write_trajectory(tmp_path / "task.trajectory.json", calls, final_reply="done")
    with Run.read(make_run(tmp_path / "run.db", [path])) as made:
        yield made


def read_back(run: Run, form: str, directory: Path) -> Trajectory:
    ((_, document),) = export(run, form)
    path = directory / "exported.json"
    path.write_text(json.dumps(document), "utf-8")
    results = open_file(path)
    assert results.warnings == ()
    (trajectory,) = results.trajectories()
    return trajectory


def essence(found: Call) -> tuple[Any, ...]:
    answer = None if found.answer is None else texts_of(found.answer)
    return found.name, found.arguments, found.unreadable, found.raw, answer


@pytest.mark.parametrize("form", FORMATS)
def test_what_is_exported_reads_back_as_the_same_calls(form: str, run: Run, tmp_path: Path) -> None:
    (original,) = open_file(tmp_path / "task.trajectory.json").trajectories()
    trajectory = read_back(run, form, tmp_path)
    assert list(map(essence, trajectory.calls())) == list(map(essence, original.calls()))
    assert [len(step.calls) for step in trajectory.steps] == [len(step.calls) for step in original.steps]
    assert (trajectory.model, trajectory.task.question) == ("gpt", "What is there?")
    assert trajectory.id.startswith("task")
    assert trajectory.final_reply == "done"


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "reported", [{"passed": True}, {"passed": False, "score": 0.25, "details": {"why": "late"}}, {"score": 0.5}, None]
)
def test_an_export_keeps_whether_the_task_passed(form: str, reported: dict[str, Any] | None, tmp_path: Path) -> None:
    path = write_trajectory(tmp_path / "t.trajectory.json", [call("a/b")], reported=reported)
    with Run.read(make_run(tmp_path / "run.db", [path])) as run:
        found = read_back(run, form, tmp_path).reported
    assert (None if found is None else found.model_dump(exclude_none=True)) == reported


@pytest.mark.parametrize("form", ["atif", "otlp"])
@pytest.mark.parametrize("times", [{}, {"started": 2.5, "seconds": 0.125}, {"started": 7.0}])
def test_an_export_keeps_the_times_that_there_are_and_invents_none(
    form: str, times: dict[str, float], tmp_path: Path
) -> None:
    began = {"started_at": "2026-05-01T08:00:00Z"} if times else {}
    path = write_trajectory(tmp_path / "t.trajectory.json", [call("a/b") | times, call("a/c")], **began)
    with Run.read(make_run(tmp_path / "run.db", [path])) as run:
        trajectory = read_back(run, form, tmp_path)
    kept = [{name: getattr(found, name) for name in ("started", "seconds")} for found in trajectory.calls()]
    assert kept == [{"started": None, "seconds": None} | times, {"started": None, "seconds": None}]
    assert trajectory.started_at == began.get("started_at")


@pytest.mark.parametrize("form", ["atif", "otlp", "inspect"])
def test_the_error_flag_survives_where_the_format_has_room_for_it(form: str, run: Run, tmp_path: Path) -> None:
    flags = [getattr(found.answer, "is_error", None) for found in read_back(run, form, tmp_path).calls()]
    assert flags[:2] == [False, True]


@pytest.mark.parametrize("form", FORMATS)
def test_the_verdicts_stand_in_the_document(form: str, run: Run) -> None:
    ((_, document),) = export(run, form)
    text = json.dumps(document)
    assert "illegal_format" in text
    assert "not_found" in text


@pytest.mark.parametrize("form", FORMATS)
def test_secrets_do_not_leave_in_an_export(form: str, tmp_path: Path) -> None:
    path = write_trajectory(tmp_path / "t.trajectory.json", [call("a/b", {"token": SECRET}, SECRET)], question=SECRET)
    with Run.read(make_run(tmp_path / "run.db", [path])) as run:
        assert SECRET not in json.dumps(list(export(run, form)))


def test_otlp_is_what_the_protocol_buffers_of_opentelemetry_say(run: Run) -> None:
    ((_, document),) = export(run, "otlp")
    traces = json_format.ParseDict(document, TracesData())
    spans = traces.resource_spans[0].scope_spans[0].spans
    assert [span.name for span in spans].count("execute_tool files/read") == 1
    assert len({span.span_id for span in spans}) == len(spans)
    assert all(span.start_time_unix_nano <= span.end_time_unix_nano for span in spans)


def test_an_atif_document_counts_its_steps_and_answers_only_calls_of_the_same_step(run: Run) -> None:
    ((_, document),) = export(run, "atif")
    assert [step["step_id"] for step in document["steps"]] == list(range(1, len(document["steps"]) + 1))
    for step in document["steps"]:
        ids = {written["tool_call_id"] for written in step.get("tool_calls", ())}
        assert {result["source_call_id"] for result in step.get("observation", {}).get("results", ())} <= ids


@pytest.mark.skipif(not HAS_INSPECT, reason="inspect_ai (the extra `inspect`) is not installed")
def test_inspect_itself_reads_the_log(run: Run, tmp_path: Path) -> None:
    from inspect_ai.log import read_eval_log

    ((_, document),) = export(run, "inspect")
    path = tmp_path / "log.json"
    path.write_text(json.dumps(document), "utf-8")
    log = read_eval_log(str(path))
    (sample,) = log.samples
    assert sample.scores["replay"].value["illegal_format"] == 1
    calls = [item.function for message in sample.messages for item in getattr(message, "tool_calls", None) or ()]
    assert calls == ["mcp__files__read", "files/read", "files/list", "files/write"]


def test_an_id_that_is_not_there_is_said(run: Run) -> None:
    with pytest.raises(UsageError, match="no trajectory with the id 'nope'"):
        list(export(run, "atif", trajectory="nope"))


def test_the_verb_writes_a_file_a_document_and_overwrites_none(run: Run, replay: Replay, tmp_path: Path) -> None:
    written = replay("export", run.path.name, "--format", "openai", "-o", "out")
    assert written.stdout.split() == ["out/task.json"]
    again = replay("export", run.path.name, "--format", "openai", "-o", "out")
    assert again.returncode == 2
    assert "overwrite it with --force" in again.stderr
    assert json.loads((tmp_path / "out/task.json").read_text())["id"] == "task"
    printed = replay("export", run.path.name, "--format", "atif", "--trajectory", "task")
    assert json.loads(printed.stdout)["schema_version"] == "ATIF-v1.7"


def test_trajectories_of_one_id_are_told_apart_by_their_models(tmp_path: Path) -> None:
    files = []
    for model, ids in (("ada", ("t", "u")), ("bob", ("t",))):
        (tmp_path / model).mkdir()
        place = tmp_path / model
        files += [write_trajectory(place / f"{one}.trajectory.json", [call("a/b")], model=model) for one in ids]
    with Run.read(make_run(tmp_path / "run.db", files)) as run:
        assert [name for name, _ in export(run, "atif")] == ["ada_t", "u", "bob_t"]
        assert [name for name, _ in export(run, "inspect")] == ["ada", "ada", "bob"], "a log a file"
