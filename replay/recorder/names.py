"""Tool names that every model API accepts, and the way back from them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

LONGEST: Final = 64
_UNFIT: Final = re.compile(r"[^a-zA-Z0-9_-]")
_MARK: Final = 7
"""Length of `_` and six hexadecimal digits."""


class RealName(NamedTuple):
    """A server of the fleet, and a tool as the server calls it."""

    server: str
    tool: str


def offered_names(tools: Iterable[RealName]) -> Mapping[str, RealName]:
    """`server__tool` for each tool: at most 64 of `a-z A-Z 0-9 _ -`, each different.

    Where two tools would get one name, or a name had to be changed or cut, six digits of a hash of the real names
    stand at its end; so a tool's name does not depend on what else is offered, but for such clashes.
    """
    offered: dict[str, RealName] = {}
    for real in sorted(set(tools)):
        plain = f"{real.server}__{real.tool}"
        name = _UNFIT.sub("_", plain)
        if name != plain or len(name) > LONGEST or name in offered:
            name = _marked(name, real)
        offered[name] = real
    return offered


def _marked(name: str, real: RealName) -> str:
    digest = hashlib.sha256("\0".join(real).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{name[: LONGEST - _MARK]}_{digest[: _MARK - 1]}"
