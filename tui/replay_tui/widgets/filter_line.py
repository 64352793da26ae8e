"""The filter line: words and `key:value`, completing as one types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Input, Static

from replay.errors import UsageError
from replay.runfile.filters import KEYS, Candidate, Filter, complete
from replay_tui.browser import browser_of
from replay_tui.rendering import Cell, Column
from replay_tui.widgets.row_list import RowList

_PAUSE_SECONDS = 0.15
"""Seconds without a key before a filter is applied while one types."""


class Completions(RowList, can_focus=False):
    """How the filter could go on."""

    DEFAULT_CSS = "Completions { height: auto; max-height: 9; background: $panel; display: none; }"

    def __init__(self) -> None:
        super().__init__()
        self._candidates: tuple[Candidate, ...] = ()
        self.moved = False
        """Whether one was picked with the arrow keys."""

    def show(self, candidates: Sequence[Candidate]) -> None:
        """Offer these."""
        self._candidates, self.moved = tuple(candidates), False
        self.display = bool(candidates)
        self.styles.height = len(candidates) + 1
        self.cursor = 0
        self.refresh_rows()

    @property
    def picked(self) -> Candidate | None:
        """The one under the cursor."""
        return self._candidates[self.cursor] if self._candidates else None

    def row_count(self) -> int:
        """How many there are."""
        return len(self._candidates)

    def columns(self, width: int) -> Sequence[Column]:
        """The text and what it is about."""
        return (Column("  Tab takes, ↑ ↓ choose, Enter applies", 40), Column("", 10, 1))

    def cells(self, row: int, widths: Sequence[int]) -> Sequence[Cell]:
        """One of them."""
        candidate = self._candidates[row]
        return (Cell(f"  {candidate.label}"), Cell(candidate.hint, self.styles_of_theme.dim))


class FilterInput(Input):
    """The field; it hands the arrow keys and Tab on."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "take", "Take", tooltip="Take the completion under the cursor", priority=True),
        Binding("down", "pick(1)", "Next", show=False, tooltip="The next completion"),
        Binding("up", "pick(-1)", "Previous", show=False, tooltip="The completion before"),
        Binding("escape", "leave", "Leave", tooltip="Leave the filter as it was", priority=True),
    ]

    @property
    def line(self) -> FilterLine:
        """The line that it is in."""
        return cast("FilterLine", self.parent.parent if self.parent else None)

    def action_take(self) -> None:
        """Take the completion."""
        self.line.take()

    def action_pick(self, by: int) -> None:
        """Another completion."""
        completions = self.line.query_one(Completions)
        completions.moved = True
        completions.action_move(by)

    def action_leave(self) -> None:
        """Leave without a change."""
        self.line.leave()


class FilterLine(Vertical):
    """What is shown, and how to change it."""

    DEFAULT_CSS = """
    FilterLine { height: auto; }
    FilterLine Horizontal { height: 1; background: $panel; }
    FilterLine #slash { width: 3; color: $accent; text-style: bold; padding: 0 1; }
    FilterLine FilterInput, FilterLine FilterInput:focus { border: none; height: 1; width: 1fr; padding: 0;
      background: $panel; }
    FilterLine #count { width: auto; padding: 0 1; color: $foreground 70%; }
    FilterLine #mistake { height: auto; color: $error; padding: 0 1; display: none; }
    """

    @dataclass
    class Applied(Message):
        """This filter is wanted."""

        filter: Filter
        finished: bool

    def __init__(self) -> None:
        super().__init__()
        self._applied = self._before = ""
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        """The field, its count, the mistake, the completions."""
        with Horizontal():
            yield Static("/", id="slash")
            yield FilterInput(
                placeholder="outcome:not_found server:excel tool:create* words   (all calls)", select_on_focus=False
            )
            yield Static("", id="count", markup=False)
        yield Static("", id="mistake", markup=False)
        yield Completions()

    @property
    def field(self) -> FilterInput:
        """The field."""
        return self.query_one(FilterInput)

    def put(self, text: str) -> None:
        """Apply a filter that comes from elsewhere."""
        with self.prevent(Input.Changed):
            self.field.value = text
        self.field.cursor_position = len(text)
        self._apply(finished=False, anyway=True)

    def start(self) -> None:
        """Begin to type."""
        self._before = self._applied
        value = self.field.value
        if value and not value.endswith(" "):
            with self.prevent(Input.Changed):
                self.field.value = value + " "
            self.field.cursor_position = len(self.field.value)
        self.screen.set_focus(self.field)  # at once: what is typed next belongs here
        self._offer(typing=True)

    def count(self, text: str) -> None:
        """Say how many calls there are."""
        self.query_one("#count", Static).update(text)

    def take(self) -> None:
        """Take the completion under the cursor."""
        if (picked := self.query_one(Completions).picked) is not None:
            self.field.value = picked.text
            self.field.cursor_position = len(picked.text)

    def leave(self) -> None:
        """Back to what was there before one began to type."""
        self.put(self._before)
        self._close()

    @on(Input.Changed)
    def changed(self) -> None:
        """Offer completions at once, and apply after a pause."""
        self._offer()
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(_PAUSE_SECONDS, self._apply_typed)

    @on(Input.Submitted)
    def submitted(self) -> None:
        """Enter: take what was picked, else apply and go to the list."""
        completions = self.query_one(Completions)
        if completions.moved and completions.display:
            self.take()
            return
        if self._apply(finished=True):
            self._close()

    def _apply_typed(self) -> None:
        if self.field.has_focus:
            self._apply(finished=False)

    def _apply(self, *, finished: bool, anyway: bool = False) -> bool:
        mistake = self.query_one("#mistake", Static)
        text = (self.field.value if finished else self._finished_part()).strip()
        try:
            parsed = browser_of(self.app).open_run.parse(text)
        except UsageError as error:
            mistake.display = finished or not self.query_one(Completions).display
            mistake.update(str(error))
            return False
        mistake.display = False
        if finished or anyway or text != self._applied:
            self._applied = text
            self.post_message(self.Applied(parsed, finished))
        return True

    def _finished_part(self) -> str:
        """What was typed, without a last word that may yet become a key."""
        head, space, last = self.field.value.rpartition(" ")
        begun = self.field.has_focus and ":" not in last and last and any(key.startswith(last) for key in KEYS)
        return head if begun else f"{head}{space}{last}"

    def _offer(self, *, typing: bool = False) -> None:
        vocabulary = browser_of(self.app).open_run.vocabulary
        candidates = complete(self.field.value, vocabulary, limit=8) if typing or self.field.has_focus else []
        self.query_one(Completions).show(candidates)

    def _close(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self.query_one(Completions).show(())
        self.query_one("#mistake", Static).display = False
        with self.prevent(Input.Changed):
            self.field.value = self._applied
        self.screen.set_focus(self.screen.query(RowList).exclude("Completions").first())
