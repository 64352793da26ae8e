"""What all screens share: the top line, the footer, the keys that work everywhere, and the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Final, TypeVar

from textual import getters, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import Screen
from textual.widgets import Footer, Static, Tab, Tabs
from textual.worker import get_current_worker

from replay.runfile import Run
from replay.safety.text import one_line
from replay_tui.browser import Browser, OpenRun

_Answer = TypeVar("_Answer")
SCREENS: Final = {
    "overview": "How each model did",
    "calls": "The list of calls",
    "trajectory": "What happened in one trajectory",
    "alignment": "Prediction beside reference",
    "compare": "Two models, or two runs",
    "models": "All models side by side, by any measure",
    "audit": "How much of the scores is the models' own",
}
"""What each screen shows; their keys are their numbers."""
_ROOM_FOR_NAMES: Final = 86
"""Columns from which every screen's name is written out."""
MIN_SIZE = (60, 16)
"""Columns and lines that the screens need."""


class LineTabs(Tabs, can_focus=False):
    """Names of which one is active; keys of the screen change it.

    Args:
        names: by the names that the program has for them.
        active: the first one by default.
    """

    DEFAULT_CSS = """
    LineTabs { height: 1; }
    LineTabs Underline { display: none; }
    LineTabs Tab { color: $footer-description-foreground; }
    LineTabs Tab.-active { color: $accent; text-style: bold underline; }
    """

    def __init__(self, names: Mapping[str, str], active: str | None = None, *, id: str | None = None) -> None:  # noqa: A002
        tabs = (Tab(label, id=f"tab-{name}") for name, label in names.items())
        super().__init__(*tabs, active=f"tab-{active}" if active else None, id=id)

    def validate_active(self, active: str) -> str:
        """The tab itself; none where an app that closes took the tabs away before they were mounted."""
        return super().validate_active(active) if self.query(Tab) else ""

    @property
    def current(self) -> str:
        """The active one."""
        return self.active.removeprefix("tab-")

    @current.setter
    def current(self, name: str) -> None:
        self.active = f"tab-{name}"


class TopBar(Horizontal):
    """The screens by number, and the run's name at the right.

    Args:
        current: the screen that it stands on.
    """

    DEFAULT_CSS = """
    TopBar { height: 1; dock: top; background: $panel; }
    TopBar Static#run { width: 1fr; padding: 0 1; text-align: right; text-wrap: nowrap; text-overflow: ellipsis;
      color: $footer-description-foreground; }
    """

    def __init__(self, current: str) -> None:
        super().__init__()
        self._current = current

    def compose(self) -> ComposeResult:
        """Both."""
        yield LineTabs({name: f"{key} {name.capitalize()}" for key, name in enumerate(SCREENS, 1)}, self._current)
        yield Static("", id="run", markup=False)

    def on_resize(self) -> None:
        """Where there is little room, the other screens are numbers."""
        labels = [
            f"{key} {name.capitalize()}" if self.size.width >= _ROOM_FOR_NAMES or name == self._current else str(key)
            for key, name in enumerate(SCREENS, 1)
        ]
        for tab, label in zip(self.query(Tab), labels, strict=True):
            tab.label = label
        self.query_one(LineTabs).styles.width = sum(len(label) + 2 for label in labels)

    @on(Tabs.TabActivated)
    async def activated(self, event: Tabs.TabActivated) -> None:
        """Go to the screen that was clicked; its own bar shows it, and this one stays as it is."""
        event.stop()
        tabs = self.query_one(LineTabs)
        if (name := tabs.current) != self._current:
            tabs.current = self._current
            self.run_worker(self.app.run_action(f"go('{name}')"))


class RunScreen(Screen[None]):
    """A screen over the run."""

    NAME: ClassVar[str] = ""
    AUTO_FOCUS = None  # it would come later than the keys that are typed ahead
    FIRST: ClassVar[str] = ""
    """The part that has the focus at first."""
    PURPOSE: ClassVar[str] = ""
    """One sentence for the help."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "app.focus_next", "Next panel", show=False, tooltip="Go to the next panel"),
        Binding("shift+tab", "app.focus_previous", "Previous panel", show=False, tooltip="Go to the panel before"),
    ]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-normal"), (160, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-low"), (34, "-high")]  # noqa: RUF012
    app = getters.app(Browser)

    def __init__(self) -> None:
        super().__init__()
        self._seen = -1

    def compose(self) -> ComposeResult:
        """Top line, what the screen holds, the keys, and the word that there is not enough room."""
        yield TopBar(self.NAME)
        yield Static("", id="notice", markup=False)
        yield from self.compose_body()
        yield Footer(show_command_palette=False)
        yield Static("", id="too-small", markup=False)

    def compose_body(self) -> ComposeResult:
        """What is between the top line and the keys."""
        raise NotImplementedError

    def on_mount(self) -> None:
        """The first part has the focus; there is none where the browser is left while it comes up."""
        for first in self.query(self.FIRST):
            self.set_focus(first)

    @property
    def open_run(self) -> OpenRun:
        """The run."""
        return self.app.open_run

    def reload(self) -> None:
        """The run changed, or is another one: read again what is shown."""

    @work(thread=True, exclusive=True)
    def ask(self, question: Callable[[Run], _Answer], take: Callable[[_Answer], None]) -> None:
        """Ask the run in a thread of its own; only what the screen asked last is answered."""
        worker = get_current_worker()
        with self.open_run.thread_connection() as run:
            if run is None:
                return
            answer = question(run)
        if not worker.is_cancelled:
            self.app.call_from_thread(take, answer)

    def selected_call(self) -> tuple[int, str] | None:
        """Trajectory row and position of the selected call; None where the screen selects none."""
        return None

    def trajectory_shown(self) -> int | None:
        """The row of the trajectory that is looked at, which the next screen may take over, if there is one."""
        return None

    def show_trajectory(self, row: int) -> None:
        """Take over the trajectory that was looked at; a screen that shows none leaves it."""

    def on_resize(self) -> None:
        """Say so where there is not enough room."""
        columns, lines = self.size.width, self.size.height
        small = columns < MIN_SIZE[0] or lines < MIN_SIZE[1]
        notice = self.query_one("#too-small", Static)
        self.set_class(small, "-small")
        if small:
            notice.update(f"{columns}x{lines} is too small: {MIN_SIZE[0]}x{MIN_SIZE[1]} at least")

    def on_screen_resume(self) -> None:
        """What was missed while another screen was shown."""
        if self.is_current:  # Textual also says so to a screen that is only being made ready
            self.show_run_state()
            self.reload_if_changed()

    def reload_if_changed(self) -> None:
        """Read again what is shown, unless nothing was written since."""
        if self._seen != self.app.changes:
            self._seen = self.app.changes
            self.reload()

    def show_run_state(self) -> None:
        """Show the run's name and what happened to it."""
        self.query_one("#run", Static).update(one_line(self.open_run.label, 200))
        notice = self.query_one("#notice", Static)
        notice.display = bool(self.app.notice)
        notice.update(self.app.notice)
