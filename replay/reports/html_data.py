"""What the page knows: short names, since a run may have very many calls."""

from __future__ import annotations

from typing import Any, Final

from replay.alignment.signature import SignedTask
from replay.diagnosis import Diagnosis
from replay.records import Outcome
from replay.records.alignment import AlignedCall, AlignedModel, AlignedTask
from replay.records.failure import KnownFailure
from replay.records.files import CallRow
from replay.records.finding import Finding
from replay.reports.call_text import EVIDENCE, answer_text, call_text
from replay.reports.report_scope import ReportScope
from replay.runfile.alignment_queries import aligned_models, aligned_tasks, trajectory_of
from replay.runfile.rows import preview
from replay.text import cut

_MAX_ANSWER: Final = 4000
_MAX_GOOD_ANSWER: Final = 240
"""Characters of an answer that are kept: of a call that failed, and of one that succeeded."""
_MAX_EDGES: Final = 400


def call_data(
    diagnosis: Diagnosis, row: CallRow, trajectory: int, mark: str | None = None, known: KnownFailure | None = None
) -> dict[str, Any]:
    """One call; where it failed, with the fingerprint of its failure, and what is known of that."""
    context = diagnosis.context
    limit = _MAX_GOOD_ANSWER if row.outcome is Outcome.SUCCESS and not diagnosis.calls.get(row.call) else _MAX_ANSWER
    data = {
        "t": trajectory,
        "p": row.call,
        "o": row.outcome,
        "r": row.reason,
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
        "msg": row.message,
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
        "mark": mark,
        "known": known.words if known else "",
    }
    if data["a"] == data["b"]:
        data["b"] = "="
    return {key: value for key, value in data.items() if value not in (None, "", [])}


def trajectory_data(diagnosis: Diagnosis) -> dict[str, Any]:
    """One trajectory with its graph."""
    context = diagnosis.context
    pairs: dict[tuple[str, str], str] = {}
    for edge in context.graph.edges:
        pairs.setdefault((edge.producer, edge.consumer), f"{edge.consumer_pointer}: {cut(str(edge.value), 80)}")
    return {
        "id": context.trajectory.id,
        "model": context.trajectory.model,
        "file": context.file,
        "type": context.trajectory.task.type or "",
        "question": _cut(context.trajectory.task.question or "", _MAX_ANSWER),
        "reply": _cut(context.trajectory.final_reply or "", _MAX_ANSWER),
        "steps": [[call.position for call in step.calls] for step in context.trajectory.steps],
        "edges": [[producer, consumer, words] for (producer, consumer), words in list(pairs.items())[:_MAX_EDGES]],
        "f": [finding_data(finding) for finding in diagnosis.together],
    }


def finding_data(finding: Finding) -> dict[str, Any]:
    """One finding."""
    data = {
        "kind": finding.kind,
        "says": finding.sentence,
        "fix": finding.suggestion or "",
        "sure": finding.certainty,
        "calls": [[call.model, call.trajectory, call.call] for call in finding.calls[:12]],
    }
    return data if finding.scope == "run" else {key: value for key, value in data.items() if key != "calls"}


def alignment_data(scope: ReportScope) -> list[dict[str, Any]]:
    """What `replay align` left in the run: metrics a model, and the pairs of each task."""
    found = aligned_models(scope.run.connection)
    models = {place.model for place in scope.places}
    return [_aligned(scope, file, model) for file, model in found.items() if model.model in models]


def _aligned(scope: ReportScope, file: int, model: AlignedModel) -> dict[str, Any]:
    scores = model.aggregate
    columns = {
        "recall": scores.recall,
        "precision": scores.precision,
        "argument similarity": scores.argument_similarity,
        "step coherence": scores.step_coherence,
        "order consistency": scores.order_consistency,
        "merge purity": scores.merge_purity,
        "average": model.average_score,
    }
    connection = scope.run.connection
    tasks = aligned_tasks(connection, file)
    known = scope.read_reference.tasks if scope.read_reference is not None else {}
    places = {place.row: number for number, place in enumerate(scope.places)}
    return {
        "model": model.model,
        "definitions": model.definitions,
        "taus": f"tau_weak {model.tau_weak:g}, tau_strong {model.tau_strong:g}, {model.encoder}",
        "scores": [[name, f"{value:.3f}"] for name, value in columns.items()],
        "counts": f"{scores.matched} of {scores.total_gt_calls} reference calls matched, "
        f"{scores.total_pred_calls} predicted, {scores.num_ids} tasks",
        "classes": [f"{count} {str(kind).replace('_', ' ')}" for kind, count in model.classes.items() if count],
        "tasks": [
            _task(task, known.get(task.id), places.get(trajectory_of(connection, model, task.id) or 0))
            for task in tasks
        ],
    }


def _task(task: AlignedTask, reference: SignedTask | None, place: int | None) -> dict[str, Any]:
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


def _pair(call: AlignedCall, match: tuple[int, float] | None, reference: SignedTask | None) -> dict[str, Any]:
    pair = {"p": call.position, "name": call.name or "?", "class": str(call.kind).replace("_", " ")}
    if match is not None:
        return pair | {"ref": _reference_call(reference, match[0], call.name), "why": f"{match[1]:.3f}"}
    near = f", at best {call.best.similarity:.3f} with call {call.best.call + 1}" if call.best else ""
    return pair | {"why": f"{str(call.why or '').replace('-', ' ')}{near}"}


def _reference_call(reference: SignedTask | None, number: int, name: str | None) -> list[str]:
    """Name, place and arguments of a reference call; without the reference's file only its number is known."""
    if reference is None or number >= len(reference.calls):
        return [f"call {number + 1}", name or "?", ""]
    call = reference.calls[number]
    return [call.position, call.name, _cut(call.signature, 600)]


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{cut(text, limit)}\n… (cut: {len(text)} characters)"
