"""A server's stderr: on its way to the log, secrets taken out before anything is written, and as it is shown.

The Python SDK logs stack traces in boxes, 80 columns wide where stderr is no terminal: a hundred lines for one error.
They are shown as Python prints them.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from replay.safety.filesystem import private_opener
from replay.safety.redaction import Redactor

_CHUNK: Final = 65_536
_MAX_HELD: Final = 262_144
"""Bytes that are held back for the end of a line, or of a private key."""
MAX_LOG_BYTES: Final = 8 << 20
"""What is kept of a log at least; it is cut back to that when it is twice as long."""
_LAST_WORD: Final = re.compile(rb"(?<![\w.~+/=%-])[\w.~+/=%-]+\Z")
_DRAIN_TIMEOUT: Final = 0.5
"""Seconds that the end of the log is waited for, once the server is gone."""
_TOP: Final = re.compile(r"^(\s*)╭─+ Traceback \(most recent call last[)─]?.*╮\s*$")
_INSIDE: Final = re.compile(r"^\s*│ (.*) │\s*$")
_BOTTOM: Final = re.compile(r"^\s*╰─+╯\s*$")
_PLACE: Final = re.compile(r":\d+ in \S+$")
_MAX_WRAPPED: Final = 12
"""Lines that one place or one message may be wrapped into."""
_TAIL_LINES: Final = 20
_TAIL_BYTES: Final = 65_536
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")


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
    if len(data) > _MAX_HELD:  # not in the middle of a word, which may be a secret
        last_word = _LAST_WORD.search(data, len(data) - _CHUNK)
        end = last_word.start() if last_word else len(data)
        return data[:end], data[end:]
    key = data.rfind(b"-----BEGIN ")
    if key >= 0 and b"PRIVATE KEY" in data[key:] and b"-----END " not in data[key:]:
        return data[:key], data[key:]
    end = data.rfind(b"\n") + 1
    return data[:end], data[end:]


def tail_of(log: Path, start: int = 0, *, lines: int = _TAIL_LINES, size: int = _TAIL_BYTES) -> str:
    """The last lines of a log from byte `start` on, without colours; traces in boxes stand as plain ones.

    Args:
        log: may be missing.
        start: in bytes.
        lines: at most so many.
        size: bytes that are looked at, at most.
    """
    try:
        with log.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(start, end - size))
            text = file.read(size).decode("utf-8", "replace")
    except OSError:
        return ""
    plain = unboxed(_COLOUR.sub("", text))
    return "\n".join([line.rstrip() for line in plain.splitlines() if line.strip()][-lines:])


def unboxed(text: str) -> str:
    """A text with each boxed trace as Python prints one: its places, a line each, and the error."""
    if "╭" not in text:
        return text
    lines = text.splitlines()
    return "\n".join(_plain(lines))


def _plain(lines: list[str]) -> Iterator[str]:
    at = 0
    while at < len(lines):
        top = _TOP.match(lines[at])
        if top is None:
            yield lines[at]
            at += 1
            continue
        inside: list[str] = []
        at += 1
        while at < len(lines) and (found := _INSIDE.match(lines[at])):
            inside.append(found[1])
            at += 1
        yield "Traceback (most recent call last):"
        yield from (f"  {place}" for place in _places(inside))
        if at < len(lines) and _BOTTOM.match(lines[at]):
            error, at = _paragraph(lines, at + 1, indent=len(top[1]))
            yield error


def _places(inside: list[str]) -> Iterator[str]:
    """`file:line in function`, put together where they are wrapped; the source lines between are left out."""
    held = ""
    for line in inside:
        text, full = line.rstrip(), not line.endswith(" ")
        starts = text.startswith(("/", "in ")) or re.match(r"[A-Za-z]:[\\/]", text) is not None
        if not held and not starts:
            continue
        gap = " " if text.startswith("in ") and held and not held.endswith(" ") else ""
        held += gap + (text if full else f"{text} ")
        if _PLACE.search(held.rstrip()):
            yield held.strip()
            held = ""
        elif len(held) > _MAX_WRAPPED * len(line):
            held = ""


def _paragraph(lines: list[str], at: int, *, indent: int) -> tuple[str, int]:
    """The lines from `at` on that begin in one column, as one, and where they end."""
    words: list[str] = []
    while at < len(lines) and len(words) < _MAX_WRAPPED:
        line = lines[at]
        if not line.strip() or len(line) - len(line.lstrip()) != indent:
            break
        words.append(line.strip())
        at += 1
    return " ".join(words), at
