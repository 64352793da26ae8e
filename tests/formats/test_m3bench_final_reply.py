from __future__ import annotations

import json

import pytest

from replay.formats import open_file

CALL = '{"name": "shop/find", "arguments": {"q": "lamp"}}'


def _calls(tmp_path, reply, **fields):
    path = tmp_path / "results.json"
    step = {"calls": [{"name": "shop/list", "arguments": {}, "result": "a lamp"}]}
    path.write_text(json.dumps([{"id": "1", "question": "?", "steps": [step], "final_reply": reply, **fields}]))
    return list(next(open_file(path).trajectories()).calls())


@pytest.mark.parametrize(
    "reply",
    [
        f"<|begin_of_box|>{CALL}<|end_of_box|>",
        f'<|begin_of_box|>\n{{"tool_calls": [{CALL}]}}\n<|end_of_box|>',
        f"<tool_call>{CALL}</tool_call>",
        f"[TOOL_REQUEST]{CALL}[END_TOOL_REQUEST]",
        f"```json\n[{CALL}]\n```",
        '<|tool|>{"name": "shop/find", "arguments": {"q": "la',
    ],
)
def test_a_final_reply_that_is_a_call_in_wrong_delimiters_is_an_illegal_call(tmp_path, reply):
    last = _calls(tmp_path, reply)[-1]
    assert (last.position, last.unreadable, last.raw) == ("s2c1", "call", reply)


@pytest.mark.parametrize(
    "reply",
    [
        "The lamp costs 12 EUR.",
        '<|begin_of_box|>{"price": 12}<|end_of_box|>',
        '```json\n{"name": "lamp", "price": 12}\n```',
        f"I would now call <|begin_of_box|>{CALL}<|end_of_box|>",
        '{"tool_calls": []}',
        None,
    ],
)
def test_a_final_reply_that_is_an_answer_is_no_call(tmp_path, reply):
    assert len(_calls(tmp_path, reply)) == 1


def test_where_the_rounds_are_recorded_they_tell_which_calls_were_illegal(tmp_path):
    rounds = [{"work": {"tool_calls": [{"name": "shop/list"}]}}]
    assert len(_calls(tmp_path, f"<|begin_of_box|>{CALL}<|end_of_box|>", dialogue=rounds)) == 1
