"""Runs to browse, made by `classify --offline` or written by hand where no file could hold them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from replay.records import (
    Call,
    CallResult,
    DataEdge,
    Outcome,
    SchemaViolation,
    Source,
    Step,
    Task,
    TextAnswer,
    ToolResult,
    Trajectory,
    Verdict,
)
from replay.runfile import Run
from tests.runs import make_run, schema, server

HOSTILE = "\x1b[31mred\x1b[2J\x1b]0;title\x07 [bold red]markup[/] [/nope] \u202eRTL\u200bzero \x9b31m \ufffd"
"""Escape sequences, markup that would be an error, right-to-left, zero width, C1."""


def calls(*rows: tuple[str, Any, str]) -> list[dict[str, Any]]:
    """A step for each call."""
    return [
        {"step": number, "calls": [{"name": name, "arguments": arguments, "result": result}]}
        for number, (name, arguments, result) in enumerate(rows, 1)
    ]


SALES = calls(
    ("excel/create_sheet", {"file": "q3-sales.xlsx"}, "Created sheet sheet-81f3 in q3-sales.xlsx"),
    ("excel/read_sheet", {"sheet": "sheet-81f3", "rows": "many"}, '{"error": "rows must be a number"}'),
    ("excel/read_sheet", {"sheet": "sheet-0000"}, '{"error": "Sheet not found: sheet-0000"}'),
    ("excel/sum_sheet", {"sheet": "sheet-81f3"}, '{"total": 1841, "rows": [1, 2, 3]}'),
)
FILMS = calls(
    ("tmdb/search", {"query": "Dune"}, '{"results": [{"id": 438631, "title": "Dune"}]}'),
    ("tmdb/film", {"id": 438631}, "Dune: Part One"),
    ("tmdb/film", {"id": 1}, "Error: 404 not found"),
)
SERVERS = (
    server(
        "excel",
        create_sheet=schema("file"),
        read_sheet=schema("sheet", rows={"type": "integer"}),
        sum_sheet=schema("sheet"),
    ),
    server("tmdb", search=schema("query"), film=schema(id={"type": "integer"})),
)


def task(identifier: str, kind: str, steps: list[dict[str, Any]]) -> dict[str, Any]:
    """One M3-Bench record."""
    question = f"What is asked in {identifier}?"
    return {"id": identifier, "type": kind, "question": question, "steps": steps, "final_reply": "That is all."}


def sample_run(directory: Path) -> Path:
    """Two models on two tasks."""
    better = [*SALES[:1], *SALES[3:]]
    unknown = calls(("tmdb/find_films", {"query": "Dune"}, "Error: Unknown tool: find_films"))
    files = {
        "ada_test_mcp_fuzzy.json": [task("sales", "office", SALES), task("films", "movies", FILMS)],
        "bob_test_mcp_fuzzy.json": [task("sales", "office", better), task("films", "movies", unknown)],
    }
    for name, records in files.items():
        (directory / name).write_text(json.dumps(records, indent=1))
    return make_run(directory / "sample.db", [directory / name for name in files], *SERVERS)


def written(path: Path, trajectory: Trajectory, results: list[CallResult]) -> Path:
    """A run of one trajectory."""
    with Run.open(path) as run:
        state = run.begin(trajectory, file="results/one.json", format="m3bench", policy="")
        run.finish(state.row, trajectory, results)
    return path


def judged(call: Call, outcome: Outcome, **fields: Any) -> CallResult:
    """A call with a verdict."""
    verdict = {"rule": "test", "evidence": "recorded", "message": "As it came."}
    extra = {name: fields.pop(name) for name in ("server", "tool", "key", "answer") if name in fields}
    known = {"server": "files", "tool": "read", **extra}
    return CallResult(call=call, verdict=Verdict.model_validate({**verdict, "outcome": outcome, **fields}), **known)


def trajectory_of(steps: list[list[Call]], **fields: Any) -> Trajectory:
    """A trajectory of these steps."""
    known = {"id": "one", "model": "ada", "source": Source(file="results/one.json", format="m3bench"), "edges": ()}
    return Trajectory(**{**known, "steps": tuple(Step(calls=tuple(step)) for step in steps), **fields})


def hostile_run(path: Path) -> Path:
    """Everything that a server or model may write is as bad as can be."""
    answers = (HOSTILE, "A" * 5_000_000, "漢字" * 3000, "\u0301" * 400)
    made = [
        Call(
            position=f"s{number}c1", name=HOSTILE, arguments={"path": HOSTILE, HOSTILE: 1}, answer=TextAnswer(text=text)
        )
        for number, text in enumerate(answers, 1)
    ]
    image = {"type": "image", "mimeType": f"image/{HOSTILE}", "data": "QUJD" * 1000}
    now = ToolResult(content=({"type": "text", "text": f"now \ud800 {HOSTILE}"}, image))
    edge = DataEdge(
        producer="s1c1", producer_pointer="/text", consumer="s3c1", consumer_pointer=f"/{HOSTILE}", value=HOSTILE
    )
    whole = trajectory_of(
        [[one] for one in made],
        id=f"[bold]evil[/bold] {HOSTILE}",
        model=f"m[red]{HOSTILE}",
        task=Task(question=HOSTILE, type=f"t[/]{HOSTILE}", images=(HOSTILE,)),
        edges=(edge,),
        final_reply=HOSTILE,
    )
    violation = SchemaViolation(pointer="/path", keyword=HOSTILE, message=HOSTILE)
    fields = {"rule": HOSTILE, "message": HOSTILE, "violations": (violation,), "server": HOSTILE, "tool": HOSTILE}
    outcomes = (Outcome.NOT_FOUND, Outcome.INVALID_ARGUMENTS, Outcome.SUCCESS, Outcome.INCONCLUSIVE)
    results = [
        judged(call, outcome, key=f"k{call.position}", answer=now, **fields)
        for call, outcome in zip(made, outcomes, strict=True)
    ]
    return written(path, whole, results)


def long_run(path: Path, steps: int = 200, calls_in_all: int = 300) -> Path:
    """300 calls in 200 steps, each fed by the one before and some by one far back."""
    wide = calls_in_all - steps
    made = [
        [
            Call(position=f"s{step}c{number}", name="files/read", arguments={})
            for number in (1, 2)[: 2 if step <= wide else 1]
        ]
        for step in range(1, steps + 1)
    ]
    edges = [_edge(f"s{step}c1", f"s{step + 1}c1") for step in range(1, steps)]
    edges += [_edge(f"s{step}c1", f"s{min(steps, step + 40)}c1") for step in range(1, steps, 7)]
    whole = trajectory_of(made, edges=tuple(edges))
    results = [
        judged(call, Outcome.NOT_FOUND if number % 50 == 49 else Outcome.SUCCESS)
        for number, call in enumerate(whole.calls())
    ]
    return written(path, whole, results)


def _edge(producer: str, consumer: str) -> DataEdge:
    return DataEdge(producer=producer, producer_pointer="/text", consumer=consumer, consumer_pointer="/path", value="x")
