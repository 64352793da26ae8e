"""Whether a short answer without any error flag reports a failure, where neither its form nor its first words tell."""

from __future__ import annotations

import re
from typing import Any

from replay.dag.value_matching import ArgumentIndex
from replay.outcomes.envelopes.json_errors import sole_text
from replay.outcomes.error_report import asks_about_errors, is_content
from replay.outcomes.tool_traits import answers_in_prose, queries_a_database, returns_content, runs_commands, searches
from replay.outcomes.words import error_model
from replay.outcomes.words.error_model import ModelVerdict
from replay.outcomes.words.patterns import NO_RESULTS
from replay.records import Tool

MAX_LENGTH, MAX_LINES, MIN_LENGTH = 700, 12, 6
MIN_LATIN_WORDS = 4
"""A title or a name of fewer words says nothing of how a call went; other scripts need fewer to make a sentence."""
_WORD = re.compile(r"[\u3040-\u9fff]|[^\W\d_\u3040-\u9fff]{2,}")
_ASKS_FOR_MORE = re.compile(r"\b(?:please|first|before|must|need|provide|specify)\b", re.IGNORECASE)
_FAILURE_WORD = re.compile(
    r"\b(?:fail(?:ed|ure|s)?|errors?|denied|refused|rejected|invalid|missing|unable|cannot|not|no|exceeded|expired"
    r"|unavailable|forbidden|unauthori[sz]ed|unknown|unsupported)\b",
    re.IGNORECASE,
)
_PLACE = re.compile(r"\b(?:line|column|position|offset|index|char(?:acter)?) \d+", re.IGNORECASE)
_DONE = re.compile(
    r"\W*(?:[\w'\"-]{1,40} ){0,4}(?:added|created|saved|updated|deleted|removed|sent|booked|set|merged|executed"
    r"|completed|queued|started|replaced|renamed|moved|copied|uploaded|inserted|scheduled|finished|installed|downloaded|approved"
    r"|accepted|confirmed|granted|restored|resolved)\b"
    r"(?! (?:before|after|already|yet|to)\b)",
    re.IGNORECASE,
)
"""A first sentence that says what was done; `not` in it makes it no such."""

_FIELDS = re.compile(r"(?:\s*[-\w .]{1,40}: ?[^\n]*(?:\n|$)){2,}")
_MIN_PARAGRAPH = 30
_ENGLISH = re.compile(
    r"\b(?:the|is|are|was|were|been|has|have|not|of|to|for|with|by|and|you|your|this|that|can|could|must|found|error"
    r"|failed|invalid|unknown|denied)\b",
    re.IGNORECASE,
)
PLAIN, FOREIGN, PROGRAM, PROSE = 0.8, 0.5, 0.87, 0.93
"""How likely a failure must be: of a tool with answers of its own, in English and in another language; of a program's
output; of prose. The model has seen few sentences of other languages, and is never very sure of them."""


def failure_in_sentence(text: str, body: Any, arguments: ArgumentIndex, tool: Tool | None) -> ModelVerdict | None:
    """What the model makes of a short answer that it takes for a failure; None where it does not.

    Args:
        text: the opened answer, not marked as an error.
        body: the JSON value that it is, or None.
        arguments: of the call.
        tool: its description, where it is known.
    """
    said = (text if body is None else sole_text(body) or "").strip()
    if not MIN_LENGTH <= len(said) <= MAX_LENGTH or said.count("\n") >= MAX_LINES:
        return None
    if _is_content(said, arguments, tool):
        return None
    model = error_model.model_in_use()
    verdict = model.judge(said, arguments)
    first = said.split("\n\n", 1)[0]
    if first != said and len(first) >= _MIN_PARAGRAPH and not runs_commands(arguments):
        verdict = max(verdict, model.judge(first, arguments), key=lambda one: one.failure)
    return verdict if verdict.failure >= _threshold(said, arguments) else None


def _threshold(said: str, arguments: ArgumentIndex) -> float:
    if answers_in_prose(arguments) or (searches(arguments) and not queries_a_database(arguments)):
        return PROSE
    if runs_commands(arguments):
        return PROGRAM
    words = _WORD.findall(error_model.without_names(said))
    foreign = len(words) > (2 if _is_not_ascii(words) else MIN_LATIN_WORDS) and not _ENGLISH.search(said)
    return FOREIGN if foreign else PLAIN


def _is_content(said: str, arguments: ArgumentIndex, tool: Tool | None) -> bool:
    """Whether a text is data, good news, or what somebody stored, sent along or asked for."""
    own = arguments.without_values(said, min_length=3).strip()
    words = _WORD.findall(error_model.without_names(own))
    if (
        len(words) < (2 if _is_not_ascii(words) or _FAILURE_WORD.search(own) else MIN_LATIN_WORDS)
        or returns_content(arguments, tool)
        or asks_about_errors(arguments)
    ):
        return True
    if NO_RESULTS.match(said) and not _PLACE.search(said) and not _ASKS_FOR_MORE.search(said):
        return True
    if _FIELDS.match(said) or said.startswith("```") or _says_done(said):
        return True
    return is_content(own, said, arguments, tool) or (queries_a_database(arguments) and "|" in said)


def _is_not_ascii(words: list[str]) -> bool:
    return not all(map(str.isascii, words))


def _says_done(said: str) -> bool:
    done = _DONE.match(said)
    return done is not None and re.search(r"\b(?:not|no|n't|never|cannot|failed|only|must|be)\b", done[0]) is None
