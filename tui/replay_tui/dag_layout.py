"""Where the boxes of a DAG stand, and how its edges run between them. Steps are columns; no drawing here.

An edge leaves its producer at the right, turns in the gutter behind it, and ends in an arrow before its consumer. One
that passes whole steps runs in the channel, the empty line under each row of boxes, so that it never crosses a box.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

GUTTER: Final = 5
BOX_HEIGHT: Final = 3
PITCH: Final = BOX_HEIGHT + 1
UP, DOWN, LEFT, RIGHT = 1, 2, 4, 8


@dataclass(frozen=True)
class Box:
    """One call."""

    position: str
    column: int
    row: int


@dataclass(frozen=True)
class EdgeSegment:
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

    def left_of(self, column: int) -> int:
        """The first cell of a column's boxes."""
        return column * self.stride

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
            layout.boxes[position] = Box(position, column, row)
    known = [pair for pair in dict.fromkeys(edges) if pair[0] in layout.boxes and pair[1] in layout.boxes]
    layout.edges = tuple(pair for pair in known if layout.boxes[pair[0]].column < layout.boxes[pair[1]].column)
    for number, (producer, consumer) in enumerate(layout.edges):
        _run_edge(layout, layout.boxes[producer], layout.boxes[consumer], number)
    return layout


def _run_edge(layout: Layout, producer: Box, consumer: Box, number: int) -> None:
    start_x = layout.left_of(producer.column) + layout.box_width
    end_x = layout.left_of(consumer.column) - 1
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
