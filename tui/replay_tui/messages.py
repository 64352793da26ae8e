"""What the parts of the browser say to each other."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message


@dataclass
class ShowCalls(Message):
    """The list of calls is wanted, filtered."""

    filter: str


@dataclass
class ShowTrajectory(Message):
    """A trajectory is wanted, with a call of it selected."""

    row: int
    position: str | None = None
    ordinal: int | None = None
