"""What the page knows: short names, since a run may have very many calls."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from replay.diagnosis import Diagnosis
from replay.records import Call, Outcome, qualified_name
from replay.records.alignment import COLUMNS, AlignedCall, AlignedModel, AlignedTask
from replay.records.files import CallRow
from replay.records.finding import Finding, KnownFailure
from replay.records.time_span import utc
from replay.reports.call_text import EVIDENCE, answer_text, call_text, dumped
from replay.reports.scope import ReportScope
from replay.runfile.alignment_queries import ReferenceCall, aligned_tasks, alignment_of, reference_calls, trajectory_of
from replay.runfile.rows import preview
from replay.runfile.trajectory_queries import Addresses
from replay.safety.text import cut, one_line, without_colours

_MAX_ANSWER: Final = 4000
_MAX_GOOD_ANSWER: Final = 240
"""Characters of an answer that are kept: of a call that failed, and of one that succeeded."""
_MAX_EDGES: Final = 400


def call_data(
    diagnosis: Diagnosis,
    row: CallRow,
    trajectory: int,
    mark: str | None = None,
    known: KnownFailure | None = None,
    reference: list[str] | None = None,
) -> dict[str, Any]:
    """One call.

    Args:
        diagnosis: of its trajectory.
        row: its verdict.
        trajectory: the number of its trajectory on the page.
        mark: the fingerprint of its failure.
        known: what is known of that failure.
        reference: its counterpart, as `reference_data` gives it.
    """
    context = diagnosis.context
    limit = _MAX_GOOD_ANSWER if row.outcome is Outcome.SUCCESS and not diagnosis.calls.get(row.call) else _MAX_ANSWER
    data = {
        "t": trajectory,
        "p": row.call,
        "o": row.outcome,
        "r": row.reason,
        "fault": row.fault,
        "s": row.server,
        "n": row.tool,
        "rule": row.rule,
        "ev": row.evidence,
        "cert": row.certainty,
        "recorded": row.recorded,
        "replayed": row.replayed,
        "drift": row.drift,
        "diff": row.difference,
        "cause": row.caused_by,
        "gap": row.gap,
        "msg": without_colours(row.message),
        "args": preview(context.calls[row.call]),
        "call": _cut(call_text(context, row.call), limit),
        "a": _cut(answer_text(context.calls[row.call].answer), limit),
        "b": _cut(answer_text(context.answers.get(row.call)), limit),
        "log": row.stderr or "",
        "f": [finding_data(finding) for finding in diagnosis.calls.get(row.call, ())],
        "v": [
            [violation.pointer or "(the arguments)", violation.keyword, violation.message]
            for violation in row.violations
        ],
        "by": EVIDENCE[row.evidence],
        "ref": reference,
        "mark": mark,
        "known": known.words if known else "",
    }
    if data["a"] == data["b"]:
        data["b"] = "="
    return {key: value for key, value in data.items() if value not in (None, "", [])}


def trajectory_data(diagnosis: Diagnosis, addresses: Addresses) -> dict[str, Any]:
    """One trajectory with its graph; called by its address where its id beside its model is that of several."""
    context = diagnosis.context
    name, model = context.trajectory.id, context.trajectory.model
    address = addresses.trajectory(context.file, name)
    reported, parent = context.trajectory.reported, context.trajectory.parent
    passed = reported.passed if reported else None
    pairs: dict[tuple[str, str], str] = {}
    for edge in context.graph.edges:
        pairs.setdefault((edge.producer, edge.consumer), f"{edge.consumer_pointer}: {cut(str(edge.value), 80)}")
    return {
        "id": name,
        "name": name if name.startswith(address.removeprefix(f"{model}:")) else address,
        "model": model,
        "file": context.file,
        "type": context.trajectory.task.type or "",
        "question": _cut(context.trajectory.task.question or "", _MAX_ANSWER),
        "reply": _cut(context.trajectory.final_reply or "", _MAX_ANSWER),
        "steps": [[call.position for call in step.calls] for step in context.trajectory.steps],
        "edges": [[producer, consumer, words] for (producer, consumer), words in list(pairs.items())[:_MAX_EDGES]],
        "f": [finding_data(finding) for finding in diagnosis.together],
        "passed": "" if passed is None else "yes" if passed else "no",
        "started": utc(context.trajectory.started_at),
        "parent": [parent.trajectory, parent.call] if parent else None,
    }


def reference_data(scope: ReportScope, diagnosis: Diagnosis) -> dict[str, list[str]]:
    """Of each call of an aligned trajectory its counterpart in the reference: what it is, and its arguments."""
    context = diagnosis.context
    found = alignment_of(scope.run.connection, context.file, context.trajectory.id, scope.aligned_models)
    if found is None:
        return {}
    counterparts = {}
    for call in found.task.calls:
        match = found.counterpart(call.position)
        if match is not None:
            reference, similarity = match
            strength = "strong" if similarity >= found.model.tau_strong else "weak"
            says = f"{reference.position} {reference.name}, similarity {similarity:.3f} ({strength})"
            counterparts[call.position] = [
                says,
                _cut(_as_written(reference, context.calls[call.position]), _MAX_ANSWER),
            ]
        elif call.why is not None:
            near = f"; the nearest one is call {call.best.call + 1} at {call.best.similarity:.3f}" if call.best else ""
            why = f"{str(call.kind).replace('_', ' ')}, {call.why.replace('-', ' ')}{near}"
            counterparts[call.position] = [f"no counterpart: {why}", ""]
    return counterparts


def what_went_wrong(scope: ReportScope, calls: list[Any], trajectories: list[Any]) -> dict[str, Any]:
    """What went wrong most and the roots of it, as in Markdown; each with the number of its example on the page."""
    if not scope.whole:
        return {"failures": [], "causes": []}
    places = {(one["file"], one["id"]): number for number, one in enumerate(trajectories)}
    numbers = {(call["t"], call["p"]): number for number, call in enumerate(calls)}

    def example(file: str, trajectory: str, position: str) -> int | None:
        return numbers.get((places.get((file, trajectory), -1), position))

    summary = scope.summary
    return {
        "failures": [
            {
                "count": group.calls,
                "o": group.outcome,
                "tool": qualified_name(group.server, group.tool) or "(no name)",
                "id": group.example,
                "call": example(group.example_file, group.example_trajectory, group.example_call),
                "says": one_line(without_colours(group.said), 240),
            }
            for group in summary.failures
        ],
        "causes": [
            {
                "id": cause.address,
                "call": example(cause.file, cause.trajectory, cause.call),
                "tool": cause.tool,
                "o": cause.outcome,
                "followed": ", ".join(f"{count} {outcome.label}" for outcome, count in cause.followed.items()),
            }
            for cause in summary.root_causes
        ],
    }


def _as_written(reference: ReferenceCall, beside: Call) -> str:
    """A reference call as `call_text` writes calls, its arguments in the order of the call beside it."""
    arguments = json.loads(reference.signature)
    if isinstance(arguments, dict):
        arguments = {name: arguments[name] for name in {**(beside.arguments or {}), **arguments} if name in arguments}
    return dumped({"name": reference.name, "arguments": arguments})


def finding_data(finding: Finding) -> dict[str, Any]:
    """One finding."""
    data = {
        "kind": finding.kind,
        "says": finding.sentence,
        "fix": finding.suggestion or "",
        "sure": finding.certainty,
        "calls": [[call.model, call.trajectory, call.call] for call in finding.calls[:12]],
    }
    if finding.scope == "run":
        return data
    data["at"] = finding.calls[0].call if finding.calls and finding.scope == "trajectory" else ""
    return {key: value for key, value in data.items() if key != "calls"}


def alignment_data(scope: ReportScope) -> list[dict[str, Any]]:
    """What `replay align` left in the run: metrics a model, and the pairs of each task."""
    found = scope.aligned_models
    models = {place.model for place in scope.places}
    return [_aligned(scope, file, model) for file, model in found.items() if model.model in models]


def _aligned(scope: ReportScope, file: int, model: AlignedModel) -> dict[str, Any]:
    scores = model.aggregate
    columns = {name.replace("_", " "): getattr(scores, name) for name in COLUMNS} | {"average": model.average_score}
    connection = scope.run.connection
    places: dict[int | None, int] = {place.row: number for number, place in enumerate(scope.places)}
    tasks = [
        (task, places.get(trajectory_of(connection, model, task.id) or 0)) for task in aligned_tasks(connection, file)
    ]
    return {
        "model": model.model,
        "definitions": model.definitions,
        "taus": f"tau_weak {model.tau_weak:g}, tau_strong {model.tau_strong:g}, {model.encoder}",
        "scores": [[name, f"{value:.3f}"] for name, value in columns.items()],
        "counts": f"{scores.matched} of {scores.total_gt_calls} reference calls matched, "
        f"{scores.total_pred_calls} predicted, {scores.num_ids} tasks",
        "classes": [f"{count} {str(kind).replace('_', ' ')}" for kind, count in model.classes.items() if count],
        "tasks": [
            _task(task, _reference_of(scope, task.id), place)
            for task, place in tasks
            if place is not None or not scope.left_out
        ],
    }


def _reference_of(scope: ReportScope, task: str) -> Sequence[ReferenceCall]:
    """The reference's calls of a task: as they were aligned, else from the file that the report was given."""
    known = scope.read_reference.tasks.get(task) if scope.read_reference is not None else None
    return reference_calls(scope.run.connection, task) or [
        ReferenceCall(call.index, call.step, call.position, call.name, call.signature)
        for call in (known.calls if known is not None else ())
    ]


def _task(task: AlignedTask, reference: Sequence[ReferenceCall], place: int | None) -> dict[str, Any]:
    """The pairs of a task: the reference call, the predicted one, how alike they are, and what that makes of it."""
    matched = {predicted: (number, similarity) for number, predicted, similarity in task.matches}
    pairs = [_pair(call, matched.get(call.index) if call.index is not None else None, reference) for call in task.calls]
    pairs += [
        {
            "ref": _reference_call(reference, missed.index, missed.name),
            "why": missed.why.replace("-", " "),
            "class": "missed",
        }
        for missed in task.missed
    ]
    return {
        "id": task.id,
        "t": place,
        "recall": f"{task.recall:.2f}",
        "precision": f"{task.precision:.2f}",
        "pairs": pairs,
    }


def _pair(call: AlignedCall, match: tuple[int, float] | None, reference: Sequence[ReferenceCall]) -> dict[str, Any]:
    pair = {"p": call.position, "name": call.name or "?", "class": str(call.kind).replace("_", " ")}
    if match is not None:
        return pair | {"ref": _reference_call(reference, match[0], call.name), "why": f"{match[1]:.3f}"}
    near = f", at best {call.best.similarity:.3f} with call {call.best.call + 1}" if call.best else ""
    return pair | {"why": f"{str(call.why or '').replace('-', ' ')}{near}"}


def _reference_call(reference: Sequence[ReferenceCall], number: int, name: str | None) -> list[str]:
    """Name, place and arguments of a reference call."""
    call = next((call for call in reference if call.index == number), None)
    if call is None:
        return [f"call {number + 1}", name or "?", ""]
    return [call.position, call.name, _cut(call.signature, 600)]


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{cut(text, limit)}\n… (cut: {len(text)} characters)"
