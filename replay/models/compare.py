"""A run's models side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from replay.errors import UsageError
from replay.formats import FileNames
from replay.models.differences import differences_of
from replay.models.figures import TaskSums, figures_of, spread_of, sums_by_task
from replay.models.measures import MEASURES
from replay.models.strata import strata_of
from replay.models.success import associations, failed_in_tasks, recoveries
from replay.models.task_runs import TaskRun, read_task_runs
from replay.records import AlignedModel, Outcome
from replay.records.model_comparison import ComparedModel, FindingOfModel, ModelComparison, Strata
from replay.runfile import Run
from replay.runfile.alignment_queries import aligned_models
from replay.runfile.finding_queries import finding_counts
from replay.suggestions import nearest_names

MAX_PAIRED = 50
"""Models up to which every pair is tested."""
_OF_CALLS = "well_formed"
_BY_DEFAULT = ("average", "task_success", "score", _OF_CALLS)


@dataclass(frozen=True)
class Settings:
    """What to compare by."""

    files: tuple[int, ...] | None = None
    """The run's numbers of the results files; by default all."""
    sort: str | None = None
    metric: str | None = None
    """Of strata and differences; by default what is sorted by."""
    by: str | None = None
    names: FileNames | None = None
    """How file names give the label of `by`."""


def compare_models(run: Run, settings: Settings = Settings()) -> ModelComparison:
    """Compare the models of a run.

    Args:
        run: open for reading or writing; its findings are in the table `findings`.
        settings: what to compare by.

    Raises:
        UsageError: a measure or a stratum that there is not.
    """
    for option, name in (("--sort", settings.sort), ("--metric", settings.metric)):
        if name is not None and name not in MEASURES and not (option == "--sort" and name == "model"):
            nearest = ", ".join(nearest_names(name, MEASURES)) or ", ".join(MEASURES)
            raise UsageError(f"{option} {name}: there is no such measure; nearest: {nearest}")
    runs: dict[str, list[TaskRun]] = {}
    for one in read_task_runs(run, settings.files):
        runs.setdefault(one.model, []).append(one)
    if not runs:
        raise UsageError(f"{run.path}: there is no trajectory to compare")
    aligned = aligned_models(run.connection)
    sums = {model: sums_by_task(of_model) for model, of_model in runs.items()}
    models = [_model(run, model, runs[model], sums[model], aligned) for model in runs]
    sort = settings.sort or _default(models)
    metric = settings.metric or (sort if sort in MEASURES else _default(models))
    ordered = _sorted(models, sort)
    runs = {model.model: runs[model.model] for model in ordered}
    sums = {model: sums[model] for model in runs}
    strata = strata_of(run, runs, settings.by, settings.names) if settings.by else None
    if settings.metric is None and strata is not None and not _is_known(metric, strata):
        metric = _OF_CALLS
    chosen = dict.fromkeys(runs)
    return ModelComparison(
        measures=tuple(measure for name, measure in MEASURES.items() if any(name in one.figures for one in models)),
        sorted_by=sort,
        metric=metric,
        models=tuple(ordered),
        common_tasks=len(set.intersection(*(set(own.tasks) for own in sums.values()))),
        strata=strata,
        differences=differences_of(sums, metric) if 1 < len(runs) <= MAX_PAIRED else (),
        associations=associations(run, (one for of_model in runs.values() for one in of_model)),
        recoveries=recoveries(run, runs, settings.files),
        failed_in_tasks=failed_in_tasks(runs),
        findings=tuple(
            FindingOfModel(**row._asdict())
            for row in finding_counts(run.connection, settings.files)
            if row.model in chosen
        ),
        notes=tuple(_notes(ordered, sums, metric, strata)),
    )


def _model(
    run: Run, model: str, runs: Sequence[TaskRun], sums: TaskSums, aligned: Mapping[int, AlignedModel]
) -> ComparedModel:
    files = tuple(dict.fromkeys(one.file for one in runs))
    of_model = [record for file, record in aligned.items() if file in files and record.model == model]
    outcomes: Counter[Outcome] = Counter()
    for one in runs:
        outcomes.update(one.outcomes)
    paths = dict(run.connection.execute("SELECT id, path FROM files"))
    return ComparedModel(
        model=model,
        files=tuple(paths[file] for file in files),
        tasks=len(sums.tasks),
        trajectories=len(runs),
        runs=max(one.number for one in runs) + 1,
        calls=outcomes.total(),
        outcomes={outcome: outcomes[outcome] for outcome in Outcome},
        figures=figures_of(sums, judge=of_model[0].judge if len(of_model) == 1 else None),
        spread=spread_of(runs),
        missing=max((len(record.missing) for record in of_model), default=0),
    )


def _default(models: Sequence[ComparedModel]) -> str:
    """The first measure that every model has a figure of."""
    return next((name for name in _BY_DEFAULT if all(name in model.figures for model in models)), _OF_CALLS)


def _is_known(metric: str, strata: Strata) -> bool:
    """Measures of whole tasks are not, where the strata are of calls."""
    return any(metric in row.figures for row in strata.rows)


def _sorted(models: Sequence[ComparedModel], sort: str) -> list[ComparedModel]:
    """Best first; those without the figure last, and all by name where that is asked for."""
    if sort == "model":
        return sorted(models, key=lambda model: model.model)
    sign = 1 if MEASURES[sort].lower_is_better else -1

    def place(model: ComparedModel) -> tuple[bool, float, str]:
        figure = model.figures.get(sort)
        return figure is None, sign * figure.value if figure else 0.0, model.model

    return sorted(models, key=place)


def _notes(
    models: Sequence[ComparedModel], sums: Mapping[str, TaskSums], metric: str, strata: Strata | None
) -> Iterator[str]:
    if len(models) == 1:
        yield f"{models[0].model} is the only model: there is nothing to compare it with"
    elif len(models) > MAX_PAIRED:
        yield f"{len(models)} models: pairs of models are tested for up to {MAX_PAIRED}"
    elif not set.intersection(*(set(own.tasks) for own in sums.values())):
        some = any(set(a.tasks) & set(b.tasks) for n, a in enumerate(sums.values()) for b in list(sums.values())[:n])
        yield (
            "no task is common to all models: pairs are compared over the tasks that both have"
            if some
            else "the models have no task in common: their figures are of different tasks, and no difference is tested"
        )
    if not any("recall" in model.figures for model in models):
        yield "no alignment metrics: give the reference with --reference, or run replay align on this run"
    if not any("task_success" in model.figures or "score" in model.figures for model in models):
        yield "no task success: the recordings do not say which tasks passed"
    graded = [model.model for model in models if "grounding" in model.figures]
    if metric == "average" and 0 < len(graded) < len(models):
        yield f"averages over different columns: grounding is known of {', '.join(graded)} alone"
    without = [model.model for model in models if metric not in model.figures]
    if without:
        yield f"{MEASURES[metric].label} is not known of {', '.join(without)}"
    if strata is not None:
        yield from _notes_on_strata(strata, metric)


def _notes_on_strata(strata: Strata, metric: str) -> Iterator[str]:
    if not _is_known(metric, strata):
        yield f"{MEASURES[metric].label} is a measure of whole tasks, and no stratum by {strata.by} has it"
    single = list(dict.fromkeys(row.stratum for row in strata.rows if row.tasks == 1))
    if single:
        yield f"strata with one task, whose means have no interval: {', '.join(single[:8])}" + (
            f" and {len(single) - 8} more" if len(single) > 8 else ""
        )
