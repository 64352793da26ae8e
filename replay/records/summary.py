"""What a run comes to: counts, what went wrong most, and which failures are the roots of others.

Also what was not read: the files that stand in no number, and what they could change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from pydantic import Field

from replay.records.base import Record
from replay.records.verdict import Certainty, Fault, Outcome, Reason


class UnreadFile(Record):
    """A results file of which calls are missing."""

    path: str
    kind: Literal["broken", "in-part", "no-call"] = "broken"
    """`broken`: it could not be read; `in-part`: some of its records could not; `no-call`: it gave no call, although it
    speaks of calls."""
    message: str
    model: str | None = None
    """As far as the file or its name tells."""
    calls: int | None = None
    """That could not be read: at least so many; None where nobody can tell."""
    most_calls: int | None = None
    """That it could hold by its size; None where that tells nothing."""


class UnreadEffect(Record):
    """Between what a share would lie if all that was not read had failed, and if all of it had succeeded."""

    model: str | None = None
    """None: of all models together."""
    measure: str
    """`success`, `tasks passed` or `recall`."""
    of: Literal["call", "task", "reference call"]
    count: int
    """How many of these the files are taken to hold."""
    assumed: bool = False
    """A file in which fewer were counted is taken to hold as many as the others on average, where its size lets it."""
    low: float
    high: float

    @classmethod
    def on_calls(
        cls, files: Sequence[UnreadFile], outcomes: Mapping[Outcome, int], files_read: int, model: str | None = None
    ) -> UnreadEffect | None:
        """The effect on the share of calls that succeeded; None where no call was judged, or the files hold none.

        Args:
            files: that were not read.
            outcomes: of the calls that were read.
            files_read: that these calls stand in.
            model: of both; None where they are of several.
        """
        total = sum(outcomes.values())
        each = max(1, round(total / files_read)) if files_read else 1
        limits = [each if file.most_calls is None else min(each, file.most_calls) for file in files]
        taken = [max(limit, file.calls or 0) for limit, file in zip(limits, files, strict=True)]
        part, whole = outcomes.get(Outcome.SUCCESS, 0), total - outcomes.get(Outcome.INCONCLUSIVE, 0)
        if not whole or not sum(taken):
            return None
        return cls(
            model=model,
            measure="success",
            of="call",
            count=sum(taken),
            assumed=any(calls == each > (file.calls or 0) for calls, file in zip(taken, files, strict=True)),
            low=part / (whole + sum(taken)),
            high=(part + sum(taken)) / (whole + sum(taken)),
        )

    @classmethod
    def on_tasks(cls, files: int, share: float, tasks: int, each: int, model: str | None = None) -> UnreadEffect:
        """The effect on the share of tasks that passed.

        Args:
            files: that were not read.
            share: of the tasks that were read.
            tasks: of which it is a share.
            each: tasks that a file of the model holds.
            model: of them all; None where they are of several.
        """
        count = files * each
        low, high = share * tasks / (tasks + count), (share * tasks + count) / (tasks + count)
        return cls(model=model, measure="tasks passed", of="task", count=count, assumed=each > 1, low=low, high=high)

    @classmethod
    def on_recall(cls, matched: int, total: int, missing: int, model: str) -> UnreadEffect:
        """The effect on the share of a reference's calls that were found.

        Args:
            matched: reference calls that were found.
            total: all reference calls, those of tasks without a result too.
            missing: those of tasks without a result.
            model: of the results.
        """
        low, high = matched / total, (matched + missing) / total
        return cls(model=model, measure="recall", of="reference call", count=missing, low=low, high=high)


class Unread(Record):
    """All that was not read."""

    files: tuple[UnreadFile, ...]
    effects: tuple[UnreadEffect, ...] = ()
    """What it could change."""


WELL_FORMED: Final = (Outcome.SUCCESS, Outcome.NOT_FOUND)
"""Right as calls: successes, and what M3-Bench calls "Successful (Resource Not Found)"."""


def well_formed(outcomes: Mapping[Outcome, int]) -> int:
    """How many calls were right as calls."""
    return sum(outcomes.get(outcome, 0) for outcome in WELL_FORMED)


class ModelSummary(Record):
    """One model, over all its files."""

    model: str
    files: tuple[str, ...]
    trajectories: int
    calls: int
    outcomes: dict[Outcome, int]
    """All six, in the order of the stages; inconclusive ones count in no category."""
    reasons: dict[Reason, int]
    """Why calls are inconclusive."""
    faults: dict[Fault, int] = Field(default_factory=dict)
    """Whose fault the calls without success are."""

    @property
    def conclusive(self) -> int:
        """Calls that count in one of the five categories."""
        return self.calls - self.outcomes.get(Outcome.INCONCLUSIVE, 0)

    @property
    def well_formed(self) -> int:
        """Calls that were right as calls, whether or not what they asked for was there."""
        return well_formed(self.outcomes)


class Spending(Record):
    """What the calls of all, of a model, a tool or a task took when they were recorded."""

    by: Literal["all", "model", "tool", "task"]
    name: str
    timed: int
    """Calls whose time the file has."""
    seconds: float
    """That these took."""
    failed_seconds: float
    """That those of them took that did not succeed."""
    longest: float
    tokens: int
    """Read and written, of the replies that issued calls; 0 where the file does not have them reply by reply."""
    failed_tokens: int
    """Of the replies of which no call succeeded."""
    tokens_after_fault: int
    """Of the replies after the first call of their trajectory that the environment failed."""


class FailureGroup(Record):
    """Calls alike: the same tool, outcome, reason and rule."""

    server: str | None
    tool: str | None
    outcome: Outcome
    reason: Reason | None = None
    rule: str
    calls: int
    alike: int
    """Those of them that have the message of the example."""
    example: str
    """The address of the first of those with the commonest message, as a command takes it."""
    example_file: str
    example_trajectory: str
    example_call: str
    example_message: str

    @property
    def said(self) -> str:
        """The message of the example, and of how many of the calls it is where it is not that of all."""
        share = f"{self.alike} of {self.calls}" if self.alike > 1 else "for example"
        return self.example_message if self.alike == self.calls else f"{share}: {self.example_message}"


class RootCause(Record):
    """A failure that made others fail."""

    address: str
    """As a command takes it."""
    file: str
    trajectory: str
    call: str
    tool: str
    outcome: Outcome
    followed: dict[Outcome, int]
    """What followed from it, by outcome."""


class Disagreements(Record):
    """Calls that came out otherwise than when they were recorded."""

    compared: int
    """Re-issued calls with a recorded answer."""
    calls: int
    """Those whose outcome is another."""
    by_recording: int
    """Those of them that are judged by the recorded answer, since the replay had not what the recording had."""
    absent_paths: int = 0
    """Those of them that name a path which is not here."""
    absent_below: str | None = None
    """The directory that these paths have in common."""


class RepeatedCalls(Record):
    """Calls that session files repeat of others, and that stand in no number a second time."""

    calls: int
    files: int
    """That repeat some."""


class RunSummary(Record):
    """The whole run."""

    models: tuple[ModelSummary, ...]
    model_count: int = 0
    """How many there are; more than `models` holds where only the first were asked for."""
    outcomes: dict[Outcome, int]
    reasons: dict[Reason, int]
    faults: dict[Fault, int] = Field(default_factory=dict)
    """Whose fault the calls without success are."""
    certainties: dict[Certainty, int] = Field(default_factory=dict)
    """How many verdicts are how certain; `benchmarks/outcomes.md` says how often each is right."""
    failures: tuple[FailureGroup, ...]
    """The most frequent first."""
    inconclusive: tuple[FailureGroup, ...]
    """Calls that count in no category, likewise."""
    root_causes: tuple[RootCause, ...]
    """Those that most followed from first."""
    disagreements: Disagreements | None = None
    """None where no call was re-issued that has a recorded answer."""
    trials: int = 1
    """How often each call was re-issued."""
    unread: Unread | None = None
    """Files that stand in no number; None where all were read."""
    repeated: RepeatedCalls | None = None
    """Calls that were left out, since another session file of the run holds them too; None where there are none."""
    flaky: tuple[FailureGroup, ...] = ()
    """Calls whose outcome changed from trial to trial; none where there was one trial."""
