from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from replay.dag import infer_edges
from replay.dag.graph import roots_of
from replay.dag.history import ValueHistory
from replay.records import Call, Source, Step, TextAnswer, ToolResult, Trajectory

Build = Callable[..., Trajectory]


def pairs(trajectory: Trajectory) -> set[tuple[str, str, Any]]:
    return {(edge.producer, edge.consumer, edge.value) for edge in infer_edges(trajectory)}


def test_random_ids_make_a_chain_of_five(build: Build) -> None:
    ids = ["9f8e7d6c5b", "1a2b3c4d5e", "0f9e8d7c6b", "a1b2c3d4e5"]
    steps: list[Any] = [("x/create", {}, json.dumps({"id": ids[0]}))]
    steps += [("x/next", {"parent": ids[n]}, json.dumps({"child": {"id": ids[n + 1]}})) for n in range(3)]
    steps.append(("x/get", {"id": ids[3]}, "ok"))
    edges = infer_edges(build(*steps))
    assert [(edge.producer, edge.consumer) for edge in edges] == [(f"s{n}c1", f"s{n + 1}c1") for n in range(1, 5)]
    assert edges[1].producer_pointer == "/content/0/text/child/id"
    assert edges[1].consumer_pointer == "/parent"
    assert all(edge.certainty == "certain" for edge in edges)


@pytest.mark.parametrize(
    "answer",
    [
        ToolResult(content=({"type": "text", "text": "The id is zk81qv."},)),
        TextAnswer(text="The id is zk81qv."),
        TextAnswer(text='{"type": "text", "text": "The id is zk81qv.", "annotations": null}'),
        TextAnswer(text='[{"type": "text", "text": "The id is zk81qv."}]'),
    ],
)
def test_an_id_in_a_text_has_the_same_pointer_however_the_answer_was_recorded(build: Build, answer: Any) -> None:
    (edge,) = infer_edges(build(("x/create", {}, answer), ("x/get", {"id": "zk81qv"}, "ok")))
    assert (edge.producer_pointer, edge.value) == ("/content/0/text", "zk81qv")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"boat_id": "QUNVY"}, {"QUNVY"}),
        ({"boatIds": ["QUNVY"]}, {"QUNVY"}),
        ({"kind": "QUNVY"}, set()),
    ],
)
def test_letters_alone_are_an_id_where_the_argument_is_one_by_its_name(
    build: Build, arguments: dict[str, Any], expected: set[str]
) -> None:
    found = pairs(build(("x/find", {}, "Halcyon (id QUNVY): 11 m"), ("x/book", arguments, "ok")))
    assert {value for _, _, value in found} == expected


def test_structured_content_has_its_own_pointer(build: Build) -> None:
    answer = ToolResult(structured={"items": [{"a/b": 778899}]})
    (edge,) = infer_edges(build(("x/list", {}, answer), ("x/get", {"id": 778899}, "ok")))
    assert edge.producer_pointer == "/structured/items/0/a~1b"


def test_json_inside_json_text_is_entered(build: Build) -> None:
    answer = json.dumps({"result": json.dumps({"id": "u-77x1"})})
    (edge,) = infer_edges(build(("x/create", {}, answer), ("x/get", {"id": "u-77x1"}, "ok")))
    assert edge.producer_pointer == "/content/0/text/result/id"


def test_an_id_inside_a_url_makes_an_edge(build: Build) -> None:
    trajectory = build(
        ("x/create", {}, '{"id": "ab12cd34"}'), ("x/fetch", {"url": "https://h.example/v1/items/ab12cd34?full=1"}, "")
    )
    assert pairs(trajectory) == {("s1c1", "s2c1", "ab12cd34")}


def test_values_deep_in_arguments_make_edges(build: Build) -> None:
    trajectory = build(
        ("x/list", {}, '[{"id": "k1-aa01"}, {"id": "k1-bb02"}]'),
        ("x/get", {"filter": {"ids": ["k1-aa01", "k1-bb02"]}}, ""),
    )
    assert {edge.consumer_pointer for edge in infer_edges(trajectory)} == {"/filter/ids/0", "/filter/ids/1"}


def test_a_number_matches_its_spelling_in_a_text_and_in_an_argument(build: Build) -> None:
    text_to_number = build(("x/create", {}, "Created ticket 48213."), ("x/get", {"id": 48213}, ""))
    number_to_text = build(("x/create", {}, '{"id": 48213}'), ("x/get", {"id": "48213"}, ""))
    assert [edge.producer for edge in infer_edges(text_to_number)] == ["s1c1"]
    assert [edge.producer for edge in infer_edges(number_to_text)] == ["s1c1"]


def test_a_part_of_a_longer_number_or_word_makes_no_edge(build: Build) -> None:
    trajectory = build(
        ("x/a", {}, "148213 and 48.2137 and Reykjavikings and some-thing-else"),
        ("x/b", {"id": 48213, "n": 48.213, "city": "Reykjavik", "key": "some-thing"}, ""),
    )
    assert infer_edges(trajectory) == ()


def test_a_value_of_the_question_makes_no_edge(build: Build) -> None:
    trajectory = build(
        ("x/find", {}, '{"city": "Reykjavik", "id": 48213, "day": "2025-03-14"}'),
        ("x/get", {"city": "Reykjavik", "id": 48213, "day": "2025-03-14"}, ""),
        question="What happened in reykjavik to 48213 on March 14, 2025?",
    )
    assert infer_edges(trajectory) == ()


@pytest.mark.parametrize(
    "value",
    [True, False, None, 1, 42, 100, 5000, "en", "eng", ".", "/", "true", "en-US", "USD", "text/plain",
     "application/json", "name", "metric", "utf-8", "Sheet1", "America/New_York", "desc", "B12", 0.5, "", "    "],
)  # fmt: skip
def test_a_constant_makes_no_edge(build: Build, value: Any) -> None:
    trajectory = build(("x/a", {}, json.dumps({"v": value})), ("x/b", {"v": value}, ""))
    assert infer_edges(trajectory) == ()


def test_what_the_model_wrote_before_any_answer_makes_no_edge(build: Build) -> None:
    trajectory = build(
        ("x/search", {"q": "northern lights"}, 'Results for "northern lights": none'),
        ("y/search", {"q": "northern lights"}, ""),
    )
    assert infer_edges(trajectory) == ()


def test_calls_of_one_step_give_each_other_nothing(build: Build) -> None:
    trajectory = build([("x/create", {}, '{"id": "zk81qv"}'), ("x/get", {"id": "zk81qv"}, "")])
    assert infer_edges(trajectory) == ()


def test_the_first_that_held_the_value_is_its_producer(build: Build) -> None:
    trajectory = build(
        ("x/create", {}, '{"id": "zk81qv"}'),
        ("x/list", {}, '["zk81qv"]'),
        ("x/get", {"id": "zk81qv"}, '{"id": "zk81qv"}'),
        ("x/drop", {"id": "zk81qv"}, ""),
    )
    assert pairs(trajectory) == {("s1c1", "s3c1", "zk81qv"), ("s1c1", "s4c1", "zk81qv")}


def test_an_output_path_in_the_arguments_makes_an_edge(build: Build) -> None:
    trajectory = build(
        ("fs/write_file", {"path": "/ws/out.txt", "content": "x"}, "Successfully wrote to /ws/out.txt"),
        ("fs/read_file", {"path": "/ws/out.txt"}, "x"),
    )
    (edge,) = infer_edges(trajectory)
    assert (edge.producer_place, edge.producer_pointer, edge.value) == ("arguments", "/path", "/ws/out.txt")


def test_a_path_that_was_only_read_before_makes_no_edge(build: Build) -> None:
    trajectory = build(("fs/read_file", {"path": "/ws/a.txt"}, "x"), ("fs/stat", {"path": "/ws/a.txt"}, ""))
    assert infer_edges(trajectory) == ()


def test_the_producer_of_a_path_is_the_call_that_made_the_file_not_the_one_that_listed_it(build: Build) -> None:
    trajectory = build(
        ("excel/create_workbook", {"filepath": "/ws/book.xlsx"}, "Created workbook"),
        ("fs/list_directory", {"path": "/ws"}, "[FILE] book.xlsx"),
        ("excel/create_worksheet", {"filepath": "/ws/book.xlsx", "sheet_name": "Growth"}, "ok"),
        ("excel/write_data", {"filepath": "/ws/book.xlsx", "sheet_name": "Growth", "data": []}, "ok"),
    )
    assert pairs(trajectory) == {
        ("s1c1", "s3c1", "/ws/book.xlsx"),
        ("s1c1", "s4c1", "/ws/book.xlsx"),
        ("s3c1", "s4c1", "Growth"),
    }


def test_a_maker_that_failed_is_passed_over_for_one_that_did_not(build: Build) -> None:
    trajectory = build(
        ("fs/write_file", {"path": "/ws/out.txt"}, "Error: disk full"),
        ("fs/write_file", {"path": "/ws/out.txt"}, "Successfully wrote"),
        ("fs/read_file", {"path": "/ws/out.txt"}, "x"),
    )
    assert pairs(trajectory) == {("s2c1", "s3c1", "/ws/out.txt")}


def test_a_name_from_a_listing_makes_an_edge_to_its_path(build: Build) -> None:
    trajectory = build(
        ("fs/list_directory", {"path": "/ws"}, "[FILE] q3-notes.md\n[DIR] sources"),
        ("fs/read_file", {"path": "/ws/q3-notes.md"}, ""),
        ("fs/list_directory", {"path": "/ws/sources"}, ""),
    )
    assert pairs(trajectory) == {("s1c1", "s2c1", "q3-notes.md"), ("s1c1", "s3c1", "sources")}


def test_the_root_of_the_workspace_makes_no_edge(build: Build) -> None:
    trajectory = build(
        ("fs/list_allowed_directories", {}, "Allowed directories:\n/srv/space"),
        ("fs/list_directory", {"path": "/srv/space"}, "[FILE] a_1.txt"),
        ("fs/read_file", {"path": "/srv/space/b.txt"}, ""),
    )
    assert infer_edges(trajectory) == ()


def test_a_made_up_directory_of_an_answer_makes_an_edge(build: Build) -> None:
    trajectory = build(
        ("x/mktemp", {}, '{"dir": "/var/run/job_8f3a2b1c"}'),
        ("fs/write_file", {"path": "/var/run/job_8f3a2b1c/o.txt"}, ""),
    )
    assert ("s1c1", "s2c1", "/var/run/job_8f3a2b1c") in pairs(trajectory)


def test_binary_content_is_not_searched(build: Build) -> None:
    answer = ToolResult(content=({"type": "image", "data": "zk81qv", "mimeType": "image/png"},))
    assert infer_edges(build(("x/shot", {}, answer), ("x/get", {"id": "zk81qv"}, ""))) == ()


def test_without_answers_only_output_paths_make_edges(build: Build) -> None:
    trajectory = build(
        ("x/create", {}, None),
        ("x/save", {"path": "/w/a.txt"}, None),
        ("x/get", {"id": "zk81qv", "f": "/w/a.txt"}, None),
    )
    assert {edge.value for edge in infer_edges(trajectory)} == {"/w/a.txt"}


def test_a_call_without_readable_arguments_takes_nothing(build: Build) -> None:
    assert infer_edges(build(("x/create", {}, "zk81qv"), ("x/get", None, ""))) == ()


def test_deeply_nested_answers_are_survived(build: Build) -> None:
    deep = "[" * 50_000 + "]" * 50_000
    assert infer_edges(build(("x/a", {}, deep), ("x/b", {"v": "zk81qv"}, ""))) == ()


def test_three_hundred_calls_with_megabytes_of_answers_give_their_chain(build: Build) -> None:
    numbers = random.Random(1)
    ids = [f"{numbers.getrandbits(48):012x}" for _ in range(300)]
    filler = json.dumps([{"id": f"{numbers.getrandbits(48):012x}", "name": f"row {n}"} for n in range(2000)])
    steps = [
        ("x/next", {"id": ids[n - 1] if n else "start", "q": f"part {n}"}, json.dumps({"id": ids[n], "rows": filler}))
        for n in range(300)
    ]
    edges = infer_edges(build(*steps))
    assert len(edges) == 299


@pytest.mark.parametrize(
    "unit",
    [
        "Z",
        "abc-",
        "/a",
        "a/",
        "0123456789abcdef",
        "a.b.",
        '"',
        "'",
        " ",
        "x+",
        "http://a/b c/d ",
        "open(",
        "curl ",
        "copy",
    ],
)
def test_a_long_argument_that_repeats_itself_is_read_to_its_end(build: Build, unit: str) -> None:
    text = unit * (200_000 // len(unit))
    trajectory = build(("x/create_file", {"path": text}, ""), ("x/run", {"code": f"a{text}b"}, "ok"))
    assert infer_edges(trajectory) is not None


@pytest.mark.parametrize("unit", [" ", '"', "abc-", "[ ", "a1-"])
def test_an_answer_that_repeats_itself_is_read_to_its_end(build: Build, unit: str) -> None:
    text = unit * (100_000 // len(unit))
    trajectory = build(("x/get", {}, text), ("x/find", {"text": text[:50_000]}, f"{text}!"))
    assert infer_edges(trajectory) is not None


@pytest.mark.parametrize(
    ("tool", "key"),
    [
        ("git/git_add", "repo_path"),
        ("git/git_commit", "repo_path"),
        ("git/git_create_branch", "repo_path"),
        ("fs/write_file", "directory"),
        ("fs/save_file", "workspace"),
        ("fs/create_file", "source_path"),
        ("excel/create_worksheet", "filepath"),
        ("ppt/open_presentation", "file_path"),
        ("lists/add_item", "path"),
    ],
)
def test_a_path_that_a_tool_works_on_is_no_output(build: Build, tool: str, key: str) -> None:
    path = "/srv/kx91/thing"
    assert not pairs(build((tool, {key: path}, "ok"), ("x/look", {"path": path}, "ok")))


@pytest.mark.parametrize(
    ("tool", "key"),
    [
        ("git/git_init", "repo_path"),
        ("fs/create_directory", "path"),
        ("fs/create_folder", "folder"),
        ("fs/write_file", "filePath"),
        ("fs/move_file", "destination"),
        ("fs/copy_file", "target_path"),
        ("img/crop", "output_path"),
        ("charts/generate_chart", "filename"),
    ],
)
def test_a_path_that_a_tool_makes_is_an_output(build: Build, tool: str, key: str) -> None:
    path = "/srv/kx91/thing"
    assert ("s1c1", "s2c1", path) in pairs(build((tool, {key: path}, "ok"), ("x/look", {"path": path}, "ok")))


@pytest.mark.parametrize(
    "answer",
    [
        "Allowed directories:\n/srv/Shop",
        "é: the WORKSPACE is /srv/Shop.",
        "the wor\u212a\u017fpace is /srv/Shop",
        "İ\nCWD = /srv/Shop",
    ],
)
def test_an_announced_directory_is_a_root_in_whatever_case_it_is_announced(answer: str) -> None:
    call = Call(position="s1c1", name="files/list", arguments={}, answer=TextAnswer(text=answer))
    source = Source(file="a.json", format="test")

    roots = roots_of(ValueHistory(Trajectory(id="a", model="m", source=source, steps=(Step(calls=(call,)),))))

    assert {"/srv/Shop", "/srv"} <= roots


def test_a_value_of_frequent_words_is_found_in_the_one_answer_that_has_them_together(build: Build) -> None:
    apart: list[Any] = [("x/look", {}, f"{word} alone") for word in ("north",) * 700 + ("star",) * 700]
    together: list[Any] = [("x/look", {}, "north_star"), ("x/get", {"key": "north_star"}, "")]
    assert pairs(build(*apart, *together)) == {("s1401c1", "s1402c1", "north_star")}
