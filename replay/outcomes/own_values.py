"""Values that a program of the model's own printed or returned: what they say of errors is content."""

from __future__ import annotations

import re
from typing import Any

from replay.dag.tool_traits import runs_commands
from replay.dag.value_matching import ArgumentIndex

_WEB_CLIENT = re.compile(r"(?:^|[\s;&|(\"'`])(?:curl|wget|https?|xh|Invoke-(?:WebRequest|RestMethod))\s+\S", re.I)
_MAX_PROGRAM = 20_000


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
