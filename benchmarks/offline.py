"""Published runs judged `--offline` on one core: calls a second, against another commit in turn, and where time goes.

    python benchmarks/offline.py [--before TREE] [--same-as TREE] [--copies N] [FILES...]

Each tree runs in a process of its own, in turn with the others; what counts is the processor's time from the opening
of the files to the end of the run, without starting Python. FILES are repeated with other ids and numbers.

    --before TREE    a checkout to be compared in speed
    --same-as TREE   a checkout that must tell the same: verdicts, edges, everything that the run file holds
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import random
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SHARED = ROOT / ".." / "shared" / "data"
ROUNDS = 3
_MIXED = re.compile(r"(?<![\\\w])(?=\w*\d)[A-Za-z_]*\d[A-Za-z0-9_]{4,}|(?<![\\\w])[A-Za-z]{4,}\d\w*")
"""Ids, numbers and names with a digit; of fewer digits are status codes and the like, which stay."""
STAGES = {
    "data edges": "infer_edges",
    "judging": "judge_answer",
    "looking files through": "open_file",
    "reading again, beginning": ("_unfinished", "_work"),
    "writing verdicts and records": "finish",
    "taking out secrets (a part of the two above)": ("record_text", "_clean"),
}


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        files = copies_of(
            options.files or sorted((SHARED / "toolathlon" / "results").glob("*.json")), directory, options
        )
        trees = {"now": ROOT} | ({"before": options.before} if options.before else {})
        rates: dict[str, list[float]] = {tree: [] for tree in trees}
        for _ in range(ROUNDS):
            for tree, path in trees.items():
                rates[tree].append(measured(path, directory / "run.db", files)["rate"])
        medians = {tree: statistics.median(found) for tree, found in rates.items()}
        size = sum(file.stat().st_size for file in files) / 1e6
        print(f"{len(files)} files, {size:.0f} MB\n\n| tree | calls a second of one core |\n| --- | ---: |")
        for tree, rate in medians.items():
            print(f"| {tree} | {rate:.0f} |")
        if options.before:
            print(f"\n{medians['now'] / medians['before']:.2f} times as fast.")
        for tree, path in trees.items():
            print_shares(tree, measured(path, directory / "run.db", files, profile=True)["shares"])
        if options.same_as:
            check_same(options.same_as, directory, files)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--before", type=Path)
    parser.add_argument("--same-as", type=Path)
    parser.add_argument("--copies", type=int, default=10)
    parser.add_argument("files", type=Path, nargs="*")
    return parser.parse_args()


def copies_of(files: list[Path], directory: Path, options: argparse.Namespace) -> list[Path]:
    """The files, and copies of them in which each id and number is another one, everywhere the same."""
    written = []
    for copy in range(options.copies):
        table = str.maketrans("123456789", "".join(random.Random(copy).sample("123456789", 9)))
        for file in files:
            path = directory / f"{file.stem}-{copy}{file.suffix}"
            change = partial(_changed, table=table) if copy else re.Match.group
            path.write_text(_MIXED.sub(change, file.read_text("utf-8")), "utf-8")
            written.append(path)
    return written


def _changed(match: re.Match[str], table: dict[int, int]) -> str:
    return match.group().translate(table)


def measured(tree: Path, run: Path, files: list[Path], *, profile: bool = False) -> Any:
    """What `judge` prints, run with the modules of a tree."""
    environment = os.environ | {"PYTHONPATH": str(tree.resolve())}
    command = [sys.executable, __file__, "judge", "profile" if profile else "time", run, *files]
    done = subprocess.run(command, env=environment, cwd=run.parent, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def judge(run_path: Path, files: list[Path], *, profile: bool) -> dict:
    """Classify the files into a new run; runs with whatever `replay` is on the path, old or new."""
    import anyio

    older = find_spec("replay.engine") is not None
    engine: Any = import_module("replay.engine" if older else "replay.replayer.classifier")
    from replay.formats import open_file
    from replay.runfile import Run

    if find_spec("replay.outcomes.words") is not None and find_spec("replay.outcomes.words.error_model") is not None:
        import_module("replay.outcomes.words.error_model").model_in_use()  # the first file need not ask it
    profiler = cProfile.Profile(time.process_time)
    with Run.open(run_path, fresh=True) as run:  # what is loaded once is loaded before the clock starts
        anyio.run(
            partial(
                engine.classify_stored,
                run,
                [open_file(files[0])],
                engine.Options(offline=True),
                progress=engine.Progress(),
            )
        )
    with Run.open(run_path, fresh=True) as run:
        started = time.process_time()
        if profile:
            profiler.enable()
        opened = [open_file(file) for file in files]
        anyio.run(
            partial(engine.classify_stored, run, opened, engine.Options(offline=True), progress=engine.Progress())
        )
        profiler.disable()
        seconds = time.process_time() - started
        calls = run.connection.execute("SELECT count(*) FROM calls").fetchone()[0]
    return {"rate": calls / seconds, "shares": shares(profiler, seconds) if profile else {}}


def shares(profiler: cProfile.Profile, seconds: float) -> dict[str, float]:
    """The share of each stage, with all that it calls."""
    found: Any = vars(pstats.Stats(profiler))["stats"]
    return {
        stage: sum(
            entry[3]
            for (file, _, function), entry in found.items()
            if function in ((names,) if isinstance(names, str) else names) and "replay" in file
        )
        / seconds
        for stage, names in STAGES.items()
    }


def print_shares(tree: str, found: dict[str, float]) -> None:
    print(f"\n| {tree}: stage, under the profiler | share |\n| --- | ---: |")
    for stage, share in found.items():
        print(f"| {stage} | {share:.0%} |")


def check_same(tree: Path, directory: Path, files: list[Path]) -> None:
    """Check that both trees tell the same of all recordings there are.

    Raises:
        SystemExit: they do not.
    """
    others = [SHARED / "recorded" / "recorded.jsonl", SHARED / "recorded2" / "recorded.jsonl"]
    others += [*(SHARED / "m3bench" / "results").glob("*.json"), *(SHARED / "formats").glob("[!e]*/*.json*")]
    every = [file.resolve() for file in (*files, *others)]
    measured(ROOT, directory / "new.db", every)
    measured(tree, directory / "old.db", every)
    old, new = told(directory / "old.db"), told(directory / "new.db")
    differing = sum(left != right for left, right in zip(old, new, strict=False)) + abs(len(old) - len(new))
    if differing:
        raise SystemExit(f"{differing} of {len(old)} calls and trajectories differ from {tree}")
    print(f"\n{len(old)} calls and trajectories with their edges: the same in both trees.")


def told(run: Path) -> list[tuple]:
    """All calls and trajectories of a run file."""
    with sqlite3.connect(run) as db:
        calls = db.execute("SELECT * FROM calls ORDER BY id").fetchall()
        records = db.execute("SELECT name, calls, done, record FROM trajectories ORDER BY id").fetchall()
    rows = [(*row[:-1], json.loads(row[-1])) for row in calls]
    return rows + [(*row, json.loads(zlib.decompress(record))) for *row, record in records]


if __name__ == "__main__":
    if sys.argv[1:2] == ["judge"]:
        arguments = list(map(Path, sys.argv[3:]))
        print(json.dumps(judge(arguments[0], arguments[1:], profile=sys.argv[2] == "profile")))
    else:
        main()
