"""Memory and speed of reading one very large Claude Code session, made from the published ones.

    python benchmarks/formats.py [MEGABYTES]

The lines of the published sessions are repeated with ids of their own until the file is large enough. It is read in a
process of its own, as `classify` reads it: looked through once, then read call by call.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SHARED = Path(__file__).parents[2] / "shared" / "data" / "formats" / "claude-code"

READ = """
import resource, sys, time
from replay.formats import open_file
try:
    from orjson import loads
except ImportError:
    from json import loads
base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.process_time()
file = open_file(sys.argv[1])
opened = time.process_time() - start
calls = sum(1 for trajectory in file.trajectories() for call in trajectory.calls())
seconds = time.process_time() - start
del file
start = time.process_time()
with open(sys.argv[1], "rb") as stream:
    for line in stream:
        loads(line)
bare = time.process_time() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(loads.__module__, calls, opened, seconds, bare, base / 1024, peak / 1024)
"""


def make_session(path: Path, megabytes: int) -> int:
    """Write a session of that size; returns how many calls are in it."""
    lines = [line for source in sorted(SHARED.glob("*.jsonl")) for line in source.read_text().splitlines()]
    session, calls, size, copy = "large-session", 0, 0, 0
    with path.open("w", encoding="utf-8") as out:
        while size < megabytes * 1_000_000:
            copy += 1
            for line in lines:
                value = json.loads(line)
                text = line
                for identifier in _identifiers(value):
                    text = text.replace(f'"{identifier}"', f'"{identifier}-{copy}"')
                if "sessionId" in value:
                    text = text.replace(value["sessionId"], session)
                text = text.replace('"isSidechain":true', '"isSidechain":false')
                calls += text.count('"type":"tool_use"')
                size += out.write(text + "\n")
    return calls


def _identifiers(value: dict) -> list[str]:
    message = value.get("message") or {}
    blocks = message.get("content") if isinstance(message.get("content"), list) else []
    found = [value.get("uuid"), value.get("parentUuid"), message.get("id")]
    found += [block.get(key) for block in blocks for key in ("id", "tool_use_id")]
    return [identifier for identifier in found if isinstance(identifier, str)]


def main() -> None:
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "session.jsonl"
        calls = make_session(path, megabytes)
        size = path.stat().st_size / 1e6
        begun = time.perf_counter()
        done = subprocess.run([sys.executable, "-c", READ, path], capture_output=True, text=True, check=True)
        whole = time.perf_counter() - begun
    library, *figures = done.stdout.split()
    read, opened, seconds, bare, base, peak = map(float, figures)
    print(f"{size:.0f} MB, {calls} calls written, {read:.0f} read")
    print(f"bare {library}.loads of each line: {size / bare:.0f} MB/s, in the same process")
    print(f"processor time: looked through in {opened:.1f} s, then read in {seconds - opened:.1f} s")
    print(f"file to calls: {size / seconds:.0f} MB/s; in all {whole:.1f} s; peak {peak:.0f} MB (start {base:.0f} MB)")


if __name__ == "__main__":
    main()
