"""Processor time of `classify --offline` and of `record`, this tree against another one: pairs in one run.

python benchmarks/before_after.py OTHER_TREE [PAIRS [RESULTS...]]

Processor time, and which of a pair comes first by turns: what else the machine does then tells least. Each tree runs
once before it is measured, so that neither compiles its modules then.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SERVER = ROOT / "tests" / "servers" / "ledger.py"
_READ = (0, 2, 3)
"""Exit codes of a `classify` that went through; files that a tree could not read are its own loss."""
_IDENTITY = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
_CALL: dict[str, Any] = {"method": "tools/call", "params": {"name": "lookup", "arguments": {"key": "alpha"}}}
_MESSAGES: list[dict[str, Any]] = [
    {"id": 1, "method": "initialize", "params": _IDENTITY},
    {"method": "notifications/initialized"},
    *({"id": number, **_CALL} for number in range(2, 2000)),
]  # fmt: skip


def _seconds(tree: Path, arguments: list[str], home: Path, said: bytes) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    compiled = {"PYTHONPYCACHEPREFIX": str(home.parent / "compiled"), "PYTHONDONTWRITEBYTECODE": ""}
    environment = {**os.environ, **compiled, "PYTHONPATH": str(tree), "NO_COLOR": "1", "CI": "1"}
    command = [sys.executable, "-m", "replay", *arguments]
    done = subprocess.run(command, cwd=home, env=environment, input=said, capture_output=True, check=False)
    if done.returncode not in _READ:
        raise SystemExit(done.stderr.decode()[-2000:])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def classify(tree: Path, results: list[str], home: Path) -> float:
    """Of judging the results by what was recorded."""
    return _seconds(tree, ["classify", *results, "--offline", "--run", "run.db"], home, b"")


def record(tree: Path, results: list[str], home: Path) -> float:
    """Of recording two thousand calls, with the server's own time."""
    del results
    said = b"".join(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n" for message in _MESSAGES)
    return _seconds(tree, ["record", "-o", "r.trajectory.json", "--", sys.executable, str(SERVER)], home, said)


def _times(
    measure: Callable[[Path, list[str], Path], float], trees: tuple[Path, Path], results: list[str], pairs: int
) -> dict[Path, list[float]]:
    times: dict[Path, list[float]] = {tree: [] for tree in trees}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(pairs + 1):
            for tree in trees if number % 2 else reversed(trees):
                home = Path(tempfile.mkdtemp(dir=folder))
                times[tree].append(measure(tree, results, home))
    return {tree: taken[1:] for tree, taken in times.items()}


def main() -> None:
    """Measure, and print the medians and the median of the ratios."""
    other, pairs = Path(sys.argv[1]).resolve(), int(sys.argv[2]) if sys.argv[2:] else 5
    results = [str(Path(file).resolve()) for file in sys.argv[3:]] or [
        str(ROOT / "traces" / "tea-7b_test_mcp_fuzzy.json")
    ]
    measured: dict[str, Callable[[Path, list[str], Path], float]] = {"classify --offline": classify, "record": record}
    for name, measure in measured.items():
        times = _times(measure, (other, ROOT), results, pairs)
        ratio = statistics.median(after / before for after, before in zip(times[ROOT], times[other], strict=True))
        print(
            f"{name}: {statistics.median(times[other]):.2f} s before, {statistics.median(times[ROOT]):.2f} s after, "
            f"ratio {ratio:.3f} ({pairs} pairs)",
            flush=True,
        )


if __name__ == "__main__":
    main()
