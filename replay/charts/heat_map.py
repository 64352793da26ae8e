"""Drawing of rows by columns: the darker a cell, the more; what is in it stands in it."""

from __future__ import annotations

from replay.charts.canvas import Canvas, shown
from replay.charts.palette import INK, MUTE
from replay.records.figure import FigureData

_DARK = 0.55
"""Of the scale, from which letters are white."""
_MIN_TOP = 0.05
_MAX_HEAD = 22


def draw(data: FigureData, canvas: Canvas) -> None:
    """A cell a row and column: its count, or its value where there are no counts."""
    heads = [shown(name, _MAX_HEAD) for name in data.columns]
    labels = [shown(name) for name in data.rows]
    longest = max(map(len, labels), default=0)
    reach = 0.05 * max((len(head) - (len(heads) - 1 - place) * 6 for place, head in enumerate(heads)), default=0)
    width = 0.4 + 0.078 * longest + max(0.42 * len(heads), 1.4) + max(reach, 0)
    rise = 0.05 * max(map(len, heads), default=0)
    (axes,) = canvas.axes(max(width, 3.4), 0.95 + rise + 0.26 * len(labels))
    if not labels or not heads:
        axes.set_axis_off()
        axes.text(0.5, 0.5, "nothing to show", ha="center", va="center", color=MUTE, transform=axes.transAxes)
        return
    top = max(max((value or 0 for row in data.values for value in row), default=0), _MIN_TOP)
    cells = [[value if value is not None else float("nan") for value in row] for row in data.values]
    image = axes.pcolormesh(
        [place - 0.5 for place in range(len(heads) + 1)],
        [place - 0.5 for place in range(len(labels) + 1)],
        cells,
        cmap=canvas.colour_map(),
        vmin=0,
        vmax=top,
        edgecolors="white",
        linewidth=1.5,
    )
    axes.invert_yaxis()
    for row, values in enumerate(data.values):
        for column, value in enumerate(values):
            colour = "white" if (value or 0) / top > _DARK else INK if value else MUTE
            words = _words(data, row, column)
            axes.text(column, row, words, ha="center", va="center", color=colour, size=8 * canvas.scale)
    axes.set_xticks(range(len(heads)), heads, rotation=40, ha="left", rotation_mode="anchor")
    axes.xaxis.tick_top()
    axes.set_yticks(range(len(labels)), labels)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    bar = canvas.figure.colorbar(image, ax=axes, location="bottom", aspect=30, pad=min(0.12 / len(labels), 0.06))
    bar.set_label(data.measure, size=8.5 * canvas.scale)
    bar.ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")
    bar.ax.tick_params(labelsize=8 * canvas.scale)
    if bar.solids is not None:
        bar.solids.set_edgecolor("face")  # else thin white lines show between the shades
    bar.outline.set_visible(False)  # type: ignore[operator]


def _words(data: FigureData, row: int, column: int) -> str:
    value = data.values[row][column]
    count = data.counts[row][column] if data.counts is not None else None
    if value is None:
        return "–"
    if data.counts is None:
        return f"{100 * value:.0f}"
    return str(count) if count else "·"
