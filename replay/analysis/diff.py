"""Runs over time, or two models of one run, compared call by call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeAlias

from replay.analysis.estimates import differences_of, sums_by_model
from replay.analysis.known_failures import FailedCall, failed_calls, folded_name, recurring_failures
from replay.analysis.measures import sums_of
from replay.analysis.parting import paired_calls, parting_of
from replay.analysis.statistics import CONFIDENCE, mcnemar
from replay.analysis.task_runs import read_task_runs
from replay.dag.documents import join
from replay.diagnosis.trajectory_context import TrajectoryContext
from replay.errors import UsageError
from replay.records import FAILURES, Outcome, Server, Tool, faults_of
from replay.records.alignment import AlignedModel, Scores
from replay.records.comparison import Change, DefinitionChange, MetricChange, RunDiff, SideSummary, ToolChange
from replay.records.finding import History, KnownFailure, RecurringFailure, RunChange
from replay.runfile import Run
from replay.runfile.alignment_queries import aligned_models
from replay.runfile.compare_queries import CallOutcome, call_outcomes, model_names
from replay.runfile.task_runs import trajectory_facts
from replay.runfile.trajectory_queries import TrajectoryPlace, trajectory_places
from replay.safety.text import one_line
from replay.suggestions import nearest_names

Key: TypeAlias = tuple[str, str, str]
"""Model (empty where it does not count), trajectory, position."""
_TOO_FEW: Final = "There are too few calls for a test of the difference."
_PARTS: Final = {
    "description": "description",
    "inputSchema": "input_schema",
    "outputSchema": "output_schema",
    "annotations": "annotations",
}
"""Of a tool, as the specification calls them, and as our record does."""
_UNORDERED: Final = frozenset({"required", "enum", "type"})
"""Keywords whose lists say the same in any order."""


class _Side(NamedTuple):
    name: str
    calls: Mapping[Key, CallOutcome]
    metrics: Mapping[str, AlignedModel]


class _Test(NamedTuple):
    """Of the shares of failed calls."""

    p_value: float | None
    sentence: str


def diff_runs(first: Run, second: Run, names: Sequence[str] | None = None, *, sessions: bool = False) -> RunDiff:
    """What changed from one run to the other.

    Calls are the same where model, trajectory and tool are, and the alignment's matching pairs them; the model does not
    count where each run has one.
    Whether the share of failed calls changed is tested over the calls that both judged: they are pairs.

    Args:
        first: the earlier one.
        second: the later one.
        names: how they are called; by default by their files.
        sessions: where each run is one session, their ids do not count, and it is told where they part.

    Raises:
        UsageError: a run without verdicts, or runs that have nothing in common.
    """
    for run in (first, second):
        run.check_has_verdicts()
    ends = [_one_session(run) for run in (first, second)] if sessions else []
    apart = bool(ends) and None not in ends
    alone = apart or len(model_names(first)) == len(model_names(second)) == 1
    sides = [
        _Side(name, dict(_calls(run, with_model=not alone)), _metrics(run))
        for run, name in zip((first, second), names or (str(first.path), str(second.path)), strict=True)
    ]
    compared = _diff(sides, _pairs(*sides, apart=apart), _tested_calls)
    update: dict[str, object] = {"definitions": tuple(definition_changes(first, second))}
    if apart:
        contexts = (TrajectoryContext.load(run, end) for run, end in zip((first, second), ends, strict=True) if end)
        update["parting"] = parting_of(*contexts)
    return compared.model_copy(update=update)


def _one_session(run: Run) -> TrajectoryPlace | None:
    """The one trajectory that a run holds, its sub-agents left out; None where it holds several."""
    started = {facts.row for facts in trajectory_facts(run.connection) if facts.parent is not None}
    own = [place for place in trajectory_places(run) if place.row not in started]
    return own[0] if len(own) == 1 else None


def _pairs(first: _Side, second: _Side, *, apart: bool = False) -> list[tuple[Key, Key]]:
    """The calls that go together: of the same trajectory, or of any where the sides are one session each."""
    groups: list[dict[Key, list[Key]]] = []
    for side in (first, second):
        groups.append({})
        for key in side.calls:
            groups[-1].setdefault(("", "", "") if apart else (*key[:2], ""), []).append(key)
    pairs = []
    for group, keys in groups[0].items():
        others = groups[1].get(group, [])
        deeds = [
            [(folded_name(side.calls[key].tool), side.calls[key].arguments) for key in own]
            for side, own in ((first, keys), (second, others))
        ]
        pairs += [(keys[number], others[other]) for number, other in paired_calls(*deeds)]
    return pairs


def diff_models(run: Run, first: str, second: str) -> RunDiff:
    """What is different between two models of one run; calls are the same where trajectory and tool are, as paired.

    Their calls are not the same ones: the shares of failed calls are tested by task, as `replay compare` does.

    Raises:
        UsageError: a model that the run does not have, or models that have nothing in common.
    """
    known = model_names(run)
    for name in (first, second):
        if name not in known:
            nearest = ", ".join(one_line(known_name, 60) for known_name in nearest_names(name, known))
            raise UsageError(f"there is no model {one_line(name, 60)} in {run.path}; nearest: {nearest}")
    metrics = _metrics(run)
    sides = [
        _Side(name, dict(_calls(run, with_model=False, only=name)), {"": metrics[name]} if name in metrics else {})
        for name in (first, second)
    ]
    whose = f"of {one_line(first, 60)}", f"of {one_line(second, 60)}"
    return _diff(sides, _pairs(*sides), lambda changes: _tested_tasks(run, first, second), whose)


def _diff(
    sides: Sequence[_Side],
    pairs: Sequence[tuple[Key, Key]],
    test: Callable[[Sequence[Change]], _Test],
    when: tuple[str, str] = ("before", "after"),
) -> RunDiff:
    first, second = sides
    if not pairs and not {key[:2] for key in first.calls} & {key[:2] for key in second.calls}:
        raise UsageError(
            f"{first.name} and {second.name} have no call in common: "
            f"the first has {_example(first)}, the second {_example(second)}; where the same files were read with "
            "other names, classify them with the same --names"
        )
    changes = [_change(other, first.calls[key], second.calls[other]) for key, other in pairs]
    in_common = [set(keys) for keys in zip(*pairs, strict=True)] or [set[Key](), set[Key]()]
    metrics = tuple(_metric_changes(first, second))
    is_whole = len(pairs) == len(first.calls) == len(second.calls)
    same = all(change.before == change.after for change in changes)
    if is_whole and same and all(change.before == change.after for change in metrics):
        tested = _Test(1.0, "There is no difference: every call was judged as before.")
    else:
        tested = test(changes)
    summaries = _summary(first), _summary(second)
    failed = [f"{side.failed} of {side.judged} ({_percent(side)})" for side in summaries]
    return RunDiff(
        first=summaries[0],
        second=summaries[1],
        common=len(pairs),
        worse=_moved(changes, lambda before, after: after < before),
        better=_moved(changes, lambda before, after: after > before),
        unjudged=tuple(
            change
            for change in changes
            if (change.before == Outcome.INCONCLUSIVE) != (change.after == Outcome.INCONCLUSIVE)
        ),
        new=tuple(_change(key, None, call) for key, call in second.calls.items() if key not in in_common[1]),
        gone=tuple(_change(key, call, None) for key, call in first.calls.items() if key not in in_common[0]),
        tools=tuple(_tools(first, second)),
        metrics=metrics,
        p_value=tested.p_value,
        test_summary=f"Failed calls: {failed[0]} {when[0]}, {failed[1]} {when[1]}. {tested.sentence}",
    )


def _tested_calls(changes: Sequence[Change]) -> _Test:
    """McNemar's test over the calls that both sides judged."""
    judged = [change for change in changes if Outcome.INCONCLUSIVE not in (change.before, change.after)]
    fixed = sum(change.before in FAILURES and change.after not in FAILURES for change in judged)
    broken = sum(change.before not in FAILURES and change.after in FAILURES for change in judged)
    if not judged:
        return _Test(None, _TOO_FEW)
    p_value = mcnemar(fixed, broken)
    return _Test(p_value, _words(p_value, broken > fixed, f"McNemar's exact test: {fixed} fixed, {broken} broken"))


def _tested_tasks(run: Run, first: str, second: str) -> _Test:
    """The test by task of `replay compare`."""
    table = read_task_runs(run)
    sums = sums_by_model(table, sums_of(table))
    for difference in differences_of({model: sums[model] for model in (first, second) if model in sums}, "success"):
        if difference.low is not None:
            test = f"paired by task, {difference.tasks} tasks"
            return _Test(difference.p_value, _words(difference.p_value, difference.difference > 0, test))
    return _Test(None, _TOO_FEW.replace("calls", "tasks in common"))


def _words(p_value: float, more: bool, test: str) -> str:
    shown = "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"
    if p_value >= 1 - CONFIDENCE:
        return f"The difference may well be chance ({test}, {shown})."
    return f"There are {'more' if more else 'fewer'} failures than chance explains ({test}, {shown})."


def _calls(run: Run, *, with_model: bool, only: str | None = None) -> Iterator[tuple[Key, CallOutcome]]:
    for call in call_outcomes(run):
        if only is None or call.model == only:
            yield (call.model if with_model else "", call.trajectory, call.position), call


def _metrics(run: Run) -> dict[str, AlignedModel]:
    """The scores of each model; of one that made the same tasks several times there are several, and none is taken."""
    models = list(aligned_models(run.connection).values())
    times = Counter(model.model for model in models)
    return {model.model: model for model in models if times[model.model] == 1}


def _change(key: Key, before: CallOutcome | None, after: CallOutcome | None) -> Change:
    call = after or before
    assert call is not None
    return Change(
        model=call.model,
        trajectory=key[1],
        call=key[2],
        tool=call.tool,
        before=before.outcome if before else None,
        after=after.outcome if after else None,
        message=call.message,
    )


def _moved(changes: Sequence[Change], test: Callable[[int, int], bool]) -> tuple[Change, ...]:
    """The changes between two outcomes that both count, by how far the call got: the outcomes stand in that order."""
    stages = [outcome for outcome in Outcome if outcome is not Outcome.INCONCLUSIVE]
    return tuple(
        change
        for change in changes
        if change.before in stages
        and change.after in stages
        and test(stages.index(change.before), stages.index(change.after))
    )


def _summary(side: _Side) -> SideSummary:
    outcomes = Counter(call.outcome for call in side.calls.values())
    judged = outcomes.total() - outcomes[Outcome.INCONCLUSIVE]
    return SideSummary(
        name=side.name,
        calls=outcomes.total(),
        judged=judged,
        failed=judged - outcomes[Outcome.SUCCESS],
        outcomes={outcome: outcomes[outcome] for outcome in Outcome},
        faults=faults_of(outcomes, Counter(call.reason for call in side.calls.values() if call.reason is not None)),
        certainties=dict(Counter(call.certainty for call in side.calls.values())),
    )


def _tools(first: _Side, second: _Side) -> Iterator[ToolChange]:
    """Tools whose number of failures changed, the most changed first."""
    shown = {folded_name(call.tool): call.tool or "?" for side in (first, second) for call in side.calls.values()}
    calls = [Counter(folded_name(call.tool) for call in side.calls.values()) for side in (first, second)]
    failed = [
        Counter(folded_name(call.tool) for call in side.calls.values() if call.outcome in FAILURES)
        for side in (first, second)
    ]
    changed = [tool for tool in dict.fromkeys([*failed[0], *failed[1]]) if failed[0][tool] != failed[1][tool]]
    for tool in sorted(changed, key=lambda tool: (-abs(failed[1][tool] - failed[0][tool]), tool)):
        yield ToolChange(
            tool=shown[tool],
            before=failed[0][tool],
            after=failed[1][tool],
            calls_before=calls[0][tool],
            calls_after=calls[1][tool],
        )


def _metric_changes(first: _Side, second: _Side) -> Iterator[MetricChange]:
    if len(first.metrics) == len(second.metrics) == 1:
        pairs = [(*first.metrics.values(), *second.metrics.values())]
    else:
        pairs = [(first.metrics[model], second.metrics[model]) for model in first.metrics if model in second.metrics]
    for before, after in pairs:
        for metric in Scores.model_fields:
            values = getattr(before.aggregate, metric), getattr(after.aggregate, metric)
            if None not in values:
                yield MetricChange(model=after.model, metric=metric, before=values[0], after=values[1])
        yield MetricChange(
            model=after.model, metric="average_score", before=before.average_score, after=after.average_score
        )


def _example(side: _Side) -> str:
    model, trajectory, position = next(iter(side.calls))
    owner = f"{model}:" if model else ""
    return one_line(f"{owner}{trajectory}:{position}", 100)


def _percent(side: SideSummary) -> str:
    return f"{100 * side.failed / side.judged:.1f} %" if side.judged else "none judged"


def definition_changes(first: Run, second: Run) -> Iterator[DefinitionChange]:
    """What changed of the tools of servers that both runs know, server by server."""
    before, after = first.servers(), second.servers()
    for name in before:
        if name in after and before[name].error is None and after[name].error is None:
            yield from _of_server(before[name], after[name])


def _of_server(before: Server, after: Server) -> Iterator[DefinitionChange]:
    if not before.tools or not after.tools:  # a list that nobody asked for is not known to be empty
        return
    tools = [{tool.name: tool for tool in server.tools} for server in (before, after)]
    for tool in dict.fromkeys([*tools[0], *tools[1]]):
        old, new = tools[0].get(tool), tools[1].get(tool)
        if old is None or new is None:
            yield DefinitionChange(server=before.name, tool=tool, change="added" if old is None else "removed")
        else:
            yield from _of_tool(before.name, old, new)


def _of_tool(server: str, old: Tool, new: Tool) -> Iterator[DefinitionChange]:
    for name, attribute in _PARTS.items():
        for pointer, before, after in _differences(getattr(old, attribute), getattr(new, attribute), f"/{name}"):
            yield DefinitionChange(
                server=server, tool=new.name, change="changed", pointer=pointer, before=before, after=after
            )


def _differences(before: Any, after: Any, pointer: str) -> Iterator[tuple[str, Any, Any]]:
    """The innermost places at which two values differ, with what stands there."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys([*before, *after]):
            yield from _differences(before.get(key), after.get(key), join(pointer, key))
    elif _compared(before, pointer) != _compared(after, pointer):
        yield pointer, before, after


def _compared(value: Any, pointer: str) -> Any:
    if isinstance(value, list) and pointer.rpartition("/")[2] in _UNORDERED:
        return sorted(value, key=str)
    return value


@dataclass(frozen=True)
class GatheredRuns:
    """Several runs, the oldest first, and their failed calls: gathered once, since that reads every trajectory."""

    runs: Sequence[Run]
    names: Sequence[str]
    calls: Sequence[Sequence[FailedCall]]

    @classmethod
    def of(cls, runs: Sequence[Run], names: Sequence[str] | None = None) -> GatheredRuns:
        """Read the runs.

        Raises:
            UsageError: a run without verdicts.
        """
        for run in runs:
            run.check_has_verdicts()
        return cls(runs, _names(names or [str(run.path) for run in runs]), [list(failed_calls(run)) for run in runs])

    def failures(self, known: Mapping[str, KnownFailure]) -> tuple[RecurringFailure, ...]:
        """The failures: those that are new, still there, and gone."""
        return recurring_failures(list(zip(self.names, self.calls, strict=True)), known)

    def history(self, known: Mapping[str, KnownFailure]) -> History:
        """How the runs did, what changed from each to the next, and the failures."""
        sides = list(zip(self.runs, self.names, strict=True))
        return History(
            runs=tuple(_summary(_Side(name, dict(_calls(run, with_model=True)), {})) for run, name in sides),
            changes=tuple(_run_change(*before, *after) for before, after in pairwise(sides)),
            failures=self.failures(known),
        )

    def new_failed_calls(self, known: Mapping[str, KnownFailure], comparison: RunDiff | None) -> int:
        """How many calls of the last run fail in a way that is new, and that nobody noted.

        New is a failure that no earlier run has, and a failed call that only the second of two compared runs has.
        """
        *earlier, last = self.calls
        seen = {call.fingerprint for calls in earlier for call in calls}
        changes = comparison.new_failures if comparison else ()
        added = {(change.model, change.trajectory, change.call) for change in changes}
        return sum(
            call.fingerprint not in known
            and (call.fingerprint not in seen or (call.ref.model, call.ref.trajectory, call.ref.call) in added)
            for call in last
        )


def _names(names: Sequence[str]) -> list[str]:
    """The names of the runs; one that is given twice is told apart by its place."""
    times = Counter(names)
    return [name if times[name] == 1 else f"{name} ({number})" for number, name in enumerate(names, 1)]


def _run_change(first: Run, first_name: str, second: Run, second_name: str) -> RunChange:
    try:
        comparison = diff_runs(first, second)
    except UsageError as why:
        definitions = tuple(definition_changes(first, second))
        return RunChange(
            before=first_name, after=second_name, common=0, worse=0, better=0, definitions=definitions, note=str(why)
        )
    return RunChange(
        before=first_name,
        after=second_name,
        common=comparison.common,
        worse=len(comparison.worse),
        better=len(comparison.better),
        definitions=comparison.definitions,
    )
