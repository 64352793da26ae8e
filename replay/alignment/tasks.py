"""A trajectory as the metrics see it: which calls count, of which tool, with which text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from replay.errors import InputError
from replay.formats.results_file import ResultsFile
from replay.outcomes import Registry, judge_answer, judge_format, judge_registry, read_name
from replay.outcomes.input_schema import schema_violations
from replay.records import Call, JsonObject, Judgement, Outcome, Server, Trajectory
from replay.records.alignment import ReferenceFault


@dataclass(frozen=True, slots=True)
class SignedCall:
    """A call that counts."""

    index: int
    """From 0 over the trajectory's steps in order."""
    step: int
    """From 0; steps without a call count too."""
    position: str
    name: str
    """As written, without surrounding space; empty where there was none."""
    signature: str
    arguments: JsonObject | None
    readable: bool


@dataclass(frozen=True, slots=True)
class SignedTask:
    """A trajectory's calls, ready to be compared."""

    id: str
    type: str | None
    calls: tuple[SignedCall, ...]
    calls_per_step: tuple[int, ...]
    illegal: tuple[str, ...]
    """Positions of replies that were meant as calls and are not: they stand in no step and enter no metric."""


def sign(trajectory: Trajectory) -> SignedTask:
    """Take from a trajectory what the metrics need.

    A reply that could not be read as a call at all is in none of the published evaluator's steps, so it is neither a
    call nor, where it stands alone, a step.
    """
    steps = [
        step for step in trajectory.steps if not step.calls or any(call.unreadable != "call" for call in step.calls)
    ]
    kept = [[call for call in step.calls if call.unreadable != "call"] for step in steps]
    numbered = ((number, call) for number, calls in enumerate(kept) for call in calls)
    return SignedTask(
        id=trajectory.id,
        type=trajectory.task.type,
        calls=tuple(_signed(index, number, call) for index, (number, call) in enumerate(numbered)),
        calls_per_step=tuple(map(len, kept)),
        illegal=tuple(call.position for call in trajectory.calls() if call.unreadable == "call"),
    )


def signature(call: Call) -> str:
    """The text that stands for a call's arguments: JSON with sorted keys and no spaces.

    Arguments that are absent count as null, and those that are not an object as what they are, as in the published
    evaluator; text that is not JSON counts as a string.
    """
    if call.arguments is not None:
        return _canonical(call.arguments)
    return "null" if call.raw is None or call.unreadable != "arguments" else _canonical(_value_of(call.raw))


def _signed(index: int, step: int, call: Call) -> SignedCall:
    return SignedCall(
        index=index,
        step=step,
        position=call.position,
        name=(call.name or "").strip(),
        signature=signature(call),
        arguments=call.arguments,
        readable=call.unreadable is None,
    )


def _canonical(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _value_of(raw: str) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return raw


@dataclass(frozen=True)
class Reference:
    """The tasks that results are compared with."""

    path: str
    tasks: Mapping[str, SignedTask]
    faults: tuple[ReferenceFault, ...]


def read_reference(file: ResultsFile, servers: Mapping[str, Server]) -> Reference:
    """Read the reference, and check its calls: their form, and against the servers whose tools are known.

    Args:
        file: the reference.
        servers: by name; empty where nothing is known of a fleet.

    Raises:
        FormatError: the file changed since it was opened.
    """
    tasks: dict[str, SignedTask] = {}
    faults: list[ReferenceFault] = []
    for trajectory in file.trajectories():
        tasks[trajectory.id] = sign(trajectory)
        faults += _faults(trajectory, servers)
    return Reference(file.path, tasks, tuple(faults))


def pair_ids(reference: Iterable[str], predicted: Iterable[str]) -> dict[str, str]:
    """Which predicted task is which reference task: reference id to predicted id, in the order of the former.

    Equal ids are the same task. What is left over is compared by number, so that 10000, which JSON cannot write with
    leading zeros, finds "00010000".
    """
    reference_ids, predicted_ids = list(reference), set(predicted)
    pairs = {identifier: identifier for identifier in reference_ids if identifier in predicted_ids}
    left = _by_number(identifier for identifier in predicted_ids if identifier not in pairs)
    for number, identifier in _by_number(own_id for own_id in reference_ids if own_id not in pairs).items():
        candidate = left.get(number)
        if identifier and candidate and str(number) in {identifier, candidate}:
            pairs[identifier] = candidate
    return {identifier: pairs[identifier] for identifier in sorted(pairs)}


def no_common_id(reference: Reference, path: str, ids: Iterable[str]) -> InputError:
    """The error for results that have nothing to do with the reference."""
    given = next(iter(ids), "")
    wanted = next(iter(reference.tasks), "")
    return InputError(
        path, f"no id in common with {reference.path}: it has {given!r} ..., the reference {wanted!r} ..."
    )


def _by_number(ids: Iterable[str]) -> dict[int, str | None]:
    """Ids by their number; None for a number that two ids have."""
    found: dict[int, str | None] = {}
    for identifier in ids:
        if identifier.isascii() and identifier.isdecimal() and len(identifier) < 100:
            number = int(identifier)
            found[number] = None if number in found else identifier
    return found


def _faults(trajectory: Trajectory, servers: Mapping[str, Server]) -> Iterator[ReferenceFault]:
    for call in trajectory.calls():
        illegal = judge_format(call) if call.unreadable is not None else None
        judgement = illegal or (_against_fleet(call, servers) if servers else None)
        if judgement is not None:
            yield ReferenceFault(
                task=trajectory.id,
                position=call.position,
                name=call.name,
                outcome=judgement.outcome,
                message=judgement.message,
                violations=judgement.violations,
            )


def _against_fleet(call: Call, servers: Mapping[str, Server]) -> Judgement | None:
    unavailable = {name: server.error for name, server in servers.items() if server.error}
    registry = Registry(servers=servers, unavailable=unavailable, server_names=tuple(servers))
    recorded = judge_answer(call, call.answer, evidence="recorded") if call.answer is not None else None
    judgement = judge_registry(call, registry, recorded)
    if judgement is not None:
        return judgement if judgement.outcome is Outcome.UNKNOWN_TOOL else None
    server, name = read_name(call.name or "", registry.server_names)
    known = servers.get(server or "")
    tool = known.tool(name) if known else None
    violations = schema_violations(tool, call.arguments or {}) if tool else ()
    if not violations:
        return None
    return Judgement(
        outcome=Outcome.INVALID_ARGUMENTS,
        rule="arguments.schema",
        evidence="schema",
        message="; ".join(f"{violation.pointer or 'arguments'}: {violation.message}" for violation in violations),
        violations=violations,
    )
