"""A client that speaks bare JSON-RPC over pipes, so that a test decides about every byte."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from replay.records.files import TrajectoryFile

SERVERS = Path(__file__).parents[1] / "servers"
LEDGER = (sys.executable, str(SERVERS / "ledger.py"))
REPLAY = (sys.executable, "-c", "from replay.cli import main; main()")
INITIALIZE_PARAMS = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "client", "version": "1"},
}


def proxy_command(output: Path, *options: str, command: tuple[str, ...] = LEDGER) -> tuple[str, ...]:
    return (*REPLAY, "record", "-o", str(output), *options, "--", *command)


class RawClient:
    """One end of a stdio connection."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._last = 0

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, *requests: tuple[str, Any]) -> list[int]:
        """Send requests in one write: together, as a client with parallel calls does."""
        lines, identifiers = [], []
        for method, params in requests:
            self._last += 1
            identifiers.append(self._last)
            message = {"jsonrpc": "2.0", "id": self._last, "method": method, "params": params}
            lines.append(json.dumps(message).encode() + b"\n")
        self.write(b"".join(lines))
        return identifiers

    def line(self) -> bytes:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def receive(self, count: int = 1) -> dict[Any, dict[str, Any]]:
        """The next responses by id."""
        return {message["id"]: message for message in (json.loads(self.line()) for _ in range(count))}

    def request(self, method: str, params: Any) -> dict[str, Any]:
        [identifier] = self.send((method, params))
        return self.receive()[identifier]

    def initialize(self) -> dict[str, Any]:
        answer = self.request("initialize", INITIALIZE_PARAMS)
        self.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        return answer

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        return self.request("tools/call", {"name": name, "arguments": arguments})

    def close(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.stdout is not None
        self.process.stdout.read()
        return self.process.wait(20)


@contextmanager
def connect(command: tuple[str, ...], **options: Any) -> Iterator[RawClient]:
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)
    try:
        yield RawClient(process)
    finally:
        if process.poll() is None:
            process.kill()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()
        process.wait(10)


def descendants(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def all_exited(processes: list[psutil.Process], within: float = 10) -> bool:
    _, alive = psutil.wait_procs(processes, timeout=within)
    return not [one for one in alive if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]


def recorded(path: Path) -> TrajectoryFile:
    return TrajectoryFile.model_validate(json.loads(path.read_text("utf-8")))


def shape(trajectory: TrajectoryFile) -> list[list[str | None]]:
    """The tool names of each step."""
    return [[call.name for call in step.calls] for step in trajectory.steps]
