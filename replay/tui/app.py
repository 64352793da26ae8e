"""The browser: one run, five screens, and the keys that work on all of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar, cast

from textual import on
from textual.app import App
from textual.binding import Binding, BindingType

from replay.runfile.filters import Filter
from replay.tui.messages import ShowCalls, ShowTrajectory
from replay.tui.screens.base import RunScreen
from replay.tui.screens.calls import CallsScreen
from replay.tui.screens.overview import OverviewScreen
from replay.tui.screens.trajectory import TrajectoryScreen
from replay.tui.session import Session
from replay.tui.theme import DARK, LIGHT

_POLL = 1.0


class BrowseApp(App[None]):
    """`replay browse`.

    Args:
        session: the open run; the caller closes it.
        clipboard_file: copied text is also written there.
        theme: `replay-dark`, `replay-light` or any theme of Textual's.
    """

    TITLE = "replay"
    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING = "ctrl+p"
    MODES = {  # noqa: RUF012
        "overview": OverviewScreen,
        "calls": CallsScreen,
        "trajectory": TrajectoryScreen,
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1", "go('overview')", "Overview", show=False, tooltip="How each model did"),
        Binding("2", "go('calls')", "Calls", show=False, tooltip="The list of calls"),
        Binding("3", "go('trajectory')", "Trajectory", show=False, tooltip="What happened in one trajectory"),
        Binding("4", "go('alignment')", "Alignment", show=False, tooltip="Prediction beside reference"),
        Binding("5", "go('compare')", "Compare", show=False, tooltip="Two models, or two runs"),
        Binding("question_mark", "help", "Keys", key_display="?", tooltip="The keys of this screen"),
        Binding("ctrl+p", "command_palette", "Find", tooltip="Every action; any task, tool or model by name"),
        Binding("t", "theme", "Light/dark", show=False, tooltip="Light or dark colours"),
        Binding("q", "quit", "Quit", tooltip="Leave the browser"),
        Binding("escape", "back", "Back", show=False, tooltip="Back to the screen before"),
    ]
    CSS = """
    #notice { height: auto; background: $warning; color: $background; padding: 0 1; display: none; }
    #too-small {
      display: none; layer: over; dock: top; width: 100%; height: 100%; background: $background;
      content-align: center middle; overlay: screen;
    }
    Footer { height: 1; }
    """

    def __init__(self, session: Session, *, clipboard_file: Path | None = None, theme: str = DARK.name) -> None:
        super().__init__()
        self.session = session
        self.clipboard_file = clipboard_file
        self.filter = Filter()
        """What the list of calls shows; the next failure is looked for in it."""
        self.notice = ""
        self._history: list[str] = []
        self._quiet_until = 0.0
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = theme

    @property
    def run_note(self) -> str:
        """The run's name."""
        return self.session.label

    async def on_mount(self) -> None:
        """Begin with the overview, and look at the file from time to time."""
        await self.switch_mode("overview")
        self.set_interval(_POLL, self.look)

    def look(self) -> None:
        """See whether the run grew, was replaced or vanished."""
        changed = self.session.change()
        if changed == "none":
            return
        self.notice = ""
        if changed == "gone":
            name = self.session.path.name
            self.notice = f"{name} is gone; what was read is still shown. q leaves"
        for screen in self._run_screens():
            screen.tell_state()
        if changed != "gone":
            self._current().reload()

    def _run_screens(self) -> Iterable[RunScreen]:
        return [screen for screen in self.screen_stack if isinstance(screen, RunScreen)]

    def _current(self) -> RunScreen:
        return next(iter(reversed(list(self._run_screens()))))

    # --- going about

    async def action_go(self, name: str) -> None:
        """Go to a screen."""
        if name != self.current_mode:
            self._history.append(self.current_mode)
            await self.switch_mode(name)

    def action_back(self) -> None:
        """Go back to the screen before."""
        self.go_back()

    def go_back(self) -> None:
        """Go back to the screen before."""
        if self._history:
            self.switch_mode(self._history.pop())

    @on(ShowCalls)
    async def show_calls(self, message: ShowCalls) -> None:
        """Go to the list of calls, filtered."""
        await self.action_go("calls")
        cast("CallsScreen", self.screen).show(message.filter)

    @on(ShowTrajectory)
    async def show_trajectory(self, message: ShowTrajectory) -> None:
        """Go to a trajectory."""
        await self.action_go("trajectory")
        cast("TrajectoryScreen", self.screen).show(message.row, message.position, message.ordinal)

    def action_theme(self) -> None:
        """Light or dark."""
        self.theme = LIGHT.name if self.current_theme.dark else DARK.name
        for widget in self.screen.walk_children():
            widget.refresh()
