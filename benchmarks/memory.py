"""Memory of the replayer over 1,000 trajectories of 10 calls, against one over 100: it must not grow."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

SERVERS = Path(__file__).parents[1] / "tests" / "servers"
PROBE = """
import resource, sys
from replay.cli import main
try:
    main()
except SystemExit:
    pass
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, file=sys.stderr)
"""


def peak_megabytes(directory: Path, trajectories: int) -> int:
    """Peak resident memory of one `replay classify`, its servers not counted."""
    servers = {"plain": {"command": sys.executable, "args": [str(SERVERS / "annotated.py")]}}
    (directory / "servers.yaml").write_text(json.dumps({"version": 1, "servers": servers}))
    results = directory / f"{trajectories}.json"
    call = {"name": "plain/look", "arguments": {"why": "x" * 200}, "result": "look"}
    steps = [{"step": number, "calls": [call]} for number in range(10)]
    results.write_text(json.dumps([{"id": str(n), "question": "?", "steps": steps} for n in range(trajectories)]))
    command = [sys.executable, "-c", PROBE, "classify", results.name, "--run", f"{trajectories}.db", "--jobs", "8"]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=True)
    return int(done.stderr.split()[-1])


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        few, many = (peak_megabytes(Path(name), count) for count in (100, 1000))
    print("| trajectories x 10 calls | peak resident memory | to reach |")
    print("| --- | --- | --- |")
    print(f"| 100 | {few} MB | |")
    print(f"| 1,000 | {many} MB | < 300 MB, no growth with the number |")


if __name__ == "__main__":
    main()
