"""A call with what became of it."""

from __future__ import annotations

from dataclasses import dataclass

from replay.records.answer import Answer
from replay.records.trajectory import Call
from replay.records.verdict import Verdict


@dataclass(frozen=True)
class CallResult:
    """One call with its verdict, and what it was judged by."""

    call: Call
    verdict: Verdict
    server: str | None = None
    tool: str | None = None
    key: str | None = None
    """Of the answer that it got; None where it was not sent."""
    answer: Answer | None = None
