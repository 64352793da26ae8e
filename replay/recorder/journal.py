"""The append-only `FILE.partial`: what a recording is while it grows. One JSON object a line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from threading import Lock
from typing import Any, Final

from replay.errors import InputError, UsageError
from replay.json_values import bounded, parse_json
from replay.safety.filesystem import lock_file

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
