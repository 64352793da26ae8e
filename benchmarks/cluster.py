"""Many calls, on one worker and on two.

    python benchmarks/cluster.py [CALLS...] ["no workers"] ["1 worker"] ["2 workers"]

The calls are those of published runs, copied under other ids and with the digits in their values exchanged, so that no
two trajectories hold the same values, and data flows in them as it did; a file a trajectory. For each number of calls:
`classify --offline` in one process, with one worker and with two, then `report` and `compare` on the run; time, CPU
time, and peak memory of the command and of the largest worker. `python benchmarks/cluster.py align CALLS` does so for
`align`, with nothing in the cache and with everything.
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
from itertools import count
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
CHECKPOINTS = 20
NAMES = ("--names", "{model}_{task}.json")
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
    """Write results files with about so many calls: rollouts of `CHECKPOINTS` checkpoints of each model.

    Returns:
        How many calls there are.
    """
    directory.mkdir()
    written = 0
    for number, (model, task, again, record, calls_in_it) in enumerate(sources(calls)):
        shuffled = random.Random(number).sample("123456789", 9)
        changed = exchanged(record, str.maketrans("123456789", "".join(shuffled)))
        rollout, checkpoint = divmod(again, CHECKPOINTS)
        for one in changed if isinstance(changed, list) else [changed]:
            if isinstance(one, dict) and "id" in one:
                one["id"] = f"{task}-{rollout}"
        (directory / f"{model}-{checkpoint}_{task}-{rollout}.json").write_text(json.dumps(changed))
        written += calls_in_it
    return written


def make_aligned(directory: Path, calls: int) -> int:
    """Write predictions of three models with about so many calls, and the reference of their tasks.

    Returns:
        How many calls are predicted.
    """
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


def sources(calls: int) -> Iterator[tuple[str, str, int, Any, int]]:
    """Published trajectories, over and over until there are calls enough.

    Yields:
        The model, the task, how often it was there before, the record, and its calls.
    """
    known: list[tuple[str, str, Any, int]] = []
    for path in sorted((SHARED / "toolathlon" / "results").glob("*.json")):
        record = json.loads(path.read_text())
        messages = record["messages"] if isinstance(record, dict) else record
        calls_in_it = sum(len(message.get("tool_calls") or ()) for message in messages)
        known.append((*path.stem.split("_", 1), record, calls_in_it))
    for path in sorted((SHARED / "m3bench" / "results").glob("*.json"))[:1]:
        model = path.stem.split("_", 1)[0]
        records = json.loads(path.read_text())
        known += [(model, str(one["id"]), [one], sum(len(step["calls"]) for step in one["steps"])) for one in records]
    known = [one for one in known if one[-1]]
    written = 0
    for again in count():
        for model, task, record, calls_in_it in known:
            if written >= calls:
                return
            yield model, task, again, record, calls_in_it
            written += calls_in_it


def exchanged(value: Any, digits: dict[int, int]) -> Any:
    """The value with the digits in its texts exchanged, but 0: no number gets a leading one."""
    if isinstance(value, str):
        return value.translate(digits)
    if isinstance(value, list):
        return [exchanged(item, digits) for item in value]
    if isinstance(value, dict):
        return {name: exchanged(item, digits) for name, item in value.items()}
    return value


def measure(directory: Path, *words: str, cache: Path | None = None) -> Measured:
    """Run a command in a directory; its stdout is in the file `out` there."""
    environment = os.environ | ({"XDG_CACHE_HOME": str(cache)} if cache else {})
    began = time.perf_counter()
    command = [sys.executable, "-c", PROBE, *words]
    with (directory / "out").open("w") as out:
        done = subprocess.run(command, cwd=directory, stdout=out, stderr=-1, text=True, check=False, env=environment)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    (own, cpu), (theirs, their_cpu) = json.loads(done.stderr.splitlines()[-1])
    return Measured(time.perf_counter() - began, own / 1024, cpu, theirs / 1024, their_cpu)


def main() -> None:
    print("| calls | verb | seconds | calls/s | CPU s command | CPU s workers | MB command | MB largest worker |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    ways = [word for word in sys.argv[1:] if word in WAYS] or list(WAYS)
    if sys.argv[1:2] == ["align"]:
        align(int(sys.argv[2]))
        return
    for wanted in [int(word) for word in sys.argv[1:] if word not in WAYS] or [1000, 10_000]:
        with tempfile.TemporaryDirectory() as name:
            directory = Path(name)
            calls = make(directory / "results", wanted)
            for way in ways:
                (directory / "run.db").unlink(missing_ok=True)
                found = measure(directory, "classify", "results", "--offline", "--run", "run.db", *NAMES, *WAYS[way])
                show(calls, f"classify --offline, {way}", found)
            for verb in (["report", "-o", "report.html"], ["report", "--format", "json"], ["compare"]):
                show(calls, " ".join(verb), measure(directory, *verb, "--run", "run.db"))


def align(wanted: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name) / "set"
        calls = make_aligned(directory, wanted)
        files = sorted(path.name for path in directory.glob("*_fuzzy.json"))
        for words in ("an empty cache", "a full cache"):
            found = measure(directory, "align", *files, "--reference", "reference.json", cache=Path(name) / "cache")
            show(calls, f"align, {words}", found)


def show(calls: int, what: str, found: Measured) -> None:
    columns = [f"{found.seconds:.1f}", f"{calls / found.seconds:.0f}", f"{found.cpu:.1f}", f"{found.worker_cpu:.1f}"]
    columns += [f"{found.megabytes:.0f}", f"{found.worker_megabytes:.0f}"]
    print(f"| {calls} | {what} | {' | '.join(columns)} |", flush=True)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
