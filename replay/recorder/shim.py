"""The recording pass-through for one server over stdio. The client must not be able to tell that it is there."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from replay.errors import ReplayError
from replay.processes import find_command
from replay.recorder.guard import Guard, end, exit_in_words, start
from replay.recorder.lane import Lane, is_writable, turn
from replay.recorder.output import Output
from replay.recorder.recording import About
from replay.recorder.refusal import refuse_all
from replay.recorder.stop import Stop, say
from replay.recorder.tap import Tap
from replay.redaction import Redactor

_PATIENCE: Final = 1.0
"""Seconds from the end of the client's input to SIGTERM. The SDK's client ends its server, us, after two."""
_PATIENCE_FOR_ANSWERS: Final = 30.0
"""The same, where answers are still to come."""
_PATIENCE_FOR_TOOLS: Final = 0.5
_PATIENCE_FOR_EXIT: Final = 1.0


class Shim:
    """Passes bytes between our standard streams and a server, and taps them.

    Args:
        command: the server's command line.
        output: where recordings go.
        name: the server's name, where the user gave one.
    """

    def __init__(self, command: Sequence[str], output: Output, name: str | None = None) -> None:
        self._command, self._output = tuple(command), output
        self._tap = Tap(output, name)
        self._stop = Stop()

    def run(self) -> int:
        """Pass on until either side ends.

        Returns:
            The exit code: 0 unless the server could not be started or died.
        """
        guard = Guard()
        self._stop.listen()
        try:
            process = start((find_command(self._command[0], path_first=True) or self._command[0], *self._command[1:]))
        except OSError as error:
            guard.dismiss()
            return self._without_server("not-started", f"{self._command[0]}: {error.strerror or error}")
        guard.watch(process.pid)
        try:
            return self._with_server(process)
        finally:
            end(process, 0)
            guard.dismiss()

    def _with_server(self, process: subprocess.Popen[bytes]) -> int:
        assert process.stdin is not None
        assert process.stdout is not None
        up = Lane(0, process.stdin.fileno(), self._tap.hear_client)
        down = Lane(process.stdout.fileno(), 1, self._tap.hear_server)
        while not (down.ended or down.broken or self._stop.told or (up.ended and not up.writes)):
            turn((up, down), self._stop.alarm)
        self._flush(down)
        if down.ended and not (up.ended or down.broken or self._stop.told):
            return self._server_left(process)
        self._ask_for_tools(up, down)
        process.stdin.close()
        self._drain(down)
        self._tap.give_up("closed", "the session ended before an answer came")
        self._finish()
        return int(self._tap.broken)

    def _server_left(self, process: subprocess.Popen[bytes]) -> int:
        with suppress(subprocess.TimeoutExpired):
            process.wait(_PATIENCE_FOR_EXIT)
        code = process.poll()
        if code == 0 and not self._tap.owes_answers and self._tap.introduced:
            self._finish()
            return 0
        self._without_server("closed", f"{self._command[0]} {exit_in_words(process)}")
        return code if code is not None and code > 0 else 1

    def _flush(self, down: Lane) -> None:
        while down.ended and down.writes and not self._stop.told:
            turn((down,), self._stop.alarm)

    def _ask_for_tools(self, up: Lane, down: Lane) -> None:
        """Ask for the tools where the client, which is gone by now, never did: without them a recording is half."""
        idle = not (self._stop.told or down.ended or up.broken or self._tap.owes_answers)
        if not idle or not self._tap.wants_tools or not is_writable(up.sink):
            return
        deadline = time.monotonic() + _PATIENCE_FOR_TOOLS
        while self._tap.wants_tools and self._goes_on(down):
            if not self._tap.owes_answers:
                up.put(self._tap.question_for_tools())
            if not turn((down,), self._stop.alarm, deadline - time.monotonic()):
                break
        self._tap.give_up("closed", "")

    def _drain(self, down: Lane) -> None:
        """Pass on what the server still says."""
        import replay.recorder.assembly  # noqa: F401, RUF100  loaded while the server is busy leaving

        while self._tap.owes_answers and self._goes_on(down):
            if not turn((down,), self._stop.alarm, _PATIENCE_FOR_ANSWERS):
                return
        deadline = time.monotonic() + _PATIENCE
        while self._goes_on(down) and turn((down,), self._stop.alarm, deadline - time.monotonic()):
            pass
        self._flush(down)

    def _goes_on(self, down: Lane) -> bool:
        return not (down.ended or down.broken or self._stop.told)

    def _without_server(self, fault: str, why: str) -> int:
        """There is no server (any more): say so to the user, and to whoever asks."""
        what = "the MCP server could not be started" if fault == "not-started" else "the MCP server ended"
        say(f"{what}: {why}")
        refuse_all(self._tap, self._stop, fault, f"{what}: {why}")
        self._finish()
        return 1

    def _finish(self) -> None:
        try:
            self._output.close()
        except (ReplayError, OSError) as error:
            say(f"the recording could not be finished: {error}; free some space, then: replay record --recover")


def record_server(
    command: Sequence[str], path: Path, about: About, patterns: Sequence[str] = (), name: str | None = None
) -> int:
    """Record one server's sessions: everything that `replay record -o FILE -- COMMAND` does.

    Returns:
        The exit code.

    Raises:
        InputError: the file cannot be written.
        UsageError: another recorder is writing to it, or a pattern is not a regular expression.
    """
    output = Output(path, about, Redactor(patterns=patterns), say)
    return Shim(command, output, name).run()
