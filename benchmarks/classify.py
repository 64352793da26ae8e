"""How fast `replay classify` is, against a bare loop over `mcp.Client.call_tool`, and what starting costs.

Prints a table in Markdown; `benchmarks/classify.md` keeps one.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import anyio
from mcp import Client, StdioServerParameters

from replay.formats import open_file
from replay.interpreter import Fleet, Interpreter
from replay.replayer.classifier import classify_live, classify_stored
from replay.replayer.plan import Options, Progress
from replay.runfile import Run

SERVERS = Path(__file__).parents[1] / "tests" / "servers"
CALLS, TRAJECTORIES, ROUNDS = 2000, 100, 3


def fleet_of(directory: Path, **servers: dict[str, Any]) -> Fleet:
    for spec in servers.values():
        spec["command"] = sys.executable
    path = directory / "servers.yaml"
    path.write_text(json.dumps({"version": 1, "servers": servers}))
    return Fleet.load(path)


class Subject(NamedTuple):
    """A server and the call that it is asked."""

    what: str
    script: str
    tool: str
    arguments: dict[str, str]


IDLE = Subject("a server that does nothing", "annotated.py", "look", {})
SDK = Subject("a server on the Python SDK", "modern.py", "echo", {"text": "hello"})


def results_of(directory: Path, calls: int, trajectories: int, subject: Subject = IDLE) -> Path:
    path = directory / "results.json"
    each = calls // trajectories
    steps = [
        {"step": number, "calls": [{"name": f"plain/{subject.tool}", "arguments": subject.arguments}]}
        for number in range(each)
    ]
    path.write_text(json.dumps([{"id": str(one), "question": "?", "steps": steps} for one in range(trajectories)]))
    return path


async def bare_loop(calls: int, subject: Subject) -> float:
    server = StdioServerParameters(command=sys.executable, args=[str(SERVERS / subject.script)])
    async with Client(server) as client:
        await client.list_tools()
        await client.call_tool(subject.tool, subject.arguments)
        started = time.perf_counter()
        for _ in range(calls):
            await client.call_tool(subject.tool, subject.arguments)
        return calls / (time.perf_counter() - started)


async def classify_rate(directory: Path, jobs: int, subject: Subject) -> float:
    fleet = fleet_of(directory, plain={"args": [str(SERVERS / subject.script)], "effects": "sandboxed"})
    results = results_of(directory, CALLS, TRAJECTORIES, subject)
    times: list[float] = []

    class Timed(Progress):
        def __setattr__(self, name: str, value: object) -> None:
            if name == "done":
                times.append(time.perf_counter())
            super().__setattr__(name, value)

    with Run.open(directory / "run.db", fresh=True) as run:
        await classify_live(
            run, [open_file(results)], fleet, Options(jobs=jobs), logs=directory / "logs", progress=Timed()
        )
    warm = times[1:]
    return (len(warm) - 1) / (warm[-1] - warm[0])


async def start_seconds(directory: Path, count: int) -> tuple[float, float]:
    """All at once, and the slowest of them on its own."""
    seconds = {f"s{number}": 0.4 + 0.1 * number for number in range(count)}
    fleet = fleet_of(
        directory,
        **{
            name: {"args": [str(SERVERS / "slow_start.py")], "env": {"START_SECONDS": str(wait)}}
            for name, wait in seconds.items()
        },
    )

    async def start(names: list[str]) -> float:
        async with Interpreter(fleet, names=names, logs=directory / "logs") as interpreter:
            started = time.perf_counter()
            await interpreter.start()
            return time.perf_counter() - started

    return await start(list(seconds)), await start([max(seconds, key=lambda name: seconds[name])])


def best_of(command: list[str], runs: int = 7) -> float:
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - started)
    return statistics.median(times)


async def rejudge_seconds(directory: Path) -> float:
    fleet = fleet_of(directory, plain={"args": [str(SERVERS / "annotated.py")]})
    files = [open_file(results_of(directory, 10_000, 1_000))]
    with Run.open(directory / "run.db", fresh=True) as run:
        await classify_live(run, files, fleet, Options(jobs=8), logs=directory / "logs", progress=Progress())
        started = time.perf_counter()
        await classify_stored(run, files, Options(offline=True), progress=Progress(), fleet=fleet)
        return time.perf_counter() - started


def rate_rows(directory: Path, subject: Subject) -> list[str]:
    """Re-issued calls a second against the bare loop, in turn."""
    measured = [
        (
            anyio.run(bare_loop, CALLS, subject),
            *(anyio.run(classify_rate, directory, jobs, subject) for jobs in (1, 4)),
        )
        for _ in range(ROUNDS)
    ]
    bare, *rates = (statistics.median(column) for column in zip(*measured, strict=True))
    what = f"calls a second to {subject.what}"
    return [
        f"| {what}, --jobs {jobs} | {rate:.0f} | bare loop {bare:.0f} | {rate / bare:.2f} | >= 0.5 |"
        for jobs, rate in zip((1, 4), rates, strict=True)
    ]


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        rates = [rate for subject in (SDK, IDLE) for rate in rate_rows(directory, subject)]
        together, slowest = anyio.run(start_seconds, directory, 10)
        rejudged = anyio.run(rejudge_seconds, directory)
    click = best_of([sys.executable, "-c", "import click"])
    usage = best_of([str(Path(sys.executable).parent / "replay"), "--help"])
    print("| what | measured | baseline | ratio | to reach |")
    print("| --- | --- | --- | --- | --- |")
    print("\n".join(rates))
    print(
        f"| ten servers, started at once | {together:.2f} s | the slowest {slowest:.2f} s "
        f"| {together / slowest:.2f} | <= 1.5 |"
    )
    print(
        f"| replay --help | {usage * 1000:.0f} ms | import click {click * 1000:.0f} ms | {usage / click:.2f} | <= 2.5 |"
    )
    print(f"| 10,000 calls judged again --offline | {rejudged:.1f} s | | | seconds |")


if __name__ == "__main__":
    main()
