"""Runs `replay` against hostile servers, and tells what came of each; by itself it writes the figures of a whole table.

python -m tests.hostile.runner stdio|http|sse [first [last]]
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.hostile.modes import http_modes, stdio_modes

HOSTILE = Path(__file__).parent / "server.py"
GOOD = "good"
ARGUMENTS = {"a": "a" * 40 + "!"}
BATCH = 25
_TIME_LIMIT = 240


@dataclass(frozen=True)
class Run:
    """What one `replay classify` made of a batch of modes."""

    code: int
    stderr: str
    verdicts: dict[str, dict[str, Any]]
    """Mode -> row of the run document; the well-behaved server is `good`."""
    peak_kb: int
    seconds: float


def peak_kb(pid: int) -> int:
    """Peak memory of the program that a process runs; what it shared with its parent before does not count."""
    status = Path(f"/proc/{pid}/status").read_text()
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(peak[1]) if peak else 0


def run_cli(*arguments: str | Path, cwd: Path) -> tuple[int, str, str, int]:
    """Exit code, stdout, stderr and peak memory in kB of one `replay`."""
    environment = {**os.environ, "NO_COLOR": "1", "CI": "1"}
    with (cwd / "stdout").open("wb") as out, (cwd / "stderr").open("wb") as err:
        process = subprocess.Popen(
            [sys.executable, "-m", "replay", *map(str, arguments)], cwd=cwd, env=environment, stdout=out, stderr=err
        )
    deadline, peak = time.monotonic() + _TIME_LIMIT, 0
    while True:
        peak = max(peak, peak_kb(process.pid))
        pid, status, _ = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            break
        if time.monotonic() > deadline:
            process.kill()
            deadline = float("inf")
        time.sleep(0.05)
    texts = [(cwd / name).read_bytes().decode("utf-8", "replace") for name in ("stdout", "stderr")]
    return process.returncode, texts[0], texts[1], peak


def over_stdio(mode: str) -> dict[str, Any]:
    """The specification of a hostile server."""
    return {"command": sys.executable, "args": ["-S", "-E", str(HOSTILE), mode]}


@contextmanager
def http_server() -> Iterator[str]:
    """The hostile server over HTTP; gives its address."""
    with subprocess.Popen([sys.executable, str(HOSTILE), "--http"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def classify(
    home: Path, servers: dict[str, dict[str, Any]], arguments: Any = None, tools: Sequence[str] = ("work",)
) -> Run:
    """Classify one call to each server, and one to a server that behaves.

    Args:
        home: an empty directory.
        servers: mode -> specification.
        arguments: of the calls.
        tools: that are called at each server, a step each; what is told is what became of the last one.
    """
    names = {GOOD: over_stdio("ordinary"), **servers}
    numbered = {f"m{number}": mode for number, mode in enumerate(names)}
    common = {"effects": "all", "call_timeout": 8, "startup_timeout": 20, "max_restarts": 1}
    fleet = {"version": 1, "servers": {name: {**names[mode], **common} for name, mode in numbered.items()}}
    (home / "servers.yaml").write_text(json.dumps(fleet))
    call = {"arguments": ARGUMENTS if arguments is None else arguments}
    (home / "results.json").write_text(
        json.dumps(
            [
                {
                    "id": name,
                    "question": "?",
                    "steps": [
                        {"step": number, "calls": [{"name": f"{name}/{tool}", **call}]}
                        for number, tool in enumerate(tools, 1)
                    ],
                }
                for name in numbered
            ]
        )
    )
    started = time.monotonic()
    code, out, err, peak = run_cli("classify", "results.json", "--json", cwd=home)
    seconds = time.monotonic() - started
    rows = json.loads(out)["calls"] if code == 0 else []
    return Run(
        code, err, {numbered[row["trajectory"]]: row for row in rows if row["trajectory"] in numbered}, peak, seconds
    )


def problems_of(run: Run, modes: Sequence[str]) -> list[str]:
    """What must not be: another exit code than 0, a call without its verdict, a good server's call that suffers."""
    if run.code != 0:
        return [f"exit {run.code}: {run.stderr.strip().splitlines()[-1:]}"]
    found = [f"{mode}: no verdict" for mode in (GOOD, *modes) if mode not in run.verdicts]
    if run.verdicts.get(GOOD, {}).get("outcome") != "success":
        found.append(f"the good server's call: {run.verdicts.get(GOOD)}")
    found += [f"{mode}: {row['message']}" for mode, row in run.verdicts.items() if row["rule"] == "replay.fault"]
    found += [f"{mode}: {row['message']}" for mode, row in run.verdicts.items() if "TaskGroup" in row["message"]]
    if "\x1b" in run.stderr or "Traceback" in run.stderr:
        found.append("stderr has a control sequence or a traceback")
    return found


def batches(modes: Sequence[str]) -> Iterator[list[str]]:
    """Modes, so many at a time."""
    for start in range(0, len(modes), BATCH):
        yield list(modes[start : start + BATCH])


def main() -> None:
    """Run a part of the table, and print what came of it."""
    kind, first, last = sys.argv[1], int(sys.argv[2]) if sys.argv[2:] else 0, int(sys.argv[3]) if sys.argv[3:] else None
    modes = list(stdio_modes() if kind == "stdio" else http_modes())[first:last]
    outcomes: Counter[str] = Counter()
    failed, peak, seconds = [], 0, 0.0
    with http_server() as address:
        prefix = f"{address}/sse" if kind == "sse" else address
        for batch in batches(modes):
            servers = {mode: over_stdio(mode) if kind == "stdio" else {"url": f"{prefix}/{mode}"} for mode in batch}
            with tempfile.TemporaryDirectory() as home:
                run = classify(Path(home), servers)
            found = problems_of(run, batch)
            failed += found
            peak, seconds = max(peak, run.peak_kb), seconds + run.seconds
            outcomes.update(f"{row['outcome']} {row.get('reason') or ''}".strip() for row in run.verdicts.values())
            print(
                f"{batch[0]} ... {batch[-1]}: {run.seconds:.0f} s, {run.peak_kb // 1024} MB",
                *found,
                sep="\n  ",
                flush=True,
            )
    print(f"{len(modes)} modes, {len(failed)} problems, peak {peak // 1024} MB, {seconds:.0f} s")
    for outcome, count in outcomes.most_common():
        print(f"  {count:5} {outcome}")


if __name__ == "__main__":
    main()
