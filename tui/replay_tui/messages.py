"""What screens and widgets ask the app for."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message


@dataclass
class ShowScreen(Message):
    """Another screen is wanted."""

    name: str


@dataclass
class ShowPreviousScreen(Message):
    """The screen before is wanted."""


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
