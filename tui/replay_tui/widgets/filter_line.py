"""The filter line: words and `key:value`, completing as one types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

from textual import events, getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.suggester import Suggester
from textual.timer import Timer
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from replay.errors import UsageError
from replay.runfile.filters import KEYS, Completion, Filter, complete
from replay.safety.text import one_line
from replay_tui.browser import Browser
from replay_tui.rendering import fitted
from replay_tui.widgets.row_list import RowList

_PAUSE_SECONDS = 0.15
"""Seconds without a key before a filter is applied while one types."""
_LABEL = 40
"""Cells of a completion; what it is about stands behind."""


class FilterInput(Input):
    """The field. Its keys act in the order in which they were typed, however many wait."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Apply", tooltip="Apply the filter and go to the list"),
    ]

    async def on_key(self, event: events.Key) -> None:
        """Keys that end the typing act here: on the way of a binding the letters after them would still be typed."""
        line = cast("FilterLine", self.parent.parent if self.parent else None)
        active = self.screen.active_bindings.get(event.key)
        if self.screen.focused is not self:  # typed after the key that left the field
            self.app.post_message(events.Key(event.key, event.character))
        elif active is not None and (active.node is line or active.binding.action == "submit"):
            await self.app.run_action(active.binding.action, active.node)
        else:
            return
        event.stop()
        event.prevent_default()

    async def action_submit(self) -> None:
        """Apply."""
        cast("FilterLine", self.parent.parent if self.parent else None).submit()


class _FirstCandidate(Suggester):
    """How the word that is typed most likely goes on, in the field itself; the right arrow key takes it."""

    def __init__(self, line: FilterLine) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._line = line

    async def get_suggestion(self, value: str) -> str | None:
        """The first way to go on that begins with what is typed."""
        if not value or value.endswith(" "):
            return None
        return next((way.text for way in self._line.candidates(value) if way.text.startswith(value)), None)


class FilterLine(Vertical):
    """What is shown, and how to change it."""

    DEFAULT_CSS = """
    FilterLine { height: auto; }
    FilterLine Horizontal { height: 1; background: $panel; }
    FilterLine #slash { width: 3; color: $accent; text-style: bold; padding: 0 1; }
    FilterLine FilterInput, FilterLine FilterInput:focus { border: none; height: 1; width: 1fr; padding: 0;
      background: $panel; }
    FilterLine #count { width: auto; padding: 0 1; color: $foreground 70%; }
    FilterLine #how { display: none; background: $panel; color: $footer-description-foreground; }
    FilterLine #mistake { height: auto; color: $error; padding: 0 1; display: none; }
    FilterLine OptionList { height: auto; max-height: 9; border: none; padding: 0; background: $panel; display: none;
      text-wrap: nowrap; text-overflow: ellipsis; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "take", "Take", tooltip="Take the completion under the cursor"),
        Binding("down", "pick(1)", "Next", show=False, tooltip="The next completion"),
        Binding("up", "pick(-1)", "Previous", show=False, tooltip="The completion before"),
        Binding("escape", "leave", "Leave", tooltip="Leave the filter as it was"),
    ]

    app = getters.app(Browser)
    field = getters.query_one(FilterInput)

    @dataclass
    class Applied(Message):
        """This filter is wanted."""

        filter: Filter

    def __init__(self) -> None:
        super().__init__()
        self._applied = self._before = self._offered = ""
        self._candidates: list[Completion] = []
        self._picked = False
        """Whether a completion was picked with the arrow keys."""
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
        yield Static("  ↑ ↓ choose, Tab or Enter takes, Enter applies", id="how", markup=False)
        options = OptionList(markup=False)
        options.can_focus = False
        yield options

    def put(self, text: str) -> None:
        """Apply a filter that comes from elsewhere."""
        with self.prevent(Input.Changed):
            self.field.value = text
        self.field.cursor_position = len(text)
        self._apply(finished=False, anyway=True)

    def start(self, *, anew: bool = False) -> None:
        """Begin to type: behind what stands there, or anew."""
        self._before = self._applied
        value = self.field.value.rstrip()
        with self.prevent(Input.Changed):
            self.field.value = f"{value} " if value and not anew else ""
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

    def action_take(self) -> None:
        """Take the completion under the cursor."""
        if self._offered != self.field.value:
            self._offer()
        highlighted = self.query_one(OptionList).highlighted
        if highlighted is not None and highlighted < len(self._candidates):
            self.field.value = self._candidates[highlighted].text
            self.field.cursor_position = len(self.field.value)

    @on(OptionList.OptionSelected)
    def clicked(self) -> None:
        """A completion was clicked."""
        self.action_take()

    def action_pick(self, by: int) -> None:
        """Go to another completion."""
        self._picked = True
        options = self.query_one(OptionList)
        options.highlighted = max(0, min((options.highlighted or 0) + by, len(self._candidates) - 1))

    def candidates(self, text: str) -> list[Completion]:
        """How a text could go on."""
        return complete(text, self.app.open_run.vocabulary, limit=8)

    def action_leave(self) -> None:
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
        """Take the completion that is shown; apply what is written to its end, and go to the list."""
        if self._picked or self._is_begun():
            self.action_take()
            if self.field.value.endswith(":"):
                return
        if self._apply(finished=True):
            self._close()

    def _is_begun(self) -> bool:
        """Whether the last part is the beginning of what is offered, and not all of it."""
        typed = self.field.value
        if self._offered != typed:
            self._offer()
        written = {way.text.strip() for way in self._candidates}
        return bool(written) and not typed.endswith(" ") and typed != "" and typed not in written

    def _apply_typed(self) -> None:
        if self.is_typing:
            self._apply(finished=False)

    def _apply(self, *, finished: bool, anyway: bool = False) -> bool:
        mistake = self.query_one("#mistake", Static)
        text = (self.field.value if finished else self._finished_part()).strip()
        try:
            parsed = self.app.open_run.parse(text)
        except UsageError as error:
            mistake.display = finished or not self._candidates
            mistake.update(str(error))
            return False
        mistake.display = False
        if finished or anyway or text != self._applied:
            self._applied = text
            self.post_message(self.Applied(parsed))
        return True

    def _finished_part(self) -> str:
        """What was typed, without a last word that may yet become a key."""
        head, space, last = self.field.value.rpartition(" ")
        begun = self.is_typing and ":" not in last and last and any(key.startswith(last) for key in KEYS)
        return head if begun else f"{head}{space}{last}"

    def _offer(self) -> None:
        self._offered = self.field.value
        self._show_candidates(self.candidates(self._offered) if self.is_typing else [])

    def _show_candidates(self, candidates: list[Completion]) -> None:
        self._candidates, self._picked = candidates, False
        options, how = self.query_one(OptionList), self.query_one("#how", Static)
        options.display = how.display = bool(candidates)
        options.set_options(
            Option(Content.assemble("  ", fitted(way.label, _LABEL), (one_line(way.hint), "dim"))) for way in candidates
        )
        options.highlighted = 0 if candidates else None

    def _close(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._show_candidates([])
        self.query_one("#mistake", Static).display = False
        with self.prevent(Input.Changed):
            self.field.value = self._applied
        self.screen.set_focus(self.screen.query(RowList).first())
