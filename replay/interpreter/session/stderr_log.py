"""A server's stderr on its way to the log: secrets are taken out before anything is written."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Final

from replay.safety.filesystem import private_opener
from replay.safety.redaction import Redactor

_CHUNK: Final = 65_536
_MAX_HELD: Final = 262_144
"""Bytes that are held back for the end of a line, or of a private key."""
MAX_LOG_BYTES: Final = 8 << 20
"""What is kept of a log at least; it is cut back to that when it is twice as long."""
_DRAIN_TIMEOUT: Final = 0.5
"""Seconds that the end of the log is waited for, once the server is gone."""


class RedactedLog:
    """A pipe whose far end is read by a thread, cleaned, and appended to a file.

    A thread, since a server may write more than a pipe holds while the event loop waits for its answer.
    """

    def __init__(self, path: Path, redactor: Redactor) -> None:
        self._path, self._redactor = path, redactor
        self._read_end, self.write_end = os.pipe()
        os.set_inheritable(self._read_end, False)
        self._thread = threading.Thread(target=self._copy, name=f"stderr of {path.stem}", daemon=True)

    def start(self) -> None:
        """Begin to copy; call it once the server holds the write end."""
        os.close(self.write_end)
        self._thread.start()

    def abandon(self) -> None:
        """Close both ends: there is no server to write."""
        os.close(self.write_end)
        os.close(self._read_end)

    def drain(self) -> None:
        """Wait, not for long, until what a server wrote before its end is in the file."""
        self._thread.join(_DRAIN_TIMEOUT)

    def _copy(self) -> None:
        held = b""
        with open(self._path, "ab", opener=private_opener) as log, os.fdopen(self._read_end, "rb", buffering=0) as pipe:
            while chunk := pipe.read(_CHUNK):
                ready, held = _split(held + chunk)
                self._write(log.fileno(), ready)
            self._write(log.fileno(), held)

    def _write(self, log: int, data: bytes) -> None:
        if not data:
            return
        os.write(log, self._redactor.text(data.decode("utf-8", "replace")).encode())
        size = os.fstat(log).st_size
        if size > 2 * MAX_LOG_BYTES:
            _keep_ends(self._path, size)


def _keep_ends(path: Path, size: int) -> None:
    """Cut the middle out of a log that has grown too long: its beginning and its end tell the most."""
    half = MAX_LOG_BYTES // 2
    with path.open("r+b") as file:
        file.seek(size - half)
        end = file.read()
        file.seek(half)
        file.write(b"\n[... %d bytes left out ...]\n" % (size - 2 * half))
        file.write(end)
        file.truncate()


def _split(data: bytes) -> tuple[bytes, bytes]:
    """What can be written, and what must wait: half a line, or a private key without its end."""
    if len(data) > _MAX_HELD:
        return data, b""
    key = data.rfind(b"-----BEGIN ")
    if key >= 0 and b"PRIVATE KEY" in data[key:] and b"-----END " not in data[key:]:
        return data[:key], data[key:]
    end = data.rfind(b"\n") + 1
    return data[:end], data[end:]
