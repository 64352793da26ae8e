"""What was not read: the files that stand in no number, and what they could change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from replay.records.base import Record
from replay.records.verdict import Outcome


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
        """The effect on the share of calls that succeeded; None where no call was judged.

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
        if not whole:
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
