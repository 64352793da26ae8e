from __future__ import annotations

import json
from typing import Any

import pytest

from replay.dag.drift import compare_answers, volatile_pointers
from replay.records import Answer, RpcError, TextAnswer, ToolResult, TransportFault


def result(*texts: str, structured: Any = None, is_error: bool = False) -> ToolResult:
    blocks = tuple({"type": "text", "text": text} for text in texts)
    return ToolResult(content=blocks, structured=structured, is_error=is_error)


def drift(recorded: str, replayed: str) -> str:
    return compare_answers(result(recorded), result(replayed)).drift


def test_a_value_that_the_server_is_known_to_have_drawn_anew_is_volatile() -> None:
    drawn = {"qwrtplk": "zxcvbnm", "n-0001": "n-0002", "n-0002": "n-0003"}
    recorded = result("customer qwrtplk has n-0001 and n-0002", structured={"customer": "qwrtplk"})
    replayed = result("customer zxcvbnm has n-0002 and n-0003", structured={"customer": "zxcvbnm"})
    assert compare_answers(recorded, replayed).drift == "different"
    comparison = compare_answers(recorded, replayed, drawn)
    assert (comparison.drift, "zxcvbnm" in (comparison.difference or "")) == ("volatile", True)
    assert compare_answers(recorded, result("customer zxcvbnm has nothing"), drawn).drift == "different"


def test_where_one_item_of_a_list_has_a_drawn_id_the_others_have() -> None:
    then = json.dumps({"shows": [{"show": "SHQWERTY", "price": 42}, {"show": "SHASDFGH", "price": 38}]})
    now = then.replace("QWERTY", "POIUYT").replace("ASDFGH", "LKJHGF")
    drawn = {"SHQWERTY": "SHPOIUYT"}
    for recorded in (result(then), TextAnswer(text=then)):
        assert compare_answers(recorded, result(now), drawn).drift == "volatile"
        assert compare_answers(recorded, result(now)).drift == "different"
        assert compare_answers(recorded, result(now.replace("38", "39")), drawn).drift == "different"


def test_the_same_answer_is_the_same_and_has_no_difference() -> None:
    comparison = compare_answers(result("a\nb"), result("a\nb"))
    assert (comparison.drift, comparison.difference) == ("same", None)


@pytest.mark.parametrize(
    ("recorded", "replayed"),
    [
        ("at 2025-10-17T23:35:01.123Z", "at 2026-11-21T06:00:00Z"),
        ("date 2025-10-17", "date 2026-01-02"),
        ("Fri Oct 17 23:35:12 UTC 2025", "Sat Nov 21 06:00:00 UTC 2026"),
        ("drwxr-xr-x 4 root root 4096 Oct 17 23:35 os", "drwxr-xr-x 4 root root 4096 Nov 21 06:00 os"),
        ("Date: Fri, 17 Oct 2025 23:35:12 GMT", "Date: Sat, 21 Nov 2026 06:00:00 GMT"),
        ("Execution time: 0.050 seconds", "Execution time: 12.7 seconds"),
        ("took 12 ms", "took 3.5 ms"),
        ("id 123e4567-e89b-12d3-a456-426614174000", "id 00000000-e89b-12d3-a456-426614174abc"),
        ("commit 9f8e7d6c5b4a", "commit 0a1b2c3d4e5f"),
        ("session art_5ff15a84a1 is open", "session art_0073f13ce6 is open"),
        ("session V1StGXR8Z5jdHi6BmyT3", "session Qb7Yx2LkPz9WdRt4VnM8"),
        ("wrote /tmp/tmpab12cd/x", "wrote /tmp/tmpzz99yy/x"),
        ("listening on http://localhost:41231/", "listening on http://localhost:5050/"),
        ("started pid 4711", "started pid 12"),
        ("<Sheet at 0x7f12ab34cd>", "<Sheet at 0x7fffab34cd>"),
        ("{'modified': 1753028011.0}", "{'modified': 1760543675.0}"),
        ("growth 0.30000000000000004", "growth 0.30000000000000001"),
    ],
)
def test_volatile_values_are_told_from_real_differences(recorded: str, replayed: str) -> None:
    assert drift(recorded, replayed) == "volatile"
    assert compare_answers(TextAnswer(text=recorded), result(replayed)).drift == "volatile"


@pytest.mark.parametrize(
    ("recorded", "replayed"),
    [
        ("33 files", "34 files"),
        ("Oslo", "Reykjavik"),
        ("id 2021302001", "id 2021302002"),
        ("at 2025-10-17 up", "at 2025-10-17 down"),
        ("[FILE] a\n[FILE] b", "[FILE] b\n[FILE] a"),
        ("version 1.2.3", "version 1.2.4"),
        ("price 12.50", "price 13.50"),
        ("facade", "decade"),
    ],
)
def test_real_differences_are_different(recorded: str, replayed: str) -> None:
    assert drift(recorded, replayed) == "different"


def test_the_first_difference_is_told_in_words() -> None:
    assert compare_answers(TextAnswer(text="a\nb\nc"), result("a\nB\nC")).difference == "line 2: 'b' then, 'B' now"
    recorded, replayed = {"items": [{"name": "x"}, {"name": "y"}]}, {"items": [{"name": "x"}, {"name": "z"}]}
    comparison = compare_answers(TextAnswer(text=json.dumps(recorded)), result(json.dumps(replayed)))
    assert comparison.difference == "/items/1/name: 'y' then, 'z' now"
    assert compare_answers(result(structured=recorded), result(structured=replayed)).difference == (
        "/structured/items/1/name: 'y' then, 'z' now"
    )
    assert compare_answers(result("a"), result("a\nb")).difference == "/content/0/text: line 2: no line then, 'b' now"


def test_of_long_texts_the_part_is_told_where_they_are_no_longer_the_same() -> None:
    before = "The lamp in the upper hall by the eastern door of the old house was lit at dusk and "
    found = compare_answers(TextAnswer(text=before + "burned green"), TextAnswer(text=before + "burned blue"))
    assert found.difference == "line 1: '…green' then, '…blue' now"


def test_a_real_difference_is_told_before_a_volatile_one() -> None:
    comparison = compare_answers(result("at 10:00:00\n3 files"), result("at 11:00:00\n4 files"))
    assert comparison.difference is not None
    assert "line 2" in comparison.difference


def test_members_of_objects_have_no_order_and_items_of_lists_have() -> None:
    assert drift('{"a": 1, "b": [1, 2]}', '{"b": [1, 2],\n "a": 1}') == "same"
    assert drift("[1, 2]", "[2, 1]") == "different"


def test_numbers_under_names_of_times_are_volatile() -> None:
    recorded, replayed = {"elapsed_ms": 12, "createdAt": 1, "pid": 7}, {"elapsed_ms": 99, "createdAt": 2, "pid": 8}
    assert compare_answers(result(structured=recorded), result(structured=replayed)).drift == "volatile"
    assert compare_answers(result(structured={"count": 12}), result(structured={"count": 99})).drift == "different"
    assert compare_answers(result(structured={"v": 0.1 + 0.2}), result(structured={"v": 0.3})).drift == "volatile"
    assert compare_answers(result(structured={"v": True}), result(structured={"v": 1})).drift == "different"


def test_a_missing_member_is_a_difference_and_null_is_not_nothing() -> None:
    comparison = compare_answers(result(structured={"a": None}), result(structured={}))
    assert comparison.difference == "/structured/a: None then, nothing now"


def test_an_error_flag_and_other_kinds_are_differences() -> None:
    assert compare_answers(result("x"), result("x", is_error=True)).difference == "isError: False then, True now"
    assert (
        compare_answers(result("x"), RpcError(code=-32602, message="x")).difference
        == "a result then, a JSON-RPC error now"
    )
    fault = TransportFault(fault="timeout", message="none in 30 s")
    assert compare_answers(result("x"), fault).difference == "a result then, no answer (timeout) now"
    assert compare_answers(fault, fault).drift == "same"
    assert (
        compare_answers(RpcError(code=1, message="a"), RpcError(code=2, message="a")).difference
        == "code: 1 then, 2 now"
    )
    assert (
        compare_answers(RpcError(code=1, message="a 10:00:00"), RpcError(code=1, message="a 11:00:00")).drift
        == "volatile"
    )


@pytest.mark.parametrize(
    "recorded",
    ["hello\n", '{"type": "text", "text": "hello", "annotations": null}', '[{"type": "text", "text": " hello "}]'],
)
def test_a_recorded_text_is_compared_by_its_texts(recorded: str) -> None:
    assert compare_answers(TextAnswer(text=recorded), result("hello")).drift == "same"
    assert compare_answers(TextAnswer(text=recorded), RpcError(code=1, message="hello")).drift == "same"


LONG = "\n".join(f"row {n} of the table" for n in range(100))


@pytest.mark.parametrize(
    "recorded",
    [
        LONG[:900],
        LONG[:900] + "... [truncated]",
        LONG[:900] + " ...\n\n(The output of the tool call is too long! Only the first 900 characters are shown here.)",
        json.dumps({"type": "text", "text": LONG})[:900] + " ...\n\n(Too long! Only the first 900 characters shown)",
    ],
)  # fmt: skip
def test_a_recording_that_was_cut_for_length_is_the_same_and_says_so(recorded: str) -> None:
    comparison = compare_answers(TextAnswer(text=recorded), result(LONG))
    assert comparison.drift == "same"
    assert comparison.difference is not None
    assert "cut after" in comparison.difference


def test_a_cut_recording_with_another_beginning_is_different() -> None:
    recorded = LONG.replace("row 3 ", "row X ")[:900] + "... [truncated]"
    assert compare_answers(TextAnswer(text=recorded), result(LONG)).difference == (
        "line 4: 'row X of the table' then, 'row 3 of the table' now"
    )


def test_a_short_beginning_is_no_cut() -> None:
    assert compare_answers(TextAnswer(text="33"), result("33 files")).drift == "different"


def test_hostile_text_is_made_safe_in_the_difference() -> None:
    comparison = compare_answers(result("a"), result("\x1b[31mred\u202e"))
    assert comparison.difference is not None
    assert "\x1b" not in comparison.difference
    assert "\u202e" not in comparison.difference


def test_volatile_pointers_name_what_moves_between_trials() -> None:
    answers: list[Answer] = [
        result(json.dumps({"id": f"a{n}", "same": 1, "rows": [{"t": n}]}), structured={"n": n, "k": 0})
        for n in range(3)
    ]
    assert volatile_pointers(answers) == ("/content/0/text/id", "/content/0/text/rows/0/t", "/structured/n")
    assert volatile_pointers(answers[:1]) == ()
    assert volatile_pointers([]) == ()


@pytest.mark.parametrize(
    "filler",
    ["a" * 4_000_000, "ab1 " * 1_000_000, "1:2:3-" * 600_000, "9" * 4_000_000],
    ids=["a word", "words", "clocks", "a number"],
)
def test_megabytes_are_compared(filler: str) -> None:
    assert drift(filler + " x " + filler, filler + " y " + filler) == "different"


@pytest.mark.parametrize("unit", ["Z", "abc-", "/a", "a/", "0123456789abcdef", "a.b.", '"', " ", "[ ", "... "])
def test_a_long_answer_that_repeats_itself_is_compared_to_its_end(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    recorded, replayed = TextAnswer(text=f"id 12 {text} a"), TextAnswer(text=f"id 13 {text} b")
    assert compare_answers(recorded, replayed).drift == "different"
