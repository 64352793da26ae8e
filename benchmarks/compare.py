"""How long `replay compare` takes over many models: `python benchmarks/compare.py [MODELS] [TASKS]`.

Makes a finished run of so many models, each with so many aligned tasks of ten calls, and compares it in a process of
its own, as a user would.
"""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from big_run import TOOLS, TYPES

from replay.records.alignment import AlignedTask, McpEvalScores
from replay.runfile import Run
from replay.runfile.rows import pack
from replay.runfile.task_runs import save_task_score

CALLS = 10
OUTCOMES = ["success"] * 80 + ["not_found"] * 6 + ["invalid_arguments"] * 9 + ["unknown_tool"] * 2
OUTCOMES += ["inconclusive"] * 3
KINDS = ["missing-field", "invented-value", "later-succeeded", "repeated-call", "not-found"]
_CALL = (
    "INSERT INTO calls (trajectory, ordinal, file, task_type, position, server, tool, outcome, rule, evidence, "
    "certainty, message, details) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'a.rule', 'replay', 'certain', 'It says so.', '{}')"
)
_NO_SCORES = McpEvalScores(**dict.fromkeys(McpEvalScores.model_fields, 0.0))


def make(path: Path, models: int, tasks: int) -> None:
    """Write the run; models with a higher number do better."""
    random.seed(7)
    record = pack({"id": "", "model": "", "source": {"file": "", "format": ""}, "steps": []})
    with Run.open(path, fresh=True) as run, run.transaction() as db:
        row = 0
        for model in range(1, models + 1):
            name = f"model-{model:02d}"
            db.execute("INSERT INTO files VALUES (?, ?, ?, 'm3bench', ?)", (model, f"{name}.json", name, f"/{name}"))
            for task in range(tasks):
                row += 1
                kind = TYPES[task % len(TYPES)]
                db.execute(
                    "INSERT INTO trajectories VALUES (?, ?, ?, ?, 'What?', ?, ?, '', '', 1, ?)",
                    (row, model, f"{task:08d}", kind, CALLS, CALLS, record),
                )
                passed = random.random() < 0.2 + 0.01 * model
                db.execute(
                    "INSERT INTO task_runs VALUES (?, ?, ?, '{}', NULL, ?, ?, ?, ?, 1)",
                    (row, name, f"{task:08d}", passed, float(passed), random.randint(1000, 9000), 500),
                )
                _calls(db, row, model, kind)
                save_task_score(db, model, _aligned(f"{task:08d}", kind, model), row)


def _calls(db, row: int, model: int, kind: str) -> None:
    for ordinal in range(CALLS):
        server, tool = random.choice(TOOLS)
        outcome = random.choice(OUTCOMES)
        db.execute(_CALL, (row, ordinal, model, kind, f"s{ordinal + 1}c1", server, tool, outcome))
        if outcome not in {"success", "inconclusive"}:
            db.execute("INSERT INTO findings VALUES (?, ?, ?, 'likely', 1)", (row, ordinal, random.choice(KINDS)))


def _aligned(task: str, kind: str, model: int) -> AlignedTask:
    matched = sum(random.random() < 0.3 + 0.01 * model for _ in range(8))
    names = ("recall", "argument_similarity", "step_coherence", "order_consistency", "merge_purity")
    record = {
        **dict.fromkeys(names, matched / 8), "argument_similarity_strong": 0.0, "precision": matched / CALLS,
        "id": task, "type": kind, "total_gt_calls": 8, "total_pred_calls": CALLS, "matched": matched, "steps": CALLS,
        "matches": (), "mcpeval": _NO_SCORES,
    }  # fmt: skip
    return AlignedTask.model_validate(record)


def main(models: int, tasks: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "run.db"
        make(path, models, tasks)
        print(f"{models} models x {tasks} tasks x {CALLS} calls: {path.stat().st_size / 1e6:.0f} MB")
        for arguments in ((), ("--json",), ("--by", "type"), ("--by", "server"), ("--format", "html")):
            times, processor = [], []
            for _ in range(3):
                began, before = time.perf_counter(), _processor_time()
                subprocess.run(
                    [sys.executable, "-m", "replay", "compare", "--run", path, *arguments],
                    check=True,
                    stdout=subprocess.DEVNULL,
                )
                times.append(time.perf_counter() - began)
                processor.append(_processor_time() - before)
            print(f"replay compare {' '.join(arguments):14}  {min(times):5.2f} s, processor {min(processor):5.2f} s")


def _processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main(*(map(int, sys.argv[1:3]) if len(sys.argv) == 3 else (50, 200)))
