"""What an earlier answer named that is nearly the same as a thing that is not there."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from rapidfuzz import fuzz

from replay.diagnosis.trajectory_context import TrajectoryContext
from replay.records import Outcome, texts_of

_TOKEN: Final = re.compile(r"[^\s\"'`,;:(){}\[\]<>|]{3,160}")
_NEAR: Final = 80.0
_MAX_CHARACTERS: Final = 50_000


class Known(NamedTuple):
    """A name, and the call whose answer held it."""

    call: str
    value: str


def nearest_known(context: TrajectoryContext, position: str, name: str) -> Known | None:
    """The nearest name in the answers of earlier successful calls, where one is near enough."""
    wanted = _last(name)
    if len(wanted) < 4:
        return None
    best, score = None, _NEAR
    for call in context.earlier(position):
        if call.answer is None or context.outcome(call.position) is not Outcome.SUCCESS:
            continue
        for token in dict.fromkeys(_TOKEN.findall("\n".join(texts_of(call.answer))[:_MAX_CHARACTERS])):
            found = fuzz.ratio(_last(token).lower(), wanted.lower(), score_cutoff=score)
            if found > score and token != name:
                best, score = Known(call.position, token), found
    return best


def _last(name: str) -> str:
    """The last segment of a path."""
    return name.rstrip("/.").rpartition("/")[2]
