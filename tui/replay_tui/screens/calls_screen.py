"""The list of calls, its filter, and the verdict on the call under the cursor."""

from __future__ import annotations

from typing import ClassVar, Final

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from replay.runfile.call_queries import failing_groups
from replay.runfile.filters import Filter
from replay_tui.browser import ShowTrajectory
from replay_tui.screens.run_screen import RunScreen
from replay_tui.widgets.calls_table import CallPreview, CallsTable
from replay_tui.widgets.filter_line import FilterLine
from replay_tui.widgets.row_list import RowList

_AT_FIRST: Final = "outcome:failed"
"""What the list shows before anybody asked for something; a filter that is typed takes its place."""


class CallsScreen(RunScreen):
    """Which calls?"""

    NAME = "calls"
    FIRST = "CallsTable"
    PURPOSE = "The calls that match the filter, at first those that failed. Enter opens the call in its trajectory."
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "Filter", key_display="/", tooltip="Type a filter: words, and key:value"),
        Binding("f", "failures", "Failures", tooltip="Only failures, or everything again"),
        Binding("escape", "back", "Back", show=False, tooltip="Clear the filter; then back to the overview"),
    ]

    table = getters.query_one(CallsTable)
    line = getters.query_one(FilterLine)

    def __init__(self) -> None:
        super().__init__()
        self.filter = Filter()
        self._started = False
        self._filtered = False
        """Whether somebody asked for a filter."""

    def compose_body(self) -> ComposeResult:
        """The filter line, the calls, and the verdict on one of them."""
        yield FilterLine()
        yield CallsTable(id="calls")
        yield CallPreview()

    def show(self, text: str) -> None:
        """Show the calls that a filter matches."""
        self._started = self._filtered = True
        self.line.put(text)
        self.set_focus(self.table)

    def reload(self) -> None:
        """Read the list again, from where it stands."""
        if self._started:
            self.table.refresh_calls()
        else:  # the failures, where there are any; unless someone is typing there already
            self._started = True
            if self.line.is_typing or not failing_groups(self.open_run.connection):
                self.table.show(self.filter)
            else:
                self.line.put(_AT_FIRST)

    @on(FilterLine.Applied)
    def applied(self, message: FilterLine.Applied) -> None:
        """Another filter."""
        self._filtered = self._filtered or message.filter.text != _AT_FIRST
        self.filter = message.filter
        self.app.filter = message.filter
        self.table.show(message.filter)

    @on(CallsTable.Counted)
    def counted(self, message: CallsTable.Counted) -> None:
        """So many calls."""
        noun = "call" if message.number == 1 else "calls"
        sort = "" if self.table.order == "run" else f" · by {self.table.order}"
        self.line.count(f"{message.number:,}{'' if message.complete else '…'} {noun}{sort}")
        self._preview()

    @on(RowList.Moved, "#calls")
    def _preview(self) -> None:
        """Another call under the cursor."""
        self.query_one(CallPreview).show(self.table.selected)

    @on(RowList.Chosen, "#calls")
    def chosen(self) -> None:
        """Open the call in its trajectory."""
        if (line := self.table.selected) is not None:
            self.app.post_message(ShowTrajectory(line.trajectory, ordinal=line.ordinal))

    def action_filter(self) -> None:
        """Type a filter."""
        self.line.start(anew=self.filter.text == _AT_FIRST and not self._filtered)

    def action_failures(self) -> None:
        """Only failures, or everything again."""
        words = self.filter.text.split()
        if "outcome:failed" in words:
            words.remove("outcome:failed")
        else:
            words = [word for word in words if not word.startswith("outcome:")] + ["outcome:failed"]
        self.show(" ".join(words))

    async def action_back(self) -> None:
        """Clear the filter; without one, back to where we came from."""
        if self.filter.text:
            self.show("")
        else:
            await self.app.run_action("app.back")

    def selected_call(self) -> tuple[int, str] | None:
        """Trajectory row and position of the call under the cursor."""
        line = self.table.selected
        return None if line is None else (line.trajectory, line.position)
