"""Asks what to export, as what, and where to."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from replay.safety.text import one_line
from replay_tui.diagnoses import FORMATS
from replay_tui.export_request import ExportRequest, ExportScope

_ENDINGS = {"markdown": "md", "html": "html", "json": "json", "csv": "csv", "junit": "xml", "svg": "svg"}
_STEMS: Final[dict[ExportScope, str]] = {"call": "call", "filter": "calls", "run": "report"}


class ExportScreen(ModalScreen[ExportRequest | None]):
    """A list of reports, and the file to write.

    Args:
        call: the selected call's id, where one is selected.
        filter_text: the filter of the list of calls, where there is one.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "Cancel", tooltip="Export nothing")]
    CSS = """
    ExportScreen { align: center middle; }
    ExportScreen Vertical { width: 70; max-width: 96%; height: auto; border: round $border; background: $surface;
      padding: 0 1; }
    ExportScreen OptionList { height: auto; max-height: 14; border: none; background: $surface; }
    ExportScreen Input { border: none; height: 1; background: $panel; }
    """

    def __init__(self, call: str | None, filter_text: str = "") -> None:
        super().__init__()
        self._filter = filter_text
        self._choices: list[tuple[str, ExportScope]] = [("markdown", "call")] if call else []
        if filter_text:
            self._choices += [(name, "filter") for name in FORMATS]
        self._choices += [(name, "run") for name in FORMATS]

    def compose(self) -> ComposeResult:
        """The reports, and the file's name."""
        with Vertical() as box:
            box.border_title = "Export"
            box.border_subtitle = "Enter goes on and writes, Escape cancels"
            yield OptionList(*(Option(self._label(*choice)) for choice in self._choices), markup=False)
            yield Static("to file", markup=False)
            yield Input()

    def on_mount(self) -> None:
        """Begin with the list."""
        self.set_focus(self.query_one(OptionList))

    @on(OptionList.OptionHighlighted)
    def highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Another report has another name."""
        name, about = self._choices[event.option_index]
        self.query_one(Input).value = f"replay-{_STEMS[about]}.{_ENDINGS.get(name, name)}"

    @on(OptionList.OptionSelected)
    def chosen(self) -> None:
        """Now the file."""
        self.set_focus(self.query_one(Input))

    @on(Input.Submitted)
    def submitted(self) -> None:
        """Done."""
        name, about = self._choices[self.query_one(OptionList).highlighted or 0]
        if path := self.query_one(Input).value.strip():
            self.dismiss(ExportRequest(name, about, Path(path).expanduser()))

    def action_dismiss(self, result: None = None) -> None:  # type: ignore[override]
        """Cancel."""
        self.dismiss(result)

    def _label(self, name: str, about: ExportScope) -> str:
        if about == "filter":
            return f"{name}: the calls that match {one_line(self._filter, 40)}"
        return f"{name}: the whole run" if about == "run" else f"{name}: the selected call"
