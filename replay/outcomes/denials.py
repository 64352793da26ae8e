"""Sentences that have no such thing as the call names, or that nothing was done with any of its items."""

from __future__ import annotations

import re

from replay.outcomes.call_facts import MIN_WORD_LENGTH, ArgumentIndex, holds_quoted, looks_up

_MAX_CLAUSE_LENGTH, _MAX_NAME = 200, 60

_NO_SUCH_THING = re.compile(
    r"\W*(?:error: |[\w.]{1,60}(?:Error|Exception): )?"
    r"no (?!active |current )(?:[\w'\"-]{1,40} ){1,8}?(?:in|for|on|of|with|at|under|named|found|exists?"
    r"|match\w{0,3})\b",
    re.IGNORECASE,
)
_NONE_IN = re.compile(
    r"\W*no (?:[\w-]{1,30} ){0,2}[\w-]{1,30}[^\Ws]s (?:were |was |are )?(?:found )?(?:in|on|within|inside) ", re.I
)
_DENIES_A_VALUE = re.compile(
    r"\W*(?:error[^:\n]{0,80}: )?(?:nothing|none)(?! (?:(?:was|were|is|has|had|to|else)\b|\w+ed\b))\b"
    r"|[^\n]{0,200}\b(?:nobody|no one)\b"
    r"|[^\n]{0,200}\bnot (?:in|on|among) (?:the|this|your|our|any)\b(?! \w*(?:allow|valid|range|right|correct|permit))",
    re.IGNORECASE,
)
_NONE_OF = re.compile(r"\W*(?:[^\W\d]{2,15} )?0 ?(?:/|(?:[^\W\d]{1,6} ){1,2}) ?([1-9]\d{0,6})\b")
NOT_A_LACK = (
    r"(?!(?:\w+ )?(?:access|permissions?|rights?|space|memory|connection|network|response|changes?|route|need"
    r"|longer)\b)"
)
"""What there may be none of though the thing itself is there."""
UNKNOWN = (
    r"unknown (?!(?:\w+ )?(?:act|algor|arg|command|curr|enc|err|field|format|func|kind|lang|level|method|mode|op"
    r"|param|prop|stat|strat|type|unit|val))"
)
"""Before a kind of thing that is looked up, and is no choice among a few."""
_UNKNOWN_THING = re.compile(rf"\W*{UNKNOWN}([a-z][\w-]{{0,30}})\b", re.IGNORECASE)

_QUOTED_NOT_FOUND = re.compile(
    r"['\"`]([^'\"`\n]{2,100})['\"`] (?:(?:is|was|could) )?not (?:be )?(?:found|known|registered)\b", re.IGNORECASE
)


def did_none_of_a_batch(text: str, arguments: ArgumentIndex) -> bool:
    """Whether a text begins with `0 of 2 moved`, in any language, where the call brought as many items."""
    none = _NONE_OF.match(text)
    return none is not None and int(none[1]) == arguments.listed_items and not looks_up(arguments)


def holds_none(text: str, arguments: ArgumentIndex) -> bool:
    """Whether a tool that looks things up has none of them in a place: `No labels found in 'orders'`."""
    return looks_up(arguments) and _NONE_IN.match(text) is not None


def no_such_thing(text: str) -> bool:
    """Whether a sentence begins by saying that there is no such thing."""
    return _NO_SUCH_THING.match(text) is not None


def knows_no_argument(text: str, arguments: ArgumentIndex) -> bool:
    """Whether what is unknown is a thing that an argument of the call names: `unknown handle (pod 3)`."""
    unknown = _UNKNOWN_THING.match(text)
    return unknown is not None and unknown[1].casefold() in {name.casefold() for name in arguments.argument_names}


def denies_a_value(text: str, arguments: ArgumentIndex) -> bool:
    """Whether a sentence names a value of the call and has nobody of that name, or not in the place it speaks of."""
    head = text[:_MAX_CLAUSE_LENGTH]
    if _DENIES_A_VALUE.match(head) is not None and arguments.value_named_in(head):
        return True
    folded = head.casefold()
    told = (value for value in arguments.texts if len(value) >= MIN_WORD_LENGTH or holds_quoted(head, value))
    words = (value for value in told if len(value) <= _MAX_NAME)
    named = [value for value in (*words, *map(str, arguments.numbers)) if value.casefold() in folded]
    return any(
        re.search(
            rf"\bno {NOT_A_LACK}(?:[\w-]+[ :]{{1,2}}){{1,6}}?['\"`#]?{re.escape(value)}(?!\w)", head, re.IGNORECASE
        )
        for value in named
    )


def denies_the_tool(text: str, arguments: ArgumentIndex) -> bool:
    """Whether what is not found bears the very name of the call, in quotes: `Action "shop.sell" not found`."""
    denied = (match[1] for match in _QUOTED_NOT_FOUND.finditer(text))
    return any(name in (arguments.tool_name, arguments.written_name) for name in denied)
