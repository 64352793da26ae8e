from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from replay.dag import infer_edges, rebind
from replay.records import Answer, Rebinding, RpcError, TextAnswer, ToolResult, Trajectory

Build = Callable[..., Trajectory]


def text(value: Any) -> ToolResult:
    return ToolResult(content=({"type": "text", "text": value if isinstance(value, str) else json.dumps(value)},))


def rebound(trajectory: Trajectory, replayed: dict[str, Answer]) -> tuple[dict[str, Any], tuple[Rebinding, ...]]:
    calls = list(trajectory.calls())
    recorded = {call.position: call.answer for call in calls if call.answer is not None}
    return rebind(calls[-1], infer_edges(trajectory), recorded, replayed)


def arguments(build: Build, recorded: Any, given: dict[str, Any], replayed: Any) -> dict[str, Any]:
    answer = TextAnswer(text=recorded if isinstance(recorded, str) else json.dumps(recorded))
    return rebound(build(("x/a", {}, answer), ("x/b", given, "")), {"s1c1": text(replayed)})[0]


def test_a_whole_scalar_gets_the_new_value_and_the_rebinding_says_so(build: Build) -> None:
    trajectory = build(("x/create", {}, '{"id": "old111aa"}'), ("x/get", {"id": "old111aa"}, ""))
    new, done = rebound(trajectory, {"s1c1": text({"id": "new222bb"})})
    assert new == {"id": "new222bb"}
    assert done == (Rebinding(pointer="/id", recorded="old111aa", replayed="new222bb", producer="s1c1"),)


def test_the_recorded_arguments_stay_as_they_were(build: Build) -> None:
    trajectory = build(("x/create", {}, '{"id": "old111aa"}'), ("x/get", {"deep": [{"id": "old111aa"}]}, ""))
    new, _ = rebound(trajectory, {"s1c1": text({"id": "new222bb"})})
    assert new == {"deep": [{"id": "new222bb"}]}
    assert list(trajectory.calls())[1].arguments == {"deep": [{"id": "old111aa"}]}


def test_a_number_keeps_the_type_of_the_argument(build: Build) -> None:
    assert arguments(build, {"id": 481516}, {"id": 481516}, {"id": 234299}) == {"id": 234299}
    assert arguments(build, {"id": 481516}, {"id": "481516"}, {"id": 234299}) == {"id": "234299"}
    assert arguments(build, "Ticket 481516 made", {"id": 481516}, "Ticket 234299 made") == {"id": 234299}


def test_values_inside_urls_paths_and_commands_are_replaced(build: Build) -> None:
    given = {"url": "https://h/v/old111aa?x=1", "path": "/w/old111aa/o.txt", "command": "cat /w/old111aa/o.txt | wc"}
    assert arguments(build, {"id": "old111aa"}, given, {"id": "new222bb"}) == {
        "url": "https://h/v/new222bb?x=1",
        "path": "/w/new222bb/o.txt",
        "command": "cat /w/new222bb/o.txt | wc",
    }


def test_an_id_in_a_text_is_found_by_what_stands_around_it(build: Build) -> None:
    recorded = "Started at 10:00:01.\nJob old111aa is queued (worker 3).\nBye."
    replayed = "Started at 11:30:59.\nNotice: slow.\nJob new222bb is queued (worker 3).\nBye."
    assert arguments(build, recorded, {"job": "old111aa"}, replayed) == {"job": "new222bb"}


def test_an_id_in_a_line_that_changed_elsewhere_is_found(build: Build) -> None:
    recorded = "10:00:01 created item old111aa for user bob in 12 ms"
    replayed = "11:30:59 created item new222bb for user bob in 99 ms"
    assert arguments(build, recorded, {"item": "old111aa"}, replayed) == {"item": "new222bb"}


def test_an_id_that_is_all_of_the_text_is_replaced(build: Build) -> None:
    assert arguments(build, "old111aa", {"id": "old111aa"}, "new222bb") == {"id": "new222bb"}


def test_several_ids_of_a_text_go_to_their_own_places(build: Build) -> None:
    recorded, replayed = "first: aaa111x\nsecond: bbb222x", "first: ccc333x\nsecond: ddd444x"
    assert arguments(build, recorded, {"ids": ["bbb222x", "aaa111x"]}, replayed) == {"ids": ["ddd444x", "ccc333x"]}


def test_ids_of_a_result_of_several_blocks_are_found_though_the_host_recorded_them_as_one_text(build: Build) -> None:
    before = [{"id": "aaa111x", "title": "jug"}, {"id": "bbb222x", "title": "bowl"}]
    now = ToolResult(
        content=tuple({"type": "text", "text": json.dumps({**row, "id": row["id"][::-1]})} for row in before)
    )
    recorded = TextAnswer(text="\n".join(map(json.dumps, before)))
    trajectory = build(("x/list", {}, recorded), ("x/get", {"id": "bbb222x"}, ""))
    assert rebound(trajectory, {"s1c1": now})[0] == {"id": "x222bbb"}


def test_values_that_trade_places_are_both_replaced_at_once(build: Build) -> None:
    recorded, replayed = {"a": "aaa111x", "b": "bbb222x"}, {"a": "ccc333x", "b": "aaa111z"}
    assert arguments(build, recorded, {"u": "h://x/aaa111x/bbb222x"}, replayed) == {"u": "h://x/ccc333x/aaa111z"}


def test_the_item_of_a_reordered_list_is_found_by_its_other_members(build: Build) -> None:
    recorded = [{"name": "alpha one", "id": "aaa111x"}, {"name": "beta two", "id": "bbb222x"}]
    replayed = [
        {"name": "beta two", "id": "ddd444x"},
        {"name": "new one", "id": "eee555x"},
        {"name": "alpha one", "id": "ccc333x"},
    ]
    assert arguments(build, recorded, {"id": "aaa111x"}, replayed) == {"id": "ccc333x"}


def test_a_value_that_still_stands_in_the_new_answer_is_kept(build: Build) -> None:
    assert arguments(build, {"id": "old111aa"}, {"id": "old111aa"}, {"id": "new222bb", "also": "old111aa"}) == {
        "id": "old111aa"
    }


def test_a_missing_or_ambiguous_place_changes_nothing(build: Build) -> None:
    given = {"id": "old111aa"}
    assert arguments(build, {"id": "old111aa"}, given, {"error": "no"}) == given
    assert arguments(build, {"id": "old111aa"}, given, {"id": ["a", "b"]}) == given
    assert arguments(build, ["old111aa", "ooo999bb"], given, ["new222bb"]) == given
    assert arguments(build, "Job old111aa is queued", given, "Nothing to do") == given
    assert arguments(build, "old111aa", given, "Error 28: the disk is full") == given


def test_a_producer_that_failed_or_was_not_sent_changes_nothing(build: Build) -> None:
    trajectory = build(("x/create", {}, '{"id": "old111aa"}'), ("x/get", {"id": "old111aa"}, ""))
    assert rebound(trajectory, {}) == ({"id": "old111aa"}, ())
    failed = ToolResult(content=({"type": "text", "text": '{"id": "new222bb"}'},), is_error=True)
    assert rebound(trajectory, {"s1c1": failed}) == ({"id": "old111aa"}, ())
    assert rebound(trajectory, {"s1c1": RpcError(code=-1, message="id new222bb")}) == ({"id": "old111aa"}, ())


def test_a_chain_follows_the_new_ids_from_call_to_call(build: Build) -> None:
    old = [f"old{n}{n}{n}aa" for n in range(5)]
    new = [f"new{n}{n}{n}bb" for n in range(5)]
    steps = [("x/next", {"id": old[n - 1]} if n else {}, text({"id": old[n]})) for n in range(5)]
    trajectory = build(*steps)
    edges = infer_edges(trajectory)
    recorded = {call.position: call.answer for call in trajectory.calls() if call.answer is not None}
    replayed: dict[str, Answer] = {}
    for n, call in enumerate(trajectory.calls()):
        given, _ = rebind(call, edges, recorded, replayed)
        assert given == ({"id": new[n - 1]} if n else {})
        replayed[call.position] = text({"id": new[n]})


def test_a_path_that_a_later_call_made_under_a_new_id_is_rebound_too(build: Build) -> None:
    trajectory = build(
        ("x/create", {}, '{"id": "old111aa"}'),
        ("fs/write_file", {"path": "/w/old111aa.txt", "content": "x"}, "ok"),
        ("fs/read_file", {"path": "/w/old111aa.txt"}, "x"),
    )
    new, _ = rebound(trajectory, {"s1c1": text({"id": "new222bb"}), "s2c1": text("ok")})
    assert new == {"path": "/w/new222bb.txt"}


def test_hostile_values_are_taken_as_they_are(build: Build) -> None:
    assert arguments(build, {"id": "old111aa"}, {"id": "old111aa"}, {"id": "\\g<0>(.*"}) == {"id": "\\g<0>(.*"}
