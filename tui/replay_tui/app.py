"""The browser: one run, its screens, and the keys that work on all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, ClassVar, cast

import platformdirs
from textual import events, on, work
from textual.app import SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.filter import LineFilter
from textual.notifications import SeverityLevel
from textual.screen import Screen
from textual.widgets import Input
from textual.worker import WorkerFailed

from replay.errors import ReplayError, RunFileError
from replay.runfile import Run, trajectory_queries
from replay.runfile.filters import read_vocabulary
from replay.runfile.salvage import damage_behind
from replay.runfile.trajectory_queries import StoredTrajectory
from replay.safety.filesystem import write_atomically
from replay.safety.text import one_line, printable
from replay_tui.browser import Browser, ExportRequest, OpenRun, ShowCalls, ShowTrajectory
from replay_tui.palette import ActionProvider, NameProvider
from replay_tui.screens.dialogs import ExportScreen, HelpScreen
from replay_tui.screens.run_screen import SCREENS, RunScreen
from replay_tui.terminal import PLAIN_TEXT, open_in_editor, source_line
from replay_tui.theme import DARK, LIGHT

if TYPE_CHECKING:
    from replay_tui.screens.calls_screen import CallsScreen
    from replay_tui.screens.trajectory_screen import TrajectoryScreen

_POLL_SECONDS = 1.0
_IDLE_SECONDS = 0.15
"""Seconds between one screen that is made ready and the next."""


def _screen(name: str) -> Screen[None]:
    """A screen, imported when it is made: some bring the diagnosis, numpy and scipy, which the first can spare."""
    screen: Screen[None] = resolve_name(f"replay_tui.screens.{name}_screen:{name.capitalize()}Screen")()
    return screen


class BrowseApp(Browser):
    """`replay browse`.

    Args:
        open_run: the run file; the caller closes it.
        clipboard_file: copied text is also written there.
        theme: `replay-dark`, `replay-light` or any theme of Textual's.
        start: a filter; begin with the calls that match it.
    """

    TITLE = "replay"
    COMMANDS = {lambda: ActionProvider, lambda: NameProvider}  # noqa: RUF012
    COMMAND_PALETTE_BINDING = "ctrl+p"
    MODES = {name: partial(_screen, name) for name in SCREENS}  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(str(key), f"go('{name}')", name.capitalize(), show=False, tooltip=about)
            for key, (name, about) in enumerate(SCREENS.items(), 1)
        ),
        Binding("question_mark", "help", "Keys", key_display="?", tooltip="The keys of this screen"),
        Binding("ctrl+p", "command_palette", "Find", tooltip="Every action; any task, tool or model by name"),
        Binding("y", "copy_diagnosis", "Copy", show=False, tooltip="Copy the diagnosis of the call as Markdown"),
        Binding(
            "e",
            "export",
            "Export",
            show=False,
            tooltip="Write a report: the call, what is filtered, the whole run",
        ),
        Binding("o", "open_source", "Source", show=False, tooltip="Open the results file where the trajectory begins"),
        Binding("t", "theme", "Light/dark", show=False, tooltip="Light or dark colours"),
        Binding("q", "quit", "Quit", tooltip="Leave the browser"),
        Binding("escape", "back", "Back", show=False, tooltip="Back to the screen before"),
    ]
    CSS_PATH = "screens.tcss"

    def __init__(
        self, open_run: OpenRun, *, clipboard_file: Path | None = None, theme: str = DARK.name, start: str | None = None
    ) -> None:
        super().__init__(open_run)
        self._start = start
        self._clipboard_file = clipboard_file or Path(platformdirs.user_state_path("mcp-replay")) / "copied.md"
        self._history: list[str] = []
        self._leaving = False
        self._prepared = asyncio.Event()
        self._prepared.set()
        self.damage: RunFileError | None = None
        """Why it ended, where the run file is damaged."""
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = theme

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Those of Textual, and last of all the one that lets nothing through but plain text."""
        return [*super().get_line_filters(), PLAIN_TEXT]

    def _handle_exception(self, error: Exception) -> None:
        """End without a traceback where what went wrong is the run file's damage."""
        behind = error.error if isinstance(error, WorkerFailed) else error
        self.damage = self.damage or damage_behind(behind, self.open_run.path)
        super()._handle_exception(error)

    def _fatal_error(self) -> None:
        if self.damage is None:
            super()._fatal_error()
        else:
            self._close_messages_no_wait()

    async def on_mount(self) -> None:
        """Begin with the overview, and look at the file from time to time."""
        await self.switch_mode("overview")
        self._read_vocabulary()
        if self._start:
            self.post_message(ShowCalls(self._start))
        self.set_interval(_POLL_SECONDS, self.check_run)
        self.set_timer(_IDLE_SECONDS, self._prepare_screen)

    async def _prepare_screen(self) -> None:
        """Make the other screens while nobody waits, so that they open at once."""
        if self._leaving:
            return
        name = next((name for name in self.MODES if not self._screen_stacks.get(name)), None)
        if name is not None:
            self._prepared.clear()
            try:
                await self._init_mode(name)
            finally:
                self._prepared.set()
            self.set_timer(_IDLE_SECONDS, self._prepare_screen)

    async def _close_all(self) -> None:
        self._leaving = True  # a screen that is made now would be made while they are all closed
        await self._prepared.wait()
        await super()._close_all()

    @work(thread=True, exclusive=True, group="names")
    def _read_vocabulary(self) -> None:
        """Read the names for completion before they are needed: in a big run it takes a moment."""
        with self.open_run.thread_connection() as run:
            if run is None:
                return
            names = read_vocabulary(run.connection)
        self.call_from_thread(self.open_run.set_vocabulary, names)

    def check_run(self) -> None:
        """See whether the run grew, was replaced or vanished."""
        change = self.open_run.check_file()
        if change == "none":
            return
        self.notice = ""
        if change == "gone":
            name = self.open_run.path.name
            self.notice = f"{name} is gone; what was read is still shown. q leaves"
        for screen in self._run_screens():
            screen.show_run_state()
        if change != "gone":
            self._read_vocabulary()
            self.changes += 1
            self._current().reload_if_changed()

    def _run_screens(self) -> Iterable[RunScreen]:
        return [screen for screen in self.screen_stack if isinstance(screen, RunScreen)]

    def _current(self) -> RunScreen:
        return next(iter(reversed(list(self._run_screens()))))

    # --- keys

    async def on_event(self, event: events.Event) -> None:
        """A key of a screen has its effect before the next key is looked at.

        On Textual's own way it goes through the queue of each widget around the focus, while the keys after it already
        go to what has the focus still: of `2/out` typed quickly, `out` would never reach the filter.
        """
        if isinstance(event, events.Key) and not event.is_forwarded and not isinstance(self.focused, Input):
            active = self.screen.active_bindings.get(event.key) if isinstance(self.screen, RunScreen) else None
            if active is not None and active.enabled and await self.run_action(active.binding.action, active.node):
                return
        await super().on_event(event)

    # --- going about

    async def action_go(self, name: str) -> None:
        """Go to a screen; the task that is looked at comes along from a trajectory to its alignment, and back."""
        if name == self.current_mode:
            return
        row = self.screen.trajectory_shown() if isinstance(self.screen, RunScreen) else None
        self._history.append(self.current_mode)
        await self.switch_mode(name)
        if row is not None and isinstance(self.screen, RunScreen):
            self.screen.show_trajectory(row)

    async def action_back(self) -> None:
        """Go back to the screen before."""
        if self._history:
            await self.switch_mode(self._history.pop())

    @on(ShowCalls)
    async def show_calls(self, message: ShowCalls) -> None:
        """Go to the list of calls, filtered."""
        await self.action_go("calls")
        cast("CallsScreen", self.screen_stack[0]).show(message.filter)  # help may be open above it by now

    @on(ShowTrajectory)
    async def show_trajectory(self, message: ShowTrajectory) -> None:
        """Go to a trajectory."""
        await self.action_go("trajectory")
        cast("TrajectoryScreen", self.screen_stack[0]).show(message.row, message.position, message.ordinal)

    def action_theme(self) -> None:
        """Light or dark."""
        self.theme = LIGHT.name if self.current_theme.dark else DARK.name
        for widget in self.screen.walk_children():
            widget.refresh()

    def action_help(self) -> None:
        """The keys of this screen."""
        if isinstance(self.screen, RunScreen):
            self.push_screen(HelpScreen(self.screen))

    # --- what leaves the browser

    def _selected(self) -> tuple[StoredTrajectory, str] | None:
        """The selected call, if there is one."""
        screen = self.screen
        selected = screen.selected_call() if isinstance(screen, RunScreen) else None
        stored = trajectory_queries.stored_trajectory(self.open_run.connection, selected[0]) if selected else None
        return (stored, selected[1]) if selected and stored else None

    def _selected_or_told(self) -> tuple[StoredTrajectory, str] | None:
        if (selected := self._selected()) is None:
            self.notify("select a call first: in the list of calls, or in a trajectory", timeout=3)
        return selected

    def action_copy_diagnosis(self) -> None:
        """Copy the diagnosis of the selected call as Markdown."""
        if (selected := self._selected_or_told()) is not None:
            self._copy(*selected)

    @work(thread=True, exclusive=True, group="copy")
    def _copy(self, stored: StoredTrajectory, position: str) -> None:
        from replay.reports import Selection, render

        try:
            with self._run_of_thread() as run:
                text = render(run, "markdown", Selection(call=_call_id(stored, position)))
        except ReplayError as error:
            self.call_from_thread(self._tell, str(error), severity="error")
            return
        self.call_from_thread(self._copied, f"{stored.record.id}:{position}", text)

    def _copied(self, name: str, text: str) -> None:
        """Ask the terminal to take it, and keep it in a file for terminals that do not."""
        self.copy_to_clipboard(text.encode("utf-8", "replace").decode())
        path = self._clipboard_file
        try:
            _write(text, path)
            where = f"also in {path}"
        except OSError as error:
            where = f"{path} cannot be written: {error.strerror}"
        self._tell(f"{name}, {len(text):,} characters\n{where}", title="Diagnosis copied")

    def action_export(self) -> None:
        """Ask which report, and where to."""
        from replay.reports import FORMATS

        selected = self._selected()
        call = _call_id(*selected) if selected else None

        def on_closed(request: ExportRequest | None) -> None:
            if request is not None:
                self._export(request, call if request.about == "call" else None)

        self.push_screen(ExportScreen(FORMATS, call, self.filter.text), on_closed)

    @work(thread=True, group="export")
    def _export(self, request: ExportRequest, call: str | None) -> None:
        from replay.reports import Selection, render

        try:
            with self._run_of_thread() as run:
                filter_text = self.filter.text if request.about == "filter" else None
                _write(render(run, request.format, Selection(call=call, filter=filter_text)), request.path)
        except (ReplayError, OSError, ImportError) as error:
            self.call_from_thread(self._tell, f"not exported: {error}", severity="error")
            return
        self.call_from_thread(self._tell, f"wrote {request.path}", title="Exported")

    @contextmanager
    def _run_of_thread(self) -> Iterator[Run]:
        with self.open_run.thread_connection() as run:
            if run is None:
                raise RunFileError(self.open_run.path.name, "the run is gone")
            yield run

    def action_open_source(self) -> None:
        """Open the results file in the editor, or say where to look."""
        if (selected := self._selected_or_told()) is None:
            return
        stored = selected[0]
        path, line = Path(stored.path), source_line(stored)
        problem: str | None = "this terminal cannot be left for an editor"
        with suppress(SuspendNotSupported), self.suspend():
            problem = open_in_editor(path, line)
        location = f"{path}:{line}" if line else f"{path}"
        told = one_line(f"{location} {stored.record.source.position}", 400)
        self._tell(f"{told}\n{problem}" if problem else told, title="Source", timeout=8)

    def _tell(
        self, text: str, *, title: str = "", severity: SeverityLevel = "information", timeout: float | None = None
    ) -> None:
        """A notification of hostile text."""
        self.notify(printable(text), title=title, severity=severity, timeout=timeout, markup=False)


def _call_id(stored: StoredTrajectory, position: str) -> str:
    """The call's id, unmistakable in its run."""
    return f"{stored.path}:{stored.record.id}:{position}"


def _write(text: str, path: Path) -> None:
    """Write a text to a file, whole or not at all, in a folder that is made where there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text, "replace")
