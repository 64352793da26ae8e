"""The metrics of others by their familiar names, as their released code computes them.

MCPEval's strict and flexible match, call by call in order; MCP-Bench's rates; trajectory match as agentevals has it,
and tool-call F1 as ragas. In the last two nothing is similar: two calls are the same or not, compared as JSON values in
Python, so 1 is 1.0.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from rapidfuzz.distance import LCSseq

from replay.alignment.tasks import SignedCall, SignedTask
from replay.records import Outcome
from replay.records.alignment import McpBenchRates, McpEvalScores, ToolArgsMatchMode, TrajectoryMatchScores

WEIGHTS = {"name": 0.4, "parameters": 0.4, "order": 0.2}
PARAMETER_THRESHOLD = 0.6
ORDER_THRESHOLD = 0.5

_SAME_NUMBER = 1e-6
_NEAR_NUMBER = 0.2


def mcpeval(reference: Sequence[SignedCall], predicted: Sequence[SignedCall]) -> McpEvalScores:
    """Both matches of one task. Both sides empty is 1 and success, one side empty is 0."""
    if not reference or not predicted:
        return McpEvalScores(**dict.fromkeys(McpEvalScores.model_fields, float(not reference and not predicted)))
    pairs = [
        (expected, given) for expected, given in zip(reference, predicted, strict=False) if expected.name == given.name
    ]
    name = len(pairs) / len(reference)
    order = LCSseq.similarity([call.name for call in reference], [call.name for call in predicted]) / len(reference)
    strict = [strict_credit(_parameters(expected), _parameters(given)) for expected, given in pairs]
    flexible = [flexible_credit(_parameters(expected), _parameters(given)) for expected, given in pairs]
    foreign = {call.name for call in predicted} - {call.name for call in reference}
    exact = sum(credit == 1.0 for credit in strict) == len(reference)
    near = len(pairs) == len(reference) and all(credit >= PARAMETER_THRESHOLD for credit in flexible)
    return McpEvalScores(
        strict_name=name,
        strict_parameters=_mean(strict),
        strict_order=order,
        strict_overall=_overall(name, _mean(strict), order),
        strict_success=float(exact and not foreign and order == 1.0),
        flexible_name=name,
        flexible_parameters=_mean(flexible),
        flexible_order=order,
        flexible_overall=_overall(name, _mean(flexible), order),
        flexible_success=float(near and order >= ORDER_THRESHOLD),
    )


def mean_of(scores: Sequence[McpEvalScores]) -> McpEvalScores:
    """The mean over tasks, each task the same weight; zeros without any."""
    return McpEvalScores(
        **{name: _mean([getattr(task, name) for task in scores]) for name in McpEvalScores.model_fields}
    )


def strict_credit(reference: Mapping[str, Any], predicted: Mapping[str, Any]) -> float:
    """Share of the reference's parameters that are equal; 1 where it has none."""
    return _credit(reference, predicted, list(reference), same, 0.0)


def flexible_credit(reference: Mapping[str, Any], predicted: Mapping[str, Any]) -> float:
    """Mean credit over the reference's parameters that are not null and not empty: 1 for near, 0.5 for present."""
    counted = [name for name, value in reference.items() if value is not None and value not in ([], {}, "")]
    return _credit(reference, predicted, counted, near_enough, 0.5)


def same(reference: Any, predicted: Any) -> bool:
    """Equal after strip and lower case; numbers within 1e-6."""
    left, right = _normal(reference), _normal(predicted)
    if isinstance(left, float) and isinstance(right, float):
        return abs(left - right) < _SAME_NUMBER
    return bool(left == right)


def near_enough(reference: Any, predicted: Any) -> bool:
    """Numbers within 20 % of the larger (0.2 where one is below 1), strings where one is part of the other."""
    left, right = _normal(reference), _normal(predicted)
    if isinstance(left, float) and isinstance(right, float):
        largest = max(abs(left), abs(right))
        scale = 1.0 if min(abs(left), abs(right)) < 1.0 else largest
        return abs(left - right) / scale < _NEAR_NUMBER
    if isinstance(left, str) and isinstance(right, str):
        return left in right or right in left
    return bool(left == right)


def _credit(
    reference: Mapping[str, Any],
    predicted: Mapping[str, Any],
    counted: Sequence[str],
    equal: Callable[[Any, Any], bool],
    consolation: float,
) -> float:
    if not counted:
        return 1.0
    present = [name for name in counted if name in predicted]
    return sum(1.0 if equal(reference[name], predicted[name]) else consolation for name in present) / len(counted)


def _parameters(call: SignedCall) -> Mapping[str, Any]:
    return call.arguments or {}


def _normal(value: Any) -> Any:
    """Text stripped and in lower case, numbers (and truth values, as in the released code) as floats, throughout."""
    if isinstance(value, str):
        return value.strip().lower()
    if isinstance(value, int | float):
        return _float(value)
    if isinstance(value, list):
        return [_normal(item) for item in value]
    if isinstance(value, dict):
        return {_normal(key): _normal(item) for key, item in value.items()}
    return value


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _overall(name: float, parameters: float, order: float) -> float:
    return WEIGHTS["name"] * name + WEIGHTS["parameters"] * parameters + WEIGHTS["order"] * order


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def mcpbench_rates(outcomes: Iterable[Outcome] | Mapping[Outcome, int]) -> McpBenchRates:
    """The rates over calls, which are given one by one or counted.

    - valid tool names: calls of tools that exist, of all calls that are not inconclusive;
    - schema compliance: calls whose arguments were accepted, of those of tools that exist;
    - execution success: calls that succeeded, of all calls that are not inconclusive.

    Where calls are inconclusive and not one of those judged is of a tool that exists, nothing was answered: the judged
    ones are then those that fail without an answer, and no rate has a basis.
    """
    counts = Counter(outcomes)
    inconclusive = counts.pop(Outcome.INCONCLUSIVE, 0)
    total = sum(counts.values())
    calls = total + inconclusive
    known = total - counts[Outcome.ILLEGAL_FORMAT] - counts[Outcome.UNKNOWN_TOOL]
    total = 0 if inconclusive and not known else total
    return McpBenchRates(
        valid_tool_names=_rate(known, total),
        schema_compliance=_rate(known - counts[Outcome.INVALID_ARGUMENTS], known),
        execution_success=_rate(counts[Outcome.SUCCESS], total),
        calls=calls,
        inconclusive=inconclusive,
    )


def rates_line(model: str, rates: McpBenchRates) -> str:
    """The three rates of a model in a sentence, with how many calls are undecided."""
    named = (
        ("valid tool names", rates.valid_tool_names),
        ("schema compliance", rates.schema_compliance),
        ("execution success", rates.execution_success),
    )
    said = ", ".join(f"{name} {'-' if rate is None else f'{rate:.1%}'}" for name, rate in named)
    return f"{model}: {said}; {rates.inconclusive} of {rates.calls} calls undecided"


def _rate(part: int, whole: int) -> float | None:
    return part / whole if whole else None


Fits = Callable[[Any, Any], bool]
"""Whether the arguments of a call fit those of the call that it is compared with."""


def trajectory_match(
    reference: SignedTask, predicted: SignedTask, mode: ToolArgsMatchMode = "exact"
) -> TrajectoryMatchScores:
    """The matches of one task, each 0 or 1, and its tool-call F1.

    Args:
        reference: the task in the reference.
        predicted: the task in the results.
        mode: how the matches compare arguments; the F1 is always over equal ones.
    """
    fits = _FITS[mode]
    expected, made = reference.calls, predicted.calls
    superset = _covers(made, expected, fits)
    subset = _covers(expected, made, fits)
    return TrajectoryMatchScores(
        trajectory_strict_match=float(_same_steps(expected, made, fits)),
        trajectory_unordered_match=float(superset and subset),
        trajectory_subset_match=float(subset),
        trajectory_superset_match=float(superset),
        tool_call_f1=tool_call_f1(expected, made),
    )


def tool_call_f1(reference: Sequence[SignedCall], predicted: Sequence[SignedCall]) -> float:
    """2 x common / (predicted + reference), over the sets of calls: a repeated one counts once. No call at all: 0."""
    expected, made = ({(call.name, _hashable(_arguments(call))) for call in calls} for calls in (reference, predicted))
    return 2 * len(expected & made) / (len(expected) + len(made)) if expected or made else 0.0


def _same_steps(reference: Sequence[SignedCall], predicted: Sequence[SignedCall], fits: Fits) -> bool:
    """Whether step by step the calls are the same, within a step in any order. Steps without a call are left out."""
    expected, made = (
        [list(step) for _, step in groupby(calls, key=lambda call: call.step)] for calls in (reference, predicted)
    )
    return len(expected) == len(made) and all(
        len(step) == len(other) and _each_has_its_own(other, step, fits)
        for step, other in zip(expected, made, strict=True)
    )


def _covers(calls: Sequence[SignedCall], others: Sequence[SignedCall], fits: Fits) -> bool:
    """Whether each of the others has a call of its own among the calls, whose arguments fit."""
    return _each_has_its_own(others, calls, lambda theirs, ours: fits(ours, theirs))


def _each_has_its_own(calls: Sequence[SignedCall], candidates: Sequence[SignedCall], fits: Fits) -> bool:
    """Whether each call, one after the other, finds a candidate of its name that no earlier one took: the first.

    As agentevals this does not go back, though where arguments fit without being equal, another choice may fit all.
    """
    left = [(candidate.name, _arguments(candidate)) for candidate in candidates]
    for call in calls:
        own = _arguments(call)
        taken = next((at for at, (name, args) in enumerate(left) if name == call.name and fits(own, args)), None)
        if taken is None:
            return False
        del left[taken]
    return True


def _equal(arguments: Any, others: Any) -> bool:
    return bool(arguments == others)


def _within(arguments: Any, others: Any) -> bool:
    if not isinstance(arguments, Mapping) or not isinstance(others, Mapping):
        return _equal(arguments, others)
    return all(name in others and others[name] == value for name, value in arguments.items())


_FITS: Final[Mapping[ToolArgsMatchMode, Fits]] = {
    "exact": _equal,
    "ignore": lambda arguments, others: True,
    "subset": _within,
    "superset": lambda arguments, others: _within(others, arguments),
}


def _arguments(call: SignedCall) -> Any:
    """The arguments; absent ones are none, and those that are no object are what they are."""
    return call.arguments if call.arguments is not None else json.loads(call.signature) or {}


def _hashable(value: Any) -> Any:
    """A stand-in that is equal where the value is."""
    if isinstance(value, dict):
        return "object", frozenset((name, _hashable(item)) for name, item in value.items())
    return ("list", *map(_hashable, value)) if isinstance(value, list) else value
