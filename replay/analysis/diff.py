"""Two runs, or two models of one run, compared call by call."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from replay.errors import UsageError
from replay.records import FAILURES, Outcome
from replay.records.alignment import AlignedModel, Scores
from replay.records.comparison import Change, Comparison, MetricChange, SideSummary, ToolChange
from replay.runfile import Run
from replay.runfile.alignment_queries import aligned_models
from replay.runfile.compare_queries import CallOutcome, call_outcomes, model_names
from replay.safety.text import one_line
from replay.suggestions import nearest_names

_STAGES_REACHED: Final = (
    Outcome.ILLEGAL_FORMAT,
    Outcome.UNKNOWN_TOOL,
    Outcome.INVALID_ARGUMENTS,
    Outcome.NOT_FOUND,
    Outcome.SUCCESS,
)
"""The higher, the further the call came."""
_MIN_EXPECTED: Final = 5
"""Expected calls in each cell from which the test holds."""
_SIGNIFICANCE: Final = 0.05

Key = tuple[str, str, str]
"""Model (empty where it does not count), trajectory, position."""


class _ComparedSide(NamedTuple):
    name: str
    calls: Mapping[Key, CallOutcome]
    metrics: Mapping[str, AlignedModel]


def compare_runs(first: Run, second: Run) -> Comparison:
    """What changed from one run to the other.

    Calls are the same where model, trajectory, position and tool are; the model does not count where each run has one.

    Raises:
        UsageError: a run without verdicts, or runs that have nothing in common.
    """
    models = model_names(first), model_names(second)
    alone = len(models[0]) == len(models[1]) == 1
    names = (str(first.path), str(second.path))
    sides = [
        _ComparedSide(name, dict(_calls(run, with_model=not alone)), _metrics(run))
        for name, run in zip(names, (first, second), strict=True)
    ]
    for side in sides:
        if not side.calls:
            raise UsageError(f"{side.name}: this run has no verdicts yet; make some with: replay classify")
    return _compare(sides[0], sides[1])


def compare_models(run: Run, first: str, second: str) -> Comparison:
    """What is different between two models of one run; a call is the same where trajectory, position and tool are.

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
        _ComparedSide(
            name, dict(_calls(run, with_model=False, only=name)), {"": metrics[name]} if name in metrics else {}
        )
        for name in (first, second)
    ]
    return _compare(sides[0], sides[1])


def _compare(first: _ComparedSide, second: _ComparedSide) -> Comparison:
    shared = [key for key in first.calls if key in second.calls and _same_tool(first.calls[key], second.calls[key])]
    if not first.calls.keys() & second.calls.keys():
        raise UsageError(
            f"{first.name} and {second.name} have no call in common: "
            f"the first has {_example(first)}, the second {_example(second)}; where the same files were read with "
            "other names, classify them with the same --names"
        )
    in_common = set(shared)
    changes = [_change(key, first.calls[key], second.calls[key]) for key in shared]
    summaries = _summary(first), _summary(second)
    p_value, test_summary = two_proportions(*summaries)
    metrics = tuple(_metric_changes(first, second))
    all_alike = len(shared) == len(first.calls) == len(second.calls) and all(
        change.before == change.after for change in changes
    )
    if all_alike and all(change.before == change.after for change in metrics):
        test_summary = "There is no difference: every call came out as before."
    return Comparison(
        first=summaries[0],
        second=summaries[1],
        common=len(shared),
        worse=_where(changes, lambda before, after: _rank(after) < _rank(before)),
        better=_where(changes, lambda before, after: _rank(after) > _rank(before)),
        unjudged=tuple(
            change
            for change in changes
            if (change.before == Outcome.INCONCLUSIVE) != (change.after == Outcome.INCONCLUSIVE)
        ),
        new=tuple(_change(key, None, call) for key, call in second.calls.items() if key not in in_common),
        gone=tuple(_change(key, call, None) for key, call in first.calls.items() if key not in in_common),
        tools=tuple(_tools(first, second)),
        metrics=metrics,
        p_value=p_value,
        test_summary=test_summary,
    )


def side_summary(run: Run, name: str) -> SideSummary:
    """How a run did, under this name."""
    return _summary(_ComparedSide(name, dict(_calls(run, with_model=True)), {}))


def two_proportions(first: SideSummary, second: SideSummary) -> tuple[float | None, str]:
    """The two-proportion z-test over the shares of failed calls, and what it says, in a sentence or two."""
    shares = [f"{side.failed} of {side.judged} ({_percent(side)})" for side in (first, second)]
    counts = f"Failed calls: {shares[0]} before, {shares[1]} after."
    judged = first.judged + second.judged
    pooled = (first.failed + second.failed) / judged if judged else 0.0
    expected = [side.judged * share for side in (first, second) for share in (pooled, 1 - pooled)]
    if not judged or min(expected) < _MIN_EXPECTED:
        return None, f"{counts} There are too few calls for a test of the difference."
    from scipy.stats import norm

    spread = math.sqrt(pooled * (1 - pooled) * (1 / first.judged + 1 / second.judged))
    z = (second.failed / second.judged - first.failed / first.judged) / spread
    p_value = float(2 * norm.sf(abs(z)))
    shown = "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"
    if p_value >= _SIGNIFICANCE:
        return p_value, f"{counts} The difference may well be chance (two-proportion test, {shown})."
    direction = "more" if z > 0 else "fewer"
    return p_value, f"{counts} There are {direction} failures than chance explains (two-proportion test, {shown})."


def _calls(run: Run, *, with_model: bool, only: str | None = None) -> Iterator[tuple[Key, CallOutcome]]:
    for call in call_outcomes(run):
        if only is None or call.model == only:
            yield (call.model if with_model else "", call.trajectory, call.position), call


def _metrics(run: Run) -> dict[str, AlignedModel]:
    """The scores of each model; of one that made the same tasks several times there are several, and none is taken."""
    models = list(aligned_models(run.connection).values())
    times = Counter(model.model for model in models)
    return {model.model: model for model in models if times[model.model] == 1}


def _same_tool(first: CallOutcome, second: CallOutcome) -> bool:
    return _folded(first.tool) == _folded(second.tool)


def _folded(tool: str | None) -> str:
    """`server/tool` and `server-tool` are one name: how it is told apart depends on the fleet that was known."""
    return re.sub(r"[^a-z0-9]+", " ", (tool or "").lower())


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


def _where(changes: Sequence[Change], test: Callable[[Outcome, Outcome], bool]) -> tuple[Change, ...]:
    """The changes between two outcomes that both count."""
    return tuple(
        change
        for change in changes
        if change.before in _STAGES_REACHED
        and change.after in _STAGES_REACHED
        and test(Outcome(change.before), Outcome(change.after))
    )


def _rank(outcome: Outcome) -> int:
    return _STAGES_REACHED.index(outcome)


def _summary(side: _ComparedSide) -> SideSummary:
    outcomes = Counter(call.outcome for call in side.calls.values())
    judged = outcomes.total() - outcomes[Outcome.INCONCLUSIVE]
    return SideSummary(
        name=side.name,
        calls=outcomes.total(),
        judged=judged,
        failed=judged - outcomes[Outcome.SUCCESS],
        outcomes={outcome: outcomes[outcome] for outcome in Outcome},
    )


def _tools(first: _ComparedSide, second: _ComparedSide) -> Iterator[ToolChange]:
    """Tools whose number of failures changed, the most changed first."""
    shown = {_folded(call.tool): call.tool or "?" for side in (first, second) for call in side.calls.values()}
    calls = [Counter(_folded(call.tool) for call in side.calls.values()) for side in (first, second)]
    failed = [
        Counter(_folded(call.tool) for call in side.calls.values() if call.outcome in FAILURES)
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


def _metric_changes(first: _ComparedSide, second: _ComparedSide) -> Iterator[MetricChange]:
    if len(first.metrics) == len(second.metrics) == 1:
        pairs = [(*first.metrics.values(), *second.metrics.values())]
    else:
        pairs = [(first.metrics[model], second.metrics[model]) for model in first.metrics if model in second.metrics]
    for before, after in pairs:
        for metric in Scores.model_fields:
            values = getattr(before.aggregate, metric), getattr(after.aggregate, metric)
            yield MetricChange(model=after.model, metric=metric, before=values[0], after=values[1])
        yield MetricChange(
            model=after.model, metric="average_score", before=before.average_score, after=after.average_score
        )


def _example(side: _ComparedSide) -> str:
    model, trajectory, position = next(iter(side.calls))
    owner = f"{model}:" if model else ""
    return one_line(f"{owner}{trajectory}:{position}", 100)


def _percent(side: SideSummary) -> str:
    return f"{100 * side.failed / side.judged:.1f} %" if side.judged else "none judged"
