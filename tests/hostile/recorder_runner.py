"""Runs the recorder against hostile servers, and tells what came of each; by itself it writes the figures of the table.

python -m tests.hostile.recorder_runner proxy|fleet [first [last]]

The recorder is forked from here, so that a thousand modes need not start Python a thousand times: it reads its command
line, and ends with its exit code, as it does for a user.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

from replay.cli import main as replay_main
from replay.records.files import TrajectoryFile
from tests.hostile.modes import stdio_modes
from tests.hostile.runner import GOOD, batches, over_stdio, peak_kb
from tests.recorder.raw_client import INITIALIZE_PARAMS

_SECONDS_FOR_ANSWER: Final = 10
_SECONDS_TO_END: Final = 60
_KEPT_OF_LINE: Final = 8 << 20
_AT_A_TIME: Final = 4


@dataclass
class Recording:
    """What one session with a recorder came to."""

    code: int | None
    """Exit code; None where it had to be killed."""
    stderr: str
    answers: dict[Any, Any]
    """Id of a request -> the message that answered it; of a line that is not read, nothing."""
    trajectory: TrajectoryFile | None
    peak_kb: int
    problems: list[str] = field(default_factory=list)


class _Client:
    """The client's end: writes requests, and reads whatever comes, however much."""

    def __init__(self, pid: int, to_recorder: int, from_recorder: int) -> None:
        self.pid, self.peak_kb, self.answers = pid, 0, dict[Any, Any]()
        self._sink, self._source = to_recorder, from_recorder
        self._line, self.ended = bytearray(), False

    def ask(self, number: int | None, method: str, params: Any, seconds: float = _SECONDS_FOR_ANSWER) -> None:
        """Send a request, and wait for its answer, for a while."""
        message = {"jsonrpc": "2.0", "method": method, "params": params, **({} if number is None else {"id": number})}
        with suppress(BrokenPipeError):
            os.write(self._sink, json.dumps(message).encode() + b"\n")
        self._read(lambda: number is None or number in self.answers, seconds)

    def leave(self) -> int | None:
        """Close our end, read the rest, and wait for the recorder to end."""
        os.close(self._sink)
        self._read(lambda: False, _SECONDS_TO_END)
        os.close(self._source)
        deadline = time.monotonic() + _SECONDS_TO_END
        while time.monotonic() < deadline:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.01)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        return None

    def _read(self, done: Any, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not self.ended and not done() and (left := deadline - time.monotonic()) > 0:
            if select.select([self._source], [], [], min(left, 1.0))[0]:
                self._take(os.read(self._source, 1 << 18))
            with suppress(OSError, ValueError):
                self.peak_kb = max(self.peak_kb, peak_kb(self.pid))

    def _take(self, chunk: bytes) -> None:
        self.ended = not chunk
        for number, part in enumerate(chunk.split(b"\n")):
            if number:
                self._answered(bytes(self._line))
                self._line.clear()
            self._line += part[: max(_KEPT_OF_LINE - len(self._line), 0)]

    def _answered(self, line: bytes) -> None:
        with suppress(ValueError, RecursionError, TypeError):
            message = json.loads(line)
            if isinstance(message, dict) and "id" in message and "method" not in message:
                self.answers.setdefault(message["id"], message)


@contextmanager
def recorder(arguments: Sequence[str], stderr: Path) -> Iterator[_Client]:
    """A recorder of its own, forked from here."""
    for_recorder, to_recorder = os.pipe()
    from_recorder, for_client = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            said = os.open(stderr, os.O_WRONLY | os.O_CREAT, 0o600)
            for source, target in ((for_recorder, 0), (for_client, 1), (said, 2)):
                os.dup2(source, target)
            os.closerange(3, 256)
            sys.stdin, sys.stdout, sys.stderr = (open(n, mode) for n, mode in ((0, "r"), (1, "w"), (2, "w")))  # noqa: SIM115, PTH123
            sys.argv = ["replay", *arguments]
            replay_main()
        except SystemExit as end:
            sys.stderr.flush()
            os._exit(end.code if isinstance(end.code, int) else 0)
        finally:
            os._exit(99)
    os.close(for_recorder)
    os.close(for_client)
    yield _Client(pid, to_recorder, from_recorder)


def record(home: Path, arguments: Sequence[str], tools: Sequence[str]) -> Recording:
    """A session of a client with a recorder: the handshake, the list of tools, a call to each.

    Args:
        home: an empty directory.
        arguments: of `record`, but for the output.
        tools: to be called; those that end in one of the names, where the recorder gives them names of its own.
    """
    output, said = home / "run.trajectory.json", home / "stderr"
    with recorder(["record", "-o", str(output), *arguments], said) as client:
        client.ask(1, "initialize", INITIALIZE_PARAMS)
        client.ask(None, "notifications/initialized", {})
        client.ask(2, "tools/list", {}, _SECONDS_TO_END if "--servers" in arguments else _SECONDS_FOR_ANSWER)
        for number, name in enumerate(_named(client.answers.get(2), tools), 3):
            client.ask(number, "tools/call", {"name": name, "arguments": {"a": "aaaa!"}})
        code = client.leave()
    stderr = said.read_text("utf-8", "replace")
    found = Recording(code, stderr, client.answers, None, client.peak_kb)
    if code is None:
        found.problems.append(f"still ran {_SECONDS_TO_END} s after its client had gone")
    elif code in (70, 99) or "internal error" in stderr or "Traceback" in stderr:
        found.problems.append(f"exit {code}: {stderr[-300:]}")
    if "\x1b" in stderr:
        found.problems.append("stderr has a control sequence")
    if output.exists():
        found.trajectory = TrajectoryFile.model_validate_json(output.read_bytes())
    else:
        found.problems.append(f"nothing was written: {stderr[-300:]}")
    return found


def _named(listed: Any, tools: Sequence[str]) -> list[str]:
    """The tools as they are offered under names of the recorder's; as they are where it does not give any."""
    with suppress(KeyError, TypeError, AttributeError):
        offered = [tool["name"] for tool in listed["result"]["tools"]]
        if found := [name for name in offered if name.endswith(tuple(tools)) and name not in tools]:
            return found
    return list(tools)


def record_one(home: Path, mode: str) -> Recording:
    """Record one hostile server with a recorder in front of it."""
    spec = over_stdio(mode)
    found = record(home, ["--", spec["command"], *spec["args"]], ["work"])
    if found.trajectory is not None and not any(call.name == "work" for call in found.trajectory.calls()):
        found.problems.append("the call is not in the recording")
    return found


def record_fleet(home: Path, modes: Sequence[str]) -> Recording:
    """Record a fleet of hostile servers, and one that behaves."""
    servers = {GOOD: over_stdio("ordinary"), **{f"m{number}": over_stdio(mode) for number, mode in enumerate(modes)}}
    common = {"call_timeout": 8, "startup_timeout": 20, "max_restarts": 1}
    fleet = home / "servers.json"
    fleet.write_text(
        json.dumps({"version": 1, "servers": {name: {**spec, **common} for name, spec in servers.items()}})
    )
    found = record(home, ["--servers", str(fleet)], ["work"])
    calls = [] if found.trajectory is None else list(found.trajectory.calls())
    good = [call for call in calls if call.server == GOOD]
    if len(good) != 1 or good[0].answer is None or "worked" not in good[0].answer.model_dump_json():
        found.problems.append(f"the good server's call: {good} of {len(calls)}; {found.stderr[-300:]}")
    return found


def recordings(kind: str, modes: Sequence[str]) -> Iterator[tuple[str, Recording]]:
    """What came of each mode, or of each batch of them in one fleet; mostly they wait, so several run at a time."""
    with ProcessPoolExecutor(_AT_A_TIME, mp_context=get_context("fork")) as pool:
        groups = list(batches(modes)) if kind == "fleet" else [[mode] for mode in modes]
        named = (f"{group[0]} ... {group[-1]}" if len(group) > 1 else group[0] for group in groups)
        yield from zip(named, pool.map(_recorded, [kind] * len(groups), groups), strict=True)


def _recorded(kind: str, modes: Sequence[str]) -> Recording:
    with tempfile.TemporaryDirectory() as home:
        found = record_fleet(Path(home), modes) if kind == "fleet" else record_one(Path(home), modes[0])
    return replace(found, answers={}, trajectory=None)  # what hostile servers send is not for pickle either


def main() -> None:
    """Run a part of the table, and print what came of it."""
    kind = sys.argv[1]
    first, last = (int(sys.argv[place]) if sys.argv[place:] else None for place in (2, 3))
    modes = list(stdio_modes())[first:last]
    problems, peak, started = 0, 0, time.monotonic()
    codes: Counter[int | None] = Counter()
    for name, found in recordings(kind, modes):
        problems, peak = problems + len(found.problems), max(peak, found.peak_kb)
        codes[found.code] += 1
        for problem in found.problems:
            print(f"{name}: {problem}", flush=True)
    print(f"{len(modes)} modes, {problems} problems, peak {peak // 1024} MB, {time.monotonic() - started:.0f} s")
    print("exit codes:", ", ".join(f"{code}: {count}" for code, count in codes.most_common()))


if __name__ == "__main__":
    main()
