"""The recording pass-through for one server over stdio. The client must not be able to tell that it is there."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from replay.errors import ReplayError
from replay.interpreter.processes import (
    STARTED_BY,
    ProcessGuard,
    end_groups,
    exit_in_words,
    find_command,
    signal_groups,
)
from replay.recorder.line_pump import LinePump, StopSignal, is_writable, pump_ready
from replay.recorder.message_inspector import MessageInspector
from replay.recorder.recording import RecordingInfo, print_notice
from replay.recorder.recording_store import RecordingStore
from replay.safety.redaction import Redactor, secrets_around

_FIRST_REQUEST_TIMEOUT: Final = 30.0
"""Seconds that a client has to send its first request, where the server never started."""
_NEXT_REQUEST_TIMEOUT: Final = 5.0
"""Seconds for another request, such as `initialize` after `server/discover` was refused."""
_AFTER_CRASH_TIMEOUT: Final = 1.0
"""The same for a server that had started: clients start a new one only when we have exited."""
_EOF_TIMEOUT: Final = 1.0
"""Seconds from the end of the client's input to SIGTERM. The SDK's client ends its server, us, after two."""
_ANSWER_TIMEOUT: Final = 30.0
"""The same, where answers are still to come."""
_TOOLS_LIST_TIMEOUT: Final = 0.5
_EXIT_TIMEOUT: Final = 1.0
_SIGTERM_TIMEOUT: Final = 0.5
"""Seconds from SIGTERM to SIGKILL."""


class StdioProxy:
    """Passes bytes between our standard streams and a server, and records the calls among them.

    Args:
        command: the server's command line.
        store: where recordings go.
        name: the server's name, where the user gave one.
    """

    def __init__(self, command: Sequence[str], store: RecordingStore, name: str | None = None) -> None:
        self._command, self._store = tuple(command), store
        self._inspector = MessageInspector(store, name)
        self._stop_signal = StopSignal()

    def run(self) -> int:
        """Pass on until either side ends.

        Returns:
            The exit code: 0 unless the server could not be started or died.
        """
        guard = ProcessGuard()
        self._stop_signal.listen()
        program = find_command(self._command[0], path_first=True) or self._command[0]
        try:
            process = subprocess.Popen(
                (program, *self._command[1:]),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, STARTED_BY: guard.new_mark()},
                process_group=0,
                bufsize=0,
            )
        except OSError as error:
            return self._report_missing_server("not-started", f"{self._command[0]}: {error.strerror or error}")
        guard.started(process.pid)
        try:
            return self._pump_until_end(process)
        finally:
            _end(process)
            guard.close()

    def _pump_until_end(self, process: subprocess.Popen[bytes]) -> int:
        assert process.stdin is not None
        assert process.stdout is not None
        to_server = LinePump(
            0, process.stdin.fileno(), self._inspector.inspect_client_lines, self._inspector.on_overlong_request
        )
        to_client = LinePump(
            process.stdout.fileno(), 1, self._inspector.inspect_server_lines, self._inspector.on_overlong_answer
        )
        while not (
            to_client.ended
            or to_client.broken
            or self._stop_signal.received
            or (to_server.ended and not to_server.wants_write)
        ):
            pump_ready((to_server, to_client), self._stop_signal.wakeup_fd)
        self._flush(to_client)
        if to_client.ended and not (to_server.ended or to_client.broken or self._stop_signal.received):
            return self._on_server_exit(process)
        self._request_tools(to_server, to_client)
        process.stdin.close()
        self._drain_server(to_client)
        self._inspector.fail_pending("closed", "the session ended before an answer came")
        self._finish()
        return int(self._inspector.broken)

    def _on_server_exit(self, process: subprocess.Popen[bytes]) -> int:
        with suppress(subprocess.TimeoutExpired):
            process.wait(_EXIT_TIMEOUT)
        code = process.poll()
        if code == 0 and not self._inspector.has_pending_requests and self._inspector.server_identified:
            self._finish()
            return 0
        how = "closed its output" if code is None else exit_in_words(code)
        self._report_missing_server("closed", f"{self._command[0]} {how}")
        return code if code is not None and code > 0 else 1

    def _flush(self, to_client: LinePump) -> None:
        while to_client.ended and to_client.wants_write and not self._stop_signal.received:
            pump_ready((to_client,), self._stop_signal.wakeup_fd)

    def _request_tools(self, to_server: LinePump, to_client: LinePump) -> None:
        """Ask for the tools where the client, which has disconnected by now, never did: a recording needs them."""
        idle = not (
            self._stop_signal.received or to_client.ended or to_server.broken or self._inspector.has_pending_requests
        )
        if not idle or not self._inspector.needs_tools_list or not is_writable(to_server.sink):
            return
        deadline = time.monotonic() + _TOOLS_LIST_TIMEOUT
        while self._inspector.needs_tools_list and self._is_running(to_client):
            if not self._inspector.has_pending_requests:
                to_server.send(self._inspector.tools_list_request())
            if not pump_ready((to_server, to_client), self._stop_signal.wakeup_fd, deadline - time.monotonic()):
                break
        self._inspector.fail_pending("closed", "")

    def _drain_server(self, to_client: LinePump) -> None:
        """Pass on what the server still sends."""
        import replay.recorder.assembly  # noqa: F401, RUF100  loaded while the server is exiting

        while self._inspector.has_pending_requests and self._is_running(to_client):
            if not pump_ready((to_client,), self._stop_signal.wakeup_fd, _ANSWER_TIMEOUT):
                return
        deadline = time.monotonic() + _EOF_TIMEOUT
        while self._is_running(to_client) and pump_ready(
            (to_client,), self._stop_signal.wakeup_fd, deadline - time.monotonic()
        ):
            pass
        self._flush(to_client)

    def _is_running(self, to_client: LinePump) -> bool:
        return not (to_client.ended or to_client.broken or self._stop_signal.received)

    def _report_missing_server(self, fault: str, reason: str) -> int:
        """There is no server (any more): tell the user, and answer each request with an error."""
        what = "the MCP server could not be started" if fault == "not-started" else "the MCP server ended"
        print_notice(f"{what}: {reason}")
        _answer_with_errors(self._inspector, self._stop_signal, fault, f"{what}: {reason}")
        self._finish()
        return 1

    def _finish(self) -> None:
        try:
            self._store.close()
        except (ReplayError, OSError) as error:
            print_notice(
                f"the recording could not be finished: {error}; free some space, then: replay record --recover"
            )


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a server with its whole process group."""
    if process.poll() is None:
        signal_groups([process.pid], signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_SIGTERM_TIMEOUT)
    end_groups([process.pid], grace=0, term_grace=_SIGTERM_TIMEOUT)
    process.wait()


def record_server(
    command: Sequence[str], path: Path, info: RecordingInfo, patterns: Sequence[str] = (), name: str | None = None
) -> int:
    """Record one server's sessions: everything that `replay record -o FILE -- COMMAND` does.

    Returns:
        The exit code.

    Raises:
        InputError: the file cannot be written.
        UsageError: another recorder is writing to it, or a pattern is not a regular expression.
    """
    store = RecordingStore(path, info, Redactor(secrets_around(os.environ, command), patterns), print_notice)
    return StdioProxy(command, store, name).run()


def _answer_with_errors(inspector: MessageInspector, stop_signal: StopSignal, fault: str, reason: str) -> None:
    """Answer all pending and coming requests with an error, until the client sends no more.

    A client whose server is not running gets a JSON-RPC error, not a closed pipe.

    Args:
        inspector: knows the pending requests, and records.
        stop_signal: ends it early.
        fault: `not-started` or `closed`.
        reason: the error's message.
    """
    timeout = _AFTER_CRASH_TIMEOUT if fault == "closed" else _FIRST_REQUEST_TIMEOUT

    def refuse(lines: list[bytes]) -> list[bytes]:
        nonlocal timeout
        inspector.inspect_client_lines(lines)
        errors = inspector.fail_pending(fault, reason)
        timeout = min(timeout, _NEXT_REQUEST_TIMEOUT) if errors else timeout
        return errors

    pump = LinePump(0, 1, refuse)
    for error in refuse([]):
        pump.send(error)
    while not (stop_signal.received or pump.broken or (pump.ended and not pump.wants_write)):
        if not pump_ready((pump,), stop_signal.wakeup_fd, timeout):
            return
