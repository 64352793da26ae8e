"""Findings, what a verdict means in words; and failures that are known again from run to run."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from replay.records.base import JsonObject, Record
from replay.records.comparison import DefinitionChange, SideSummary
from replay.records.verdict import Certainty, Outcome

Scope: TypeAlias = Literal["call", "trajectory", "run"]


class CallRef(Record):
    """Where a call stands in a run."""

    file: str
    model: str
    trajectory: str
    call: str

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


KNOWN_FORMAT: Final = "replay.known"
KNOWN_VERSION: Final = 1
HISTORY_FORMAT: Final = "replay.history"
HISTORY_VERSION: Final = 1
FINGERPRINT_LENGTH: Final = 12

Fingerprint = Annotated[str, StringConstraints(pattern=rf"^[0-9a-f]{{{FINGERPRINT_LENGTH}}}$")]


def _web_address(text: str) -> str:
    if not re.fullmatch(r"https?://[^\s<>\"'\\]+", text):
        raise ValueError("is not a web address; write one that begins with https://")
    return text


class KnownFailure(Record):
    """What somebody noted of a failure. At least one of `issue` and `note` is there."""

    issue: Annotated[str, AfterValidator(_web_address)] | None = None
    """Address of the issue where it is dealt with."""
    note: str | None = None
    tool: str | None = None
    """For whoever reads the file; not looked at."""
    what: str | None = None
    """The failure in a sentence, as it was when it was marked; not looked at."""

    @model_validator(mode="after")
    def _says_something(self) -> KnownFailure:
        if not (self.issue or self.note):
            raise ValueError("has neither issue nor note; write one of them")
        return self

    @property
    def words(self) -> str:
        """Note and address in one line."""
        return ", ".join(part for part in (self.note, self.issue) if part)


class KnownFile(Record):
    """`replay-known.yaml`: failures that are known, by their fingerprints."""

    format: Literal["replay.known"] = KNOWN_FORMAT
    version: Literal[1] = KNOWN_VERSION
    failures: dict[Fingerprint, KnownFailure] = Field(default_factory=dict)


class RecurringFailure(Record):
    """One failure over one run or several: all calls with its fingerprint."""

    fingerprint: str
    tool: str
    """`server/tool`, or the name as written."""
    outcome: Outcome
    rule: str
    finding: str | None
    """Kind of the most telling finding."""
    sentence: str
    """What is wrong, of the last call that shows it."""
    counts: tuple[int, ...]
    """Calls in each run, in the order in which the runs were given."""
    models: tuple[str, ...]
    first_seen: str
    """Name of the first run that has it."""
    last_seen: str
    example: CallRef
    """In the last run that has it."""
    address: str
    """Of the example, as that run finds it again."""
    known: KnownFailure | None = None

    @property
    def calls(self) -> int:
        """Calls in all runs."""
        return sum(self.counts)

    @property
    def is_new(self) -> bool:
        """Only the last run has it, and nobody noted it."""
        return self.known is None and self.counts[-1] > 0 and not any(self.counts[:-1])


class RunChange(Record):
    """What changed from one run to the next."""

    before: str
    after: str
    common: int
    """Calls that both have."""
    worse: int
    better: int
    definitions: tuple[DefinitionChange, ...] = ()
    """What the servers say of their tools otherwise."""
    note: str | None = None
    """Why nothing could be compared."""


class History(Record):
    """Several runs, in the order of time."""

    runs: tuple[SideSummary, ...]
    changes: tuple[RunChange, ...]
    """From each run to the next."""
    failures: tuple[RecurringFailure, ...]
    """New ones first, then those that are still there, then those that are gone."""
