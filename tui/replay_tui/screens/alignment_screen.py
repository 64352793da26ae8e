"""Prediction beside reference, task by task."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import ClassVar, Final

from rich.segment import Segment
from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.widgets import Tabs

from replay.alignment.tasks import SignedTask, sign
from replay.records.alignment import COLUMNS, AlignedCall, AlignedModel, AlignedTask
from replay.runfile import alignment_queries, trajectory_queries
from replay.runfile.alignment_queries import ReferenceCall, TaskRow
from replay.runfile.run_inputs import shown_path
from replay.safety.text import one_line
from replay_tui.browser import ShowTrajectory
from replay_tui.rendering import Cell, Column, fitted, plain, titled
from replay_tui.screens.overview_screen import METRIC_SHORT, METRIC_WORDS
from replay_tui.screens.run_screen import LineTabs, RunScreen
from replay_tui.screens.trajectory_pages import signature_lines, without_partner
from replay_tui.theme import Palette
from replay_tui.widgets.row_list import RecordList, RowList
from replay_tui.widgets.text_page import Row, TextPage, Writer

_PANELS = {"pairs": "Pairs", "metrics": "How the metrics came about"}

_MAX_INVERSIONS: Final = 50


class TaskTable(RecordList[TaskRow]):
    """A row a task."""

    EMPTY = "no aligned tasks"

    def select(self, name: str) -> bool:
        """Put the cursor on a task; whether it is there."""
        row = next((row for row, task in enumerate(self.records) if task.name == name), None)
        if row is not None:
            self.put_cursor(row)
        return row is not None

    def columns(self, width: int) -> Sequence[Column]:
        """All metrics where there is room."""
        names = titled([METRIC_WORDS, METRIC_SHORT, METRIC_SHORT[:3]], width - 30)
        return (
            Column("task", 14, 2),
            Column("type", 12, 1),
            *(Column(name, max(7, len(name)), right=True) for name in names),
        )

    def cells(self, row: int, widths: Sequence[int]) -> Sequence[Cell]:
        """One task."""
        task, styles = self.records[row], self.styles_of_theme
        scores = task.scores[: len(widths) - 2]
        cells = [Cell(f"{score:.3f}", styles.dim if score == 1 else styles.strong) for score in scores]
        return [Cell(task.name), Cell(task.type or "–", styles.dim), *cells]


@dataclass(frozen=True)
class TaskFacts:
    """What the pages are written from."""

    model: AlignedModel
    task: AlignedTask
    reference: Sequence[ReferenceCall]
    predicted: SignedTask | None
    """None where the run does not hold the prediction any more."""


def pairs_page(facts: TaskFacts, width: int, styles: Palette) -> list[Row]:
    """Matched pairs on one line, then what is missing, and what is extra."""
    writer = Writer(width, styles)
    _metrics(writer, facts)
    writer.heading("Reference and prediction")
    half = max(10, (writer.width - 17) // 2)
    titles = fitted("reference", half), fitted("similarity", 15), "prediction"
    writer.rows.append([Segment(f"{titles[0]} {titles[1]} {titles[2]}", styles.dim)])
    matches = {reference: (predicted, similarity) for reference, predicted, similarity in facts.task.matches}
    missed = {call.index: call for call in facts.task.missed}
    for call in facts.reference:
        if call.index in matches:
            predicted, similarity = matches[call.index]
            _pair(writer, facts, call, predicted, similarity, half)
        else:
            row = [Segment(fitted(call.title, half)), Segment(" "), Segment(fitted("── missing", 15), styles.removed)]
            writer.rows.append(row)
            if (miss := missed.get(call.index)) is not None and miss.why is not None:
                writer.spans((without_partner(miss, "P"), writer.styles.dim), indent=4)
    extra = [call for call in facts.task.calls if call.why is not None]
    for aligned in extra:
        _extra(writer, aligned, half)
    return writer.rows


def _metrics(writer: Writer, facts: TaskFacts) -> None:
    task, styles = facts.task, writer.styles
    writer.spans(
        (f"{task.id}  ", styles.strong),
        (
            f"{task.matched} of {task.total_gt_calls} reference calls matched, {task.total_pred_calls} predicted",
            styles.dim,
        ),
    )
    spans = []
    for name in COLUMNS:
        spans += [
            (name.replace("_", "\u00a0") + "\u00a0", styles.dim),
            (f"{getattr(task, name):.3f}   ", styles.strong),
        ]
    writer.spans(*spans)


def _pair(writer: Writer, facts: TaskFacts, call: ReferenceCall, index: int, similarity: float, half: int) -> None:
    styles = writer.styles
    strong = similarity >= facts.model.tau_strong
    aligned = next((call for call in facts.task.calls if call.index == index), None)
    letter = f"{aligned.outcome.letter} " if aligned and aligned.outcome else ""
    right = f"P{index} {aligned.position if aligned else ''} {letter}{aligned.name if aligned else ''}"
    line = "══" if strong else "──"
    mark = f"{line}{similarity:.3f} {'strong' if strong else 'weak'}"
    style = styles.added if strong else styles.cursor_away
    writer.rows.append(
        [
            Segment(fitted(call.title, half)),
            Segment(" "),
            Segment(fitted(mark, 15), style),
            Segment(" "),
            Segment(fitted(right, half)),
        ]
    )
    calls = facts.predicted.calls if facts.predicted is not None else ()
    predicted = next((call.signature for call in calls if call.index == index), None)
    if predicted is not None and predicted != call.signature:
        writer.difference(signature_lines(call.signature), signature_lines(predicted), ("reference", "prediction"))


def _extra(writer: Writer, call: AlignedCall, half: int) -> None:
    styles = writer.styles
    letter = f"{call.outcome.letter} " if call.outcome else ""
    index = "" if call.index is None else f"P{call.index} "
    words = f"{index}{call.position} {letter}{call.name or '(no name)'}"
    mark = Segment(fitted(f"── {call.kind.value}", 15), styles.violation)
    writer.rows.append([Segment(" " * (half + 1)), mark, Segment(f" {fitted(words, half)}")])
    writer.spans((without_partner(call, "R"), writer.styles.dim), indent=4)


def metrics_page(facts: TaskFacts, width: int, styles: Palette) -> list[Row]:
    """The step matrix and the inversions."""
    writer = Writer(width, styles)
    _metrics(writer, facts)
    step_pairs = list(_step_pairs(facts))
    writer.heading("Step matrix", "how many calls of a reference step landed in a predicted one")
    columns = sorted({step for _, step, _ in step_pairs})
    rows = sorted({call.step for call in facts.reference})
    writer.rows.append([Segment("      " + "".join(f"{f'p{column + 1}':>5}" for column in columns), styles.dim)])
    for row in rows:
        calls = sum(call.step == row for call in facts.reference)
        cells = [sum((step, landed_in) == (row, column) for step, landed_in, _ in step_pairs) for column in columns]
        drawn = [Segment(f"{cell or '·':>5}", styles.strong if cell else styles.faint) for cell in cells]
        landed = sum(1 for cell in cells if cell)
        split = f"   in {landed} steps: 1/{landed}" if landed > 1 else ""
        note = f"   {sum(cells)} of {calls}{split}"
        writer.rows.append([Segment(f"{f'r{row + 1}':>6}", styles.dim), *drawn, Segment(note, styles.dim)])
    _order(writer, facts, step_pairs)
    writer.heading(
        "Definitions",
        f"{facts.model.definitions}; strong from {facts.model.tau_strong:g}, weak from {facts.model.tau_weak:g}",
    )
    return writer.rows


def _order(writer: Writer, facts: TaskFacts, step_pairs: Sequence[tuple[int, int, str]]) -> None:
    pairs = [(a, b) for a, b in combinations(step_pairs, 2) if a[0] != b[0] and a[1] != b[1]]
    inverted = [(a, b) for a, b in pairs if (a[0] - b[0]) * (a[1] - b[1]) < 0]
    writer.heading("Order", f"{len(inverted)} of {len(pairs)} comparable pairs stand the other way round")
    for first, second in inverted[:_MAX_INVERSIONS]:
        writer.prose(f"{first[2]} before {second[2]} in the reference, after it in the prediction", indent=2)


def _step_pairs(facts: TaskFacts) -> Iterator[tuple[int, int, str]]:
    """Of each matched pair the steps on both sides, and its name."""
    steps = {call.index: call.step for call in facts.predicted.calls} if facts.predicted else {}
    reference = {call.index: call for call in facts.reference}
    for number, predicted, _ in sorted(facts.task.matches):
        if number in reference and predicted in steps:
            yield reference[number].step, steps[predicted], f"R{number} {reference[number].name}"


class AlignmentScreen(RunScreen):
    """How near to the reference?"""

    NAME = "alignment"
    FIRST = "TaskTable"
    PURPOSE = "The calls of a task beside those of the reference: matched, missing and extra ones."
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "model(1)", "Next model", tooltip="The tasks of the next model"),
        Binding("M", "model(-1)", "Model before", show=False, tooltip="The tasks of the model before"),
        Binding("i", "metrics", "Pairs/metrics", tooltip="The pairs, or how each metric came about"),
    ]

    table = getters.query_one(TaskTable)
    _panels = getters.query_one("#panels", LineTabs)

    def __init__(self) -> None:
        super().__init__()
        self._models: dict[int, AlignedModel] = {}
        self._shown = 0

    def compose_body(self) -> ComposeResult:
        """The tasks, and the pairs of one of them."""
        with Container(id="body"):
            yield TaskTable(id="tasks")
            with Vertical(id="pairs"):
                yield LineTabs(_PANELS, id="panels")
                yield TextPage(id="page")

    def reload(self) -> None:
        """Read what alignments there are."""
        self._models = alignment_queries.aligned_models(self.open_run.connection)
        self._shown = min(self._shown, max(0, len(self._models) - 1))
        self._show_model()

    def _show_model(self) -> None:
        if not self._models:
            self.table.show(())
            self.table.border_title = plain("Alignment")
            self.query_one(TextPage).show(partial(_nothing, run=self.open_run.path))
            return
        file, model = list(self._models.items())[self._shown]
        self.table.show(alignment_queries.task_rows(self.open_run.connection, file))
        self.table.border_title = plain(f"{one_line(model.model, 40)} · model {self._shown + 1} of {len(self._models)}")
        self.table.border_subtitle = plain(f"average {model.average_score:.3f} · recall {model.aggregate.recall:.3f}")
        self._show_task()

    @on(RowList.Moved, "#tasks")
    @on(Tabs.TabActivated, "#panels")
    def _show_task(self) -> None:
        """Another task, or the other panel."""
        selected, connection = self.table.selected, self.open_run.connection
        if selected is None or not self._models:
            return
        file, model = list(self._models.items())[self._shown]
        task = alignment_queries.aligned_task(connection, file, selected.name)
        if task is None:
            return
        row = alignment_queries.trajectory_of(connection, model, task.id)
        stored = trajectory_queries.stored_trajectory(connection, row) if row is not None else None
        facts = TaskFacts(
            model, task, alignment_queries.reference_calls(connection, task.id), sign(stored.record) if stored else None
        )
        page = metrics_page if self._panels.current == "metrics" else pairs_page
        self.query_one(TextPage).show(partial(page, facts))

    @on(RowList.Chosen, "#tasks")
    def chosen(self) -> None:
        """Open the trajectory."""
        row = self.trajectory_shown()
        if row is not None:
            self.app.post_message(ShowTrajectory(row))

    def trajectory_shown(self) -> int | None:
        """The trajectory of the task, where the run holds it."""
        task = self.table.selected
        if task is None or not self._models:
            return None
        model = list(self._models.values())[self._shown]
        return alignment_queries.trajectory_of(self.open_run.connection, model, task.name)

    def show_trajectory(self, row: int) -> None:
        """The task of a trajectory that was looked at, in the alignment of its model."""
        self.reload_if_changed()
        stored = trajectory_queries.stored_trajectory(self.open_run.connection, row)
        file = alignment_queries.file_of(self._models, stored.path) if stored is not None else None
        if stored is None or file is None:
            return
        self._shown = list(self._models).index(file)
        self._show_model()
        if not self.table.select(stored.record.id):
            self.app.notify(f"{one_line(stored.record.id, 40)} has no reference", timeout=3, markup=False)
        self._show_task()

    def action_model(self, by: int) -> None:
        """Another model."""
        if self._models:
            self._shown = (self._shown + by) % len(self._models)
            self._show_model()

    def action_metrics(self) -> None:
        """The pairs, or how the metrics came about."""
        self._panels.action_next_tab()


def _nothing(width: int, styles: Palette, run: Path) -> list[Row]:
    writer = Writer(width, styles)
    writer.prose("This run has no alignment yet. Make one with:")
    of_run = f"--run {shlex.quote(shown_path(str(run)))}"
    writer.code(f"replay align results/*.json --reference REFERENCE.json {of_run}", styles.strong)
    return writer.rows
