"""What of a run a figure shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from replay.errors import UsageError
from replay.records.summary import ModelSummary
from replay.runfile import Run, summarize
from replay.safety.text import one_line
from replay.suggestions import nearest_names


@dataclass(frozen=True)
class FigureOptions:
    """Which models, how many rows, and which metric."""

    models: tuple[str, ...] = ()
    """By name or results file; all where empty."""
    rows: int = 30
    """Of heat maps: as many at the most."""
    metric: str | None = None
    """Of the figures that show one."""


def chosen_models(run: Run, options: FigureOptions) -> tuple[ModelSummary, ...]:
    """The models of a run that are asked for.

    Raises:
        UsageError: a run without verdicts, or a model that it does not have.
    """
    if not run.has_verdicts():
        raise UsageError(f"{run.path}: this run has no verdicts yet; make some with: replay classify results/*.json")
    models = summarize(run).models
    check_names(options.models, [name for model in models for name in spellings(model)])
    return tuple(model for model in models if not options.models or set(options.models) & set(spellings(model)))


def spellings(model: ModelSummary) -> Sequence[str]:
    """What a model may be called: its name, its files."""
    return (model.model, *model.files, *(PurePath(file).stem for file in model.files))


def check_names(wanted: Iterable[str], known: Sequence[str]) -> None:
    """See that every model that is asked for is there.

    Raises:
        UsageError: one is not; the nearest are named.
    """
    for name in wanted:
        if name not in known:
            nearest = ", ".join(one_line(found, 60) for found in nearest_names(name, known))
            raise UsageError(f"there is no model {one_line(name, 60)} in this run; nearest: {nearest}")


def one_model_note(models: Sequence[object]) -> tuple[str, ...]:
    """That there is nothing to compare, where there is not."""
    return ("The run has one model only: there is nothing to compare it with.",) if len(models) == 1 else ()
