"""JSON of results files, and JSON in the texts of results files: any value that a file of ours can hold."""

from __future__ import annotations

import json
import re
from typing import Any, Final

_MAX_DIGITS: Final = 4_300
"""Longer integers Python does not read; they stay text."""
_LONE_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")


def integer(digits: str) -> int | str:
    """An integer; one of more digits than Python reads stays text."""
    return int(digits) if len(digits) <= _MAX_DIGITS else digits


DECODER: Final = json.JSONDecoder(parse_int=integer)
"""Reads any integer."""


class TooDeepError(ValueError):
    """JSON that is nested too deeply to be read."""


def decoded(text: str) -> Any:
    """The JSON value of a text.

    Raises:
        TooDeepError: it is nested too deeply to be read.
        ValueError: it is not JSON.
    """
    try:
        value = DECODER.decode(text)
    except RecursionError:
        raise TooDeepError("nested too deeply") from None
    return without_lone_surrogates(value) if "\\ud" in text or "\\uD" in text else value


def without_lone_surrogates(value: Any) -> Any:
    """The same JSON value with lone UTF-16 surrogates, which no file of ours can hold, as U+FFFD; changed in place."""
    outer = [value]
    waiting: list[Any] = [outer]
    while waiting:
        container = waiting.pop()
        if isinstance(container, list):
            container[:] = map(_clean, container)
            inner = container
        else:
            members = [(_clean(key), _clean(item)) for key, item in container.items()]
            container.clear()
            container.update(members)
            inner = [item for _, item in members]
        waiting += [item for item in inner if isinstance(item, dict | list)]
    return outer[0]


def _clean(item: Any) -> Any:
    return _LONE_SURROGATE.sub("\ufffd", item) if isinstance(item, str) else item
