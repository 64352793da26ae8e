"""The DAG of a trajectory: calls as boxes, coloured and lettered by outcome; what flowed between them as lines.

Steps are columns. An edge leaves its producer at the right, turns in the gutter behind it, and ends in an arrow before
its consumer. One that passes whole steps runs in the channel, the empty line under each row of boxes, so that it never
crosses a box.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from replay.dag import Graph
from replay.records import Outcome
from replay_tui.rendering import fitted, strip_of
from replay_tui.theme import UNJUDGED, Palette, palette

_LIGHT: Final = dict(zip(range(1, 16), "│││─╯╮┤─╰╭├─┴┬┼", strict=True))
_HEAVY: Final = dict(zip(range(1, 16), "┃┃┃━┛┓┫━┗┏┣━┻┳╋", strict=True))
GUTTER: Final = 5
BOX_HEIGHT: Final = 3
PITCH: Final = BOX_HEIGHT + 1
UP, DOWN, LEFT, RIGHT = 1, 2, 4, 8


class Box(NamedTuple):
    """Where the box of a call stands."""

    column: int
    row: int


class EdgeSegment(NamedTuple):
    """A straight piece of an edge, from `start` up to and including `end`."""

    start: int
    end: int
    edge: int


@dataclass
class Layout:
    """A drawing, as wide and as high as it needs to be."""

    columns: tuple[tuple[str, ...], ...]
    box_width: int
    boxes: dict[str, Box] = field(default_factory=dict)
    edges: tuple[tuple[str, str], ...] = ()
    across: dict[int, list[EdgeSegment]] = field(default_factory=lambda: defaultdict(list))
    """By line."""
    down: dict[int, list[EdgeSegment]] = field(default_factory=lambda: defaultdict(list))
    """By cell of the line."""
    arrows: dict[int, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    """By line: cell and edge."""

    @property
    def stride(self) -> int:
        """From one column to the next."""
        return self.box_width + GUTTER

    @property
    def width(self) -> int:
        """Cells."""
        return max(0, len(self.columns) * self.stride - GUTTER)

    @property
    def height(self) -> int:
        """Lines."""
        return max(map(len, self.columns), default=0) * PITCH

    def at(self, x: int, y: int) -> str | None:
        """The call whose box holds a cell."""
        column, within = divmod(x, self.stride)
        row, line = divmod(y, PITCH)
        inside = within < self.box_width and line < BOX_HEIGHT
        there = 0 <= column < len(self.columns) and 0 <= row < len(self.columns[column])
        return self.columns[column][row] if inside and there else None

    def masks(self, y: int, start: int, width: int, chosen: frozenset[int]) -> tuple[list[int], list[int]]:
        """For each cell of a line the directions in which edges leave it: of all edges, and of the chosen ones."""
        every, marked = [0] * width, [0] * width
        for segment in self.across.get(y, ()):
            for x in range(max(segment.start, start), min(segment.end, start + width - 1) + 1):
                mask = (RIGHT if x < segment.end else 0) | (LEFT if x > segment.start else 0)
                every[x - start] |= mask
                if segment.edge in chosen:
                    marked[x - start] |= mask
        for x in range(start, start + width):
            for segment in self.down.get(x, ()):
                if segment.start <= y <= segment.end:
                    mask = (DOWN if y < segment.end else 0) | (UP if y > segment.start else 0)
                    every[x - start] |= mask
                    if segment.edge in chosen:
                        marked[x - start] |= mask
        return every, marked


def lay_out(columns: Sequence[Sequence[str]], edges: Iterable[tuple[str, str]], box_width: int) -> Layout:
    """Place the calls and run the edges.

    Args:
        columns: the positions of each step's calls.
        edges: producer and consumer; those within one step, or back, are left out.
        box_width: of each box, in cells.
    """
    layout = Layout(tuple(map(tuple, columns)), box_width)
    for column, positions in enumerate(layout.columns):
        for row, position in enumerate(positions):
            layout.boxes[position] = Box(column, row)
    known = [pair for pair in dict.fromkeys(edges) if pair[0] in layout.boxes and pair[1] in layout.boxes]
    layout.edges = tuple(pair for pair in known if layout.boxes[pair[0]].column < layout.boxes[pair[1]].column)
    for number, (producer, consumer) in enumerate(layout.edges):
        _run_edge(layout, layout.boxes[producer], layout.boxes[consumer], number)
    return layout


def _run_edge(layout: Layout, producer: Box, consumer: Box, number: int) -> None:
    start_x = producer.column * layout.stride + layout.box_width
    end_x = consumer.column * layout.stride - 1
    start_y, end_y = producer.row * PITCH + 1, consumer.row * PITCH + 1
    leaving = start_x + 1
    layout.arrows[end_y].append((end_x, number))
    is_near = consumer.column == producer.column + 1
    channel = end_y if is_near else min(producer.row, consumer.row) * PITCH + BOX_HEIGHT
    arriving = leaving if is_near else end_x - 1
    layout.across[start_y].append(EdgeSegment(start_x, leaving, number))
    _down(layout, leaving, start_y, channel, number)
    layout.across[channel].append(EdgeSegment(leaving, arriving, number))
    _down(layout, arriving, channel, end_y, number)
    layout.across[end_y].append(EdgeSegment(arriving, end_x, number))


def _down(layout: Layout, x: int, start_y: int, end_y: int, number: int) -> None:
    if start_y != end_y:
        layout.down[x].append(EdgeSegment(min(start_y, end_y), max(start_y, end_y), number))


@dataclass(frozen=True)
class CallBox:
    """What is written in a box."""

    tool: str
    server: str
    outcome: Outcome | None
    counterpart: str = ""
    """The reference call that it was matched with, in a few letters."""


class DagView(ScrollView, can_focus=True):
    """Steps as columns. The arrow keys go from call to call."""

    DEFAULT_CSS = "DagView { scrollbar-size-vertical: 1; scrollbar-size-horizontal: 1; background: $surface; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "step(-1)", "Step before", show=False, tooltip="The nearest call of the step before"),
        Binding("right,l", "step(1)", "Next step", show=False, tooltip="The nearest call of the next step"),
        Binding("up,k", "beside(-1)", "Call above", show=False, tooltip="The call above in this step"),
        Binding("down,j", "beside(1)", "Call below", show=False, tooltip="The call below in this step"),
        Binding("home,g", "edge_step(0)", "First step", show=False, tooltip="The first call"),
        Binding("end,G", "edge_step(-1)", "Last step", show=False, tooltip="The last step"),
    ]

    @dataclass
    class Selected(Message):
        """Another call is selected."""

        position: str

    def __init__(self) -> None:
        super().__init__()
        self._graph: Graph | None = None
        self._layout: Layout = lay_out((), (), 18)
        self._calls: Mapping[str, CallBox] = {}
        self.selected: str | None = None
        self._before: frozenset[str] = frozenset()
        self._after: frozenset[str] = frozenset()
        self._chosen: frozenset[int] = frozenset()

    # --- what to show

    def show(self, graph: Graph, calls: Mapping[str, CallBox], selected: str | None) -> None:
        """Show a trajectory."""
        self._graph, self._calls = graph, calls
        self._arrange()
        known = self._layout.boxes
        self.refresh(layout=True)
        self.select(selected if selected in known else next(iter(known), None), tell=False)

    def _arrange(self) -> None:
        if self._graph is None:
            return
        pairs = [(edge.producer, edge.consumer) for edge in self._graph.edges]
        width = 16 if self.size.width < 60 else 20 if self.size.width < 110 else 24
        self._layout = lay_out([step for step in self._graph.steps if step], pairs, width)
        self.virtual_size = Size(self._layout.width + 1, self._layout.height + 1)

    def select(self, position: str | None, *, tell: bool = True) -> None:
        """Select a call and highlight what it depends on, and what depends on it."""
        self.selected = position
        if self._graph is not None and position is not None:
            self._before = frozenset(self._graph.ancestors(position))
            self._after = frozenset(self._graph.dependents(position))
        above, below = self._before | {position}, self._after | {position}
        self._chosen = frozenset(
            number
            for number, (producer, consumer) in enumerate(self._layout.edges)
            if (producer in self._before and consumer in above) or (producer in below and consumer in self._after)
        )
        self._bring_into_view()
        self.refresh()
        if tell and position is not None:
            self.post_message(self.Selected(position))

    def _bring_into_view(self) -> None:
        box = self._layout.boxes.get(self.selected or "")
        if box is None or not self.size.width:
            return
        size = self.scrollable_content_region.size
        left, top = box.column * self._layout.stride, box.row * PITCH
        x = _shifted(self.scroll_offset.x, left - 2, left + self._layout.box_width + 3, size.width)
        y = _shifted(self.scroll_offset.y, top, top + PITCH + 1, size.height)
        self.scroll_to(x, y, animate=False, force=True)

    # --- drawing

    @property
    def lines(self) -> int:
        """As high as the drawing is, with the line of the steps."""
        return self._layout.height + 1

    def render_line(self, y: int) -> Strip:
        """A line: the numbers of the steps, then the drawing."""
        width = self.scrollable_content_region.width
        styles, start = palette(dark=self.app.current_theme.dark), self.scroll_offset.x
        if y == 0:
            return strip_of(self._header(start, width, styles), width, self.rich_style)
        line = y - 1 + self.scroll_offset.y
        if line >= self._layout.height or not self._layout.columns:
            return strip_of([], width, self.rich_style)
        return strip_of(self._line(line, start, width, styles), width, self.rich_style)

    def _header(self, start: int, width: int, styles: Palette) -> list[Segment]:
        stride = self._layout.stride
        first = start // stride
        shown = self._layout.columns[first : first + width // stride + 2]
        labels = (f"step {calls[0].partition('c')[0].lstrip('s')}".ljust(stride) for calls in shown)
        return [Segment("".join(labels)[start - first * stride :][:width].ljust(width), styles.dim)]

    def _line(self, line: int, start: int, width: int, styles: Palette) -> list[Segment]:
        segments: list[Segment] = []
        every, marked = self._layout.masks(line, start, width, self._chosen)
        arrows = {x - start: edge in self._chosen for x, edge in self._layout.arrows.get(line, ())}
        within = line % PITCH
        x = 0
        while x < width:
            inside = (x + start) % self._layout.stride
            position = self._layout.at(x + start, line) if within < BOX_HEIGHT else None
            if position is None:
                segments.append(_edge_cell(x, every, marked, arrows, styles))
                x += 1
                continue
            drawn = self._box_line(position, within, styles)
            segments += list(Strip(drawn).crop(inside, inside + width - x))
            x += self._layout.box_width - inside
        return segments

    def _box_line(self, position: str, within: int, styles: Palette) -> list[Segment]:
        call, inner = self._calls[position], self._layout.box_width - 2
        here = position == self.selected
        corners = ("┏━┓", "┃┃", "┗━┛") if here else ("╭─╮", "││", "╰─╯")
        related = here or position in self._before or position in self._after
        colour = styles.outcome(call.outcome)
        frame = colour if related else Style(color=colour.color, dim=True)
        over = styles.cursor if here and self.has_focus else None
        if within == 1:
            letter = call.outcome.letter if call.outcome is not None else UNJUDGED
            name = fitted(call.tool or "(no name)", inner - 2)
            chip = styles.bars[call.outcome] if call.outcome is not None else styles.dim
            text = styles.strong if related else styles.dim
            parts = [Segment(corners[1][0], frame), Segment(letter, chip), Segment(f" {name}", text)]
            parts.append(Segment(corners[1][1], frame))
        else:
            mark = "▲" if position in self._before else "▼" if position in self._after else ""
            label = (
                f"{position} {mark}".strip() if within == 0 else fitted(call.server, min(len(call.server), inner - 3))
            )
            edges = corners[within]
            line = f"{edges[1]}{label}".ljust(inner, edges[1])[:inner] if label else edges[1] * inner
            if within == 0 and call.counterpart:
                line = line[: inner - len(call.counterpart) - 1] + call.counterpart + edges[1]
            parts = [Segment(f"{edges[0]}{line}{edges[2]}", frame)]
        return [Segment(text, (over or Style.null()) + (style or Style.null())) for text, style, _ in parts]

    # --- moving

    def action_step(self, by: int) -> None:
        """The nearest call of another step."""
        box = self._layout.boxes.get(self.selected or "")
        if box is None:
            return
        column = box.column + by
        if 0 <= column < len(self._layout.columns):
            there = self._layout.columns[column]
            self.select(there[min(box.row, len(there) - 1)])

    def action_beside(self, by: int) -> None:
        """Another call of the step; past its end, the next step."""
        box = self._layout.boxes.get(self.selected or "")
        if box is None:
            return
        there = self._layout.columns[box.column]
        if 0 <= box.row + by < len(there):
            self.select(there[box.row + by])

    def action_edge_step(self, column: int) -> None:
        """The first call, or the first of the last step."""
        if self._layout.columns:
            self.select(self._layout.columns[column][0])

    def on_click(self, event: events.Click) -> None:
        """Select the call that was clicked."""
        offset = event.get_content_offset(self)
        if offset is None or offset.y == 0:
            return
        position = self._layout.at(offset.x + self.scroll_offset.x, offset.y - 1 + self.scroll_offset.y)
        if position is not None:
            self.select(position)

    def on_resize(self) -> None:
        """Boxes are wider where there is room."""
        self._arrange()
        self.select(self.selected, tell=False)


def _shifted(offset: int, start: int, end: int, room: int) -> int:
    """The scroll offset nearest to the one of now at which `start` to `end` is in view."""
    return max(0, min(max(offset, end - room), start))


def _edge_cell(x: int, every: list[int], marked: list[int], arrows: Mapping[int, bool], styles: Palette) -> Segment:
    if x in arrows:
        return Segment("▶", styles.accent if arrows[x] else styles.dim)
    if marked[x]:
        return Segment(_HEAVY[marked[x]], styles.accent)
    return Segment(_LIGHT[every[x]], styles.faint) if every[x] else Segment(" ")
