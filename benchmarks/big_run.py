"""Makes a run file of any size, written by the run file's own triggers: `python benchmarks/big_run.py 1000000 OUT.db`.

The calls are made up, but spread as in real runs: seven models, fourteen servers, some two hundred tools, thirty
calls a trajectory, one in six a failure, one in twelve inconclusive, a tenth of the failures caused by earlier ones.
"""

from __future__ import annotations

import json
import random
import sqlite3
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from replay.runfile import Run
from replay.runfile.rows import pack

MODELS = ["gpt-5", "claude-4.5-sonnet", "gemini-2.5-pro", "deepseek-v3.2", "qwen3-max", "kimi-k2", "glm-4.6"]
SERVERS = ["excel", "filesystem", "git", "memory", "github", "notion", "playwright", "ppt", "sqlite", "time", "weather"]
SERVERS += ["wikipedia", "youtube", "arxiv"]
VERBS = ["read", "write", "list", "search", "create", "delete", "update", "get", "move", "copy", "open", "query"]
NOUNS = ["file", "sheet", "page", "row", "user", "commit", "issue", "entity", "slide", "table", "video", "paper"]
TOOLS = [(server, f"{verb}_{noun}") for server, noun in zip(SERVERS * 2, NOUNS * 3, strict=False) for verb in VERBS[:7]]
TYPES = ["movies", "finance", "coursework", "travel", "research", "office", "code review", "news"]
OUTCOMES = ["success"] * 75 + ["not_found"] * 7 + ["invalid_arguments"] * 6 + ["unknown_tool"] * 2
OUTCOMES += ["illegal_format"] + ["inconclusive"] * 9
RULES = {
    "success": ["delivered", "empty-list"],
    "not_found": ["enoent", "http-404", "no-such", "echoed-argument"],
    "invalid_arguments": ["schema", "validation", "refused", "unexplained"],
    "unknown_tool": ["not-listed"],
    "illegal_format": ["no-json", "cut-off"],
    "inconclusive": ["withheld", "timed-out", "http-429"],
}
REASONS = {"withheld": "withheld", "timed-out": "timeout", "http-429": "rate-limited"}
CALLS_A_TRAJECTORY = 30
_CALL = (
    "INSERT INTO calls (trajectory, ordinal, file, task_type, position, server, tool, outcome, reason, rule, evidence, "
    "certainty, message, recorded, replayed, drift, caused_by, arguments, answer_key, details) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


def make(path: Path, calls: int, seed: int = 7) -> None:
    """Write a run of so many calls."""
    random.seed(seed)
    with Run.open(path, fresh=True) as run:
        db = run.connection
        db.execute("PRAGMA synchronous = OFF")
        trajectories = max(1, calls // CALLS_A_TRAJECTORY)
        for number, model in enumerate(MODELS, 1):
            db.execute(
                "INSERT INTO files (id, path, model, format) VALUES (?, ?, ?, 'm3bench')",
                (number, f"results/{model}.json", model),
            )
        db.execute("BEGIN")
        _answers(db)
        share = -(-trajectories // len(MODELS))
        for number in range(trajectories):
            _trajectory(db, number + 1, 1 + number // share, number % share)
            if number % 2000 == 1999:
                db.execute("COMMIT")
                db.execute("BEGIN")
        db.execute("COMMIT")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _answers(db: sqlite3.Connection) -> None:
    for number in range(500):
        text = json.dumps({"path": f"/data/{number}.csv", "rows": [random.randint(0, 9999) for _ in range(40)]})
        answer = {"kind": "result", "content": [{"type": "text", "text": text}]}
        db.execute("INSERT INTO answers VALUES (?, 'excel', '', 'read_sheet', ?)", (f"answer-{number}", pack(answer)))


def _trajectory(db: sqlite3.Connection, row: int, file: int, task: int) -> None:
    kind = TYPES[task % len(TYPES)]
    rows = list(_calls(row, file, kind))
    steps = [{"calls": [_call(one) for one in rows[start : start + 2]]} for start in range(0, len(rows), 2)]
    question = f"Task {task}: find what was asked of {kind}, and put it into a sheet."
    record = {
        "id": f"{task:08d}",
        "model": MODELS[file - 1],
        "task": {"question": question, "type": kind},
        "source": {"file": f"results/{MODELS[file - 1]}.json", "format": "m3bench", "position": f"$[{task}]"},
        "steps": steps,
        "edges": list(_edges(rows)),
        "final_reply": "Done: the sheet holds what was found.",
    }
    db.execute(
        "INSERT INTO trajectories VALUES (?, ?, ?, ?, ?, ?, ?, '', '', 1, ?)",
        (row, file, f"{task:08d}", kind, question, len(steps), len(rows), pack(record)),
    )
    db.executemany(_CALL, rows)


def _calls(trajectory: int, file: int, kind: str) -> Iterator[tuple[object, ...]]:
    failed: str | None = None
    for ordinal in range(CALLS_A_TRAJECTORY):
        server, tool = random.choice(TOOLS)
        outcome = random.choice(OUTCOMES)
        rule = random.choice(RULES[outcome])
        position = f"s{ordinal // 2 + 1}c{ordinal % 2 + 1}"
        is_failure = outcome not in {"success", "inconclusive"}
        cause = failed if is_failure and failed and random.random() < 0.3 else None
        failed = position if is_failure and cause is None else failed
        drift = random.choice(["same", "same", "same", "volatile", "different"])
        arguments = json.dumps({"path": f"/data/{random.randint(0, 10**6)}.csv", "limit": random.randint(1, 99)})
        message = f"{outcome.replace('_', ' ')}: {tool} {random.randint(0, 10**5)} by {rule}"
        certainty = "fallback" if rule == "unexplained" else "likely" if rule == "refused" else "certain"
        yield (
            trajectory, ordinal, file, kind, position, server, tool, outcome, REASONS.get(rule), rule,
            "replay", certainty, message, outcome, outcome, drift, cause, arguments,
            f"answer-{random.randint(0, 499)}", '{"seconds": 0.1}',
        )  # fmt: skip


def _call(row: tuple[object, ...]) -> dict[str, object]:
    name = f"{row[5]}/{row[6]}"
    answer = {"kind": "result", "content": [{"type": "text", "text": f"{row[12]}"}]}
    return {"position": row[4], "name": name, "arguments": json.loads(str(row[17])), "answer": answer}


def _edges(rows: list[tuple[object, ...]]) -> Iterator[dict[str, object]]:
    for earlier, later in zip(rows, rows[3:], strict=False):
        if random.random() < 0.4:
            yield {
                "producer": earlier[4], "producer_pointer": "/content/0/text",
                "consumer": later[4], "consumer_pointer": "/path", "value": "/data/1.csv",
            }  # fmt: skip


if __name__ == "__main__" and len(sys.argv) == 3:  # alone it measures nothing: browse.py makes what it needs
    began = time.perf_counter()
    make(Path(sys.argv[2]), int(sys.argv[1]))
    size = Path(sys.argv[2]).stat().st_size / 1e6
    print(f"{sys.argv[1]} calls in {time.perf_counter() - began:.1f} s, {size:.0f} MB")
