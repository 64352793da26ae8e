"""What the call itself asked for: values that a program of its own made, and the word that its action was done."""

from __future__ import annotations

import re
from typing import Any

from replay.dag.value_matching import ArgumentIndex
from replay.outcomes.tool_traits import name_words, runs_commands

_WEB_CLIENT = re.compile(r"(?:^|[\s;&|(\"'`])(?:curl|wget|https?|xh|Invoke-(?:WebRequest|RestMethod))\s+\S", re.I)
_MAX_PROGRAM = 20_000
_DONE = re.compile(
    r"[^.!?\n]{0,120}\b(?:has|have|was|were|is|are)(?: now)?(?: been)?(?: \w{1,20}ly)? (?P<participle>\w{2,30}ed)\b"
)
_DENIES = re.compile(r"\b(?:not|n't|never|no|cannot|fail\w*|error\w*|already|unexpectedly)\b", re.IGNORECASE)
_ACTIONS = ("action", "operation", "command", "method", "op")
_STEM = 4


def says_it_was_done(text: str, arguments: ArgumentIndex) -> bool:
    """Whether a text begins by saying that what the call asked for was done: `The page has been closed` to `close`."""
    found = _DONE.match(text.lstrip())
    if found is None or _DENIES.search(found[0]):
        return False
    asked = [value for name, value in arguments.by_name.items() if name.casefold() in _ACTIONS and len(value) < 40]
    verbs = [word for said in (arguments.tool_name, *asked) for word in name_words(said)]
    return any(len(verb) >= _STEM and found["participle"].casefold().startswith(verb.rstrip("e")) for verb in verbs)


def is_own_value(body: Any, arguments: ArgumentIndex) -> bool:
    """Whether the JSON that a call gave is what its own program made, or what a web service said to it.

    Args:
        body: the JSON value that the whole answer is.
        arguments: of the call.
    """
    if not isinstance(body, dict | list) or not runs_commands(arguments):
        return False
    programs = [value[:_MAX_PROGRAM] for value in arguments.texts]
    return any(map(_WEB_CLIENT.search, programs)) or any(_built_by(program, body) for program in programs)


def _built_by(program: str, body: Any) -> bool:
    """Whether a program spells out the fields of an object: `return {errors: found, total: n}`."""
    if not isinstance(body, dict) or len(body) < 2:
        return False
    return all(re.search(rf"(?<!\w){re.escape(str(key))}(?!\w)", program) for key in list(body)[:50])
