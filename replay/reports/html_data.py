"""What the page knows: short names, since a run may have very many calls."""

from __future__ import annotations

from typing import Any, Final

from replay.diagnosis import Diagnosis
from replay.records import Outcome
from replay.records.alignment import AlignedModel, AlignedTask
from replay.records.files import CallRow
from replay.records.finding import Finding
from replay.reports.scope import Scope
from replay.reports.shared import EVIDENCE, answer_text, call_text
from replay.runfile.packing import unpack

_LONG: Final = 4000
_SHORT: Final = 240
"""Characters of an answer that are kept: of a call that failed, and of one that succeeded."""
_MOST_EDGES: Final = 400


def call_data(diagnosis: Diagnosis, row: CallRow, trajectory: int) -> dict[str, Any]:
    """One call."""
    case = diagnosis.case
    limit = _SHORT if row.outcome is Outcome.SUCCESS and not diagnosis.calls.get(row.call) else _LONG
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
        "then": row.recorded,
        "now": row.replayed,
        "drift": row.drift,
        "diff": row.difference,
        "cause": row.caused_by,
        "gap": row.gap,
        "msg": row.message,
        "call": _cut(call_text(case, row.call), limit),
        "a": _cut(answer_text(case.calls[row.call].answer), limit),
        "b": _cut(answer_text(case.answers.get(row.call)), limit),
        "f": [finding_data(finding) for finding in diagnosis.calls.get(row.call, ())],
        "v": [[one.pointer or "(the arguments)", one.keyword, one.message] for one in row.violations],
        "by": EVIDENCE[row.evidence],
    }
    if data["a"] == data["b"]:
        data["b"] = "="
    return {key: value for key, value in data.items() if value not in (None, "", [])}


def trajectory_data(diagnosis: Diagnosis) -> dict[str, Any]:
    """One trajectory with its graph."""
    case = diagnosis.case
    pairs: dict[tuple[str, str], str] = {}
    for edge in case.graph.edges:
        pairs.setdefault((edge.producer, edge.consumer), f"{edge.consumer_pointer}: {str(edge.value)[:80]}")
    return {
        "id": case.trajectory.id,
        "model": case.trajectory.model,
        "file": case.file,
        "type": case.trajectory.task.type or "",
        "question": _cut(case.trajectory.task.question or "", _LONG),
        "reply": _cut(case.trajectory.final_reply or "", _LONG),
        "steps": [[call.position for call in step.calls] for step in case.trajectory.steps],
        "edges": [[producer, consumer, words] for (producer, consumer), words in list(pairs.items())[:_MOST_EDGES]],
        "f": [finding_data(finding) for finding in diagnosis.together],
    }


def finding_data(finding: Finding) -> dict[str, Any]:
    """One finding."""
    data = {
        "kind": finding.kind,
        "says": finding.sentence,
        "fix": finding.suggestion or "",
        "sure": finding.certainty,
        "calls": [[one.model, one.trajectory, one.call] for one in finding.calls[:12]],
    }
    return data if finding.scope == "run" else {key: value for key, value in data.items() if key != "calls"}


def alignment_data(scope: Scope) -> list[dict[str, Any]]:
    """What `replay align` left in the run: metrics a model, and the pairs of each task."""
    rows = scope.run.connection.execute("SELECT file, record FROM alignments ORDER BY file").fetchall()
    found = [(file, AlignedModel.model_validate(unpack(record))) for file, record in rows]
    models = {place.model for place in scope.places}
    return [_aligned(scope, file, model) for file, model in found if model.model in models]


def _aligned(scope: Scope, file: int, model: AlignedModel) -> dict[str, Any]:
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
    query = "SELECT record FROM aligned_tasks WHERE file = ? ORDER BY task"
    tasks = [AlignedTask.model_validate(unpack(blob)) for (blob,) in scope.run.connection.execute(query, (file,))]
    return {
        "model": model.model,
        "definitions": model.definitions,
        "taus": f"tau_weak {model.tau_weak:g}, tau_strong {model.tau_strong:g}, {model.encoder}",
        "scores": [[name, f"{value:.3f}"] for name, value in columns.items()],
        "counts": f"{scores.matched} of {scores.total_gt_calls} reference calls matched, "
        f"{scores.total_pred_calls} predicted, {scores.num_ids} tasks",
        "classes": [f"{count} {str(kind).replace('_', ' ')}" for kind, count in model.classes.items() if count],
        "tasks": [_task(task) for task in tasks],
    }


def _task(task: AlignedTask) -> dict[str, Any]:
    matched = {predicted: (reference, similarity) for reference, predicted, similarity in task.matches}
    pairs = []
    for call in task.calls:
        reference, similarity = matched.get(call.index, ("", 0.0)) if call.index is not None else ("", 0.0)
        best = call.best
        why = call.why or ""
        near = f"{why}, best {best.similarity:.2f} with reference call {best.call}" if best and why else why
        pairs.append(
            [
                f"reference call {reference}" if reference != "" else "—",
                f"{call.position} {call.name or '?'}",
                f"{similarity:.2f}" if reference != "" else near,
                str(call.kind).replace("_", " "),
            ]
        )
    pairs += [[f"{missed.position} {missed.name or '?'}", "—", missed.why, "missed"] for missed in task.missed]
    return {"id": task.id, "recall": f"{task.recall:.2f}", "precision": f"{task.precision:.2f}", "pairs": pairs}


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}\n… (cut: {len(text)} characters)"
