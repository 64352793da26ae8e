"""A trajectory, replayed once or several times; several replays are put side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from replay.dag.drift import volatile_pointers
from replay.outcomes import Registry
from replay.records import CallResult, RuleSpec, Trajectory
from replay.replayer.backend import AnswerBackend
from replay.replayer.checkpoint import Checkpoint
from replay.replayer.input_calls import InputCalls
from replay.replayer.recorded_servers import servers_named, with_fleet_dispatchers, with_fleet_names
from replay.replayer.trajectory_replayer import TrajectoryReplayer


@dataclass(frozen=True)
class ReplayContext:
    """What a run judges by: the tools that exist, and where answers come from."""

    backend: AnswerBackend
    registry: Registry
    rules: Mapping[str, tuple[RuleSpec, ...]]
    dispatchers: tuple[str, ...]
    """Patterns of tools that the fleet names as dispatchers."""
    policy: str
    """Digest of all that could change a verdict; a trajectory judged under another is judged again."""
    input_calls: InputCalls

    def as_named_here(self, trajectory: Trajectory) -> Trajectory:
        """The trajectory with its servers and dispatchers as this fleet reads them."""
        named = with_fleet_names(trajectory, self.registry.servers)
        return with_fleet_dispatchers(named, self.registry, self.dispatchers)


@dataclass(frozen=True)
class ReplayManner:
    """How a trajectory is replayed."""

    trials: int
    """How often."""
    rebinding: bool
    wanted: Callable[[str], bool]
    """Whether a `server/tool` is to be judged."""


async def replay_trials(
    trajectory: Trajectory,
    context: ReplayContext,
    manner: ReplayManner,
    checkpoints: tuple[Checkpoint, Checkpoint],
    on_call: Callable[[], None],
) -> tuple[Trajectory, list[CallResult]]:
    """Replay a trajectory; gives it with its data edges, and its verdicts.

    Args:
        trajectory: as `context.as_named_here` gives it.
        context: what it is judged by.
        manner: how often, and how.
        checkpoints: of the first trial, and of the others.
        on_call: called for each call of the first trial that has its verdict.
    """
    names = frozenset(servers_named(trajectory, context.registry.server_names))
    trials: list[list[CallResult]] = []
    for trial in range(max(1, manner.trials)):
        async with context.backend.session(trajectory, names) as session:
            replayer = TrajectoryReplayer(
                trajectory,
                session,
                registry=context.registry,
                rules=context.rules,
                checkpoint=checkpoints[min(trial, 1)],
                rebinding=manner.rebinding,
                wanted=manner.wanted,
            )
            trials.append(await replayer.run(on_call=on_call if trial == 0 else None))
        trajectory = trajectory.model_copy(update={"edges": replayer.edges})
    return trajectory, merge_trials(trials) if len(trials) > 1 else trials[0]


def merge_trials(trials: Sequence[Sequence[CallResult]]) -> list[CallResult]:
    """The first trial's verdicts, each with how often each outcome came, and what moved from trial to trial.

    Args:
        trials: one list a trial, each with the same calls in the same order.
    """
    return [_merge(calls) for calls in zip(*trials, strict=True)]


def _happened_again(first: CallResult, call: CallResult) -> bool:
    """Whether a later trial did the same as the first: it sent the call, and nothing before it was missing."""
    return call.answer is not None and call.verdict.seconds is not None and call.verdict.gap == first.verdict.gap


def _merge(calls: Sequence[CallResult]) -> CallResult:
    first = calls[0]
    sent = [first, *(call for call in calls[1:] if _happened_again(first, call))]
    if first.answer is None or len(sent) < 2:
        return first
    outcomes = Counter(str(call.verdict.replayed or call.verdict.outcome) for call in sent)
    volatile = volatile_pointers([call.answer for call in sent if call.answer is not None])
    flaky = ("flaky",) if len(outcomes) > 1 else ()
    verdict = first.verdict.model_copy(
        update={
            "trials": dict(outcomes.most_common()),
            "volatile": volatile,
            "findings": (*first.verdict.findings, *flaky),
            "certainty": "likely" if flaky and first.verdict.certainty == "certain" else first.verdict.certainty,
        }
    )
    return replace(first, verdict=verdict)
