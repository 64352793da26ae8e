"""The ten published Toolathlon runs, replayed on their servers: recorded outcome by replayed outcome, and agreement.

Needs the shared data beside the project, and the package registries. `benchmarks/toolathlon.md` keeps what it prints.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import anyio

from replay.formats import open_file
from replay.formats.file_names import FileNames
from replay.interpreter import Fleet
from replay.records import Outcome
from replay.records.files import CallRow
from replay.replayer.classifier import classify_live
from replay.replayer.plan import Options, Progress
from replay.runfile import Run, call_rows

SHARED = Path(os.environ.get("REPLAY_SHARED", Path(__file__).parents[2] / "shared")) / "data" / "toolathlon"
OUTCOMES = [*map(str, Outcome), "(not re-issued)"]


def fleet_of(directory: Path) -> Fleet:
    """The published fleet, each server in a workspace of its own for each trajectory."""
    servers: dict[str, Any] = json.loads((SHARED / "fleet.json").read_text())
    document = {
        "version": 1,
        "defaults": {"effects": "sandboxed", "startup_timeout": 240, "call_timeout": 90},
        "local_tools": ["local-*"],
        "servers": {name: {**spec, "state": "trajectory"} for name, spec in servers.items()},
        "workspace": {
            "template": str(SHARED / "workspaces" / "${task}"),
            "recorded_as": ["/workspace/dumps/workspace"],
        },
    }
    path = directory / "servers.yaml"
    path.write_text(json.dumps(document))
    return Fleet.load(path)


def replayed(directory: Path) -> tuple[list[CallRow], float]:
    names = FileNames("{model}_{task}.json")
    files = [open_file(path, names) for path in sorted((SHARED / "results").glob("*.json"))]
    started = time.perf_counter()
    with Run.open(directory / "run.db", fresh=True) as run:

        async def classify() -> None:
            await classify_live(
                run, files, fleet_of(directory), Options(), logs=directory / "logs", progress=Progress()
            )

        anyio.run(classify)
        return list(call_rows(run)), time.perf_counter() - started


def matrix(rows: list[CallRow]) -> str:
    counts = Counter((str(row.recorded), str(row.replayed or "(not re-issued)")) for row in rows)
    lines = ["| recorded \\ replayed | " + " | ".join(OUTCOMES) + " |", "| --- |" + " ---: |" * len(OUTCOMES)]
    for recorded in map(str, Outcome):
        if any(key[0] == recorded for key in counts):
            cells = (str(counts[recorded, column] or ".") for column in OUTCOMES)
            lines.append(f"| {recorded} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    if not SHARED.exists():
        sys.exit(f"skipped: the published runs are not at {SHARED}")
    with tempfile.TemporaryDirectory() as name:
        rows, seconds = replayed(Path(name))
    sent = [row for row in rows if row.replayed is not None]
    clean = [row for row in sent if row.divergence != "state-gap"]
    agreeing = [row for row in clean if row.replayed == row.recorded]
    print(f"{len(rows)} calls in ten runs, {len(sent)} re-issued, in {seconds:.0f} s with --jobs 4\n")
    print(matrix(rows))
    print(f"\nUntainted calls of the same outcome: {len(agreeing)} of {len(clean)} ({len(agreeing) / len(clean):.1%}).")
    print(f"Tainted by a state gap, judged by the recorded answer: {len(sent) - len(clean)}.\n")
    print("Answers of untainted calls: ", dict(Counter(str(row.drift) for row in clean)))
    print("\nCalls whose outcomes differ, and why:\n")
    for row in sent:
        if row.replayed != row.recorded:
            gap = f" after {row.gap}" if row.gap else ""
            where = f"{row.model} {row.trajectory} {row.call} {row.tool}"
            print(f"- {where}: {row.recorded} -> {row.replayed}: {row.divergence}{gap}")


if __name__ == "__main__":
    main()
