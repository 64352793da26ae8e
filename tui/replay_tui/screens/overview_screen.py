"""The overview: how each model did, and by server, tool, task type, rule and root cause what went wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar, Final

from textual import events, getters, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Grid
from textual.widgets import Static, Tabs
from textual.worker import get_current_worker

from replay.records import UNFOUNDED, Outcome, Reason, faults_of, qualified_name
from replay.records.alignment import COLUMNS, METRICS, AlignedModel
from replay.runfile import Run, alignment_queries
from replay.runfile import summary as count_queries
from replay.runfile.filters import filter_value
from replay.runfile.summary import Breakdown, Group, ModelCount
from replay_tui.browser import ShowCalls
from replay_tui.rendering import Cell, Column, plain, titled, told_apart
from replay_tui.screens.run_screen import LineTabs, RunScreen
from replay_tui.widgets.counts_table import CountsRow, CountsTable, Measure
from replay_tui.widgets.row_list import RecordList, RowList

_PANELS: tuple[tuple[str, str, str, Breakdown | None], ...] = (
    ("servers", "Servers", "server", "server"),
    ("tools", "Tools", "tool", "tool"),
    ("types", "Types", "type", "task_type"),
    ("rules", "Rules", "rule", "rule"),
    ("roots", "Root causes", "made others fail", None),
    ("reasons", "Inconclusive", "reason", "reason"),
)
METRIC_WORDS: Final = tuple(name.replace("_", " ") for name in COLUMNS)
METRIC_SHORT: Final = tuple(METRICS[name].short or METRICS[name].label for name in COLUMNS)
"""The titles of their columns, and those where there is little room."""
_SCORES = "scores"
_TABS = {name: title for name, title, *_ in _PANELS} | {_SCORES: "Alignment"}
_KEYS: dict[Breakdown, str] = {"server": "server", "task_type": "task", "rule": "rule", "reason": "reason"}


class ScoresTable(RecordList[AlignedModel]):
    """Metrics over all tasks of a model, the average first; Enter opens the alignment."""

    BORDER_TITLE = "Alignment"
    EMPTY = "no alignment; replay align adds one"

    def columns(self, width: int) -> Sequence[Column]:
        """As many as there is room for."""
        words, short = ("average", *METRIC_WORDS), ("average", *METRIC_SHORT)
        shown = titled([words, short, short[: max(1, (width - 12) // 8)]], width - 16)
        return (Column("model", 10, 1), *(Column(name, max(7, len(name)), right=True) for name in shown))

    def cells(self, row: int, widths: Sequence[int]) -> Sequence[Cell]:
        """One model."""
        model, styles = self.records[row], self.styles_of_theme
        scores = [getattr(model.aggregate, name) for name in COLUMNS]
        average = Cell(f"{model.average_score:.3f}", styles.strong)
        name = told_apart(model.model, (other.model for other in self.records), widths[0])
        return (Cell(name), average, *(Cell(f"{score:.3f}", styles.dim) for score in scores[: len(widths) - 2]))


class OverviewScreen(RunScreen):
    """How did it go?"""

    NAME = "overview"
    FIRST = "#models"
    PURPOSE = (
        "How each model did, and what went wrong where. Enter turns what is under the cursor into a list of calls."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "all_models", "All/one", tooltip="Break down all models together, or only the selected one"),
        Binding("%", "shares", "Shares", tooltip="Show shares in per cent, or numbers"),
        Binding("[", "panel(-1)", "Panel", show=False, tooltip="The breakdown to the left"),
        Binding("]", "panel(1)", "Next panel", tooltip="The next breakdown"),
    ]

    models = getters.query_one("#models", CountsTable)
    _panels = getters.query_one("#panels", LineTabs)

    def __init__(self) -> None:
        super().__init__()
        self._all = True

    def compose_body(self) -> ComposeResult:
        """The models above, the breakdowns below."""
        yield CountsTable("Models", "model", id="models")
        yield Static(id="basis", markup=False)
        yield LineTabs(_TABS, id="panels")
        with Grid(id="breakdowns"):
            for name, title, noun, _ in _PANELS:
                measure: Measure = "followed" if name == "roots" else "calls" if name == "reasons" else "failed"
                yield CountsTable(title, noun, id=name, measure=measure)
            yield ScoresTable(id=_SCORES)

    def on_resize(self) -> None:
        """Few lines or columns: one breakdown at a time."""
        super().on_resize()
        self.set_class(self.size.width < 110 or self.size.height < 34, "-tabbed")

    def reload(self) -> None:
        """The models at once, the breakdowns when they are there."""
        counts = count_queries.model_counts(self.open_run.connection)
        self._files = [count.files for count in counts]
        rows = [CountsRow(count.model, count.outcomes, f"model:{filter_value(count.model)}") for count in counts]
        self.models.EMPTY = "no calls yet; replay classify results/*.json adds them"
        self.models.styles.height = max(4, len(rows) + 3)
        self.models.show(rows)
        total, trajectories = sum(row.total for row in rows), sum(count.trajectories for count in counts)
        calls, noun = "call" if total == 1 else "calls", "trajectory" if trajectories == 1 else "trajectories"
        self.models.border_subtitle = plain(f"{total:,} {calls} · {trajectories:,} {noun}")
        self.query_one("#basis", Static).update(self._basis(counts))
        models = alignment_queries.aligned_models(self.open_run.connection)
        self.set_class(bool(models), "-aligned")
        self.query_one(ScoresTable).show(list(models.values()))
        self._load_breakdowns()

    def _basis(self, counts: Sequence[ModelCount]) -> str:
        """Whose fault the calls without success are, and how many verdicts rest on nothing; "" where there is none."""
        if not counts:
            return ""
        outcomes: Counter[Outcome] = sum((Counter(count.outcomes) for count in counts), Counter())
        reasons: Counter[Reason] = sum((Counter(count.reasons) for count in counts), Counter())
        faults = ", ".join(f"{fault} {number:,}" for fault, number in faults_of(outcomes, reasons).items())
        nothing = count_queries.certainties(self.open_run.connection).get(UNFOUNDED, 0)
        return f"fault: {faults} · rest on nothing {nothing:,}/{outcomes.total():,}"

    def _load_breakdowns(self) -> None:
        model = None if self._all else self.models.selected
        files = self._files[self.models.cursor] if model else None
        whose = f" · {model.name}" if model else ""
        for name, title, _, _ in _PANELS:
            self.query_one(f"#{name}").border_title = plain(f"{title}{whose}")
        self._read_breakdowns(files, model.filter if model else "")

    @work(thread=True, exclusive=True, group="breakdowns")
    def _read_breakdowns(self, files: Sequence[int] | None, prefix: str) -> None:
        worker = get_current_worker()
        with self.open_run.thread_connection() as run:
            for name, _, _, by in _PANELS:
                if run is None or worker.is_cancelled:
                    return
                rows = _root_rows(run, files, prefix) if by is None else _rows(run, by, files, prefix)
                self.app.call_from_thread(self.query_one(f"#{name}", CountsTable).show, rows)

    @on(RowList.Moved, "#models")
    def model_moved(self) -> None:
        """Another model: break that one down."""
        if not self._all:
            self._load_breakdowns()

    @on(CountsTable.Drilled)
    def drilled(self, message: CountsTable.Drilled) -> None:
        """A bar, a cell, a tool: a filter on the list of calls."""
        self.app.post_message(ShowCalls(message.filter))

    @on(RowList.Chosen, f"#{_SCORES}")
    async def scores_chosen(self) -> None:
        """Open the alignment."""
        await self.app.run_action("app.go('alignment')")

    def action_all_models(self) -> None:
        """All models together, or the selected one."""
        self._all = not self._all
        self._load_breakdowns()

    def action_shares(self) -> None:
        """Numbers, or shares of the conclusive calls."""
        self.models.toggle_shares()

    def action_panel(self, by: int) -> None:
        """Another breakdown."""
        names = list(_TABS)
        name = names[(names.index(self._panels.current) + by) % len(names)]
        self._panels.current = name
        self.panel_changed()
        self.set_focus(self.query_one(f"#{name}"))

    @on(Tabs.TabActivated, "#panels")
    def panel_changed(self) -> None:
        """Another breakdown is the current one."""
        for name in _TABS:
            self.query_one(f"#{name}").set_class(name == self._panels.current, "-shown")

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """The breakdown with the focus is the current one."""
        if event.widget.id in _TABS:
            self._panels.current = event.widget.id


def _rows(run: Run, by: Breakdown, files: Sequence[int] | None, prefix: str) -> list[CountsRow]:
    groups = count_queries.breakdown(run.connection, by, files)
    return [CountsRow(_name(by, group), group.outcomes, f"{prefix} {_filter(by, group)}".strip()) for group in groups]


def _name(by: Breakdown, group: Group) -> str:
    if by == "reason" and group.names[0]:
        return f"{Reason(group.names[0]).fault}: {group.names[0]}"
    return (qualified_name(*group.names) if len(group.names) == 2 else group.names[0]) or "(none)"


def _filter(by: Breakdown, group: Group) -> str:
    if by == "tool":
        return f"tool:{filter_value(qualified_name(*group.names))}" if any(group.names) else "server:none"
    return f"{_KEYS[by]}:{filter_value(group.names[0])}" if group.names[0] else f"{_KEYS[by]}:none"


def _root_rows(run: Run, files: Sequence[int] | None, prefix: str) -> list[CountsRow]:
    return [
        CountsRow(
            f"{root.tool} · {root.rule}",
            {root.outcome: root.followed},
            f"{prefix} tool:{filter_value(root.tool)} rule:{filter_value(root.rule)} caused:no".strip(),
        )
        for root in count_queries.root_groups(run.connection, files)
    ]
