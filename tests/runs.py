"""Runs for tests, made from calls and their recorded answers; no server is started."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio

from replay.diagnosis import TrajectoryContext
from replay.diagnosis.diagnose import FindingStore
from replay.formats import open_file
from replay.records import FleetFacts, Server, Tool
from replay.records.server import digest_of
from replay.replayer.classifier import classify_stored
from replay.replayer.plan import Options, Progress
from replay.runfile import Run
from replay.runfile.trajectory_queries import trajectory_places

Step = dict[str, Any]


def call(
    name: str | None, arguments: Any = None, answer: str | None = "ok", *, error: bool = False, **more: Any
) -> Step:
    """One call; an answer of None was not recorded."""
    given: Step = {"name": name, "arguments": {} if arguments is None else arguments, **more}
    if answer is not None:
        given["answer"] = {"kind": "result", "content": [{"type": "text", "text": answer}], "is_error": error}
    return given


def failed(name: str, arguments: Any, answer: str) -> Step:
    """A call whose answer has `isError`."""
    return call(name, arguments, answer, error=True)


def write_trajectory(
    path: Path, calls: Sequence[Step], *, question: str | None = "What is there?", model: str = "gpt", **fields: Any
) -> Path:
    """A DAG file, a step a call."""
    steps = [{"calls": [{"position": f"s{number}c1", **one}]} for number, one in enumerate(calls, 1)]
    document = {
        "format": "replay.trajectory",
        "version": 1,
        "id": path.name.removesuffix(".trajectory.json"),
        "model": model,
        "task": {"question": question} if question else {},
        "source": {"file": str(path.name), "format": "test"},
        "steps": steps,
        **fields,
    }
    path.write_text(json.dumps(document), "utf-8")
    return path


def server(name: str, **tools: Any) -> Server:
    """A server as a run met it; each tool by its inputSchema."""
    listed = tuple(Tool(name=tool, input_schema=schema) for tool, schema in tools.items())
    return Server(
        name=name, title=name, version="1.0", protocol="2025-06-18", tools=listed, digest=digest_of(name, "1.0", listed)
    )


def schema(*required: str, **properties: Any) -> dict[str, Any]:
    """An inputSchema."""
    fields = {**{name: {"type": "string"} for name in required}, **properties}
    return {"type": "object", "properties": fields, "required": list(required), "additionalProperties": False}


def make_run(path: Path, files: Sequence[Path], *servers: Server) -> Path:
    """A run over these files, judged by their recorded answers."""

    async def judge(run: Run) -> None:
        known = {one.name: one for one in servers} if servers else None
        await classify_stored(
            run,
            [open_file(file) for file in files],
            Options(offline=True, on_done=FindingStore(run).keep),
            progress=Progress(),
            servers=known,
            facts=FleetFacts() if known else None,
        )

    def make() -> None:
        with Run.open(path) as run:
            anyio.run(judge, run)

    with ThreadPoolExecutor(1) as thread:  # a thread of its own: Playwright has an event loop in this one
        thread.submit(make).result()
    return path


def case_of(directory: Path, calls: Sequence[Step], *servers: Server, **fields: Any) -> TrajectoryContext:
    """One trajectory, judged."""
    file = write_trajectory(directory / "task.trajectory.json", calls, **fields)
    with Run.read(make_run(directory / "run.db", [file], *servers)) as run:
        case = TrajectoryContext.load(run, trajectory_places(run)[0])
        assert case.graph  # it stands without the run
        return case
