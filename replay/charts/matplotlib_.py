"""Charts for papers and slides, drawn by matplotlib: readable in grey, and the same bytes for the same chart."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from textwrap import fill
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from replay.charts.style import FRAME, HATCHES, INK, MUTE, OUTCOME_COLOURS, SERIES, SHADES, ranked_kind, value_text
from replay.errors import MissingExtraError, install_command
from replay.records import Outcome
from replay.records.chart import FEW, Chart
from replay.safety.text import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ChartFormat: TypeAlias = Literal["svg", "png", "pdf"]
Medium: TypeAlias = Literal["paper", "slide"]

_METADATA: Final[dict[str, dict[str, str | None]]] = {
    "svg": {"Date": None, "Creator": "mcp-replay"},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "ModDate": None, "Creator": "mcp-replay", "Producer": None},
}
"""Nothing that differs from one day or machine to the next."""
_DOTS: Final = 200
_LETTERS_AN_INCH: Final = 15
"""Of the line below a drawing."""
_SHADES: Final = 40
"""Of heat maps: from 50 on matplotlib would make their scale a picture."""
_MIN_LABELLED: Final = 0.07
"""Share of a bar that has room for a number."""
_SHORT_NAME: Final = 17
"""Characters of a name that stand over a third of the drawing."""
_DARK: Final = 0.55
"""Of a heat map's scale, from which letters are white."""
_MIN_TOP: Final = 0.05
_MAX_HEAD: Final = 22
_PAGE: Final = 8.2
"""Inches of a page that the rows of a chart may take."""
_MANY_COLUMNS: Final = 12
"""Of a heat map, which would be wider than a page."""
_OTHER_SCRIPTS: Final = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Source Han Sans SC",
    "WenQuanYi Zen Hei",
    "PingFang SC",
    "Microsoft YaHei",
    "Noto Sans Arabic",
    "Noto Sans Devanagari",
    "Noto Emoji",
)
"""Taken, where they are installed, for letters that the first font lacks."""


@dataclass
class _Canvas:
    """Where one chart is drawn. Sizes are in inches, and grow with the letters on a slide."""

    figure: Figure
    medium: Medium

    @property
    def scale(self) -> float:
        """How much larger than on paper things are."""
        return 1.7 if self.medium == "slide" else 1.0

    def axes(self, width: float, height: float, rows: int = 1, columns: int = 1, **more: Any) -> list[Axes]:
        """Set the size, in inches on paper, and get the axes, row by row."""
        self.figure.set_size_inches(width * self.scale, height * self.scale)
        grid = self.figure.subplots(rows, columns, squeeze=False, **more)
        return [axes for row in grid for axes in row]

    def label(self, text: str) -> None:
        """What the axis below shows; in the middle of the figure, where it has most room, in lines that fit it."""
        inches = self.figure.get_size_inches()[0] / self.scale
        self.figure.supxlabel(fill(text, int(inches * _LETTERS_AN_INCH)), size=8.5 * self.scale)

    def colour_map(self) -> Any:
        """From nothing to much, for heat maps."""
        from matplotlib.colors import LinearSegmentedColormap

        return LinearSegmentedColormap.from_list("replay", SHADES, N=_SHADES)


def drawn(chart: Chart, form: ChartFormat, medium: Medium = "paper") -> bytes:
    """A chart as a file's content; the same chart gives the same bytes.

    Args:
        chart: what to show.
        form: of the file.
        medium: a column of a paper, or a slide.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    with _style(medium):
        from matplotlib.figure import Figure

        figure = Figure(layout="constrained")
        _DRAWINGS[chart.figure](chart, _Canvas(figure, medium))
        out = io.BytesIO()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing")  # a script that no font here has
            metadata = {**_METADATA[form], "Title": chart.title}
            figure.savefig(out, format=form, dpi=_DOTS, metadata=metadata, facecolor="white")
    return out.getvalue()


@contextmanager
def _style(medium: Medium) -> Iterator[None]:
    """Our settings, whatever the user's own are."""
    try:
        import matplotlib as mpl
        from matplotlib.font_manager import fontManager
    except ImportError:
        raise MissingExtraError(install_command("figures"), "replay figure") from None
    known = {font.name for font in fontManager.ttflist}
    size = 9.0 * (1.7 if medium == "slide" else 1.0)
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(
            {
                "font.family": "sans-serif",
                "font.sans-serif": ["DejaVu Sans", *(family for family in _OTHER_SCRIPTS if family in known)],
                "font.size": size,
                "axes.titlesize": size * 1.05,
                "axes.titleweight": "bold",
                "axes.titlelocation": "left",
                "axes.labelsize": size,
                "axes.edgecolor": FRAME,
                "axes.labelcolor": INK,
                "axes.spines.top": False,
                "axes.spines.right": False,
                "text.color": INK,
                "text.parse_math": False,
                "xtick.color": INK,
                "ytick.color": INK,
                "legend.frameon": False,
                "legend.fontsize": size * 0.95,
                "hatch.linewidth": 0.7,
                "svg.fonttype": "none",
                "svg.hashsalt": "mcp-replay",
                "pdf.fonttype": 42,
            }
        )
        yield


def _stacked_bars(chart: Chart, canvas: _Canvas) -> None:
    """Stacked bars; the number of calls that each is made of stands behind it."""
    (axes,) = canvas.axes(5.2, 1.15 + 0.34 * len(chart.rows))
    outcomes = [Outcome(column) for column in chart.columns]
    for row, values in enumerate(chart.values):
        left = 0.0
        for column, (outcome, value) in enumerate(zip(outcomes, values, strict=True)):
            if value:
                # shares where what could not be judged is left out, else the counts
                count = chart.counts[row][column] if chart.counts and Outcome.INCONCLUSIVE in outcomes else None
                _segment(canvas, axes, row, left, value, outcome, f"{100 * value:.0f}" if count is None else f"{count}")
                left += value
        total = chart.totals[row] if chart.totals else 0
        words = f"{total:,}" if total else "none judged"
        place, side = (1.015, "left") if total else (0.5, "center")
        axes.text(place, row, words, va="center", ha=side, color=MUTE, size=8 * canvas.scale)
    axes.set_yticks(range(len(chart.rows)), [_shown(name) for name in chart.rows])
    axes.set_ylim(len(chart.rows) - 0.4, -0.6)
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])
    canvas.label(f"{chart.measure.removeprefix('share ')}, whose number stands on the right")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    _legend(canvas, outcomes)


def _segment(canvas: _Canvas, axes: Axes, row: int, left: float, value: float, outcome: Outcome, words: str) -> None:
    axes.barh(
        row,
        value,
        left=left,
        height=0.72,
        color=OUTCOME_COLOURS[outcome],
        hatch=HATCHES[outcome],
        edgecolor=INK,
        lw=0.5,
    )
    if value >= min(_MIN_LABELLED, 0.015 + 0.02 * len(words)):
        axes.text(
            left + value / 2,
            row,
            words,
            ha="center",
            va="center",
            size=8 * canvas.scale,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.2},
        )


def _legend(canvas: _Canvas, outcomes: list[Outcome]) -> None:
    from matplotlib.patches import Patch

    patches = [
        Patch(facecolor=OUTCOME_COLOURS[outcome], hatch=HATCHES[outcome], edgecolor=INK, lw=0.5, label=outcome.label)
        for outcome in outcomes
    ]
    canvas.figure.legend(handles=patches, loc="outside upper left", ncols=3, handlelength=1.6, columnspacing=1.2)


def _panels(chart: Chart, canvas: _Canvas) -> None:
    """A panel a model, four bars each; two beside each other where names are long, else three."""
    short = max((len(name) for name in chart.rows), default=0) <= _SHORT_NAME
    columns = min(3 if short else 2, max(len(chart.rows), 1))
    lines = max(ceil(len(chart.rows) / columns), 1)
    panels = canvas.axes(5.2, 0.45 + 1.15 * lines, lines, columns, sharex=True, sharey=True)
    most = max((value or 0 for row in chart.values for value in row), default=0) or 1.0
    for panel in panels[len(chart.rows) :]:
        panel.set_visible(False)
    for row, panel in zip(range(len(chart.rows)), panels, strict=False):
        panel.set_title(_shown(chart.rows[row], _SHORT_NAME if columns > 2 else 25), size=8.5 * canvas.scale)
        _panel(chart, canvas, panel, row, most)
        panel.tick_params(labelbottom=row + columns >= len(chart.rows))
    canvas.label("per cent of the judged calls")


def _panel(chart: Chart, canvas: _Canvas, panel: Axes, row: int, most: float) -> None:
    outcomes = [Outcome(column) for column in chart.columns]
    small = 7.5 * canvas.scale
    total = chart.totals[row] if chart.totals else 0
    words = f"n = {total:,}" if total else "none judged"
    panel.text(0.98, 0.9, words, transform=panel.transAxes, ha="right", va="top", color=MUTE, size=small)
    for place, (outcome, value) in enumerate(zip(outcomes, chart.values[row], strict=True)):
        if value is None:
            continue
        colour, hatch = OUTCOME_COLOURS[outcome], HATCHES[outcome]
        panel.barh(place, value, height=0.72, color=colour, hatch=hatch, edgecolor=INK, lw=0.5)
        panel.text(value + most * 0.03, place, f"{100 * value:.1f}", va="center", size=small)
    panel.set_yticks(range(len(outcomes)), [outcome.label for outcome in outcomes], size=8 * canvas.scale)
    panel.set_ylim(len(outcomes) - 0.4, -0.6)
    panel.set_xlim(0, most * 1.3)
    panel.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g}")
    panel.tick_params(axis="y", length=0)


def _heat_map(chart: Chart, canvas: _Canvas) -> None:
    """A cell a row and column: its count, or its value where there are no counts.

    Many columns stand as rows, where a page has room for them.
    """
    if len(chart.columns) > max(_MANY_COLUMNS, len(chart.rows)):
        chart = _turned(chart)
    heads = [_shown(name, _MAX_HEAD) for name in chart.columns]
    labels = [_shown(name) for name in chart.rows]
    longest = max(map(len, labels), default=0)
    reach = 0.05 * max((len(head) - (len(heads) - 1 - place) * 6 for place, head in enumerate(heads)), default=0)
    width = 0.4 + 0.078 * longest + max(0.42 * len(heads), 1.4) + max(reach, 0)
    rise = 0.05 * max(map(len, heads), default=0)
    (axes,) = canvas.axes(max(width, 3.4), 0.95 + rise + 0.26 * len(labels))
    if not labels or not heads:
        axes.set_axis_off()
        axes.text(0.5, 0.5, "nothing to show", ha="center", va="center", color=MUTE, transform=axes.transAxes)
        return
    top = max(max((value or 0 for row in chart.values for value in row), default=0), _MIN_TOP)
    few = {(row, column) for row in range(len(labels)) for column in range(len(heads)) if _is_few(chart, row, column)}
    cells = [
        [float("nan") if value is None or (row, column) in few else value for column, value in enumerate(values)]
        for row, values in enumerate(chart.values)
    ]
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
    for row, column in few:
        axes.fill_between([column - 0.46, column + 0.46], row - 0.46, row + 0.46, fc="none", ec=SHADES[2], hatch="////")
    axes.invert_yaxis()
    for row, values in enumerate(chart.values):
        for column, value in enumerate(values):
            dark = (value or 0) / top > _DARK and (row, column) not in few
            colour = "white" if dark else INK if value else MUTE
            words = _words(chart, row, column)
            axes.text(column, row, words, ha="center", va="center", color=colour, size=8 * canvas.scale)
    axes.set_xticks(range(len(heads)), heads, rotation=40, ha="left", rotation_mode="anchor")
    axes.xaxis.tick_top()
    axes.set_yticks(range(len(labels)), labels)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    bar = canvas.figure.colorbar(image, ax=axes, location="bottom", aspect=30, pad=min(0.12 / len(labels), 0.06))
    cells_are = "" if chart.counts is None else "; in the cells: counts"
    hatched = f"; hatched: of fewer than {FEW}" if few else ""
    canvas.label(f"colour: {chart.measure}{cells_are}{hatched}")
    bar.ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")
    bar.ax.tick_params(labelsize=8 * canvas.scale)
    if bar.solids is not None:
        bar.solids.set_edgecolor("face")  # else thin white lines show between the shades
    bar.outline.set_visible(False)  # type: ignore[operator]


def _is_few(chart: Chart, row: int, column: int) -> bool:
    """Whether a cell has something to show that rests on few; its colour would say more than it is worth."""
    return bool(chart.values[row][column]) and chart.rests_on_few(row, column)


def _turned(chart: Chart) -> Chart:
    """The chart with its columns as rows."""
    totals = chart.cell_totals or tuple((total,) * len(chart.columns) for total in chart.totals or ())
    return chart.model_copy(
        update={
            "rows": chart.columns,
            "columns": chart.rows,
            "values": tuple(zip(*chart.values, strict=True)),
            "counts": None if chart.counts is None else tuple(zip(*chart.counts, strict=True)),
            "totals": None,
            "cell_totals": tuple(zip(*totals, strict=True)) or None,
        }
    )


def _words(chart: Chart, row: int, column: int) -> str:
    value = chart.values[row][column]
    count = chart.counts[row][column] if chart.counts is not None else None
    if value is None:
        return "–"
    if chart.counts is None:
        return f"{100 * value:.0f}"
    return str(count) if count else "·"


def _ranked_bars(chart: Chart, canvas: _Canvas) -> None:
    """A bar a model with its interval; its value stands behind it."""
    (axes,) = canvas.axes(5.2, 0.75 + 0.3 * len(chart.rows))
    for row, (value,) in enumerate(chart.values):
        if value is None:
            axes.text(0.01, row, "none judged", va="center", color=MUTE, size=8 * canvas.scale)
            continue
        axes.barh(row, value, height=0.62, color="#b9d2ea", edgecolor=INK, lw=0.5)
        low, high = chart.ends(row)
        if low is not None and high is not None:
            axes.errorbar(
                value, row, xerr=[[value - low], [high - value]], color=INK, lw=1.1, capsize=2.5 * canvas.scale
            )
        end = max(value, high or 0)
        axes.text(end + 0.012, row, value_text(ranked_kind(chart), value), va="center", size=8.5 * canvas.scale)
    ranks = [f"{row + 1}. " if value is not None else "" for row, (value,) in enumerate(chart.values)]
    axes.set_yticks(
        range(len(chart.rows)), [f"{rank}{_shown(name)}" for name, rank in zip(chart.rows, ranks, strict=True)]
    )
    axes.set_ylim(len(chart.rows) - 0.4, -0.6)
    axes.set_xlim(0, 1.12)
    ticks = ["0", "25", "50", "75", "100 %"] if ranked_kind(chart) == "share" else ["0", "0.25", "0.5", "0.75", "1"]
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ticks)
    axes.grid(axis="x", color=FRAME, alpha=0.35, lw=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    canvas.label(f"{chart.measure} ({chart.interval})" if chart.interval else chart.measure)


def _dots(chart: Chart, canvas: _Canvas) -> None:
    """Dots beside each other within a type; at most as many models as there are markers.

    More types than a page is high stand in two columns, and then nearer to each other.
    """
    models = len(chart.columns[: len(SERIES)])
    types = max(len(chart.rows), 1)
    each = 0.2 + 0.13 * models
    panels = 1 if types * each <= _PAGE else 2
    rows = -(-types // panels)
    squeezed = min(1.0, _PAGE / (rows * each))
    height = 0.95 + rows * each * squeezed
    for number, axes in enumerate(canvas.axes(5.2 if panels == 1 else 7.2, height, columns=panels)):
        shown = range(number * rows, min((number + 1) * rows, len(chart.rows)))
        _dotted(chart, canvas, axes, shown, squeezed)
        labels = [_shown(chart.rows[row], 34 if panels == 1 else _MAX_HEAD) for row in shown]
        axes.set_yticks(range(len(shown)), labels)
        axes.set_ylim(rows - 0.45, -0.55)
    few = any(chart.rests_on_few(row, column) for row in range(len(chart.rows)) for column in range(models))
    canvas.label(f"{chart.measure} ({chart.interval}){f'; hollow: of fewer than {FEW}' if few else ''}")
    handles, names = canvas.figure.axes[0].get_legend_handles_labels()
    canvas.figure.legend(handles, names, loc="outside upper left", ncols=2, handletextpad=0.2, columnspacing=1.2)


def _dotted(chart: Chart, canvas: _Canvas, axes: Axes, rows: range, squeezed: float) -> None:
    """The types of one panel."""
    models = chart.columns[: len(SERIES)]
    step = 0.8 / max(len(models), 1)
    size = 6 * canvas.scale * max(squeezed, 0.5)
    for column, (model, (colour, marker)) in enumerate(zip(models, SERIES, strict=False)):
        axes.plot([], [], marker=marker, ls="", color=colour, ms=6 * canvas.scale, label=_shown(model))
        for place, row in enumerate(rows):
            value, (low, high) = chart.values[row][column], chart.ends(row, column)
            y = place + (column - (len(models) - 1) / 2) * step
            if value is None:
                continue
            if low is not None and high is not None:
                axes.plot([low, high], [y, y], color=colour, lw=1.3 * canvas.scale, solid_capstyle="butt")
            few = chart.rests_on_few(row, column)
            face, edge = ("white", colour) if few else (colour, "white" if squeezed == 1 else colour)
            axes.plot(value, y, marker=marker, ls="", mfc=face, mec=edge, mew=1.1 if few else 0.6, ms=size)
    for line in range(1, len(rows)):
        axes.axhline(line - 0.5, color=FRAME, lw=0.5, alpha=0.5)
    axes.set_xlim(-0.02, 1.02)
    axes.grid(axis="x", color=FRAME, alpha=0.35, lw=0.6)
    axes.tick_params(axis="y", length=0)


def _shown(name: str, limit: int = 34) -> str:
    """A name of a model, a tool or a server as a chart shows it: on one line, harmless, not too long."""
    return one_line(name, limit) or "(none)"


_DRAWINGS: Final[dict[str, Callable[[Chart, _Canvas], None]]] = {
    "error-multiples": _panels,
    "leaderboard": _ranked_bars,
    "supported": _ranked_bars,
    "metric-by-type": _dots,
    "model-finding": _heat_map,
    "model-server": _heat_map,
    "outcomes": _stacked_bars,
    "tool-outcome": _heat_map,
    "trajectory-finding": _heat_map,
}
