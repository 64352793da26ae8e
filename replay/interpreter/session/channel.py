"""What carries JSON-RPC messages to a server and back, whatever it is made of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from replay.json_values import encode
from replay.records import JsonObject

MAX_ANSWER_BYTES: Final = 64 * 1024 * 1024
"""Bytes of the longest message that is read."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Something arrived that is not a message."""

    why: str
    request_id: int | None = None
    """The request that it was the answer to, where that can be told."""
    is_answer: bool = False
    """Whether it was meant as an answer: too long, or broken JSON-RPC; else it is mere noise."""
    lost: bool = False
    """Whether the answer never arrived, because the connection broke."""


Incoming = JsonObject | Unreadable


def encoded(message: JsonObject) -> bytes:
    """A message as it goes over the wire, in ASCII: a server may take it for any encoding."""
    line = encode(message)
    return line if line.isascii() else json.dumps(message, separators=(",", ":")).encode()


class ChannelClosedError(Exception):
    """The connection ended; the text says how."""


class Channel(Protocol):
    """Both directions of a connection."""

    async def send(self, message: JsonObject, headers: Mapping[str, str]) -> None:
        """Send a message; headers matter to HTTP only. Raises ChannelClosedError."""

    async def receive(self) -> Incoming:
        """The next thing that arrived. Raises ChannelClosedError at the end."""
