"""What screens and widgets may ask of the app that they are in. The app imports them, so they must not import it."""

from __future__ import annotations

from typing import Any, Protocol, cast

from textual.app import App

from replay.runfile.filters import Filter
from replay_tui.open_run import OpenRun


class Browser(Protocol):
    """The state that the screens share."""

    open_run: OpenRun
    filter: Filter
    """What the list of calls shows; the next failure is looked for in it."""
    notice: str
    """What became of the run file; empty while it is there."""
    changes: int
    """How often the run was seen to have changed."""

    @property
    def run_note(self) -> str:
        """The run's name."""


def browser_of(app: App[Any]) -> Browser:
    """The app of a widget or a screen as the browser that it is."""
    return cast("Browser", app)
