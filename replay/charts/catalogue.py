"""The figures that there are, by name."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Final, NamedTuple

from replay.charts.canvas import Draw, FigureFormat, Medium, drawn
from replay.charts.options import FigureOptions
from replay.errors import UsageError
from replay.records.figure import FigureData
from replay.runfile import Run
from replay.suggestions import nearest_name


class FigureKind(NamedTuple):
    """One figure."""

    module: str
    """Of `replay.charts`, with its `gather`."""
    drawing: str
    """Of `replay.charts`, with its `draw`."""
    shows: str


FIGURES: Final = {
    "error-distribution": FigureKind(
        "error_distribution", "error_distribution", "How the calls of each model came out: stacked bars."
    ),
    "error-multiples": FigureKind("error_multiples", "error_multiples", "The failures by kind, a panel a model."),
    "leaderboard": FigureKind(
        "leaderboard", "leaderboard", "The models by average score, else by well-formed calls, with intervals."
    ),
    "metric-by-type": FigureKind(
        "metric_by_type", "metric_by_type", "A metric by type of task: a dot a model, with intervals."
    ),
    "model-finding": FigureKind("model_finding", "heat_map", "Which model makes which mistake: a heat map."),
    "model-server": FigureKind("model_server", "heat_map", "Which model fails at which server: a heat map."),
    "tool-outcome": FigureKind("tool_outcome", "heat_map", "How the calls to each tool came out: a heat map."),
}


def figure_data(name: str, run: Run, options: FigureOptions) -> FigureData:
    """The numbers of a figure.

    Raises:
        UsageError: there is no such figure, or the run has not what it shows.
    """
    gather: Callable[[Run, FigureOptions], FigureData] = import_module(f"replay.charts.{kind_of(name).module}").gather
    return gather(run, options)


def figure_file(data: FigureData, form: FigureFormat, medium: Medium = "paper") -> bytes:
    """A figure as a file's content.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    draw: Draw = import_module(f"replay.charts.{kind_of(data.figure).drawing}").draw
    return drawn(data, draw, form, medium)


def kind_of(name: str) -> FigureKind:
    """The figure of this name.

    Raises:
        UsageError: there is none; the nearest is named.
    """
    if name not in FIGURES:
        nearest = nearest_name(name, FIGURES)
        raise UsageError(f"there is no figure {name!r}; did you mean {nearest}? there are {', '.join(FIGURES)}")
    return FIGURES[name]
