"""How quickly `replay browse` answers: in a terminal of its own, on runs of 30,000 and of 1,000,000 calls.

    python benchmarks/browse.py [DIRECTORY]

Makes the runs in the directory where they are not there yet. A key's time is from the byte that is sent to the last
byte that comes back before 30 ms of silence; a filter's, until the number of its calls stands on the screen.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from contextlib import suppress
from pathlib import Path

import psutil
from big_run import make

from replay.runfile import Run
from replay.runfile.call_queries import matching_calls
from replay.runfile.filters import parse, read_vocabulary

SIZES = {"30k": 30_000, "1m": 1_000_000}
SILENCE = 0.03
REPEATS = 5
KEYS = {
    "down": "\x1b[B",
    "page down": "\x1b[6~",
    "end": "\x1b[F",
    "page up": "\x1b[5~",
    "home": "\x1b[H",
    "next failure": "n",
    "failure before": "N",
}
FILTERS = (
    "outcome:not_found",
    "server:excel outcome:failed",
    "model:gpt tool:create*",
    "certainty:fallback drift:different",
    "task:movies outcome:invalid_arguments",
    "trajectory:0000017",
    "rule:enoent caused:yes",
    "sheet",
    "sheet limit outcome:not_found",
    "nosuchwordanywhere",
)


class Browser:
    """`replay browse` in a terminal of 120 x 40."""

    def __init__(self, path: Path) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        command = [sys.executable, "-m", "replay", "browse", "--run", str(path)]
        self.began = time.perf_counter()
        self.process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
        os.close(theirs)
        self.shown = ""

    def until(self, pattern: str, seconds: float = 60) -> float:
        """Read until something stands in the output; when that was."""
        limit = time.perf_counter() + seconds
        while time.perf_counter() < limit:
            if re.search(pattern, self.shown):
                return time.perf_counter()
            self._read(0.005)
        raise TimeoutError(f"{pattern!r} did not come")

    def key(self, sent: str) -> float:
        """Press a key; seconds until all of the answer was there."""
        self.shown = ""
        began = last = time.perf_counter()
        os.write(self._ours, sent.encode())
        answered = False
        while time.perf_counter() - last < (SILENCE if answered else 1.0):
            if self._read(0.005):
                last, answered = time.perf_counter(), True
        return last - began

    def filter(self, text: str, calls: int) -> float:
        """Paste and apply a filter; seconds until its calls are counted on the screen."""
        self.key("/")
        self.key("\x15")  # clears the line
        self.settle()
        self.shown = ""
        began = time.perf_counter()
        os.write(self._ours, f"\x1b[200~{text}\x1b[201~\r".encode())  # pasted: typing takes its own time
        done = self.until(rf"(?<![\d,]){calls:,} calls?\b")
        self.settle()
        return done - began

    def settle(self) -> None:
        """Read until there was nothing to read for a while."""
        quiet = time.perf_counter()
        while time.perf_counter() - quiet < 0.4:
            if self._read(0.05):
                quiet = time.perf_counter()

    def leave(self) -> int:
        """Quit; the most memory that was used, in bytes."""
        os.write(self._ours, b"q")
        with suppress(OSError):  # the other end is closed
            while os.read(self._ours, 1 << 20):
                pass
        _, _, usage = os.wait4(self.process.pid, 0)
        os.close(self._ours)
        return usage.ru_maxrss * 1024

    def _read(self, seconds: float) -> bool:
        if not select.select([self._ours], [], [], seconds)[0]:
            return False
        self.shown += os.read(self._ours, 1 << 20).decode("utf-8", "replace")
        return True


def matching(path: Path, text: str) -> int:
    """How many calls a filter matches."""
    with Run.read(path) as run:
        wanted = parse(text, read_vocabulary(run.connection))
        return sum(map(len, matching_calls(run.connection, wanted)))


def help_seconds() -> float:
    """What `replay --help` takes."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "replay", "--help"], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def starts(path: Path) -> tuple[float, float, float]:
    """First screen with its numbers, `--help`, and the processor time of the first: in turns, the medians."""
    first, plain, spent = [], [], []
    for _ in range(REPEATS):
        plain.append(help_seconds())
        browser = Browser(path)
        first.append(browser.until(r"\d calls · ") - browser.began)
        used = psutil.Process(browser.process.pid).cpu_times()
        spent.append(used.user + used.system)
        browser.settle()
        browser.leave()
    return statistics.median(first), statistics.median(plain), statistics.median(spent)


def keys(browser: Browser) -> dict[str, tuple[float, float]]:
    """The median and the slowest of several for each key: in the list of calls, in a trajectory, between screens."""
    timed = {f"list: {name}": several(browser, sent) for name, sent in KEYS.items()}
    timed["list: open a call"] = several(browser, "\r", "2")
    browser.key("3")
    for name, sent in (("right", "\x1b[C"), ("next failure", "n"), ("next trajectory", ">"), ("tab of the panel", "]")):
        timed[f"trajectory: {name}"] = several(browser, sent)
    for name, sent in (("overview", "1"), ("calls", "2"), ("trajectory", "3"), ("alignment", "4"), ("compare", "5")):
        away = "2" if sent == "1" else "1"
        browser.key(away)
        timed[f"screen: {name}"] = several(browser, sent, away)
    return timed


def several(browser: Browser, sent: str, back: str = "") -> tuple[float, float]:
    """Press a key several times, each time after the key that undoes it."""
    times = []
    for _ in range(REPEATS):
        times.append(browser.key(sent))
        if back:
            browser.key(back)
        browser.settle()
    return statistics.median(times), max(times)


def main() -> None:
    directory = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.gettempdir())
    for name, calls in SIZES.items():
        path = directory / f"browse-{name}.db"
        if not path.exists():
            make(path, calls)
        print(f"\n{calls:,} calls, {path.stat().st_size / 1e6:.0f} MB")
        first, plain, spent = starts(path)
        print(f"first screen           {first:.2f} s, of which {spent:.2f} s on the processor")
        print(f"replay --help          {plain:.2f} s; the first screen beyond it: {first - plain:.2f} s")
        browser = Browser(path)
        browser.until(r"\d calls · ")
        browser.key("2")
        browser.until(r"\d calls\b")
        for text in FILTERS:
            print(f"filter  {text:40} {1000 * browser.filter(text, matching(path, text)):6.0f} ms")
        browser.key("/")
        browser.key("\x15\r")
        browser.settle()
        for key, (median, slowest) in keys(browser).items():
            print(f"key     {key:40} {1000 * median:6.0f} ms, slowest {1000 * slowest:.0f} ms")
        print(f"most memory            {browser.leave() / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
