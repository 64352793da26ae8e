"""A call with what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from replay.records.answer import Answer
from replay.records.trajectory import Call
from replay.records.verdict import Verdict

_STDERR: Final = ":stderr"


def stderr_key(key: str) -> str:
    """Under which key of the stored answers stands what the server wrote to stderr beside the answer of `key`."""
    return key + _STDERR


def is_stderr_key(key: str) -> bool:
    """Whether such text stands under a key, and no answer."""
    return key.endswith(_STDERR)


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
