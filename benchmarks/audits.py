"""The audits of published runs in `docs/audits/`, written again from the repositories that published them.

    python benchmarks/audits.py toolathlon CLONE > figures.md

CLONE is the git directory of a clone of the repository named below. What is printed belongs between the two marks of
the page; the claims that were checked by hand stand behind it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from replay.formats import open_file
from replay.formats.file_names import FileNames
from replay.records import ReportedResult, Source, Trajectory
from replay.records.files import TrajectoryFile, dump


class Published(NamedTuple):
    """A repository with published runs."""

    repository: str
    under: str
    """The folder with the runs."""
    trajectories: Callable[[Path], Iterator[Trajectory]]


_EMPTY = Trajectory(id="", model="", steps=(), source=Source(file="messages.json", format="openai-responses"))
"""Of a run without any message."""


def toolathlon(folder: Path) -> Iterator[Trajectory]:
    """A file a run, `MODEL_TASK.json`, with `pass`."""
    for path in sorted(folder.glob("*.json")):
        yield from open_file(path, FileNames("{model}_{task}.json")).trajectories()


def mcpmark(folder: Path) -> Iterator[Trajectory]:
    """A folder a run, `SERVICE/SERVER/run-N/TASK`: the messages, and beside them `meta.json` with the success."""
    for path in sorted(folder.glob("*/*/run-*/*/messages.json")):
        service, server, number, task = path.parts[-5:-1]
        meta = json.loads((path.parent / "meta.json").read_text("utf-8"))
        passed = meta["execution_result"]["success"]
        messages = json.loads(path.read_text("utf-8"))
        trajectory = next(iter(open_file(path).trajectories())) if messages else _EMPTY
        yield trajectory.model_copy(
            update={
                "id": f"{task}-{number}",
                "model": f"{service}/{server}",
                "task": trajectory.task.model_copy(update={"id": task}),
                "reported": ReportedResult(passed=passed),
            }
        )


def mcp_bench(folder: Path) -> Iterator[Trajectory]:
    """A file an agent and kind of task, with scores of a judge and no pass or fail."""
    for path in sorted(folder.glob("*.json")):
        for trajectory in open_file(path).trajectories():
            yield trajectory.model_copy(update={"model": "_".join(path.stem.split("_")[4:])})


PUBLISHED = {
    "toolathlon": Published("WaitHZ/toolathlon-traj-website", "trajs", toolathlon),
    "mcpmark": Published("eval-sys/mcpmark-community-experiments", "mcp_servers", mcpmark),
    "mcp-bench": Published("AriYusa/mcp-bench", "benchmark_results", mcp_bench),
}


def extract(clone: Path, under: str, target: Path) -> int:
    """Write the files of a folder as the newest commit has them; what the clone lacks is left out and counted."""
    git = ["git", f"--git-dir={clone}"]
    listed = subprocess.run(
        [*git, "ls-tree", "-r", "-z", "--name-only", "HEAD", under], capture_output=True, check=True
    )
    absent = 0
    for name in filter(None, listed.stdout.decode().split("\0")):
        shown = subprocess.run([*git, "show", f"HEAD:{name}"], capture_output=True, check=False)
        if shown.returncode:
            absent += 1
            continue
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(shown.stdout)
    return absent


def audited(published: Published, clone: Path) -> dict[str, Any]:
    """What `replay audit --json` says of the runs."""
    with tempfile.TemporaryDirectory() as directory:
        absent = extract(clone, published.under, Path(directory))
        if absent:
            print(f"{absent} files that the clone lacks are left out", file=sys.stderr)
        runs = Path(directory) / "runs"
        runs.mkdir()
        for number, trajectory in enumerate(published.trajectories(Path(directory) / published.under)):
            document = json.dumps(dump(TrajectoryFile(**dict(trajectory))))
            (runs / f"{number:04}.trajectory.json").write_text(document, "utf-8")
        command = [sys.executable, "-m", "replay", "audit", str(runs), "--json"]
        # elsewhere, since the names of tools are read by the fleet file of the folder
        done = subprocess.run(command, capture_output=True, check=True, cwd=directory)
        found: dict[str, Any] = json.loads(done.stdout)
        return found


def figures(found: dict[str, Any]) -> Iterator[str]:
    """The tables of a page: scores, undecided runs, what to mend."""
    kinds = ("on-path", "recovered", "worked-around", "beside")
    names = ", ".join(kinds).replace("-", " ")
    yield f"| model | runs | passed | supported | lost by the model | undecided | faults: {names} |"
    yield "| --- | ---: | ---: | --- | ---: | ---: | --- |"
    for model in [*found["models"], found["benchmark"]]:
        runs, passed, lost = model["runs"], model["passed"], model["undecided_lost"]
        low, high = (100 * (passed - model["undecided_passed"]), 100 * (passed + lost))
        supported = f"{low / runs:.1f} to {high / runs:.1f} %" if runs else "-"
        own = runs - passed - lost if runs else "-"
        faults = ", ".join(str(model["faults"][kind]) for kind in kinds)
        undecided = lost + model["undecided_passed"]
        yield f"| {model['model']} | {runs} | {passed} | {supported} | {own} | {undecided} | {faults} |"
    yield ""
    yield from (
        f"- `{task['model']}:{task['trajectory']}`"
        + (f", {', '.join([fault['call']['call'], *fault['more']])}: {fault['reason']}. " if fault else ": ")
        + task["why"]
        for task in found["undecided"]
        for fault in [next(iter(task["faults"]), None)]
    )
    for mend in found["mends"][:5]:
        settles = f"settles {mend['settles']} alone, {mend['points']:.1f} points"
        yield f"- to mend: {mend['name']}, {mend['reason']}: plays a part in {mend['tasks']}, {settles}"


def main(name: str, clone: Path) -> None:
    print("\n".join(figures(audited(PUBLISHED[name], clone))))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
