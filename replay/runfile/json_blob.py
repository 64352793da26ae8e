"""JSON values as compressed text in a column."""

from __future__ import annotations

import hashlib
import json
import zlib
from typing import Any

from replay.replayer.keys import canonical

__all__ = ["canonical", "digest", "pack", "unpack"]


def digest(value: Any) -> str:
    """SHA-256 of the canonical JSON, hexadecimal."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def pack(value: Any) -> bytes:
    """A JSON value as compressed text."""
    return zlib.compress(json.dumps(value).encode(), 1)


def unpack(blob: bytes) -> Any:
    """The JSON value that was packed."""
    return json.loads(zlib.decompress(blob))
