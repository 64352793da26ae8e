"""What an audit says of a benchmark's scores: how far each is the model's own."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Final, Literal, TypeAlias, get_args

from replay.records.base import Record
from replay.records.comparison import Figure, Parting
from replay.records.finding import CallRef
from replay.records.summary import Unread
from replay.records.verdict import Reason

Bearing: TypeAlias = Literal["on-path", "recovered", "worked-around", "beside"]
"""`on-path`: a later failure or the reply depends on the call, or the model never got what it asked for; `recovered`: a
later call asked for just that and got it; `worked-around`: a later call dealt with the same thing by another tool or
with other arguments, and was answered; `beside`: nothing depends on it."""
Doubt: TypeAlias = Literal["environment", "unfounded", "reference"]
"""Why a task is undecided: it was lost with an environment's fault on the way; it was won and the success rests on
nothing; its reference fails itself."""
Verified: TypeAlias = Literal["gone", "still there", "cannot be repeated"]


Number: TypeAlias = Literal["runs", "passed", "lost", "undecided-lost", "undecided-passed", "faults"] | Bearing
"""A number of an audit, which opens to the runs of tasks that it counts, or to those in which its faults are."""


class AuditedFault(Record):
    """What the environment failed, one call or those of an outage, and what it meant for its task."""

    call: CallRef
    """The first."""
    more: tuple[str, ...] = ()
    """Positions of the other calls of an outage: the same server failed them by the same cause, and did nothing else
    between them."""
    tool: str | None
    server: str | None
    reason: Reason
    in_sandbox: bool = False
    """Not the server failed it: a program of the model's lacked a package, another program or a login where it ran."""
    message: str
    """What the answer said, one sentence."""
    bearing: Bearing
    why: str
    """One line: why it is thought to bear on the task so."""
    then: str
    """What the model did next: `gave up`, `asked again`, `asked it with other arguments` or `went another way`."""
    dependents: tuple[str, ...] = ()
    """Positions of the calls that took a value from it, or whose failure follows from it."""
    verified: Verified | None = None
    """With `--verify`: what the same call gave when it was issued again."""

    @property
    def positions(self) -> tuple[str, ...]:
        """Of all its calls."""
        return (self.call.call, *self.more)

    @property
    def cause(self) -> str:
        """The reason in words."""
        return "lacking in the sandbox" if self.in_sandbox else str(self.reason)

    @property
    def subject(self) -> str:
        """What a benchmark's author would mend: its server, else its tool."""
        return self.server or self.tool or "(no name)"


class UndecidedTask(Record):
    """A run of a task whose result the evidence does not support."""

    model: str
    task: str
    file: str
    trajectory: str
    passed: bool
    """As reported."""
    doubt: Doubt
    why: str
    faults: tuple[AuditedFault, ...] = ()
    """Those on the way to the loss."""


class AuditedRun(Record):
    """A run of a task, whatever was found out about it."""

    model: str
    task: str
    file: str
    trajectory: str
    """The first of its trajectories."""
    passed: bool | None
    """As reported."""
    doubt: Doubt | None = None
    faults: tuple[str, ...] = ()
    """What the environment failed, by the first call: `MODEL:TRAJECTORY:s2c1`."""


_RUNS: Final[dict[str, Callable[[AuditedRun], bool]]] = {
    "runs": lambda run: run.passed is not None,
    "passed": lambda run: run.passed is True,
    "lost": lambda run: run.passed is False and run.doubt is None,
    "undecided-lost": lambda run: run.passed is False and run.doubt is not None,
    "undecided-passed": lambda run: run.passed is True and run.doubt is not None,
}


class AuditedModel(Record):
    """One model: its reported success, and what the evidence supports."""

    model: str
    runs: int
    """Of tasks whose success the files report."""
    passed: int
    unreported: int
    """Runs of tasks of which the files do not say whether they passed."""
    undecided_lost: int
    undecided_passed: int
    faults: dict[Bearing, int]
    """What the environment failed in all runs of tasks; an outage counts once."""
    filter: str
    """What opens these calls in the browser and in `report --filter`; with `passed:no` those of lost tasks."""

    @property
    def lost_by_model(self) -> int:
        """Lost tasks of which nothing else is known to be the cause."""
        return self.runs - self.passed - self.undecided_lost

    @property
    def reported(self) -> float | None:
        """Share of the runs that passed; None where no run is reported."""
        return self.passed / self.runs if self.runs else None

    @property
    def supported(self) -> tuple[float, float] | None:
        """The share if every undecided task were lost, and if every one were won."""
        if not self.runs:
            return None
        return (self.passed - self.undecided_passed) / self.runs, (self.passed + self.undecided_lost) / self.runs


class AuditedPair(Record):
    """Two models, the one with the higher reported score first."""

    first: str
    second: str
    difference: float
    """Of the reported shares, each of all runs of its model."""
    common_tasks: int
    """Tasks of which both have a reported result."""
    paired_difference: float | None
    """Mean over the common tasks, as `replay compare` has it; None where there was nothing to test."""
    beyond_chance: bool | None
    """By the paired test over common tasks; None where there was nothing to test."""
    supported: bool
    """Whether the supported intervals still separate them."""


class Mend(Record):
    """What to mend in the benchmark, and what that would settle."""

    subject: Literal["server", "sandbox", "reference"]
    name: str
    reason: str
    tasks: int
    """Undecided runs of tasks in which it plays a part."""
    settles: int
    """Those of them that nothing else leaves undecided."""
    points: float
    """`settles` in per cent of all reported runs."""
    filter: str
    """What opens its calls in lost tasks."""

    def is_about(self, fault: AuditedFault) -> bool:
        """Whether a fault is one of those that mending it would end."""
        return self.subject != "reference" and (self.name, self.reason) == (fault.subject, fault.cause)


class RepeatedTrials(Record):
    """A model's tasks that were run several times."""

    model: str
    tasks: int
    runs: int
    """The least number of runs of a task."""
    flipping: tuple[str, ...]
    """Tasks that passed in some runs and not in others."""
    pass_at: dict[int, Figure]
    """k -> the chance that one of k runs passes, mean over tasks: 1 - C(n - c, k) / C(n, k). The interval is of the
    draw of tasks."""
    pass_all: dict[int, Figure]
    """k -> the chance that all of k runs pass: C(c, k) / C(n, k)."""


class Audit(Record):
    """What `replay audit --json` prints."""

    format: Literal["replay.audit"] = "replay.audit"
    version: Literal[1] = 1
    benchmark: AuditedModel
    """All models together."""
    models: tuple[AuditedModel, ...]
    runs: tuple[AuditedRun, ...]
    """Every run of a task: what the numbers count."""
    undecided: tuple[UndecidedTask, ...]
    decided: tuple[AuditedFault, ...]
    """What the environment failed and what decides nothing: it was recovered or worked around, lies beside the path,
    or no loss is reported."""
    pairs: tuple[AuditedPair, ...]
    mends: tuple[Mend, ...]
    trials: tuple[RepeatedTrials, ...]
    partings: tuple[Parting, ...]
    """Of tasks that were won and lost: where a run that was won, the first, and one that was lost part. They are of one
    model where one did both, else of two."""
    notes: tuple[str, ...]
    unread: Unread | None = None
    """Files that stand in no number; None where all were read."""

    @cached_property
    def faults(self) -> dict[str, list[AuditedFault]]:
        """All that the environment failed, by the first call: `MODEL:TRAJECTORY:s2c1`, of each of a task's runs."""
        found: dict[str, list[AuditedFault]] = {}
        for fault in (*(fault for task in self.undecided for fault in task.faults), *self.decided):
            found.setdefault(fault.call.full, []).append(fault)
        return found

    def behind(self, number: Number, model: str | None = None) -> tuple[AuditedRun, ...]:
        """The runs of tasks that a number counts, or in which the faults are that it counts.

        Args:
            number: which.
            model: of this one; by default of all.
        """
        counts = _RUNS.get(number)
        own = (run for run in self.runs if model in (None, run.model))
        return tuple(run for run in own if (counts(run) if counts else self.faults_of(run, number)))

    def faults_of(self, run: AuditedRun, number: Number = "faults") -> tuple[AuditedFault, ...]:
        """What the environment failed in a run; of the number of a bearing, that alone."""
        alike = (self.faults[call] for call in run.faults)
        known = (next((fault for fault in faults if fault.call.file == run.file), faults[0]) for faults in alike)
        return tuple(fault for fault in known if number not in get_args(Bearing) or fault.bearing == number)

    def behind_mend(self, mend: Mend) -> tuple[AuditedRun, ...]:
        """The runs that something to mend leaves undecided."""
        return tuple(
            run
            for run in self.behind("undecided-lost")
            if (mend.subject == "reference" and run.doubt == "reference" and run.task == mend.name)
            or any(mend.is_about(fault) for fault in self.faults_of(run, "on-path"))
        )
