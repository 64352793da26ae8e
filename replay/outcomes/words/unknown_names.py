"""Reports that the server which a call names is not there."""

from __future__ import annotations

from replay.dag.value_matching import ArgumentIndex
from replay.outcomes.words import patterns

_MAX_LENGTH = 600


def server_is_unknown(text: str, arguments: ArgumentIndex, server: str = "") -> bool:
    """Whether a text says that there is no such server, of the one that the call is for.

    Args:
        text: the report.
        arguments: of the call, with its name as written.
        server: the server that the name was read as, where it is known.
    """
    found = patterns.SERVER_UNKNOWN.search(text[:_MAX_LENGTH])
    name = next(filter(None, found.groups()), "").rstrip(".:'\"`") if found else ""
    if not name:
        return False
    asked = (server, *arguments.by_name.values())
    return arguments.written_name.startswith(name) or name.casefold() in map(str.casefold, asked)
