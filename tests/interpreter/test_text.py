"""Hostile text."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.safety.text import one_line, printable


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain ünïcode 漢字 🙂\n\ttab", "plain ünïcode 漢字 🙂\n\ttab"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("a\rb\x00c\x7f\x9b", "a\\x0db\\x00c\\x7f\\x9b"),
        ("user\u202etxt.exe\u2066", "user\\u202etxt.exe\\u2066"),
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("line\u2028break", "line\\u2028break"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("half \ud83d", "half \\ud83d"),
    ],
)
def test_what_a_terminal_would_act_on_is_shown_as_an_escape(text, expected):
    assert printable(text) == expected


def test_one_line_is_one_line_of_limited_length():
    assert one_line("  a\r\n\tb \n c ") == "a b c"
    assert one_line("abcdef", 6) == "abcdef"
    assert one_line("abcdefg", 6) == "abcde…"
    assert one_line("\x1b" * 10, 6) == "\\x1b\\…"
    assert one_line(" " * 10_000_000 + "x", 5) in {"", "x"}


@given(st.text(st.characters()), st.integers(min_value=1, max_value=50))
def test_nothing_unprintable_comes_through_and_no_limit_is_exceeded(text, limit):
    shown = one_line(text, limit)
    assert len(shown) <= limit
    assert "\n" not in one_line(text)
    for safe in (shown, printable(text)):
        assert all(char in "\n\t" or unicodedata.category(char) not in {"Cc", "Cs", "Zl", "Zp"} for char in safe)
        safe.encode()
