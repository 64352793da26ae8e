"""What the recorder costs: every figure beside the bare server's, measured in turn in the same run.

python benchmarks/recorder.py [--calls 2000]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

LEDGER = (sys.executable, str(Path(__file__).parents[1] / "tests" / "servers" / "ledger.py"))
RECORD = (sys.executable, "-c", "from replay.cli import main; main()", "record")
LIMIT = 0.0015
"""Seconds that a call may take longer through the recorder, or three times the bare round trip if that is more."""


class Connection:
    """A client on pipes."""

    def __init__(self, command: tuple[str, ...]) -> None:
        began = time.perf_counter()
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}}
        self.timed("initialize", hello)
        self.startup = time.perf_counter() - began

    def timed(self, method: str, params: Any, copies: int = 1) -> float:
        """Seconds from a request to its answer; of many copies at once, to the last one."""
        lines = [{"jsonrpc": "2.0", "id": n, "method": method, "params": params} for n in range(copies)]
        data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        assert self._process.stdout is not None
        began = time.perf_counter()
        writer = Thread(target=self._write, args=(data,)) if copies > 1 else None
        if writer is None:
            self._write(data)
        else:
            writer.start()
        for _ in range(copies):
            assert self._process.stdout.readline().endswith(b"\n")
        took = time.perf_counter() - began
        if writer is not None:
            writer.join()
        return took

    def _write(self, data: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(data)
        self._process.stdin.flush()

    def call(self, copies: int = 1, **arguments: Any) -> float:
        name = "big" if "megabytes" in arguments else "echo"
        return self.timed("tools/call", {"name": name, "arguments": arguments}, copies)

    def close(self) -> None:
        self._process.communicate()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=2000)
    calls = parser.parse_args().calls
    with tempfile.TemporaryDirectory() as directory:
        proxy = (*RECORD, "-o", f"{directory}/run.trajectory.json", "--", *LEDGER)
        bare, through = Connection(LEDGER), Connection(proxy)
        pairs = [(bare.call(text="x" * 200), through.call(text="x" * 200)) for _ in range(calls)]
        parallel = paired(5, lambda one: one.call(copies=1000, text="x" * 200), bare, through)
        big = paired(3, lambda one: one.call(megabytes=20), bare, through)
        bare.close()
        through.close()
        startup = [(startup_of(LEDGER), startup_of(proxy)) for _ in range(7)]
    added = statistics.median(slow - quick for quick, slow in pairs)
    median = statistics.median(quick for quick, _ in pairs)
    allowed = max(LIMIT, 3 * median)
    print("| what | bare | recorded | added |\n| --- | ---: | ---: | ---: |")
    for what, measured in (
        (f"one call ({calls} in turn)", pairs),
        ("1,000 calls at once", parallel),
        ("an answer of 20 MB", big),
        ("start to the answer to `initialize`", startup),
    ):
        quick, slow = (statistics.median(side) for side in zip(*measured, strict=True))
        difference = statistics.median(b - a for a, b in measured)
        print(f"| {what} | {quick * 1000:.2f} ms | {slow * 1000:.2f} ms | {difference * 1000:.2f} ms |")
    print(f"\nAdded per call: {added * 1000:.3f} ms; allowed: {allowed * 1000:.3f} ms.")
    return int(added > allowed)


def paired(
    times: int, measure: Callable[[Connection], float], bare: Connection, through: Connection
) -> list[tuple[float, float]]:
    return [(measure(bare), measure(through)) for _ in range(times)]


def startup_of(command: tuple[str, ...]) -> float:
    connection = Connection(command)
    connection.close()
    return connection.startup


if __name__ == "__main__":
    raise SystemExit(main())
