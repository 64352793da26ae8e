"""The recording pass-through for one server over stdio. The client must not be able to tell that it is there."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from replay.errors import ReplayError
from replay.interpreter.processes import find_command
from replay.recorder.error_responder import answer_with_errors
from replay.recorder.line_pump import LinePump, is_writable, pump_ready
from replay.recorder.message_inspector import MessageInspector
from replay.recorder.notices import print_notice
from replay.recorder.recording import RecordingInfo
from replay.recorder.recording_store import RecordingStore
from replay.recorder.stop_signal import StopSignal
from replay.recorder.watchdog import Watchdog, describe_exit, end_server, start_server
from replay.safety.redaction import Redactor, secrets_around

_EOF_TIMEOUT: Final = 1.0
"""Seconds from the end of the client's input to SIGTERM. The SDK's client ends its server, us, after two."""
_ANSWER_TIMEOUT: Final = 30.0
"""The same, where answers are still to come."""
_TOOLS_LIST_TIMEOUT: Final = 0.5
_EXIT_TIMEOUT: Final = 1.0


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
        watchdog = Watchdog()
        self._stop_signal.listen()
        try:
            process = start_server(
                (find_command(self._command[0], path_first=True) or self._command[0], *self._command[1:]), watchdog.mark
            )
        except OSError as error:
            watchdog.dismiss()
            return self._report_missing_server("not-started", f"{self._command[0]}: {error.strerror or error}")
        watchdog.watch(process.pid)
        try:
            return self._pump_until_end(process)
        finally:
            end_server(process, 0, watchdog.mark)
            watchdog.dismiss()

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
        self._report_missing_server("closed", f"{self._command[0]} {describe_exit(process)}")
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
            if not pump_ready((to_client,), self._stop_signal.wakeup_fd, deadline - time.monotonic()):
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
        answer_with_errors(self._inspector, self._stop_signal, fault, f"{what}: {reason}")
        self._finish()
        return 1

    def _finish(self) -> None:
        try:
            self._store.close()
        except (ReplayError, OSError) as error:
            print_notice(
                f"the recording could not be finished: {error}; free some space, then: replay record --recover"
            )


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
