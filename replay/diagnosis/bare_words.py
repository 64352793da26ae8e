"""An error without what differs from call to call, so that the same error is known again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from replay.dag.drift import masked
from replay.records import Call
from replay.safety.text import cut

_INPUT_ECHO: Final = re.compile(r"input_value=.*?, input_type=\w+")
"""What pydantic shows of the arguments beside a validation error."""
_QUOTED: Final = re.compile(r"\"([^\"\n]+)\"|'([^'\n]+)'|`([^`\n]+)`")
_CUT: Final = re.compile(r"(?:\.\.\.|…)")
_MIN_VALUE_LENGTH: Final = 3
_MAX_LENGTH: Final = 4000


def bare_words(text: str, call: Call) -> str:
    """The words of an error without what differs from call to call: the values of its arguments, numbers, times.

    Names in quotes stay: `'title' is required` is another failure than `'id' is required`.
    """
    values = sorted(_strings(call.arguments or {}), key=len, reverse=True)
    text = _QUOTED.sub(lambda quoted: " " if _echoes(quoted, values) else quoted[0], _INPUT_ECHO.sub(" ", text))
    for value in values:
        text = text.replace(value, " ")
    text = re.sub(r"\d+", "#", masked(text))
    return cut(" ".join(text.split()), _MAX_LENGTH)


def _echoes(quoted: re.Match[str], values: Sequence[str]) -> bool:
    """Whether a quotation is the value of an argument, or such a value cut off."""
    pieces = [piece for piece in _CUT.split(next(filter(None, quoted.groups()))) if piece]
    return any(all(piece in value for piece in pieces) for value in values)


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value] if len(value) >= _MIN_VALUE_LENGTH else []
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for member in members for text in _strings(member)]
