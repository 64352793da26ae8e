"""Equal values give equal text and equal digests; and what tells a call with effects from every other."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values give equal text."""
    return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def digest(value: Any) -> str:
    """SHA-256 of the canonical JSON, hexadecimal."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


class EffectKey(NamedTuple):
    """A call with effects, told by what was sent and not by where it stands."""

    server: str
    tool: str
    arguments: str
    """SHA-256 of the arguments as they were recorded."""
    occurrence: int
    """1 for the first such call of its trajectory, 2 for the next one that is equal to it."""


def effect_keys(calls: Iterable[tuple[str, str, str, dict[str, Any]]]) -> dict[str, EffectKey]:
    """The keys of a trajectory's calls, by position.

    Args:
        calls: position, server, tool and recorded arguments of each, in the order of the steps.
    """
    seen: Counter[tuple[str, str, str]] = Counter()
    keys = {}
    for position, server, tool, arguments in calls:
        same = (server, tool, digest(arguments))
        seen[same] += 1
        keys[position] = EffectKey(*same, seen[same])
    return keys
