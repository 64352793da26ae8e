"""What screens and widgets may ask of the app that they are in. The app imports them, so they must not import it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from textual.app import App
from textual.message import Message

from replay.runfile.filters import Filter
from replay_tui.open_run import OpenRun

ExportScope: TypeAlias = Literal["call", "filter", "run"]
"""The selected call, the calls that the filter matches, or the whole run."""


class Browser(App[None]):
    """The state that the screens share."""

    def __init__(self, open_run: OpenRun) -> None:
        super().__init__()
        self.open_run = open_run
        self.filter = Filter()
        """What the list of calls shows; the next failure is looked for in it."""
        self.notice = ""
        """What happened to the run file; empty while it is there."""
        self.changes = 0
        """How often the run was seen to have changed."""


@dataclass
class ShowCalls(Message):
    """The list of calls is wanted, filtered."""

    filter: str


@dataclass
class ShowTrajectory(Message):
    """A trajectory is wanted, with a call of it selected: by its position, or by its number in the order of steps."""

    row: int
    position: str | None = None
    ordinal: int | None = None


@dataclass(frozen=True)
class ExportRequest:
    """Which report was asked for, and the file that it ends in."""

    format: str
    about: ExportScope
    path: Path
