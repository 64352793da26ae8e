"""`kill -9` of workers, of the scheduler and of the command at random moments: the verdicts of an undisturbed run, and
no call with effects sent twice, counted by the server: `python benchmarks/cluster_kills.py [KILLS [WHAT...]]`,
where WHAT is worker, command or scheduler.

A call that was under way when its worker died is `interrupted`, as it must be; all others must come out alike.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import psutil

ROOT = Path(__file__).parents[1]
LOGBOOK = ROOT / "tests" / "servers" / "logbook.py"
TRAJECTORIES, CALLS, PAUSE = 40, 6, "0.05"
KILLS_A_RUN = 10
STARTS_WITHIN = 8.0
"""Seconds, about, until the first call is sent."""
Verdicts = dict[tuple[str, str], tuple[str, str | None]]


class Bench:
    """A directory with results to replay on a server that writes down what it gets."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.log = directory, directory / "log"
        tasks = [
            {
                "id": f"t{number}",
                "type": "x",
                "question": f"Put down {number}.",
                "steps": [
                    {"step": step, "calls": [{"name": f"book/{tool}", "arguments": {"n": f"{number}.{step}"}}]}
                    for step, tool in enumerate(["put", "look"] * (CALLS // 2))
                ],
            }
            for number in range(TRAJECTORIES)
        ]
        (directory / "gpt.json").write_text(json.dumps(tasks))
        spec = {"command": sys.executable, "args": [str(LOGBOOK)], "effects": "all"}
        environment = {"LOGBOOK": str(self.log), "PAUSE": PAUSE}
        servers = {"version": 1, "servers": {"book": {**spec, "env": environment}}}
        (directory / "servers.yaml").write_text(json.dumps(servers))

    def start(self, *options: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "replay", "classify", "gpt.json", "--json", "--keep-inconclusive", *options]
        with (self.directory / "out.json").open("w") as out:
            return subprocess.Popen(command, cwd=self.directory, stdout=out, stderr=subprocess.PIPE, text=True)

    def finish(self, process: subprocess.Popen[str]) -> Verdicts:
        _, said = process.communicate(timeout=1800)
        assert process.returncode == 0, said
        document = json.loads((self.directory / "out.json").read_text())
        return {(call["trajectory"], call["call"]): (call["outcome"], call.get("reason")) for call in document["calls"]}

    def sent(self) -> Counter[str]:
        return Counter(self.log.read_text().splitlines()) if self.log.exists() else Counter()


class Killed(NamedTuple):
    """What came of a run."""

    times: int
    verdicts: Verdicts
    bench: Bench
    slowest_end: float = 0.0
    """Seconds from a kill until the command had ended."""


def check(bench: Bench, verdicts: Verdicts, undisturbed: Verdicts) -> tuple[int, int, int]:
    """Calls that came out otherwise, those that were interrupted, and those with effects that were sent twice."""
    assert verdicts.keys() == undisturbed.keys()
    other = [key for key, found in verdicts.items() if found != undisturbed[key]]
    interrupted = [key for key in other if verdicts[key][1] == "interrupted"]
    twice = sum(count > 1 for call, count in bench.sent().items() if call.startswith("put"))
    return len(other) - len(interrupted), len(interrupted), twice


def workers_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """The processes that judge, among the children of a command."""
    with suppress(psutil.Error):
        children = psutil.Process(process.pid).children()
        return [child for child in children if any("spawn_main" in word for word in child.cmdline())]
    return []


def wait_for_calls(bench: Bench, process: subprocess.Popen[str], count: int) -> bool:
    """Wait until the server got so many calls; False where the command ended before."""
    while process.poll() is None:
        if sum(bench.sent().values()) >= count:
            return True
        time.sleep(0.02)
    return False


def at_random(bench: Bench, process: subprocess.Popen[str], number: int, kills: int) -> bool:
    """Wait for a random moment: among the calls, and every fourth time while all is still starting.

    Gives False where the command ended before.
    """
    if number % 4 == 3:
        time.sleep(random.uniform(0, STARTS_WITHIN))
    elif wait_for_calls(bench, process, 1 + number * TRAJECTORIES * CALLS // (kills + 1)):
        time.sleep(random.random())
    return process.poll() is None


def kill_workers(directory: Path, kills: int) -> Killed:
    bench = Bench(directory)
    process = bench.start("--workers", "2", "--jobs", "2")
    done = 0
    for number in range(kills):
        if not wait_for_calls(bench, process, 1 + number * TRAJECTORIES * CALLS // (kills + 1)):
            break
        time.sleep(random.random())
        found = workers_of(process)
        if found:
            with suppress(psutil.Error):
                random.choice(found).kill()
                done += 1
    return Killed(done, bench.finish(process), bench)


def kill_command(directory: Path, kills: int) -> Killed:
    bench = Bench(directory)
    done = 0
    for number in range(kills):
        process = bench.start("--workers", "2", "--jobs", "2")
        if at_random(bench, process, number, kills):
            process.kill()
            done += 1
        process.communicate()
    return Killed(done, bench.finish(bench.start("--workers", "2", "--jobs", "2")), bench)


@contextmanager
def cluster(directory: Path) -> Iterator[tuple[str, Callable[[], None]]]:
    """A scheduler and two workers as processes of their own: its address, and what kills the scheduler."""
    place = directory / "scheduler.json"
    place.unlink(missing_ok=True)
    environment = {**os.environ, "DASK_LOGGING__DISTRIBUTED": "critical"}
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environment}
    there = ["--scheduler-file", str(place), "--no-dashboard"]
    scheduler_words = ["scheduler", *there, "--host", "127.0.0.1", "--port", "0"]
    worker_words = ["worker", *there, "--nworkers", "2", "--nthreads", "2", "--death-timeout", "120"]
    dask = [sys.executable, "-m", "dask"]
    scheduler = subprocess.Popen([*dask, *scheduler_words], **quiet)
    workers = subprocess.Popen([*dask, *worker_words], **quiet)
    try:
        while not place.exists():
            time.sleep(0.05)
        time.sleep(0.2)
        yield json.loads(place.read_text())["address"], scheduler.kill
    finally:
        started = psutil.Process(workers.pid).children(recursive=True)
        for process in (workers, scheduler):
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(3)
            process.kill()
            process.wait()
        for one in started:
            with suppress(psutil.NoSuchProcess):
                one.kill()


def kill_scheduler(directory: Path, kills: int) -> Killed:
    bench = Bench(directory)
    done, slowest = 0, 0.0
    for number in range(kills):
        with cluster(directory) as (address, kill):
            process = bench.start("--cluster", address)
            if at_random(bench, process, number, kills):
                kill()
                done += 1
            since = time.monotonic()
            _, said = process.communicate(timeout=120)
            assert process.returncode == 0 or says_why(said), said
            slowest = max(slowest, time.monotonic() - since)
    with cluster(directory) as (address, _):
        return Killed(done, bench.finish(bench.start("--cluster", address)), bench, slowest)


def says_why(said: str) -> bool:
    """Whether a command ended with a sentence about the scheduler."""
    last = said.strip().splitlines()[-1]
    return last.startswith("replay: the scheduler at") and ("is gone" in last or "cannot be used" in last)


def main() -> None:
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    only = sys.argv[2:]
    random.seed(15)
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(Path(name))
        undisturbed = bench.finish(bench.start())
    print("| killed | times | calls | other verdicts | interrupted | sent twice | slowest end |")
    print("| --- | --- | --- | --- | --- | --- | --- |", flush=True)
    for what, kill, count in (
        ("worker", kill_workers, wanted),
        ("command", kill_command, wanted),
        ("scheduler", kill_scheduler, max(1, wanted // 2)),
    ):
        if only and what not in only:
            continue
        totals, slowest = [0, 0, 0, 0, 0], 0.0
        while totals[0] < count:
            with tempfile.TemporaryDirectory() as name:
                killed = kill(Path(name), min(KILLS_A_RUN, count - totals[0]))
                found = (killed.times, len(killed.verdicts), *check(killed.bench, killed.verdicts, undisturbed))
                totals = [old + new for old, new in zip(totals, found, strict=True)]
                slowest = max(slowest, killed.slowest_end)
        seconds = f"{slowest:.0f} s" if slowest else ""
        print(f"| the {what} | {' | '.join(map(str, totals))} | {seconds} |", flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))
    main()
