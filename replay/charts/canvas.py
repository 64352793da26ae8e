"""The one door to matplotlib: how figures look, and how they are written."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from replay.charts.palette import FRAME, INK, SHADES
from replay.errors import MissingExtraError
from replay.extras import install_command
from replay.records.figure import FigureData
from replay.safety.text import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FigureFormat: TypeAlias = Literal["svg", "png", "pdf"]
Medium: TypeAlias = Literal["paper", "slide"]
Draw: TypeAlias = "Callable[[FigureData, Canvas], None]"

_METADATA: Final[dict[str, dict[str, str | None]]] = {
    "svg": {"Date": None, "Creator": "mcp-replay"},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "ModDate": None, "Creator": "mcp-replay", "Producer": None},
}
"""Nothing that differs from one day or machine to the next."""
_DOTS: Final = 200
_SHADES: Final = 40
"""Of heat maps: from 50 on matplotlib would make their scale a picture."""
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
class Canvas:
    """Where one figure is drawn. Sizes are in inches, and grow with the letters on a slide."""

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
        """What the axis below shows; in the middle of the figure, where it has most room."""
        self.figure.supxlabel(text, size=8.5 * self.scale)

    def colour_map(self) -> Any:
        """From nothing to much, for heat maps."""
        from matplotlib.colors import LinearSegmentedColormap

        return LinearSegmentedColormap.from_list("replay", SHADES, N=_SHADES)


def shown(name: str, limit: int = 34) -> str:
    """A name of a model, a tool or a server as a figure shows it: on one line, harmless, not too long."""
    return one_line(name, limit) or "(none)"


def drawn(data: FigureData, draw: Draw, form: FigureFormat, medium: Medium = "paper") -> bytes:
    """A figure as a file's content; the same data give the same bytes.

    Args:
        data: what to show.
        draw: draws it.
        form: of the file.
        medium: a column of a paper, or a slide.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    with _style(medium):
        from matplotlib.figure import Figure

        figure = Figure(layout="constrained")
        draw(data, Canvas(figure, medium))
        out = io.BytesIO()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing")  # a script that no font here has
            metadata = {**_METADATA[form], "Title": data.title}
            figure.savefig(out, format=form, dpi=_DOTS, metadata=metadata, facecolor="white")
    return out.getvalue()


@contextmanager
def _style(medium: Medium) -> Iterator[None]:
    """Our settings, whatever the user's own are."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise MissingExtraError(install_command("figures"), "replay figure") from None
    size = 9.0 * (1.7 if medium == "slide" else 1.0)
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(
            {
                "font.family": "sans-serif",
                "font.sans-serif": ["DejaVu Sans", *_installed(_OTHER_SCRIPTS)],
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


def _installed(families: Sequence[str]) -> list[str]:
    from matplotlib.font_manager import fontManager

    known = {font.name for font in fontManager.ttflist}
    return [family for family in families if family in known]
