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
    return json.loads(zlib.decompress(blob))
