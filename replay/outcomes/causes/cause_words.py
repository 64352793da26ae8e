"""Whether an error that no rule knows says anything of its cause, or only that something went wrong."""

from __future__ import annotations

import re

from replay.outcomes.answer import ParsedAnswer
from replay.outcomes.error_report import strip_wrappers
from replay.outcomes.tool_traits import name_words
from replay.outcomes.words.json_tails import without_empty_tail


def _words_in(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MIN_WORDS = 2
_STEM = 5
_WORD = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![a-z])")
_FRAME_WORDS = _words_in("""
    a an and any are at be been but by can could did do does during error errors exception execute executed
    executing execution fail failed failing fails failure for from get had has have here hm i in internal
    invoke invoking is issue it its later no none null of oops on one operation or our perform performing
    please problem process processing query reason request response result retry run running server service
    some something sorry system that the there this to tool tools try again unable unexpected unhandled
    unknown unspecified was we went were what when while with wrong you your call calling called occurred
    occur occurs happened happen mcp not complete completed successfully success details detail message status
    code data
""")
"""What a report of any failure may say without telling why."""
_BLAME = frozenset({"invalid", "illegal", "malformed", "unsupported", "wrong", "mismatch"})


def says_a_cause(parsed: ParsedAnswer) -> bool:
    """Whether the report says more than that the tool failed: of what the call brought, or in words of its own."""
    if parsed.error is None:
        return False
    text = without_empty_tail(strip_wrappers(parsed.error.text[:2000]))
    words = {word.casefold() for word in _WORD.findall(parsed.arguments.without_values(text, 1))}
    names = {name.casefold() for name in parsed.arguments.argument_names}
    if parsed.error.basis == "exit" or words & (names | _BLAME) - _FRAME_WORDS:
        return True
    said = {word for word in words - _FRAME_WORDS if len(word) > 1 or not word.isascii()}
    stems = {word[:_STEM] for word in name_words(parsed.arguments.tool_name)}
    of_its_own = {word for word in said if word[:_STEM] not in stems}
    return bool(said) if parsed.arguments.value_named_in(text) else len(of_its_own) >= _MIN_WORDS
