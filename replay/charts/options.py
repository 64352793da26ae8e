"""What of a run a chart shows, and what gathering one chart has in common with the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TypeVar

from replay.errors import UsageError
from replay.records import Outcome
from replay.records.chart import Cells
from replay.records.summary import ModelSummary
from replay.runfile import Run, summarize
from replay.safety.text import one_line
from replay.suggestions import nearest_names

Item = TypeVar("Item")


@dataclass(frozen=True)
class ChartOptions:
    """Which models, how many rows, and which metric."""

    models: tuple[str, ...] = ()
    """By name or results file; all where empty."""
    rows: int = 30
    """Of heat maps: as many at the most."""
    metric: str | None = None
    """Of the charts that show one."""


def chosen_models(run: Run, options: ChartOptions) -> tuple[ModelSummary, ...]:
    """The models of a run that are asked for.

    Raises:
        UsageError: a run without verdicts, or a model that it does not have; the nearest are named.
    """
    run.check_has_verdicts()
    models, wanted = summarize(run).models, set(options.models)
    spellings = [(model.model, *model.files, *(PurePath(file).stem for file in model.files)) for model in models]
    known = [name for own in spellings for name in own]
    for name in options.models:
        if name not in known:
            nearest = ", ".join(one_line(near, 60) for near in nearest_names(name, known))
            raise UsageError(f"there is no model {one_line(name, 60)} in this run; nearest: {nearest}")
    return tuple(model for model, own in zip(models, spellings, strict=True) if not wanted or wanted.intersection(own))


def one_model_note(models: Sequence[object]) -> tuple[str, ...]:
    """That there is nothing to compare, where there is not."""
    return ("The run has one model only: there is nothing to compare it with.",) if len(models) == 1 else ()


def best_first(models: Sequence[ModelSummary]) -> list[ModelSummary]:
    """The models by their share of well-formed calls; those of which no call was judged last."""
    return sorted(models, key=lambda model: -(model.well_formed / model.conclusive if model.conclusive else -1))


def shares(counts: Sequence[Sequence[int]], totals: Sequence[int]) -> Cells:
    """What each count is of the total of its row; None in a row without any."""
    return tuple(
        tuple(count / total if total else None for count in row) for row, total in zip(counts, totals, strict=True)
    )


def cut_off(items: Sequence[Item], most: int, noun: str) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    """The first of the items, and a note on how many are not shown."""
    more = len(items) - most
    return tuple(items[:most]), (f"{noun.capitalize()} that are not shown (--rows): {more}.",) if more > 0 else ()


def judged_calls(counts: Mapping[Outcome, int]) -> int:
    """How many of the calls count in a category."""
    return sum(counts.values()) - counts.get(Outcome.INCONCLUSIVE, 0)
