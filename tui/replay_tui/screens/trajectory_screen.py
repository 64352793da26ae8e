"""One trajectory: its DAG, and beside it the selected call, the task, the raw text."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal, Vertical
from textual.widgets import Tabs

from replay.dag import Graph
from replay.diagnosis import TrajectoryContext, findings_of_call
from replay.records import FAILURES, Answer, Call
from replay.records.finding import Finding
from replay.runfile import Run, alignment_queries, call_queries, trajectory_queries
from replay.runfile.alignment_queries import AlignedTrajectory
from replay.runfile.trajectory_queries import StoredCall, StoredTrajectory, TrajectoryPlace
from replay.safety.text import cut, one_line
from replay_tui.rendering import plain
from replay_tui.screens.dialogs import WholeTextScreen
from replay_tui.screens.run_screen import LineTabs, RunScreen
from replay_tui.screens.trajectory_pages import (
    CallFacts,
    call_page,
    raw_page,
    reference_page,
    task_page,
    whole_call,
    whole_task,
)
from replay_tui.theme import Palette
from replay_tui.widgets.dag_view import CallBox, DagView
from replay_tui.widgets.text_page import Row, TextPage

_PANELS = {"call": "Call", "task": "Task", "raw": "Raw"}


class TrajectoryScreen(RunScreen):
    """What happened here?"""

    NAME = "trajectory"
    FIRST = "DagView"
    PURPOSE = "A trajectory as a graph of calls, and the selected call with all that is known of it."
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "failure(1)", "Next failure", tooltip="The next failure that the filter matches, anywhere"),
        Binding("N", "failure(-1)", "Previous failure", show=False, tooltip="The failure before"),
        Binding("y", "app.copy_diagnosis", "Copy", tooltip="Copy the diagnosis of the call as Markdown"),
        Binding("c", "cause", "Cause", tooltip="Go to the call that made this one fail"),
        Binding("u", "parent", "Parent", show=False, tooltip="From a sub-agent to the call that started it"),
        Binding("U", "sub_agent", "Sub-agent", show=False, tooltip="From a call to the sub-agent that it started"),
        Binding("]", "panel(1)", "Call/task/raw", tooltip="The call, its task, what the model wrote"),
        Binding("[", "panel(-1)", "Panel", show=False, tooltip="The panel to the left"),
        Binding("v", "whole", "Whole text", tooltip="Page through everything, however long"),
        Binding("less_than_sign", "neighbour(-1)", "Trajectory before", show=False, tooltip="The trajectory before"),
        Binding("greater_than_sign", "neighbour(1)", "Next trajectory", show=False, tooltip="The next trajectory"),
    ]

    dag = getters.query_one(DagView)
    page = getters.query_one("#page", TextPage)
    _panels = getters.query_one("#panels", LineTabs)

    def __init__(self) -> None:
        super().__init__()
        self.stored: StoredTrajectory | None = None
        self._graph: Graph | None = None
        self._calls: dict[str, Call] = {}
        self._verdicts: dict[str, StoredCall] = {}
        self._trajectory_context: TrajectoryContext | None = None
        self._findings: dict[str, tuple[Finding, ...]] = {}
        self._aligned: AlignedTrajectory | None = None

    def compose_body(self) -> ComposeResult:
        """The graph with the reference beside it, and the panel."""
        with Container(id="body"):
            with Horizontal(id="graph"):
                yield DagView()
                yield TextPage(id="reference")
            with Vertical(id="panel"):
                yield LineTabs(_PANELS, id="panels")
                with Horizontal(id="pages"):
                    yield TextPage(id="page")
                    yield TextPage(id="beside")

    # --- what to show

    def show(self, row: int, position: str | None = None, ordinal: int | None = None) -> None:
        """Show a trajectory, with a call selected: by its position, or by its place in the order of the steps."""
        stored = trajectory_queries.stored_trajectory(self.open_run.connection, row)
        if stored is None:
            self.app.notify("this trajectory is no longer in the run", severity="warning")
            return
        self._take(stored)
        if position is None and ordinal is not None:
            position = next((call.position for call in stored.calls if call.ordinal == ordinal), None)
        failed = (call.position for call in stored.calls if call.verdict.outcome in FAILURES)
        self._draw(position or next(failed, None))
        self.set_focus(self.dag)

    def reload(self) -> None:
        """The run grew: the same trajectory, with the verdicts that there are now."""
        if self.stored is None:
            first = call_queries.next_failure(self.open_run.connection, self.app.filter, (0, -1))
            row = first[0] if first else trajectory_queries.next_trajectory(self.open_run.connection, 0)
            if row is not None:
                self.show(row, ordinal=first[1] if first else None)
            else:
                self.dag.border_title = plain("no trajectory yet")
            return
        stored = trajectory_queries.stored_trajectory(self.open_run.connection, self.stored.row)
        if stored is not None and (stored != self.stored or self._alignment_of(stored) != self._aligned):
            self._take(stored)
            self._draw(self.dag.selected)

    def _alignment_of(self, stored: StoredTrajectory) -> AlignedTrajectory | None:
        return alignment_queries.alignment_of(self.open_run.connection, stored.path, stored.record.id)

    def _take(self, stored: StoredTrajectory) -> None:
        self.stored = stored
        self._graph = Graph(stored.record)
        self._calls = {call.position: call for call in stored.record.calls()}
        self._verdicts = {call.position: call for call in stored.calls}
        self._trajectory_context, self._findings = None, {}
        self._aligned = self._alignment_of(stored)

    def trajectory_shown(self) -> int | None:
        """The trajectory."""
        return None if self.stored is None else self.stored.row

    def show_trajectory(self, row: int) -> None:
        """Another trajectory that was looked at elsewhere; the same one stays as it was."""
        if self.stored is None or self.stored.row != row:
            self.show(row)

    def _draw(self, position: str | None) -> None:
        assert self.stored is not None
        assert self._graph is not None
        boxes = {}
        for name, call in self._calls.items():
            stored = self._verdicts.get(name)
            counterpart = self._aligned.counterpart(name) if self._aligned else None
            beside = f"R{counterpart[0].index}" if counterpart else ""
            boxes[name] = (
                CallBox(stored.tool, stored.server, stored.verdict.outcome, beside)
                if stored
                else CallBox(call.tool or call.name or "", call.server or "", None, beside)
            )
        self.dag.show(self._graph, boxes, position)
        state = "" if self.stored.done else " · still running"
        name = one_line(self.stored.record.id, 40)
        self.dag.border_title = plain(f"{name} · {one_line(self.stored.model, 30)}{state}")
        self.dag.border_subtitle = plain("▲ feeds the selected call  ▼ takes from it")
        self._show_reference()
        self._show_panel()

    def _show_reference(self) -> None:
        aligned, page = self._aligned, self.query_one("#reference", TextPage)
        self.set_class(aligned is not None, "-aligned")
        lines = max(self.dag.lines, len(aligned.reference) if aligned else 0)
        self.query_one("#graph").styles.height = lines + 2
        if aligned is not None:
            page.border_title = plain("Reference")
            page.border_subtitle = plain(f"recall {aligned.task.recall:.2f} · precision {aligned.task.precision:.2f}")
            page.show(partial(reference_page, aligned, self.dag.selected), stay=True)

    @on(DagView.Selected)
    def selected(self) -> None:
        """Another call."""
        self._show_reference()
        self._show_panel()

    @on(Tabs.TabActivated, "#panels")
    def _show_panel(self) -> None:
        """The call, its task or the raw text, as the panel's name says."""
        stored, position = self.stored, self.dag.selected
        if stored is None:
            return
        panel = self._panels.current
        self.query_one("#beside", TextPage).show(partial(raw_page if panel == "task" else _task, stored, position))
        if panel == "task":
            self.page.show(partial(task_page, stored))
        elif panel == "raw":
            self.page.show(partial(raw_page, stored, position))
        elif position is not None:
            self.page.show(partial(call_page, self._facts(position)))
            if position not in self._findings:
                self._look_for_findings(stored, position)

    def _facts(self, position: str) -> CallFacts:
        assert self._graph is not None
        caused = [stored.position for stored in self._verdicts.values() if stored.verdict.caused_by == position]
        return CallFacts(
            self._calls[position],
            self._graph,
            self._verdicts.get(position),
            self._answer(position),
            self._findings.get(position),
            caused,
            self._aligned,
        )

    def _answer(self, position: str) -> Answer | None:
        """What came when the call was re-issued."""
        stored = self._verdicts.get(position)
        return self.open_run.run.stored_answer(stored.answer_key) if stored and stored.answer_key else None

    def _look_for_findings(self, stored: StoredTrajectory, position: str) -> None:
        known = self._trajectory_context

        def look(run: Run) -> tuple[TrajectoryContext, tuple[Finding, ...]]:
            place = TrajectoryPlace(stored.row, stored.path, stored.model, stored.record.id)
            context = known or TrajectoryContext.load(run, place)
            return context, findings_of_call(context, position)

        def take(found: tuple[TrajectoryContext, tuple[Finding, ...]]) -> None:
            if stored is not self.stored:
                return
            self._trajectory_context, self._findings[position] = found
            if position == self.dag.selected and self._panels.current == "call":
                self.page.show(partial(call_page, self._facts(position)), stay=True)

        self.ask(look, take)

    # --- keys

    def action_failure(self, by: int) -> None:
        """The next failure that the filter matches, in this trajectory or another."""
        stored_call = self._verdicts.get(self.dag.selected or "")
        start = (self.stored.row if self.stored else 0, stored_call.ordinal if stored_call else -1)
        failure = call_queries.next_failure(self.open_run.connection, self.app.filter, start, back=by < 0)
        if failure is None:
            self.app.notify("no further failure that the filter matches", timeout=2)
        elif self.stored is not None and failure[0] == self.stored.row:
            position = next((call.position for call in self.stored.calls if call.ordinal == failure[1]), None)
            self.dag.select(position)
        else:
            self.show(failure[0], ordinal=failure[1])

    def action_neighbour(self, by: int) -> None:
        """Another trajectory."""
        if self.stored is not None:
            row = trajectory_queries.next_trajectory(self.open_run.connection, self.stored.row, back=by < 0)
            if row is not None:
                self.show(row)

    def action_cause(self) -> None:
        """The call that made this one fail."""
        stored_call = self._verdicts.get(self.dag.selected or "")
        if stored_call is not None and stored_call.verdict.caused_by in self._calls:
            self.dag.select(stored_call.verdict.caused_by)
        else:
            self.app.notify("nothing earlier made this call fail", timeout=2)

    def action_parent(self) -> None:
        """From a sub-agent's trajectory to the call that started it."""
        parent = self.stored.record.parent if self.stored else None
        if self.stored is None or parent is None:
            self.app.notify("this is not a sub-agent's trajectory", timeout=2)
            return
        row = trajectory_queries.row_beside(self.open_run.connection, self.stored, parent.trajectory)
        if row is None:
            missing = f"{one_line(parent.trajectory, 40)} is not in the run"
            self.app.notify(missing, severity="warning", markup=False)
        else:
            self.show(row, position=parent.call)

    def action_sub_agent(self) -> None:
        """From a call to the trajectory of the sub-agent that it started; U again there goes on down."""
        if self.stored is None:
            return
        started = trajectory_queries.sub_agents(self.open_run.connection, self.stored)
        selected = self.dag.selected
        here = [agent for agent in started if agent.call == selected] or [
            agent for agent in started if agent.call is None
        ]
        if here:
            self.show(here[0].row)
        elif started:
            calls = ", ".join(sorted({agent.call for agent in started if agent.call}))
            self.app.notify(f"this call started no sub-agent; {cut(calls, 60)} did", timeout=3, markup=False)
        else:
            self.app.notify("no call of this trajectory started a sub-agent", timeout=2)

    def action_panel(self, by: int) -> None:
        """The call, the task, the raw text."""
        self._panels.action_next_tab() if by > 0 else self._panels.action_previous_tab()

    def action_whole(self) -> None:
        """Page through the whole of what is in the panel."""
        stored, position = self.stored, self.dag.selected
        if stored is None or position is None:
            return
        if self._panels.current == "task":
            self.app.push_screen(WholeTextScreen(f"Task {one_line(stored.record.id, 40)}", whole_task(stored)))
            return
        text = whole_call(self._calls[position], self._answer(position))
        self.app.push_screen(WholeTextScreen(f"{position} of {one_line(stored.record.id, 40)}", text))

    def selected_call(self) -> tuple[int, str] | None:
        """Trajectory row and position of the selected call."""
        if self.stored is None or self.dag.selected is None:
            return None
        return self.stored.row, self.dag.selected


def _task(stored: StoredTrajectory, _position: str | None, width: int, styles: Palette) -> list[Row]:
    return task_page(stored, width, styles)
