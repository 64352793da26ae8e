"""State gaps: calls that did not happen again, and the later calls that may rely on them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass
class Gaps:
    """The gaps of one trajectory so far.

    A call that was not re-issued may have changed what later calls see: those to its own server, those in the same
    workspace, and, where it went to a tool that is not in the fleet, any, since nobody knows what that tool touched.
    """

    sharing_workspace: frozenset[str] = frozenset()
    """Servers that work in the trajectory's workspace."""
    _anywhere: list[str] = field(default_factory=list)
    _in_workspace: list[str] = field(default_factory=list)
    _of_server: dict[str, list[str]] = field(default_factory=dict)

    def add(self, position: str, server: str | None) -> None:
        """Note that the call at `position` left a gap; `server` is None where it is not in the fleet."""
        if server is None:
            self._anywhere.append(position)
        elif server in self.sharing_workspace:
            self._in_workspace.append(position)
        else:
            self._of_server.setdefault(server, []).append(position)

    def before(self, server: str, ancestors: Iterable[str] = ()) -> str | None:
        """The gap that a call to `server` stands behind: one that it depends on by data, else the last."""
        gaps: list[str] = [*self._anywhere, *self._of_server.get(server, ())]
        if server in self.sharing_workspace:
            gaps += self._in_workspace
        if not gaps:
            return None
        named = set(ancestors)
        return sorted(gaps, key=lambda position: (position in named, sort_key(position)))[-1]


def sort_key(position: str) -> tuple[int, int]:
    """`s2c1` as (2, 1), to sort by; (0, 0) for a position of another form."""
    step, _, call = position[1:].partition("c")
    return (int(step), int(call)) if step.isdigit() and call.isdigit() else (0, 0)
