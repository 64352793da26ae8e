"""What a tool hands out or searches: whether an error-shaped text is what somebody stored, and no report."""

from __future__ import annotations

import re

from replay.outcomes.call_facts import ArgumentIndex, returns_content, searches
from replay.outcomes.codes import causes_said
from replay.outcomes.error_report import MAX_LOOK
from replay.records import Tool
from replay.safety.linear_regex import PatternError, compile_pattern

_OF_NO_CONTENT = frozenset({"policy", "too-large", "environment", "unauthorized"})
"""Causes in a text of one line, which no file is likely to be."""
READ_FAILED = re.compile(
    r"\W*(?:(?:failed|unable) to|could ?n[o']t|cannot|can't) "
    r"(?:get|read|open|load|fetch|retrieve|find|access|parse|convert|extract|download|decode|resolve"
    r"|list)\b|(?-i:E[A-Z]{3,14}: )",
    re.IGNORECASE,
)
"""How a tool that reads something says that it could not."""
PATH = re.compile(r"(?:[A-Za-z]:\\|/)[\w.\-/\\ ]*[\w\-]")
_DATA_FILE = re.compile(r"\.(?:jsonl?|ndjson|json5|geojson|ipynb)\b", re.IGNORECASE)
_LINE_NUMBER = re.compile(r"\s{0,8}\d{1,6}(?:→|[:|-](?=\S)|\t)")
"""What stands before a line of a file that is shown with its numbers."""
_ERROR_LABEL = re.compile(r"\W*error\W*:", re.IGNORECASE)
_MIN_PATTERN = 4


def shows_lines(text: str, arguments: ArgumentIndex, tool: Tool | None) -> bool:
    """Whether a text is lines of a file: with their numbers, or each with what the call's expression looks for."""
    if not (searches(arguments) or returns_content(arguments, tool)):
        return False
    if _LINE_NUMBER.match(text):
        return True
    lines, pattern = text[:MAX_LOOK].splitlines(), arguments.by_name.get("pattern", "")
    if len(pattern) < _MIN_PATTERN or _ERROR_LABEL.match(text):
        return False
    try:
        expression = compile_pattern(pattern)
    except PatternError:
        return False
    return bool(lines) and all(map(expression.search, lines))


def is_stored_text(text: str, said: frozenset[str], arguments: ArgumentIndex) -> bool:
    """Whether an error-shaped answer of a tool that returns content is that content.

    A server that reports a failure names what failed: an argument or its value, or the tool. Content names its own
    things: other paths, several lines, the line break that ends a file.
    """
    if _names_the_call(text, arguments) or "opens-sdk" in said:
        return False
    if "\n" not in text and (READ_FAILED.match(text) or causes_said(text[:MAX_LOOK]) & _OF_NO_CONTENT):
        return False
    several_lines = text.strip("\n").count("\n") > 1
    report = "opens" in said or READ_FAILED.match(text) or (not arguments.texts and "opens-short" in said)
    return bool(PATH.search(text)) or text.endswith("\n") or several_lines or not report


def is_stored_json(text: str, message: str, arguments: ArgumentIndex) -> bool:
    """Whether an error-shaped JSON body of a tool that returns content is that content."""
    if _names_the_call(message, arguments):
        return False
    return any(_DATA_FILE.search(value) for value in arguments.texts)


def is_stored_label(text: str, message: str, arguments: ArgumentIndex) -> bool:
    """Whether what a tool that returns content begins with a label of an error is that content."""
    if _names_the_call(message, arguments):
        return False
    several_lines = text.strip("\n").count("\n") > 1
    return bool(PATH.search(message)) or several_lines


def _names_the_call(text: str, arguments: ArgumentIndex) -> bool:
    return arguments.value_named_in(text) or arguments.tool_named_in(text) or arguments.arguments_named_in(text)
