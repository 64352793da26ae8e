"""One trajectory while it is being recorded: calls, answers and what is known of the servers, each on disk at once.

It grows in the append-only `FILE.partial`, one JSON object a line.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Final

from replay.errors import InputError, UsageError
from replay.json_values import bounded, parse_json
from replay.safety.filesystem import lock_file
from replay.safety.redaction import Redactor
from replay.safety.text import printable

DEFAULT_SERVER_NAME: Final = "server"
"""The name of a server that gives none of itself."""
JOURNAL_FORMAT: Final = "replay.recording"
JOURNAL_VERSION: Final = 1
MAX_LINE: Final = 512 << 20
"""Bytes of an entry that is read back; a message may have half of it."""
_LOCK_TIMEOUT: Final = 1.5
"""Seconds to wait for another recorder's lock: a client that restarts its server meets the old one finishing."""


class Journal:
    """One open `FILE.partial`, locked against every other recorder.

    Each entry is handed to the kernel before `append` returns, so that it survives a `kill -9` of this process.

    Raises:
        UsageError: another recorder has it.
        InputError: it cannot be written.
    """

    def __init__(self, path: Path, timeout: float = _LOCK_TIMEOUT) -> None:
        self.path = path
        self._file = _open_locked(path, timeout)
        self._write_lock = Lock()
        self.closed = False

    @property
    def empty(self) -> bool:
        """Nothing was written, by us or by a recorder before us."""
        return os.fstat(self._file).st_size == 0

    def append(self, entry: dict[str, Any], raw: bytes | None = None) -> None:
        """Add one entry; `raw` is the JSON of its last member, `message`, where that stands ready as bytes."""
        line = encode_entry(entry)
        if raw is not None:
            line = b'%s,"message":%s}' % (line[:-1], raw)
        line += b"\n"
        with self._write_lock:
            _write_all(self._file, line)

    def clear(self) -> None:
        """Empty the file and keep the lock."""
        os.ftruncate(self._file, 0)

    def close(self, remove: bool = False) -> None:
        """Release the lock; with `remove` the file goes first, while it is still ours."""
        if remove:
            self.path.unlink(missing_ok=True)
        if not self.closed:
            os.close(self._file)
            self.closed = True


def encode_entry(value: Any) -> bytes:
    """Compact JSON, bounded; what JSON has no form for, as its text."""
    return json.dumps(bounded(value), ensure_ascii=False, separators=(",", ":"), default=str).encode(
        "utf-8", "surrogatepass"
    )


def decode_entry(line: bytes) -> Any:
    """What `encode` encoded, and any JSON that a peer may send, bounded.

    Raises:
        ValueError: it is not JSON, or nested too deeply.
    """
    return parse_json(line.decode("utf-8", "surrogatepass"))


def entry_of(line: bytes) -> dict[str, Any] | None:
    """The entry on a line; None where it cannot be read."""
    try:
        value = decode_entry(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def _open_locked(path: Path, timeout: float) -> int:
    try:
        return lock_file(path, wait=timeout, flags=os.O_APPEND, mode=0o600)
    except BlockingIOError:
        raise UsageError(f"{path}: another recorder is writing to it; give each its own -o FILE") from None
    except OSError as error:
        raise InputError(str(path), f"cannot be written: {error.strerror}") from error


@dataclass(frozen=True)
class RecordingInfo:
    """What a recording is of."""

    id: str
    model: str = "unknown"
    task: str | None = None


class Recording:
    """Writes what happens into a journal, without its secrets.

    Args:
        journal: where to.
        info: id, model and task.
        redactor: takes the secrets out.
        notify: shows the user one line, where the disk is full.
    """

    def __init__(
        self, journal: Journal, info: RecordingInfo, redactor: Redactor, notify: Callable[[str], None]
    ) -> None:
        self.journal, self._redactor, self._notify = journal, redactor, notify
        self._started_at = time.monotonic()
        self._last_call = 0
        self._count_lock = Lock()
        self.has_content = False
        """A server gave its identity, or a call was made."""
        self.broken = False
        """Something could not be written. The agent at work must not suffer from that: nothing is raised."""
        header = {
            "format": JOURNAL_FORMAT,
            "version": JOURNAL_VERSION,
            "id": info.id,
            "model": info.model,
            "task": info.task,
        }
        journal.append(redactor.json(header))

    @property
    def calls(self) -> int:
        """How many there are so far."""
        return self._last_call

    def call(
        self, request: dict[str, Any], *, server: str | None = None, tool: str | None = None, raw: bytes | None = None
    ) -> int:
        """Note a `tools/call` request before it is sent.

        Args:
            request: the JSON-RPC request, or at least its `params`.
            server: the server it goes to, where known.
            tool: the server's own name of the tool, where the request has another.
            raw: the request as it came, where it stands ready.

        Returns:
            The call's number, for its answer.
        """
        number = self._next_number()
        self._write_event("call", request, raw, n=number, server=server, tool=tool)
        return number

    def unparsed(self, text: str, *, in_flight: bool = False) -> int:
        """Note a call that was never sent because nobody could read it.

        Args:
            text: the call as it was written.
            in_flight: calls that follow may be of the same step, until `end_unparsed`.
        """
        number = self._next_number()
        self._write_event("unparsed", text, None, n=number, open=in_flight or None)
        return number

    def end_unparsed(self, number: int) -> None:
        """Nothing more comes of an unparsed call that was in flight."""
        self._write_event("over", None, None, n=number)

    def answer(self, number: int, response: dict[str, Any], raw: bytes | None = None) -> None:
        """Note a call's answer, `{"result": ...}` or `{"error": ...}`, before it is passed on."""
        self._write_event("answer", response, raw, n=number)

    def fault(self, number: int, fault: str, message: str) -> None:
        """Note that a call got no answer."""
        self._write_event("fault", {"fault": fault, "message": message}, None, n=number)

    def identity(self, server: str | None, response: dict[str, Any], protocol: str | None = None) -> None:
        """Note the result of `initialize` or `server/discover`."""
        self.has_content = True
        self._write_event("identity", response, None, server=server, protocol=protocol)

    def tools(self, server: str | None, response: dict[str, Any], first_page: bool, raw: bytes | None = None) -> None:
        """Note one page of tools/list."""
        self._write_event("tools", response, raw, server=server, first=first_page)

    def server(self, record: dict[str, Any]) -> None:
        """Note a server that is already known as a whole: the JSON of a `Server` record."""
        self.has_content = True
        self._write_event("server", record, None)

    def note(self, text: str) -> None:
        """Keep the model's raw text; it goes with the step that begins next."""
        self._write_event("note", text, None)

    def step(self, begins: bool = True) -> None:
        """Begin a step by hand; with `begins` false, leave it: from there on the timing decides again."""
        self._write_event("step", begins, None)

    def _next_number(self) -> int:
        self.has_content = True
        with self._count_lock:
            self._last_call += 1
            return self._last_call

    def _write_event(self, event: str, message: Any, raw: bytes | None, **fields: Any) -> None:
        known = {key: value for key, value in fields.items() if value is not None}
        entry = {"event": event, "t": round(time.monotonic() - self._started_at, 6), **known}
        try:
            clean = self._redactor.json(message)
            if raw is not None and clean is message:
                self.journal.append(entry, raw.strip())
            else:
                self.journal.append({**entry, "message": clean})
        except (OSError, ValueError, TypeError, RecursionError) as error:
            if not self.broken:
                why = error.strerror if isinstance(error, OSError) else error
                self._notify(f"not all could be recorded: {self.journal.path}: {why}")
            self.broken = True


def print_notice(line: str) -> None:
    """One line to the user, on standard error; standard output is the protocol's."""
    if sys.stderr is not None:
        sys.stderr.write(printable(f"replay: {line}") + "\n")
        sys.stderr.flush()
