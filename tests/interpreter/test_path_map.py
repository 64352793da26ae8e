"""Recorded paths to actual ones, and back."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.interpreter.workspace import PathMap
from replay.records import RpcError, TextAnswer, ToolResult, TransportFault

RECORDED = "/workspace/dumps/workspace"
ACTUAL = "/tmp/replay-x1/workspace"
PATHS = PathMap([RECORDED, "/data"], [ACTUAL, "/private/tmp/replay-x1/workspace"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (RECORDED, ACTUAL),
        (f"{RECORDED}/", f"{ACTUAL}/"),
        (f"{RECORDED}/a b.txt", f"{ACTUAL}/a b.txt"),
        (f"cat {RECORDED}/a && ls '{RECORDED}'", f"cat {ACTUAL}/a && ls '{ACTUAL}'"),
        (f"file://{RECORDED}/a", f"file://{ACTUAL}/a"),
        (f"--out={RECORDED}/a,{RECORDED}/b", f"--out={ACTUAL}/a,{ACTUAL}/b"),
        (f"Look in {RECORDED}.", f"Look in {ACTUAL}."),
        (f'{{"path": "{RECORDED}/a\\n{RECORDED}/b"}}', f'{{"path": "{ACTUAL}/a\\n{ACTUAL}/b"}}'),
        ("\\/workspace\\/dumps\\/workspace\\/a", "\\/tmp\\/replay-x1\\/workspace\\/a"),
        ("/data/x", f"{ACTUAL}/x"),
        (f"{RECORDED}2", f"{RECORDED}2"),
        (f"{RECORDED}.bak/a", f"{RECORDED}.bak/a"),
        (f"{RECORDED}-old", f"{RECORDED}-old"),
        (f"{RECORDED}_old", f"{RECORDED}_old"),
        (f"/mnt{RECORDED}/a", f"/mnt{RECORDED}/a"),
        ("/var/data/x", "/var/data/x"),
        ("../data/x", "../data/x"),
        ("/database", "/database"),
        ("", ""),
    ],
)
def test_recorded_places_are_rewritten_at_path_boundaries_only(text, expected):
    assert PATHS.arguments({"a": [{"b": text}], "n": 1}) == {"a": [{"b": expected}], "n": 1}


def test_all_kinds_of_answers_speak_of_the_recorded_place():
    other = "/private/tmp/replay-x1/workspace"
    block = {"type": "resource", "resource": {"uri": f"file://{ACTUAL}/a", "text": json.dumps({"p": f"{other}/a"})}}
    assert PATHS.answer(ToolResult(content=(block,), structured={"p": [ACTUAL]}, is_error=True)) == ToolResult(
        content=(
            {"type": "resource", "resource": {"uri": f"file://{RECORDED}/a", "text": f'{{"p": "{RECORDED}/a"}}'}},
        ),
        structured={"p": [RECORDED]},
        is_error=True,
    )
    error = PATHS.answer(RpcError(code=1, message=f"no {ACTUAL}/a", data={"p": ACTUAL}))
    assert error == RpcError(code=1, message=f"no {RECORDED}/a", data={"p": RECORDED})
    fault = TransportFault(fault="closed", message=f"{ACTUAL}")
    assert PATHS.answer(fault).message == RECORDED
    assert PATHS.answer(TextAnswer(text=ACTUAL)).text == RECORDED


def test_without_recorded_places_answers_speak_of_a_stable_one_which_calls_may_name():
    paths = PathMap([], [ACTUAL])
    assert paths.answer(TextAnswer(text=f"{ACTUAL}/a")).text == "/workspace/a"
    assert paths.arguments("/workspace/a") == f"{ACTUAL}/a"


@given(st.text(alphabet="ab/.-_ \\\"'n:2"))
def test_there_and_back_changes_nothing(noise):
    paths = PathMap([RECORDED], [ACTUAL])
    text = f"{noise}{RECORDED}{noise}"
    assert paths.answer(TextAnswer(text=paths.arguments(text))).text == text
