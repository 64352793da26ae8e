"""Under which key an answer is stored."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from replay.records import canonical, digest


def answer_key(server_digest: str, tool: str, arguments: dict[str, Any], state: str | None) -> str:
    """The key of a stored answer, SHA-256 in hexadecimal.

    Args:
        server_digest: of the server's identity and tools/list.
        tool: the tool's own name.
        arguments: as they were sent, with paths as they were recorded.
        state: for a server with state, the digest of the calls before this one in its trajectory; else None.
    """
    return digest([server_digest, tool, arguments, state])


def next_state(state: str, calls: Iterable[tuple[str, dict[str, Any]]]) -> str:
    """The digest after one more step. The calls of a step happen together, so their order does not count.

    Args:
        state: the digest before; of an empty trajectory, the digest of its workspace template, or "".
        calls: (`server/tool`, arguments as sent) of the step's calls to servers with state, answered or not.
    """
    sent = sorted(canonical(call) for call in calls)
    return digest([state, sent]) if sent else state
