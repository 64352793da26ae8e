"""Server-sent events, as far as MCP uses them: the data of each `message` event."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Final

_LINE_END: Final = re.compile(rb"\r\n|\n|\r(?!$)")


async def events_of(chunks: AsyncIterator[bytes], limit: int) -> AsyncIterator[bytes | None]:
    """The data of each event; None, and nothing more, where one is longer than the limit."""
    data: list[bytes] = []
    event = b"message"
    async for line in _lines_of(chunks, limit):
        if line is None:
            yield None
            return
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"event":
            event = value
        elif not line:
            if any(data) and event == b"message":
                yield b"\n".join(data)
            data, event = [], b"message"


async def _lines_of(chunks: AsyncIterator[bytes], limit: int) -> AsyncIterator[bytes | None]:
    parts: list[bytes] = []
    size = 0
    async for chunk in chunks:
        if parts and parts[-1].endswith(b"\r"):
            chunk = parts.pop() + chunk  # noqa: PLW2901 - a line end may be cut in two
        head, *lines = _LINE_END.split(chunk)
        parts.append(head)
        size += len(head)
        if size > limit:
            yield None
            return
        if lines:
            yield b"".join(parts)
            for line in lines[:-1]:
                yield line
            parts, size = [lines[-1]], len(lines[-1])
