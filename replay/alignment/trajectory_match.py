"""The field's familiar metrics by their familiar names: trajectory match as agentevals has it, tool-call F1 as ragas.

Nothing here is similar: two calls are the same or not. Calls are compared as JSON values in Python, so 1 is 1.0.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from replay.alignment.tasks import SignedCall, SignedTask
from replay.records.alignment import ToolArgsMatchMode, TrajectoryMatchScores

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
