"""Kills `classify` at random moments, edits and renames its results file between, and counts what its server got.

python -m tests.hostile.kills [KILLS [CHANCE]]

In each story one results file is classified, killed, edited, renamed and resumed until it is left to finish; then its
verdicts are held against those of a run that nobody disturbed. Beside it lies what is not ours to touch.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil

from replay.runfile import Run

SERVER: Final = Path(__file__).parents[1] / "servers" / "logbook.py"
KILLS_A_STORY: Final = 20
_TASKS, _CALLS = 5, 3
_SIGNALS: Final = (signal.SIGKILL,) * 6 + (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_SECONDS_TO_END: Final = 30
_OUTSIDE: Final = ("tmp/replay-venv", "cache/other", "cache/mcp-replay/workspaces/not-ours", "home/.replay")


@dataclass
class Story:
    """One results file from its first run to its last."""

    home: Path
    state: str
    dice: random.Random
    kills: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    interrupted: int = 0
    """Calls whose answer a kill took: they are never sent again, and stay without a verdict."""
    state_gaps: int = 0
    """Failures behind such a call, or in a fresh process that has not got what calls of the one before did."""

    def __post_init__(self) -> None:
        self.log = self.home / "log"
        self.results = self.home / "results" / "model-a.json"
        self.results.parent.mkdir(parents=True)
        environment = {"LOGBOOK": str(self.log), "PAUSE": "0.03"}
        server = {"command": sys.executable, "args": ["-S", str(SERVER)], "env": environment}
        fleet = {"version": 1, "servers": {"book": {**server, "effects": "all", "state": self.state}}}
        self.fleet = self.home / "servers.yaml"
        self.fleet.write_text(json.dumps(fleet))
        self._calls = {number: list(range(_CALLS)) for number in range(_TASKS)}
        self._next = _CALLS
        self._reply = ""
        self.write()
        for name in _OUTSIDE:
            place = self.home / "outside" / name
            place.mkdir(parents=True)
            (place / ".lock").touch()
            (place / "precious.txt").write_text("not ours")
            os.utime(place / ".lock", (1, 1))

    def write(self) -> None:
        """Write the results file as it is to be now."""
        documents = []
        for number, calls in self._calls.items():
            named = [{"name": "book/put", "arguments": {"n": f"{number}.{call}"}} for call in calls]
            steps = [{"step": turn, "calls": [call]} for turn, call in enumerate(named, 1)]
            documents.append({"id": f"t{number}", "type": "x", "question": f"Put down {number}.", "steps": steps})
        self.results.write_text(json.dumps([{**one, "final_reply": self._reply} for one in documents]))

    def sent(self) -> Counter[str]:
        """How often each call reached the server."""
        return Counter(self.log.read_text().splitlines()) if self.log.exists() else Counter()

    def start(self, *options: str, run: str = "run.db", fleet: Path | None = None) -> subprocess.Popen[bytes]:
        """Begin to classify."""
        outside = self.home / "outside"
        environment = {
            **os.environ, "CI": "1", "TMPDIR": str(outside / "tmp"), "HOME": str(outside / "home"),
            "XDG_CACHE_HOME": str(outside / "cache"), "XDG_RUNTIME_DIR": str(outside / "runtime"),
        }  # fmt: skip
        command = [sys.executable, "-m", "replay", "classify", str(self.results), "--servers", str(fleet or self.fleet)]
        with (self.home / "said").open("ab") as said:
            return subprocess.Popen(
                [*command, "--run", str(self.home / run), *options],
                cwd=self.home, env=environment, stdout=said, stderr=said, start_new_session=True,
            )  # fmt: skip

    def kill_once(self) -> None:
        """Begin, and end it at a random moment: after a time, or so many calls later."""
        before = self.sent().total()
        options = self.dice.choice(((), (), ("--no-rebinding",), ("--trials", "2"), ("--jobs", "4")))
        process = self.start(*options)
        if self.dice.random() < 0.3:
            time.sleep(self.dice.uniform(0, 2))
        else:
            wanted = before + self.dice.randrange(1, 8)
            while process.poll() is None and self.sent().total() < wanted:
                time.sleep(0.002)
            time.sleep(self.dice.uniform(0, 0.08))
        if process.poll() is None:
            chosen = self.dice.choice(_SIGNALS)
            process.send_signal(chosen)
            self.kills[chosen.name] += 1
        self._await_end(process)

    def _await_end(self, process: subprocess.Popen[bytes]) -> None:
        try:
            code = process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self.problems.append("did not end after its signal")
            process.kill()
            code = process.wait()
        if code == 70:
            self.problems.append(f"exit 70: {(self.home / 'said').read_text()[-300:]}")
        left = psutil.wait_procs(self.running(), timeout=_SECONDS_TO_END)[1]
        self.problems += [f"left running: {one.pid}" for one in left if one.is_running()]
        for one in left:
            one.kill()

    def running(self) -> list[psutil.Process]:
        """The servers of this story."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get("LOGBOOK") == str(self.log):
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def disturb(self) -> None:
        """Change the file, its name, or both."""
        changes: tuple[Callable[[], None], ...] = (self._append, self._insert, self._say, self._rename, self._drop)
        for change in self.dice.choices(changes, weights=(4, 2, 2, 4, 1), k=self.dice.choice((1, 1, 2))):
            change()
        self.write()

    def _some_task(self) -> list[int]:
        return self._calls[self.dice.randrange(_TASKS)]

    def _append(self) -> None:
        self._some_task().append(self._next)
        self._next += 1

    def _insert(self) -> None:
        self._some_task().insert(0, self._next)
        self._next += 1

    def _drop(self) -> None:
        calls = self._some_task()
        if len(calls) > 1:
            calls.pop(self.dice.randrange(len(calls)))

    def _say(self) -> None:
        self._reply = f"Edited {self.dice.random()}."

    def _rename(self) -> None:
        self.results = self.results.rename(self.results.with_name(f"model-{self.dice.choice('abcdefgh')}.json"))

    def verdicts(self, run: str = "run.db") -> dict[tuple[str, str], tuple[str, str | None]]:
        """Outcome and reason of each call of the file as it is now."""
        query = (
            "SELECT t.name, c.position, c.outcome, c.reason FROM calls c JOIN trajectories t ON t.id = c.trajectory "
            "JOIN files f ON f.id = t.file WHERE f.absolute_path = ?"
        )
        with Run.read(self.home / run) as opened:
            rows = opened.connection.execute(query, (str(self.results.resolve()),)).fetchall()
        return {(name, position): (outcome, reason) for name, position, outcome, reason in rows}

    def finish(self) -> None:
        """Let it end; then look at everything."""
        self._await_end(self.start())
        sent = self.sent()
        self.problems += [f"sent {count} times: {call}" for call, count in sent.items() if count > 1]
        wanted = {f"put {number}.{call}" for number, calls in self._calls.items() for call in calls}
        found = self.verdicts()
        undisturbed = self._undisturbed()
        if found.keys() != undisturbed.keys():
            self.problems.append(f"verdicts of other calls: {sorted(found.keys() ^ undisturbed.keys())[:5]}")
        interrupted = {call for call, verdict in found.items() if verdict == ("inconclusive", "interrupted")}
        self.interrupted = len(interrupted)
        for (task, position), verdict in found.items():
            if (task, position) in interrupted or verdict == undisturbed.get((task, position)):
                continue
            earlier = any(one == task and _step(other) < _step(position) for one, other in interrupted)
            if verdict == ("inconclusive", "state-gap") and (earlier or self.state == "trajectory"):
                self.state_gaps += 1
            else:
                self.problems.append(f"{position} of {task}: {verdict}, not {undisturbed.get((task, position))}")
        not_sent = len(wanted - sent.keys())
        if not_sent > self.interrupted:
            self.problems.append(f"{not_sent} calls were never sent, {self.interrupted} were interrupted")
        self._look_outside()

    def _undisturbed(self) -> dict[tuple[str, str], tuple[str, str | None]]:
        document: dict[str, Any] = json.loads(self.fleet.read_text())
        document["servers"]["book"]["env"] = {"LOGBOOK": str(self.home / "other-log")}
        fleet = self.home / "undisturbed.yaml"
        fleet.write_text(json.dumps(document))
        self._await_end(self.start(run="undisturbed.db", fleet=fleet))
        return self.verdicts("undisturbed.db")

    def _look_outside(self) -> None:
        outside = self.home / "outside"
        for name in _OUTSIDE:
            lock, kept = outside / name / ".lock", outside / name / "precious.txt"
            if not (kept.exists() and kept.read_text() == "not ours" and lock.stat().st_mtime == 1):
                self.problems.append(f"touched: {name}")
        ours = outside / "cache" / "mcp-replay" / "workspaces"
        left = [one.name for one in ours.iterdir() if one.name != "not-ours" and any(one.iterdir())]
        self.problems += [f"workspace left: {name}" for name in left]
        known = {"results", "outside", "log", "other-log", "said", self.fleet.name, "undisturbed.yaml"}
        written = {one.name for one in self.home.iterdir()} - known
        self.problems += [f"written: {name}" for name in written if not name.startswith(("run", "undisturbed"))]


def _step(position: str) -> int:
    return int(position[1:].partition("c")[0])


def _tell(story: Story) -> None:
    lost = f"{story.interrupted} interrupted, {story.state_gaps} behind those"
    said = f"{story.state}: {dict(story.kills)}, {story.sent().total()} calls sent, {lost}"
    print(said, *story.problems, sep="\n  ", flush=True)


def tell_stories(kills: int, chance: int) -> list[Story]:
    """Stories until there were so many kills."""
    dice = random.Random(chance)
    stories: list[Story] = []
    while (done := sum(story.kills.total() for story in stories)) < kills:
        with tempfile.TemporaryDirectory() as home:
            story = Story(Path(home) / "story", ("none", "trajectory")[len(stories) % 2], dice)
            stories.append(story)
            while story.kills.total() < min(KILLS_A_STORY, kills - done):
                story.kill_once()
                story.disturb()
            story.finish()
            _tell(story)
    return stories


def main() -> int:
    """Kill, and say what came of it."""
    kills = int(sys.argv[1]) if sys.argv[1:] else 200
    chance = int(sys.argv[2]) if sys.argv[2:] else time.time_ns()
    stories = tell_stories(kills, chance)
    problems = [problem for story in stories for problem in story.problems]
    print(f"{sum(story.kills.total() for story in stories)} kills, {len(problems)} problems (chance {chance})")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
