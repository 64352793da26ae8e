"""Rung 1: is the call a call at all?"""

from __future__ import annotations

from replay.records import Call, Judgement, Outcome


def judge_format(call: Call) -> Judgement | None:
    """Judge the form of a call; None where it is well formed."""
    if call.unreadable is None and call.name and call.arguments is not None:
        return None
    return Judgement(
        outcome=Outcome.ILLEGAL_FORMAT, rule="format.no-json", evidence="format", message="The call could not be read."
    )
