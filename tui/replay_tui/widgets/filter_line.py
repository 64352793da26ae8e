"""The filter line: words and `key:value`, completing as one types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, cast

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.suggester import Suggester
from textual.timer import Timer
from textual.widgets import Input, Static

from replay.errors import UsageError
from replay.runfile.filters import KEYS, Completion, Filter, complete
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
        self._candidates: tuple[Completion, ...] = ()
        self.moved = False
        """Whether one was picked with the arrow keys."""

    def show(self, candidates: Sequence[Completion]) -> None:
        """Offer these."""
        self._candidates, self.moved = tuple(candidates), False
        self.display = bool(candidates)
        self.styles.height = len(candidates) + 1
        self.cursor = 0
        self.refresh_rows()

    @property
    def picked(self) -> Completion | None:
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
    """The field. Its keys act in the order in which they were typed, however many wait."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "take", "Take", tooltip="Take the completion under the cursor"),
        Binding("enter", "submit", "Apply", tooltip="Apply the filter and go to the list"),
        Binding("down", "pick(1)", "Next", show=False, tooltip="The next completion"),
        Binding("up", "pick(-1)", "Previous", show=False, tooltip="The completion before"),
        Binding("escape", "leave", "Leave", tooltip="Leave the filter as it was"),
    ]

    @property
    def line(self) -> FilterLine:
        """The line that it is in."""
        return cast("FilterLine", self.parent.parent if self.parent else None)

    def on_key(self, event: events.Key) -> None:
        """Keys that end the typing act here: on the way of a binding the letters after them would still be typed."""
        acts: dict[str, Callable[[], object]] = {
            "tab": self.line.take,
            "enter": self.line.submit,
            "escape": self.line.leave,
            "down": partial(self.line.pick, 1),
            "up": partial(self.line.pick, -1),
        }
        if self.screen.focused is not self:  # typed after the key that left the field
            self.app.post_message(events.Key(event.key, event.character))
        elif event.key in acts:
            acts[event.key]()
        else:
            return
        event.stop()
        event.prevent_default()

    def action_take(self) -> None:
        """Take the completion."""
        self.line.take()

    async def action_submit(self) -> None:
        """Apply."""
        self.line.submit()

    def action_pick(self, by: int) -> None:
        """Another completion."""
        self.line.pick(by)

    def action_leave(self) -> None:
        """Leave without a change."""
        self.line.leave()


class _FirstCandidate(Suggester):
    """How the word that is typed most likely goes on, in the field itself; the right arrow key takes it."""

    def __init__(self, line: FilterLine) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._line = line

    async def get_suggestion(self, value: str) -> str | None:
        """The first way to go on that begins with what is typed."""
        if not value or value.endswith(" "):
            return None
        return next((one.text for one in self._line.candidates(value) if one.text.startswith(value)), None)


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
        self._applied = self._before = self._offered = ""
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        """The field, its count, the mistake, the completions."""
        with Horizontal():
            yield Static("/", id="slash")
            yield FilterInput(
                placeholder="outcome:not_found server:excel tool:create* words   (all calls)",
                select_on_focus=False,
                suggester=_FirstCandidate(self),
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
        self._offer()

    @property
    def is_typing(self) -> bool:
        """Whether what is typed goes into the field; `has_focus` of the field says so a moment later."""
        return self.screen.focused is self.field

    def count(self, text: str) -> None:
        """Say how many calls there are."""
        self.query_one("#count", Static).update(text)

    def take(self) -> None:
        """Take the completion under the cursor."""
        if self._offered != self.field.value:
            self._offer()
        if (picked := self.query_one(Completions).picked) is not None:
            self.field.value = picked.text
            self.field.cursor_position = len(picked.text)

    def pick(self, by: int) -> None:
        """Go to another completion."""
        completions = self.query_one(Completions)
        completions.moved = True
        completions.action_move(by)

    def candidates(self, text: str) -> list[Completion]:
        """How a text could go on."""
        return complete(text, browser_of(self.app).open_run.vocabulary, limit=8)

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

    def submit(self) -> None:
        """Take what was picked, else apply and go to the list."""
        completions = self.query_one(Completions)
        if completions.moved and completions.display:
            self.take()
            return
        if self._apply(finished=True):
            self._close()

    def _apply_typed(self) -> None:
        if self.is_typing:
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
        begun = self.is_typing and ":" not in last and last and any(key.startswith(last) for key in KEYS)
        return head if begun else f"{head}{space}{last}"

    def _offer(self) -> None:
        self._offered = self.field.value
        self.query_one(Completions).show(self.candidates(self._offered) if self.is_typing else ())

    def _close(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self.query_one(Completions).show(())
        self.query_one("#mistake", Static).display = False
        with self.prevent(Input.Changed):
            self.field.value = self._applied
        self.screen.set_focus(self.screen.query(RowList).exclude("Completions").first())
