"""The one door to the terminal: whatever a verb prints passes it, whether or not its own code thought of that."""

from __future__ import annotations

import codecs
import io
import sys
from typing import Any, TextIO, cast

from replay.safety.text import printable


class TerminalDoor(io.TextIOBase):
    """A text stream that shows what a terminal would act on as the escape that it is.

    Args:
        stream: where the text goes. One for ASCII alone is made one for UTF-8.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        if isinstance(stream, io.TextIOWrapper):
            is_ascii = codecs.lookup(stream.encoding).name == "ascii"
            stream.reconfigure(encoding="utf-8" if is_ascii else None, errors="backslashreplace")

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Of the stream behind it."""
        return self._stream.encoding

    @property
    def errors(self) -> str:  # type: ignore[override]
        """How the stream behind it treats what it cannot encode."""
        return self._stream.errors or "strict"

    @property
    def buffer(self) -> Any:
        """The bytes behind it, for a protocol that is spoken on standard output; text never takes this way."""
        return self._stream.buffer

    def write(self, text: str, /) -> int:
        """Write a text, made safe."""
        self._stream.write(printable(text))
        return len(text)

    def flush(self) -> None:
        """Hand on what was written."""
        self._stream.flush()

    def fileno(self) -> int:
        """Of the stream behind it."""
        return self._stream.fileno()

    def isatty(self) -> bool:
        """Whether that is a terminal."""
        return self._stream.isatty()

    def writable(self) -> bool:
        """It is."""
        return True


def install() -> None:
    """Put the door before standard output and standard error."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, TerminalDoor):
            setattr(sys, name, cast("TextIO", TerminalDoor(stream)))
