"""A quick first look at an answer finds what the full one finds, and leaves out only rules that cannot match."""

from __future__ import annotations

import re

import pytest

from replay.outcomes.answer import ParsedAnswer
from replay.outcomes.rules import ERROR_RULES, RULES
from replay.outcomes.words import error_phrases, patterns
from replay.outcomes.words.quick_search import QuickSearch
from replay.records import Call, TextAnswer, ToolResult

TEXTS = [rule.example.answer for rule in RULES if isinstance(rule.example.answer, str)]
TEXTS += [text.upper() for text in TEXTS] + ["", "all went well", "naïve: not found\n", "a\x0bb", "ſ not found", "x\n"]
PATTERNS = {
    name: pattern
    for module in (error_phrases, patterns)
    for name, pattern in vars(module).items()
    if isinstance(pattern, re.Pattern)
}


@pytest.mark.parametrize("name", PATTERNS)
def test_a_quick_search_finds_what_the_pattern_finds(name):
    quick = QuickSearch(PATTERNS[name])
    for _ in range(30):
        quick.search("")
    for text in TEXTS:
        assert (quick.search(text) is None) == (PATTERNS[name].search(text) is None), text


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"a\s+b", "a\x1cb"),
        (r"^a$|b\Z", "a\n"),
        (r"(?<!x)a(?=b)(?!bc)", "abd"),
        (r"(?i:A)[^\s]b", "aZb"),
        (r"(?:ab){2,50}c", "ab" * 40 + "c"),
        (r"(['\"])x\1", "'x'"),
        (r"[^\S\n]q", "\x0bq"),
        (r"\bno\b.{1,60}?end", "no" + " " * 50 + "end"),
    ],
)
def test_what_the_two_engines_understand_differently_is_found_all_the_same(pattern, text):
    quick = QuickSearch(re.compile(pattern))
    assert all(quick.search(text) is not None for _ in range(40))


@pytest.mark.parametrize("text", [rule.example.answer for rule in RULES if rule.id.startswith("success.")])
@pytest.mark.parametrize("flagless", [True, False], ids=["text", "result"])
def test_no_rule_for_errors_matches_an_answer_that_reports_none(text, flagless):
    call = Call(position="s1c1", name="srv/read_file", tool="read_file", arguments={"path": "a.md"})
    answer = TextAnswer(text=text) if flagless else ToolResult(content=({"type": "text", "text": text},))
    parsed = ParsedAnswer(call, answer, None, ())
    parsed.error = None
    assert [rule.id for rule in ERROR_RULES if rule.matches(parsed)] == []
