"""Fuzzes the doors with files and answers that are nearly right: `python -m tests.hostile.fuzz SECONDS [DOOR...]`.

The seconds are shared by the doors, a reader each; `--inputs N` ends a door after so many inputs, Ctrl-C all of them.
Seeds are our own samples, real files where the shared data is there, and what earlier runs found interesting
(`.fuzz-corpus/`, which grows). A door must answer with a value, or with an error that says what is wrong; anything
else, an error that a reader tripped over among it, is written to `.fuzz-corpus/failures/`, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import re
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Final

from replay.errors import ReplayError
from replay.formats.document import READER_FAULTS
from tests.hostile.fuzz_doors import CORPUS, DOORS, Door, seeds
from tests.hostile.mutation import Mutator

_MAX_SECONDS_OF_ONE: Final = 5.0
"""Of processor time."""
_MAX_MEMORY: Final = 4 << 30
_TURN: Final = 50
"""Inputs of a door before the next one's."""
_MAX_KEPT: Final = 150
"""Interesting inputs of a door that are mutated further."""
_MAX_KEPT_BYTES: Final = 2_000
_QUOTED: Final = re.compile(r"(?<=; found ).*|(?<=\(byte )\w+|'[^']*'|\"[^\"]*\"|\d+|[^\x20-\x7e]+")
"""What a refusal tells of its input: without that, every input would be refused in a way of its own."""


class TookTooLongError(BaseException):
    """Not an Exception: no reader may take it for an error of its file."""


def _too_long(number: int, frame: FrameType | None) -> None:
    raise TookTooLongError


@dataclass
class DoorFuzz:
    """What was tried at one door, and what came of it."""

    name: str
    door: Door
    mutator: Mutator
    home: Path
    tried: int = 0
    read: int = 0
    slowest: float = 0.0
    outcomes: set[str] = field(default_factory=set)
    failures: Counter[str] = field(default_factory=Counter)

    def run(self, inputs: int, deadline: float) -> None:
        """Try so many inputs, or until the deadline."""
        while self.tried < inputs and time.monotonic() < deadline:
            self.try_one(self.mutator.input())

    def try_one(self, data: bytes) -> None:
        """Try an input; keep it where what came of it is new."""
        self.tried += 1
        started = time.process_time()
        outcome = outcome_of(self.door, data, self.home / "input.json")
        self.slowest = max(self.slowest, time.process_time() - started)
        self.read += outcome.startswith("read")
        if outcome.startswith("failed"):
            self.failures[outcome] += 1
            if self.failures[outcome] <= 2:
                self._keep(CORPUS / "failures", data)
        elif outcome not in self.outcomes:
            self.outcomes.add(outcome)
            if len(self.outcomes) < _MAX_KEPT and len(data) <= _MAX_KEPT_BYTES:
                self.mutator.add(data)
                self._keep(CORPUS, data)

    def _keep(self, folder: Path, data: bytes) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self.name}@{hashlib.sha256(data).hexdigest()[:16]}").write_bytes(data)


def outcome_of(door: Door, data: bytes, path: Path) -> str:
    """What came of an input: `read`, `refused` and the shape of the sentence, or `failed` and where."""
    signal.setitimer(signal.ITIMER_VIRTUAL, _MAX_SECONDS_OF_ONE)
    try:
        return f"read: {door(data, path)}"
    except ReplayError as problem:
        if isinstance(problem.__cause__, READER_FAULTS):
            return _failure(problem.__cause__)
        if "\n" in str(problem):
            return f"failed: a refusal of several lines: {_QUOTED.sub('_', str(problem))[:80]}"
        return f"refused: {_QUOTED.sub('_', str(problem))[-60:]}"
    except BaseException as problem:
        if isinstance(problem, KeyboardInterrupt):
            raise
        return _failure(problem)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _failure(problem: BaseException) -> str:
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else "?"
    return f"failed: {type(problem).__name__} at {place}"


def fuzz(names: list[str], seconds: float, inputs: int, chance: int) -> list[DoorFuzz]:
    """Fuzz the doors in turns; an interrupt ends it as the time does."""
    signal.signal(signal.SIGVTALRM, _too_long)
    dice = random.Random(chance)
    fuzzed: list[DoorFuzz] = []
    deadline = time.monotonic() + seconds
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as home:
        for name in names:
            if found := seeds(name, dice):
                fuzzed.append(DoorFuzz(name, DOORS[name], Mutator(found, dice), Path(home)))
            else:
                print(f"{name}: left out, there is no file to begin with", flush=True)
        with suppress(KeyboardInterrupt):
            while time.monotonic() < deadline and any(one.tried < inputs for one in fuzzed):
                for one in fuzzed:
                    one.run(min(one.tried + _TURN, inputs), deadline)
    return fuzzed


def _tell(one: DoorFuzz) -> None:
    print(
        f"{one.name}: {one.tried} inputs, {one.read} read, {len(one.outcomes)} kinds of outcome, "
        f"slowest {one.slowest:.2f} s",
        *(f"  {count} x {failure}" for failure, count in one.failures.most_common()),
        sep="\n",
        flush=True,
    )


def main() -> int:
    """Fuzz, and say how much was tried and what failed."""
    parser = argparse.ArgumentParser(description="Fuzz the readers")
    parser.add_argument("seconds", type=float, nargs="?", default=60.0)
    parser.add_argument("doors", nargs="*", metavar="DOOR", help=", ".join(DOORS))
    parser.add_argument("--inputs", type=int, default=sys.maxsize, help="at most so many at each door")
    parser.add_argument("--chance", type=int, default=time.time_ns(), help="repeats a run on the same corpus")
    asked = parser.parse_intermixed_args()
    resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY, _MAX_MEMORY))
    print(f"--chance {asked.chance}", flush=True)
    fuzzed = fuzz(asked.doors or list(DOORS), asked.seconds, asked.inputs, asked.chance)
    for one in fuzzed:
        _tell(one)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    failed = sum(one.failures.total() for one in fuzzed)
    print(f"{sum(one.tried for one in fuzzed)} inputs, {failed} failures, peak {peak} MB")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
