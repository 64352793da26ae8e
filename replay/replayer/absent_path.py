"""A file that was there when a call was recorded, and that the replay says is not here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, Final

from replay.records import Answer, TransportFault, texts_of

_PATH: Final = re.compile(r"(?<![\w.~:/*-])/(?:[\w.@+~-]+/)+[\w.@+~-]+")
"""An absolute path of two names or more, alone or inside a command."""
_NO_PATH: Final = re.compile(r"\n|//")
_MAX_LENGTH: Final = 1000
_MAX_SEARCHED: Final = 20_000


def absent_path(arguments: dict[str, Any], answer: Answer) -> str | None:
    """The absolute path in the arguments that an error speaks of; None where it speaks of none.

    Args:
        arguments: as they were sent, with paths as they were recorded.
        answer: the error that came.
    """
    if isinstance(answer, TransportFault):
        return None
    text = "\n".join(texts_of(answer))[:_MAX_SEARCHED]
    paths = (path for value in _strings(arguments) for path in ([value] if _is_path(value) else _PATH.findall(value)))
    return next((path for path in paths if path in text or PurePosixPath(path).name in text), None)


def _is_path(value: str) -> bool:
    return value.startswith("/") and value.count("/") > 1 and len(value) < _MAX_LENGTH and not _NO_PATH.search(value)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value[:_MAX_SEARCHED]
    elif isinstance(value, dict | list):
        for member in value.values() if isinstance(value, dict) else value:
            yield from _strings(member)
