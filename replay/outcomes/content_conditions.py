"""What a rule may ask of an answer that reports no failure: what it brings, and if it may be a refusal."""

from __future__ import annotations

import re
from itertools import islice
from typing import Any

from replay.outcomes.call_facts import looks_up, returns_content, says_the_verb
from replay.outcomes.codes import forms_in
from replay.outcomes.evidence import ParsedAnswer
from replay.outcomes.input_schema import is_valid
from replay.outcomes.json_fields import scalars
from replay.outcomes.residue import is_sentence_alone

_MAX_LINE_LENGTH = 300
_MANY_VALUES, _FEW_WORDS = 12, 3
"""Values of more than a refusal, and words of less than a sentence."""
_ID = re.compile(r"(?=\S*\d)[\w.:/+-]{4,}")
_MIN_PAYLOAD, _MIN_ASKED = 200, 4
"""Characters of a text that is more than a sentence, and of a value that a sentence does not hold by chance."""
_VALUE = re.compile(
    r"[-+]?[\d.,:/ ]{1,40}(?:\s?[^\W\d]{0,12}|%)\Z|\[[A-Z]{1,12}\] \S|[-*•] \S|(?:[/~]|[A-Za-z]:\\|https?://)\S*\Z"
    r"|[\w\"'()/ -]{1,60}: ?\S"
)
"""A number, an entry of a list, a path or an address alone, or a value with its name before it."""

_UNDEFINED = re.compile(r"\b(?:undefined|NaN)\b")
_TO_NOTHING = re.compile(
    r"\W*(?:0|no|none|nothing) (?!(?:\w+ )?(?:errors?|warnings?|issues?|problems?|conflicts?)\b)", re.IGNORECASE
)
_NO_SUCCESS = re.compile(r"\b(?:not|n't|never) (?:[\w-]+ ){0,3}success", re.IGNORECASE)


def undefined_in_place(parsed: ParsedAnswer) -> bool:
    """A required argument is missing, and its place in a short answer holds what a program calls nothing."""
    missing = any(violation.keyword == "required" for violation in parsed.violations)
    return missing and len(parsed.text) < _MAX_LINE_LENGTH and _UNDEFINED.search(parsed.text) is not None


def is_of_a_program(parsed: ParsedAnswer) -> bool:
    """A program that the call ran has ended, and says so."""
    return parsed.program_exit is not None


def brings_nothing(parsed: ParsedAnswer) -> bool:
    """The answer is empty, or says that there is nothing."""
    return parsed.is_empty


def ended_well(parsed: ParsedAnswer) -> bool:
    """The program's exit status is zero."""
    return parsed.program_exit is not None and parsed.program_exit.code == 0


def is_structure(parsed: ParsedAnswer) -> bool:
    """The answer is data, an empty list and not the words that there is nothing, and complains of nothing."""
    data = parsed.has_media or isinstance(parsed.body, dict | list) or parsed.structured is not None
    return data and not parsed.complains


def nothing_complains(parsed: ParsedAnswer) -> bool:
    """No text in the answer begins or ends with a complaint."""
    return not parsed.complains


def brings_records(parsed: ParsedAnswer) -> bool:
    """Data that complains of nothing, and is of many values, has a number in it, or nothing that a refusal is made of.

    A few words with a false, a zero, an empty list or a sentence among them may be how a server says no.
    """
    body = parsed.body if parsed.body is not None else parsed.structured
    if parsed.complains or parsed.has_media or parsed.reading.affirmed or not isinstance(body, dict):
        return not parsed.complains
    values = list(islice(scalars(body), _MANY_VALUES))
    if len(values) == _MANY_VALUES or any(_is_number_or_id(value, parsed) for value in values):
        return True
    return looks_up(parsed.arguments) and not any(map(_may_refuse, (*values, *body.values())))


def _is_number_or_id(value: Any, parsed: ParsedAnswer) -> bool:
    """Whether a value is a number, or a word with a digit in it, that the call did not bring."""
    if isinstance(value, str):
        return _ID.fullmatch(value) is not None and value not in parsed.arguments.texts
    return isinstance(value, int | float) and bool(value) and value is not True


def _may_refuse(part: Any) -> bool:
    return len(part.split()) > _FEW_WORDS if isinstance(part, str) else part in (False, [], {})


def hands_out_text(parsed: ParsedAnswer) -> bool:
    """The tool hands out stored text, in which a complaint is content."""
    return returns_content(parsed.arguments, parsed.tool)


def keeps_output_schema(parsed: ParsedAnswer) -> bool:
    """The answer is valid against the tool's outputSchema, and that asks for more than a text."""
    schema = parsed.tool.output_schema if parsed.tool is not None else None
    data = parsed.structured if parsed.structured is not None else parsed.body
    if not isinstance(schema, dict) or not isinstance(data, dict) or not schema.get("required"):
        return False
    texts = isinstance(data, dict) and len(data) == 1 and all(isinstance(part, str) for part in data.values())
    return not texts and is_valid(schema, data)


def brings_data(parsed: ParsedAnswer) -> bool:
    """The answer is data of some structure that reports no error."""
    if parsed.has_media or parsed.reading.affirmed:
        return True
    body = parsed.body if isinstance(parsed.body, dict | list) else parsed.structured
    return body is not None and parsed.reading.words is None and not is_sentence_alone(body)


def holds_what_was_asked(parsed: ParsedAnswer) -> bool:
    """A tool that looks up or hands out gives more than a sentence, with a value of some length of the call in it.

    Who is told to do something with a thing may name it in a refusal.
    """
    if not (looks_up(parsed.arguments) or returns_content(parsed.arguments, parsed.tool)):
        return False
    if len(parsed.text) < _MIN_PAYLOAD and parsed.text.strip().count("\n") < 2:
        return False
    return any(len(value) >= _MIN_ASKED and value in parsed.text for value in parsed.arguments.texts[:20])


def says_it_went_well(parsed: ParsedAnswer) -> bool:
    """The answer's first sentence says that something was done, and not to nothing."""
    if _TO_NOTHING.match(parsed.text) or _NO_SUCCESS.search(parsed.text[:_MAX_LINE_LENGTH]):
        return False
    said = forms_in(parsed.text[:_MAX_LINE_LENGTH].strip())
    short = len(parsed.text) <= _MAX_LINE_LENGTH
    return "done" in said or (short and ("done-somewhere" in said or says_the_verb(parsed.text, parsed.arguments)))


def brings_text(parsed: ParsedAnswer) -> bool:
    """The answer is a text of some length, a table, a number, or what a tool that hands out content hands out."""
    text = parsed.text.strip()
    if len(text) >= _MIN_PAYLOAD or text.count("\n") > 1 or isinstance(parsed.body, dict | list):
        return True
    return bool(text) and (_VALUE.match(text) is not None or returns_content(parsed.arguments, parsed.tool))
