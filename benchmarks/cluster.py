"""Many calls, on one worker and on two: `python benchmarks/cluster.py [CALLS ...]`.

The calls are those of published runs, copied under other ids and with the digits in their values exchanged, so that no
two trajectories hold the same values, and data flows in them as it did. For each number of calls: `classify --offline`
in one process, with one worker and with two, then `report` on the run; time, CPU time, and peak memory of the command
and of the largest worker.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

SHARED = Path(os.environ.get("REPLAY_SHARED", Path(__file__).parents[2] / "shared")) / "data"
PROBE = """
import json, resource, sys
from replay.cli import main
code = 0
try:
    main()
except SystemExit as ended:
    code = ended.code
own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
figures = [[use.ru_maxrss, use.ru_utime + use.ru_stime] for use in (own, children)]
print(json.dumps(figures), file=sys.stderr)
sys.exit(code)
"""
WAYS = {"no workers": [], "1 worker": ["--workers", "1"], "2 workers": ["--workers", "2"]}


class Measured(NamedTuple):
    """What one command took."""

    seconds: float
    megabytes: float
    """Peak of the command itself."""
    cpu: float
    worker_megabytes: float
    worker_cpu: float


def make(directory: Path, calls: int) -> int:
    """Write results files with about so many calls; gives how many there are."""
    directory.mkdir()
    written = 0
    for number, (stem, record, count) in enumerate(sources(calls)):
        shuffled = random.Random(number).sample("123456789", 9)
        changed = exchanged(record, str.maketrans("123456789", "".join(shuffled)))
        if isinstance(changed, dict) and "id" in changed:
            changed["id"] = f"{changed['id']}-{number}"
        (directory / f"{stem}-{number}.json").write_text(json.dumps(changed))
        written += count
    return written


def make_aligned(directory: Path, calls: int) -> int:
    """Write predictions of three models with about so many calls and the reference of their tasks; how many they are."""
    directory.mkdir()
    reference = json.loads((SHARED / "m3bench" / "test_mcp_GT.json").read_text())
    models = {path.name: json.loads(path.read_text()) for path in (SHARED / "m3bench" / "results").glob("*.json")}
    once = sum(len(step["calls"]) for records in models.values() for one in records for step in one["steps"])
    copies = max(1, round(calls / once))
    for name, records in (("reference.json", reference), *models.items()):
        with (directory / name).open("w") as out:
            out.write("[")
            for number in range(copies):
                digits = str.maketrans("123456789", "".join(random.Random(number).sample("123456789", 9)))
                for record in records:
                    changed = exchanged({key: value for key, value in record.items() if key != "id"}, digits)
                    out.write(",\n" * (number > 0 or record is not records[0]))
                    json.dump({"id": f"{record['id']}-{number}"} | changed, out)
            out.write("]")
    return once * copies


def sources(calls: int) -> Iterator[tuple[str, Any, int]]:
    """Published trajectories, over and over until there are calls enough: a name, the record, and its calls."""
    known: list[tuple[str, Any, int]] = []
    for path in sorted((SHARED / "toolathlon" / "results").glob("*.json")):
        record = json.loads(path.read_text())
        messages = record["messages"] if isinstance(record, dict) else record
        known.append((path.stem, record, sum(len(message.get("tool_calls") or ()) for message in messages)))
    for path in sorted((SHARED / "m3bench" / "results").glob("*.json"))[:1]:
        records = json.loads(path.read_text())
        known += [(path.stem, [one], sum(len(step["calls"]) for step in one["steps"])) for one in records]
    known = [one for one in known if one[2]]
    written = 0
    while written < calls:
        for stem, record, count in known:
            if written < calls:
                yield stem, record, count
                written += count


def exchanged(value: Any, digits: dict[int, int]) -> Any:
    """The value with the digits in its texts exchanged, but 0: no number gets a leading one."""
    if isinstance(value, str):
        return value.translate(digits)
    if isinstance(value, list):
        return [exchanged(item, digits) for item in value]
    if isinstance(value, dict):
        return {name: exchanged(item, digits) for name, item in value.items()}
    return value


def measure(directory: Path, *words: str) -> Measured:
    began = time.perf_counter()
    command = [sys.executable, "-c", PROBE, *words]
    with (directory / "out").open("w") as out:
        done = subprocess.run(command, cwd=directory, stdout=out, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    (own, cpu), (theirs, their_cpu) = json.loads(done.stderr.splitlines()[-1])
    return Measured(time.perf_counter() - began, own / 1024, cpu, theirs / 1024, their_cpu)


def main() -> None:
    print("| calls | verb | seconds | calls/s | CPU s command | CPU s workers | MB command | MB largest worker |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for wanted in [int(word) for word in sys.argv[1:]] or [1000, 10_000]:
        with tempfile.TemporaryDirectory() as name:
            directory = Path(name)
            calls = make(directory / "results", wanted)
            for way, options in WAYS.items():
                run = f"{len(options) and options[1]}.db"
                found = measure(directory, "classify", "results", "--offline", "--run", run, *options)
                show(calls, f"classify --offline, {way}", found)
            for verb in (["report", "-o", "report.html"], ["report", "--format", "json"]):
                show(calls, " ".join(verb), measure(directory, *verb, "--run", "2.db"))


def show(calls: int, what: str, found: Measured) -> None:
    columns = [f"{found.seconds:.1f}", f"{calls / found.seconds:.0f}", f"{found.cpu:.1f}", f"{found.worker_cpu:.1f}"]
    columns += [f"{found.megabytes:.0f}", f"{found.worker_megabytes:.0f}"]
    print(f"| {calls} | {what} | {' | '.join(columns)} |", flush=True)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
