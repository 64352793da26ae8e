from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from replay.dag import Graph, render_text, to_dot, to_mermaid
from replay.records import DataEdge, Outcome, Trajectory

Build = Callable[..., Trajectory]

BAD, GONE = Outcome.INVALID_ARGUMENTS, Outcome.NOT_FOUND
REVISION = {"repo_path": "/r", "revision": "nowhere"}
BRANCH = {"repo_path": "/r", "branch_name": "main"}


def edge(producer: str, consumer: str) -> DataEdge:
    return DataEdge(producer=producer, producer_pointer="/x", consumer=consumer, consumer_pointer="/y", value="v")


def with_edges(trajectory: Trajectory, *edges: DataEdge) -> Graph:
    return Graph(trajectory.model_copy(update={"edges": edges}))


def diamond(build: Build) -> Graph:
    trajectory = build(("x/a", {}, ""), [("x/b", {}, ""), ("x/c", {}, "")], ("x/d", {}, ""))
    edges = (edge("s1c1", "s2c1"), edge("s1c1", "s2c2"), edge("s2c1", "s3c1"), edge("s2c2", "s3c1"))
    return with_edges(trajectory, *edges)


def test_waves_are_the_steps(build: Build) -> None:
    assert diamond(build).steps == (("s1c1",), ("s2c1", "s2c2"), ("s3c1",))


def test_ancestors_and_dependents_are_near_and_far_and_in_order(build: Build) -> None:
    graph = diamond(build)
    assert graph.ancestors("s3c1") == ("s1c1", "s2c1", "s2c2")
    assert graph.dependents("s1c1") == ("s2c1", "s2c2", "s3c1")
    assert graph.ancestors("s1c1") == ()


def test_shape_follows_the_definitions_of_the_paper(build: Build) -> None:
    graph = diamond(build)
    assert (graph.is_multi_hop, graph.is_multi_threaded) == (True, True)
    assert (graph.depth, graph.width, graph.longest_chain) == (3, 2, 3)
    alone = with_edges(build(("x/a", {}, ""), ("x/b", {}, "")))
    assert (alone.is_multi_hop, alone.is_multi_threaded) == (False, False)
    assert (alone.depth, alone.width, alone.longest_chain) == (2, 1, 1)


def test_a_trajectory_without_calls_has_no_depth(build: Build) -> None:
    graph = Graph(build())
    assert (graph.depth, graph.width, graph.longest_chain, graph.is_multi_hop) == (0, 0, 0, False)


def test_the_root_cause_is_the_earliest_failed_call_along_failed_calls(build: Build) -> None:
    graph = diamond(build)
    failed = dict.fromkeys(("s1c1", "s2c2", "s3c1"), Outcome.NOT_FOUND)
    assert graph.root_cause("s3c1", failed) == "s1c1"
    assert graph.root_cause("s1c1", failed) is None


def test_a_failure_before_a_success_is_no_cause(build: Build) -> None:
    trajectory = build(("x/a", {}, ""), ("x/b", {}, ""), ("x/c", {}, ""))
    graph = with_edges(trajectory, edge("s1c1", "s2c1"), edge("s2c1", "s3c1"))
    assert graph.root_cause("s3c1", {"s1c1": Outcome.NOT_FOUND, "s3c1": Outcome.NOT_FOUND}) is None


def test_a_maker_that_lost_its_path_is_the_cause_of_what_follows(build: Build) -> None:
    path = "/ws/report.xlsx"
    trajectory = build(
        ("excel/create_workbook", {}, None),
        ("excel/create_worksheet", {"filepath": path, "sheet_name": "One"}, None),
        ("excel/write_data_to_excel", {"filepath": path, "sheet_name": "One", "data": [[1]]}, None),
        ("wiki/summary", {"title": "Nowhere"}, None),
        question=f"Write {path}",
    )
    failed = {f"s{n}c1": Outcome.NOT_FOUND for n in range(1, 5)}
    graph = Graph(trajectory)
    assert [graph.root_cause(f"s{n}c1", failed) for n in range(1, 5)] == [None, "s1c1", "s1c1", None]


def test_a_maker_that_lost_its_path_is_no_cause_once_another_call_made_it(build: Build) -> None:
    path = "/ws/report.xlsx"
    trajectory = build(
        ("excel/create_workbook", {}, None),
        ("excel/create_workbook", {"filepath": path}, None),
        ("excel/write_data_to_excel", {"filepath": path, "sheet_name": "Two"}, None),
    )
    failed = dict.fromkeys(("s1c1", "s3c1"), Outcome.NOT_FOUND)
    assert Graph(trajectory).root_cause("s3c1", failed) is None


def test_saving_what_was_never_created_has_its_cause(build: Build) -> None:
    trajectory = build(
        ("ppt/create_presentation", None, None),
        ("ppt/save_presentation", {"file_path": "/ws/a.pptx", "presentation_id": "deck_77"}, None),
    )
    failed = dict.fromkeys(("s1c1", "s2c1"), Outcome.NOT_FOUND)
    assert Graph(trajectory).root_cause("s2c1", failed) == "s1c1"


def test_a_failed_maker_is_the_cause_though_the_question_gave_the_path(build: Build) -> None:
    trajectory = build(
        ("fs/create_directory", {"path": "/ws/out"}, None),
        ("fs/write_file", {"path": "/ws/out/a.txt", "content": "x"}, None),
        ("fs/read_file", {"path": "/ws/out/a.txt"}, None),
        question="Write /ws/out/a.txt and read it",
    )
    failed = {f"s{n}c1": Outcome.NOT_FOUND for n in range(1, 4)}
    assert Graph(trajectory).root_cause("s3c1", failed) == "s1c1"


def test_the_cause_of_a_missing_path_is_the_call_that_was_to_make_that_path(build: Build) -> None:
    """As InternVL-3.5 failed in the paper of M3-Bench: earlier calls failed with the same sheet, elsewhere."""
    path, sheet = "/path/to/output.xlsx", {"sheet_name": "Food Info"}
    absent = f"Error: No such file or directory: '{path}'."
    trajectory = build(
        ("excel/create_workbook", {}, "Error: Field required [filepath]"),
        ("excel/create_worksheet", sheet, "Error: Missing filepath argument"),
        ("create_worksheet", {**sheet, "filepath": "/path/to/food.xlsx"}, "Unknown tool: create_worksheet"),
        ("excel/create_workbook", {"filepath": path}, "Error: Permission denied at '/path'."),
        ("excel/create_worksheet", {**sheet, "filepath": path}, absent),
        ("excel/write_data_to_excel", {**sheet, "filepath": path, "data": [["Food"]]}, absent),
    )
    failed = {f"s{n}c1": BAD for n in range(1, 5)} | {f"s{n}c1": GONE for n in (5, 6)}
    graph = Graph(trajectory)
    assert [graph.root_cause(f"s{n}c1", failed) for n in range(1, 7)] == [None, None, None, None, "s4c1", "s4c1"]


def test_the_cause_may_stand_in_the_same_step_before_it(build: Build) -> None:
    path = "/w/output.xlsx"
    trajectory = build(
        [
            ("excel/create_workbook", {"filepath": path}, "Error: Permission denied"),
            ("excel/create_worksheet", {"filepath": path}, f"Error: File not found: {path}"),
        ]
    )
    graph = Graph(trajectory)
    assert graph.root_cause("s1c2", {"s1c1": BAD, "s1c2": GONE}) == "s1c1"
    assert graph.root_cause("s1c1", {"s1c1": GONE, "s1c2": GONE}) is None


@pytest.mark.parametrize(
    ("first", "answer", "second", "outcome"),
    [
        (("everything/add", {"a": 1}), "b is required", ("everything/annotatedMessage", {"messageType": "x"}), BAD),
        (
            ("everything/add", {"a": 1}),
            "b is required",
            ("everything/nope", {"path": "/a/b.txt"}),
            Outcome.UNKNOWN_TOOL,
        ),
        (("everything/add", {"a": 1}), "b is required", ("everything/add", {"a": "x"}), BAD),
        (("git/git_add", {"repo_path": "/r", "files": ["a.txt"]}), "no such file", ("git/git_show", REVISION), GONE),
        (
            ("git/git_add", {"repo_path": "/r", "files": ["a.txt"]}),
            "no such file",
            ("git/git_create_branch", BRANCH),
            BAD,
        ),
        (("git/git_create_branch", {}), "required", ("git/git_show", REVISION), GONE),
        (("fs/create_directory", {"path": "/w/d"}), "already exists", ("fs/read", {"path": "/w/d/a", "head": 1}), BAD),
        (("fs/create_directory", {"path": "/w/d"}), "d already exists", ("fs/read", {"path": "/w/d/a"}), GONE),
        (("fs/create_directory", {"path": "/w/d"}), "not allowed", ("fs/read", {"path": "/w/d/a", "head": 1}), BAD),
        (("excel/create_workbook", {}), "filepath is required", ("excel/read", {"filepath": "/w/a.xlsx"}), BAD),
        (("excel/create_workbook", {}), "filepath is required", ("excel/read", {"sheet": "One"}), GONE),
        (("excel/create_workbook", {}), "filepath is required", ("fs/read", {"filepath": "/w/a.xlsx"}), GONE),
        (("ppt/open_presentation", {}), "deck is required", ("ppt/read", {"file_path": "/w/a.pptx"}), GONE),
    ],
)
def test_a_failure_that_nothing_absent_explains_has_no_root_cause(
    build: Build, first: Any, answer: str, second: Any, outcome: Outcome
) -> None:
    trajectory = build((*first, answer), (*second, "no"))
    assert Graph(trajectory).root_cause("s2c1", {"s1c1": BAD, "s2c1": outcome}) is None


def test_a_tool_that_opens_is_a_cause_under_the_very_parameter_that_it_lost(build: Build) -> None:
    trajectory = build(
        ("ppt/open_presentation", {}, "file_path is a required property"),
        ("ppt/read", {"file_path": "/w/a.pptx"}, "no"),
    )
    assert Graph(trajectory).root_cause("s2c1", {"s1c1": BAD, "s2c1": GONE}) == "s1c1"


def test_a_value_from_a_failed_answer_is_a_cause_of_any_failure(build: Build) -> None:
    trajectory = build(("x/open", {}, "failed, see zk81qv"), ("x/get", {"id": "zk81qv"}, "bad id"))
    assert Graph(trajectory).root_cause("s2c1", {"s1c1": GONE, "s2c1": BAD}) == "s1c1"


def test_edges_of_the_file_are_kept(build: Build) -> None:
    trajectory = build(("x/a", {}, "zk81qv"), ("x/b", {"id": "zk81qv"}, "")).model_copy(update={"edges": ()})
    assert Graph(trajectory).edges == ()


HOSTILE = '"]; evil [label="\x1b[31m\n</script>`|{}'


def test_drawings_let_no_hostile_text_through(build: Build) -> None:
    trajectory = build((HOSTILE, {"k": HOSTILE}, f"id zk81qv {HOSTILE}"), ("x/b", {"id": "zk81qv"}, HOSTILE))
    graph = Graph(trajectory)
    for drawn in (render_text(graph), to_dot(graph), to_mermaid(graph)):
        assert "\x1b" not in drawn
        assert "zk81qv" in drawn
    assert '"]; evil' not in to_mermaid(graph)
    assert "</script>" not in to_mermaid(graph)
    assert '\\"]; evil [label=\\"' in to_dot(graph)


def test_text_shows_steps_calls_and_the_evidence_of_edges(build: Build) -> None:
    text = render_text(Graph(build(("x/a", {}, "id zk81qv"), ("x/b", {"id": "zk81qv"}, "fine"))))
    assert "2 calls in 2 steps, 1 data edge; multi-hop, single-threaded; depth 2, width 1" in text
    assert '<- s1c1 answer /content/0/text -> /id: "zk81qv"' in text
