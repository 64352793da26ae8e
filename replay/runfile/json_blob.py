"""JSON values as compressed text in a column."""

from __future__ import annotations

import json
import zlib
from typing import Any


def pack(value: Any) -> bytes:
    """A JSON value as compressed text."""
    return zlib.compress(json.dumps(value).encode(), 1)


def unpack(blob: bytes) -> Any:
    """The JSON value that was packed."""
    return json.loads(unpacked_text(blob))


def unpacked_text(blob: bytes) -> bytes:
    """The text of the JSON value, for a look that needs no value."""
    return zlib.decompress(blob)
