from __future__ import annotations

import pytest

from replay.outcomes import judge_format
from replay.outcomes.call_format import FORMAT_RULES
from replay.records import Call


def _arguments(raw):
    return judge_format(Call(position="s1c1", name="fs/read", unreadable="arguments", raw=raw))


@pytest.mark.parametrize(
    ("raw", "rule"),
    [
        ("message=hi", "format.no-json"),
        ("", "format.no-json"),
        ('<|begin_of_box|>{"a": 1}<|end_of_box|>', "format.delimiters"),
        ('{"a": 1}<|end_of_box|>', "format.delimiters"),
        ('```json\n{"a": 1}\n```', "format.delimiters"),
        ('<tool_call>{"a": 1}</tool_call>', "format.delimiters"),
        ('{"path": "/tmp/a.txt", "content": "once', "format.cut-off"),
        ('{"path": "/tmp/a.txt"', "format.cut-off"),
        ('{"a": [1, 2', "format.cut-off"),
        (r'{"pattern": "\d+"}', "format.escape"),
        ('{"a": 1} and then', "format.trailing"),
        ('{"a": 1}{"b": 2}', "format.trailing"),
        ('{"a": 1,, "b": 2}', "format.no-json"),
        (r'{"a": [\"x\"]}', "format.no-json"),
        ('["hi"]', "format.arguments-not-object"),
        ('"hi"', "format.arguments-not-object"),
        ("5", "format.arguments-not-object"),
        ("null", "format.arguments-not-object"),
    ],
)
def test_unreadable_arguments_say_what_is_wrong_with_them(raw, rule):
    judged = _arguments(raw)

    assert judged.rule == rule
    assert judged.outcome == "illegal_format"
    assert judged.evidence == "format"
    assert rule in FORMAT_RULES


def test_the_sentence_gives_the_place():
    assert "offset 8" in _arguments('{"a": 1} and then').message
    assert "offset 0" in _arguments("<|begin_of_box|>{}").message


def test_a_call_without_a_name_or_with_one_that_is_not_a_string_is_illegal():
    assert judge_format(Call(position="s1c1", arguments={})).rule == "format.no-name"
    assert judge_format(Call(position="s1c1", name="", arguments={})).rule == "format.no-name"
    numbered = Call(position="s1c1", unreadable="name", raw="5", arguments={})
    assert judge_format(numbered).rule == "format.name-not-text"


def test_a_call_without_arguments_is_illegal_and_one_with_none_to_give_is_not():
    assert judge_format(Call(position="s1c1", name="time/now")).rule == "format.no-arguments"
    assert judge_format(Call(position="s1c1", name="time/now", arguments={})) is None


def test_a_reply_that_holds_no_readable_call_is_judged_as_a_whole():
    wrapped = Call(position="s1c1", unreadable="call", raw='<|begin_of_box|>{"name": "a"}<|end_of_box|>')
    assert judge_format(wrapped).rule == "format.delimiters"
    assert judge_format(Call(position="s1c1", unreadable="call")).rule == "format.no-json"


def test_deep_nesting_is_illegal_and_no_crash():
    assert _arguments("[" * 100_000).outcome == "illegal_format"
