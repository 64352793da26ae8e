"""Writes what `replay demo` replays: the sample trajectories, their fleet, and the answers of a run as a cassette.

RUN is `replay-run.db` by default, as `make demo` leaves it. Of the servers' lists only the tools that are called are
kept, without their descriptions: the demo shows how calls are judged, and no server's documentation.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from replay.replayer.cassette import export_cassette
from replay.runfile import Run

ROOT = Path(__file__).parents[1]
DEMO = ROOT / "replay" / "cli" / "demo_data"


def sources() -> list[Path]:
    """What is copied as it is."""
    return [*sorted((ROOT / "traces").glob("*.json")), ROOT / "servers.yaml"]


def main() -> None:
    """Write the folder anew."""
    run_path = Path(sys.argv[1] if len(sys.argv) > 1 else "replay-run.db")
    DEMO.mkdir(exist_ok=True)
    for source in sources():
        shutil.copyfile(source, DEMO / source.name)
    cassette = DEMO / "cassette.jsonl"
    with Run.read(run_path) as run:
        export_cassette(run, cassette, force=True)
    header, *answers = cassette.read_text("utf-8").splitlines()
    document = json.loads(header)
    called = {(answer["server"], answer["tool"]) for answer in map(json.loads, answers)}
    for server in document["servers"]:
        server["tools"] = [
            {key: value for key, value in tool.items() if key not in {"description", "output_schema"}}
            for tool in server["tools"]
            if (server["name"], tool["name"]) in called
        ]
    cassette.write_text("\n".join([json.dumps(document, separators=(",", ":")), *answers]) + "\n", "utf-8")
    cassette.chmod(0o644)


if __name__ == "__main__":
    main()
