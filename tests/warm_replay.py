"""The command line in a process of its own that need not load Python and the package anew.

A keeper process loads what most verbs need, and is forked for each command: the command has its own arguments,
environment, working directory, output and end, as from a shell. Only what Python reads when it starts is not new; a
command whose test sets such a variable is started from nothing.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

READ_AT_START = ("PYTHON", "LC_", "LANG", "TZ")
_LOADED = (
    "replay.replayer.classifier",
    "replay.cli.align",
    "replay.cli.classify",
    "replay.cli.convert",
    "replay.cli.progress",
    "replay.cli.report",
    "replay.cli.show",
    "replay.diagnosis.diagnose",
    "replay.interpreter",
    "replay.reports.summary",
    "replay.runfile.trajectory_queries",
)


class WarmReplay:
    """Starts the keeper when it is first asked for a command; `close` ends it."""

    def __init__(self) -> None:
        self._keeper: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None

    def run(
        self, arguments: list[str], cwd: Path, environment: Mapping[str, str], timeout: float
    ) -> subprocess.CompletedProcess[str]:
        """Run a command, as `subprocess.run` does with `capture_output` and `text`.

        Raises:
            subprocess.TimeoutExpired: it did not end; it is killed.
        """
        if self._socket is None:
            self._start(environment)
        assert self._socket is not None
        request = {"arguments": arguments, "cwd": str(cwd), "environment": dict(environment)}
        with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as narrated, tempfile.TemporaryFile() as asked:
            asked.write(json.dumps(request).encode())
            asked.flush()
            socket.send_fds(self._socket, [b"."], [asked.fileno(), said.fileno(), narrated.fileno()])
            pid = int(self._reply(None))
            try:
                code = int(self._reply(timeout))
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                self._reply(None)
                raise subprocess.TimeoutExpired(arguments, timeout) from None
            return subprocess.CompletedProcess(arguments, code, _text(said), _text(narrated))

    def close(self) -> None:
        """End the keeper."""
        if self._keeper is not None and self._socket is not None:
            self._socket.close()
            self._keeper.wait()

    def _start(self, environment: Mapping[str, str]) -> None:
        ours, theirs = socket.socketpair()
        self._keeper = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())],
            env=dict(environment),
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
        )
        theirs.close()
        self._socket = ours

    def _reply(self, timeout: float | None) -> bytes:
        assert self._socket is not None
        self._socket.settimeout(timeout)
        return self._socket.recv(32)


def _text(file: BinaryIO) -> str:
    file.seek(0)
    return file.read().decode().replace("\r\n", "\n")


def _keep(connection: socket.socket) -> None:
    while True:
        message, descriptors, *_ = socket.recv_fds(connection, 1, 3)
        if not message:
            return
        pid = os.fork()
        if pid == 0:
            connection.close()
            _become(*descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        connection.send(b"%32d" % pid)
        status = os.waitpid(pid, 0)[1]
        connection.send(b"%32d" % os.waitstatus_to_exitcode(status))


def _become(asked: int, said: int, narrated: int) -> None:
    """Run the command; never returns."""
    from replay.cli import main

    os.dup2(said, 1)
    os.dup2(narrated, 2)
    with os.fdopen(asked, "rb") as file:
        file.seek(0)
        request = json.load(file)
    os.close(said)
    os.close(narrated)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["cwd"])
    sys.argv = ["replay", *request["arguments"]]
    code: object = 1
    try:
        main()
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            if not stream.closed:
                stream.flush()
        os._exit(code if isinstance(code, int) else 0 if code is None else 1)


if __name__ == "__main__":
    from importlib import import_module

    for module in _LOADED:
        import_module(module)
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        _keep(connection)
