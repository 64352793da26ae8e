"""Findings: what a verdict means in words, and what would have been right."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field

from replay.records.base import JsonObject, Record
from replay.records.verdict import Certainty

Scope: TypeAlias = Literal["call", "trajectory", "run"]


class CallRef(Record):
    """Where a call stands in a run."""

    file: str
    model: str
    trajectory: str
    call: str

    @property
    def short(self) -> str:
        """`TRAJECTORY:s2c1`: enough where one file has the trajectory."""
        return f"{self.trajectory}:{self.call}"

    @property
    def full(self) -> str:
        """`MODEL:TRAJECTORY:s2c1`."""
        return f"{self.model}:{self.trajectory}:{self.call}"


class Finding(Record):
    """One thing that was found out, with the calls that show it."""

    kind: str
    """Stable id, e.g. `missing-field`; docs/findings.md lists them all."""
    scope: Scope
    sentence: str
    """What is the case, in one sentence."""
    suggestion: str | None = None
    """What would have been right; None where nobody can know."""
    calls: tuple[CallRef, ...]
    """The calls that the finding rests on, the one it is about first."""
    certainty: Certainty = "certain"
    specific: bool = True
    """Whether it names the part that is wrong; False where it only repeats the outcome and the server's words."""
    pointer: str | None = None
    """JSON pointer in the arguments of the first call, where one part of them is meant."""
    details: JsonObject = Field(default_factory=dict)
    """What the sentence says, for machines: `expected`, `found`, `nearest`, `count`, ..."""
