"""Tool names that every model API accepts, and the way back from them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

MAX_NAME_LENGTH: Final = 64
_FORBIDDEN: Final = re.compile(r"[^a-zA-Z0-9_-]")
_HASH_SUFFIX_LENGTH: Final = 7
"""Length of `_` and six hexadecimal digits."""


class ServerTool(NamedTuple):
    """A server of the fleet, and a tool as the server calls it."""

    server: str
    tool: str


def exposed_names(tools: Iterable[ServerTool]) -> Mapping[str, ServerTool]:
    """`server__tool` for each tool: at most 64 of `a-z A-Z 0-9 _ -`, each different.

    Where two tools would get one name, or a name had to be changed or cut, six digits of a hash of the real names
    stand at its end; so a tool's name does not depend on what else is exposed, but for such clashes.
    """
    exposed: dict[str, ServerTool] = {}
    for target in sorted(set(tools)):
        joined = f"{target.server}__{target.tool}"
        name = _FORBIDDEN.sub("_", joined)
        if name != joined or len(name) > MAX_NAME_LENGTH or name in exposed:
            name = _with_hash(name, target)
        exposed[name] = target
    return exposed


def _with_hash(name: str, target: ServerTool) -> str:
    digest = hashlib.sha256("\0".join(target).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{name[: MAX_NAME_LENGTH - _HASH_SUFFIX_LENGTH]}_{digest[: _HASH_SUFFIX_LENGTH - 1]}"
