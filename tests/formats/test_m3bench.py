from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from replay.errors import FormatError
from replay.formats import open_file
from replay.records import Call, TextAnswer, ToolResult, Trajectory


def read(path: Path, data: Any) -> list[Trajectory]:
    path.write_text(json.dumps(data))
    return list(open_file(path).trajectories())


def record(**fields: Any) -> dict[str, Any]:
    return {"id": "a", "question": "?", "type": "t", "steps": [], **fields}


def calls_of(path: Path, *calls: Any) -> list[Call]:
    return list(read(path, [record(steps=[{"step": 1, "calls": list(calls)}])])[0].calls())


@pytest.mark.parametrize("key", ["data", "items", "results", "predictions"])
def test_records_may_stand_under_a_container_key(tmp_path: Path, key: str) -> None:
    listed = read(tmp_path / "a.json", {key: [record(id="x"), record(id="y")]})
    by_id = read(tmp_path / "b.json", {"made": "today", key: {"x": record(id=None), "y": record(id=None)}})
    assert [one.id for one in listed] == ["x", "y"] == [one.id for one in by_id]


def test_records_by_id_take_their_key_where_they_name_none(tmp_path: Path) -> None:
    first = record()
    del first["id"]
    assert [one.id for one in read(tmp_path / "a.json", {"17": first, "18": record(id=18)})] == ["17", "18"]


def test_an_id_that_is_a_number_becomes_text(tmp_path: Path) -> None:
    assert read(tmp_path / "a.json", [record(id=7)])[0].id == "7"


def test_the_model_is_the_file_name_without_what_the_benchmark_appends(tmp_path: Path) -> None:
    assert read(tmp_path / "gpt-5_test_mcp_fuzzy.json", [record()])[0].model == "gpt-5"


def test_of_duplicate_ids_the_last_one_stands_and_a_warning_names_them(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([record(question="old"), record(id="b"), record(question="new")]))
    file = open_file(path)
    assert [(one.id, one.task.question) for one in file.trajectories()] == [("b", "?"), ("a", "new")]
    assert file.warnings == (f"{path}: 1 duplicate ids, the last one stands: a",)


def test_positions_count_steps_and_calls_from_one(tmp_path: Path) -> None:
    call = {"name": "s/t", "arguments": {}}
    steps = [{"step": 1, "calls": [call, call]}, {"step": 2, "calls": [call]}]
    assert [c.position for c in read(tmp_path / "a.json", [record(steps=steps)])[0].calls()] == ["s1c1", "s1c2", "s2c1"]


def test_absent_arguments_are_told_apart_from_null_and_from_other_types(tmp_path: Path) -> None:
    calls = calls_of(
        tmp_path / "a.json",
        {"name": "s/t"},
        {"name": "s/t", "arguments": None},
        {"name": "s/t", "arguments": "x=1"},
        {"name": "s/t", "arguments": [1]},
    )
    assert [(c.unreadable, c.raw, c.arguments) for c in calls] == [
        ("arguments", None, None),
        ("arguments", "null", None),
        ("arguments", '"x=1"', None),
        ("arguments", "[1]", None),
    ]


def test_a_name_that_is_not_text_is_kept_verbatim(tmp_path: Path) -> None:
    calls = calls_of(tmp_path / "a.json", {"name": 5, "arguments": {"x": 1}}, {"arguments": {}}, "just text")
    assert [(c.name, c.unreadable, c.raw) for c in calls] == [
        (None, "name", "5"),
        (None, "name", None),
        (None, "call", "just text"),
    ]


def test_recorded_answers_keep_their_kind(tmp_path: Path) -> None:
    result = {"content": [{"type": "text", "text": "hi"}], "isError": True}
    calls = calls_of(
        tmp_path / "a.json",
        {"name": "s/t", "arguments": {}, "result": "text"},
        {"name": "s/t", "arguments": {}, "result": result},
        {"name": "s/t", "arguments": {}, "result": {"rows": 3}},
        {"name": "s/t", "arguments": {}, "result": None},
    )
    assert [c.answer for c in calls] == [
        TextAnswer(text="text"),
        ToolResult(content=({"type": "text", "text": "hi"},), is_error=True),
        TextAnswer(text='{"rows": 3}'),
        None,
    ]


def test_a_round_whose_reply_could_not_be_parsed_is_a_call_of_its_own_where_it_happened(tmp_path: Path) -> None:
    call = {"name": "s/t", "arguments": {}}
    dialogue = [
        {"prepare": "p", "work": {"tool_calls": [call]}, "end": "no"},
        {"prepare": "p", "work": {"tool_calls": [], "raw": "<|box|>{"}, "end": "no"},
        {"prepare": "p", "work": {"tool_calls": [call]}, "end": "yes"},
    ]
    steps = [{"step": 1, "calls": [call]}, {"step": 2, "calls": [call]}]
    calls = list(read(tmp_path / "a.json", [record(steps=steps, dialogue=dialogue)])[0].calls())
    assert [(c.position, c.unreadable, c.raw) for c in calls] == [
        ("s1c1", None, None),
        ("s2c1", "call", "<|box|>{"),
        ("s3c1", None, None),
    ]


def test_images_inside_answers_are_kept_whole(tmp_path: Path) -> None:
    image = {"type": "image", "data": "iVBORw0KGgo=" * 1000, "mimeType": "image/png"}
    (call,) = calls_of(tmp_path / "a.json", {"name": "s/t", "arguments": {}, "result": {"content": [image]}})
    assert call.answer == ToolResult(content=(image,))


def test_a_record_without_steps_is_named_by_its_place(tmp_path: Path) -> None:
    broken = record()
    del broken["steps"]
    path = tmp_path / "a.json"
    path.write_text(json.dumps([record(), broken]))
    with pytest.raises(FormatError, match=r"a\.json: \$\[1\]: expected a record with a list \"steps\""):
        open_file(path)


def test_the_published_reference_loads_without_loss(shared_data: Path) -> None:
    file = open_file(shared_data / "m3bench" / "test_mcp_GT.json")
    calls = [(one.id, call) for one in file.trajectories() for call in one.calls()]
    assert len(file.ids) == 208
    assert file.calls == len(calls) == 1355
    assert "5 duplicate ids" in file.warnings[0]
    assert [(one, call.name) for one, call in calls if call.unreadable] == [("00170000", "ppt/create_presentation")]
    raw = {one["id"]: one for one in json.loads((shared_data / "m3bench" / "test_mcp_GT.json").read_text())}
    written = [c for identifier in file.ids for step in raw[identifier]["steps"] for c in step["calls"]]
    assert [(c.name, c.arguments) for _, c in calls] == [(c["name"], c.get("arguments")) for c in written]
