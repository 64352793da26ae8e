"""Asks what to export, as what, and where to."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from replay_tui.diagnoses import FORMATS
from replay_tui.export_request import ExportRequest

_ENDINGS = {"markdown": "md", "html": "html", "json": "json", "csv": "csv", "junit": "xml", "svg": "svg"}


class ExportScreen(ModalScreen[ExportRequest | None]):
    """A list of reports, and the file to write.

    Args:
        call: the selected call's id, where one is selected.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "Cancel", tooltip="Export nothing")]
    CSS = """
    ExportScreen { align: center middle; }
    ExportScreen Vertical { width: 70; max-width: 96%; height: auto; border: round $border; background: $surface;
      padding: 0 1; }
    ExportScreen OptionList { height: auto; max-height: 12; border: none; background: $surface; }
    ExportScreen Input { border: none; height: 1; background: $panel; }
    """

    def __init__(self, call: str | None) -> None:
        super().__init__()
        self._call = call
        self._choices = [(name, False) for name in ("markdown",) if call] + [(name, True) for name in FORMATS]

    def compose(self) -> ComposeResult:
        """The reports, and the file's name."""
        with Vertical() as box:
            box.border_title = "Export"
            box.border_subtitle = "Enter goes on and writes, Escape cancels"
            yield OptionList(*(Option(_label(name, whole)) for name, whole in self._choices), markup=False)
            yield Static("to file", markup=False)
            yield Input()

    def on_mount(self) -> None:
        """Begin with the list."""
        self.set_focus(self.query_one(OptionList))

    @on(OptionList.OptionHighlighted)
    def highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Another report has another name."""
        name, whole = self._choices[event.option_index]
        self.query_one(Input).value = f"replay-{'report' if whole else 'call'}.{_ENDINGS.get(name, name)}"

    @on(OptionList.OptionSelected)
    def chosen(self) -> None:
        """Now the file."""
        self.set_focus(self.query_one(Input))

    @on(Input.Submitted)
    def submitted(self) -> None:
        """Done."""
        name, whole = self._choices[self.query_one(OptionList).highlighted or 0]
        if path := self.query_one(Input).value.strip():
            self.dismiss(ExportRequest(name, whole, Path(path).expanduser()))

    def action_dismiss(self, result: None = None) -> None:  # type: ignore[override]
        """Cancel."""
        self.dismiss(result)


def _label(name: str, whole: bool) -> str:
    return f"{name}: the whole run" if whole else f"{name}: the selected call"
