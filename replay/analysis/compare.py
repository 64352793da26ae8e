"""A run's models side by side."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from replay.analysis.estimates import (
    TaskSums,
    correlation_of,
    differences_of,
    figures_of,
    spread_of,
    sums_by_model,
    sums_by_task,
)
from replay.analysis.measures import MEASURES, sums_of
from replay.analysis.spending import spending_of
from replay.analysis.statistics import Numbers
from replay.analysis.task_runs import OUTCOMES, TaskRuns, read_task_runs
from replay.analysis.task_success import associations, failed_in_tasks, recoveries
from replay.analysis.taxonomies import TAXONOMIES, taxonomy_of
from replay.errors import UsageError
from replay.formats.file_names import FileNames
from replay.records.comparison import ComparedModel, ModelComparison, ModelStratum, Strata
from replay.records.rating import RECORDED_SCORES, SUMMED_UP
from replay.records.summary import Unread, UnreadEffect, UnreadFile
from replay.records.tool_name import read_name
from replay.runfile import Run
from replay.runfile.alignment_queries import aligned_models
from replay.runfile.compare_queries import file_paths
from replay.runfile.run_inputs import unread_files
from replay.runfile.task_runs import finding_counts, label_names, reference_tool_names
from replay.suggestions import nearest_names

MAX_PAIRED = 50
"""Models up to which every pair is tested."""
_OF_CALLS = "well_formed"
_BY_DEFAULT = ("average", "task_success", "score", *SUMMED_UP, _OF_CALLS)
_OF_TASKS = ("task_success", "score", "recall", *RECORDED_SCORES)
"""What is known of a model that made no call, where it is one; a session without calls is none."""


@dataclass(frozen=True)
class CompareSettings:
    """What to compare by."""

    files: tuple[int, ...] | None = None
    """The run's numbers of the results files; by default all."""
    sort: str | None = None
    metric: str | None = None
    """Of strata and differences; by default what is sorted by."""
    by: str | None = None
    """What tasks are sorted by, or the published taxonomy that findings are."""
    names: FileNames | None = None
    """How file names give the label of `by`."""
    unread: tuple[UnreadFile, ...] | None = None
    """Files that could not be read; by default all that the run knows of."""


def compare_models(run: Run, settings: CompareSettings = CompareSettings()) -> ModelComparison:
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
    table = read_task_runs(run, settings.files)
    if not table.runs:
        raise UsageError(f"{run.path}: there is no trajectory to compare")
    sums_of_runs = sums_of(table)
    sums = sums_by_model(table, sums_of_runs)
    models = _models(run, table, sums_of_runs, sums)
    if not models:
        raise UsageError(f"{run.path}: no model made a call")
    sort = settings.sort or _default(models)
    metric = settings.metric or (sort if sort in MEASURES else _default(models))
    ordered = sorted_models(models, sort)
    sums = {model.model: sums[model.model] for model in ordered}
    names = tuple(sums)
    taxonomy = settings.by if settings.by in TAXONOMIES else None
    by = None if taxonomy else settings.by
    strata = strata_of(run, table, names, by, settings.names) if by else None
    aligned = any("recall" in model.figures for model in models)
    if settings.metric is None and strata is not None and not _is_known(metric, strata):
        metric = _OF_CALLS
    return ModelComparison(
        measures=tuple(measure for name, measure in MEASURES.items() if any(name in one.figures for one in models)),
        sorted_by=sort,
        metric=metric,
        models=tuple(ordered),
        common_tasks=len(set.intersection(*(set(own.tasks) for own in sums.values()))),
        strata=strata,
        differences=differences_of(sums, metric) if 1 < len(sums) <= MAX_PAIRED else (),
        associations=associations(run, table),
        recoveries=recoveries(run, table, names, settings.files),
        failed_in_tasks=failed_in_tasks(table, names),
        findings=tuple(row for row in finding_counts(run.connection, settings.files) if row.model in sums),
        taxonomy=taxonomy_of(run, table, names, taxonomy, aligned=aligned) if taxonomy else None,
        spending=spending_of(run, settings.files),
        unread=_unread(unread_files(run.connection) if settings.unread is None else settings.unread, ordered),
        notes=(*_notes(ordered, sums, metric, strata), *_notes_on_runs(ordered)),
    )


def _models(run: Run, table: TaskRuns, sums_of_runs: Numbers, sums: Mapping[str, TaskSums]) -> list[ComparedModel]:
    aligned = aligned_models(run.connection)
    paths = file_paths(run.connection)
    compared = []
    for model, own in sums.items():
        rows = table.by_model[model]
        files = tuple(dict.fromkeys(table.runs[row].file for row in rows))
        records = [record for file, record in aligned.items() if file in files and record.model == model]
        outcomes = dict(zip(OUTCOMES, table.outcome_counts[rows].sum(axis=0).tolist(), strict=True))
        repeated = table.repeated(model)
        each = [_sums(table, sums_of_runs, numbered) for numbered in repeated]
        compared.append(
            ComparedModel(
                model=model,
                files=tuple(paths[file] for file in files),
                tasks=len(own.tasks),
                trajectories=len(rows),
                runs=len(repeated),
                calls=sum(outcomes.values()),
                outcomes=outcomes,
                figures=figures_of(own, judge=records[0].judge if len(records) == 1 else None),
                repeated=len(repeated[0]),
                spread=spread_of(each) if 2 * len(repeated[0]) > len(own.tasks) else None,
                missing=max((len(record.missing) for record in records), default=0),
                correlation=correlation_of(own),
            )
        )
    return [model for model in compared if model.calls or not model.figures.keys().isdisjoint(_OF_TASKS)]


def _unread(files: Sequence[UnreadFile], models: Sequence[ComparedModel]) -> Unread | None:
    """What was not read, and what it could change in the tasks that its model passed, else in its calls."""
    if not files:
        return None
    effects: list[UnreadEffect] = []
    for model in models:
        own = [file for file in files if file.model == model.model]
        passed = model.figures.get("task_success")
        if own and passed is not None:
            each = max(1, round(model.trajectories / len(model.files)))
            effects.append(UnreadEffect.on_tasks(len(own), passed.value, passed.n, each, model.model))
        elif own and (effect := UnreadEffect.on_calls(own, model.outcomes, len(model.files), model.model)) is not None:
            effects.append(effect)
    return Unread(files=tuple(files), effects=tuple(effects))


def _sums(table: TaskRuns, sums_of_runs: Numbers, rows: Sequence[int]) -> TaskSums:
    return sums_by_task([table.runs[row].task for row in rows], sums_of_runs[rows])


def _default(models: Sequence[ComparedModel]) -> str:
    """The first measure that every model has a figure of."""
    return next((name for name in _BY_DEFAULT if all(name in model.figures for model in models)), _OF_CALLS)


def _is_known(metric: str, strata: Strata) -> bool:
    """Measures of whole tasks are not, where the strata are of calls."""
    return any(metric in row.figures for row in strata.rows)


def sorted_models(models: Sequence[ComparedModel], sort: str) -> list[ComparedModel]:
    """Best first; those without the figure last, and all by name where that is asked for.

    Args:
        models: in any order.
        sort: a measure, or `model`.
    """
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


def _notes_on_runs(models: Sequence[ComparedModel]) -> Iterator[str]:
    for model in models:
        if model.runs > 1 and model.repeated < model.tasks:
            few = f"{model.model}: only {model.repeated} of its {model.tasks} tasks have all {model.runs} runs"
            yield f"{few}: {'the figures run by run are of these' if model.spread else 'no deviation from run to run'}"


def _notes_on_strata(strata: Strata, metric: str) -> Iterator[str]:
    if not _is_known(metric, strata):
        yield f"{MEASURES[metric].label} is a measure of whole tasks, and no stratum by {strata.by} has it"
    single = list(dict.fromkeys(row.stratum for row in strata.rows if row.tasks == 1))
    if single:
        yield f"strata with one task, whose means have no interval: {', '.join(single[:8])}" + (
            f" and {len(single) - 8} more" if len(single) > 8 else ""
        )


UNKNOWN: Final = "(not known)"
SERVER, SERVERS, TYPE = "server", "single-or-multi-server", "type"
_AND: Final = " / "
"""Between the labels of a stratum by several."""
_EASIER_FIRST: Final = {"trivial": 1, "easy": 2, "simple": 2, "medium": 3, "moderate": 3, "hard": 4, "difficult": 4}


def strata_of(run: Run, table: TaskRuns, models: Sequence[str], by: str, names: FileNames | None) -> Strata:
    """The models' figures, stratum by stratum.

    Args:
        run: that they were read from.
        table: their runs of tasks.
        models: in the order of the rows.
        by: `type`, `server`, `single-or-multi-server`, or the name of a label; several with commas.
        names: how the names of the results files give labels.

    Raises:
        UsageError: no task has such a label.
    """
    parts = _by_server(table) if by == SERVER else _by_label(table, _joined_labels(run, table, by, names))
    order = sorted({stratum for stratum, _ in parts}, key=_stratum_order)
    keys = [(stratum, model) for stratum in order for model in models if (stratum, model) in parts]
    return Strata(
        by=by,
        names=tuple(order),
        rows=tuple(
            ModelStratum(
                model=model,
                stratum=stratum,
                tasks=len(parts[stratum, model].tasks),
                figures=figures_of(parts[stratum, model], in_stratum=True),
            )
            for stratum, model in keys
        ),
    )


def _joined_labels(run: Run, table: TaskRuns, by: str, names: FileNames | None) -> list[str | None]:
    """The stratum of each run of a task; of several labels all of them."""
    labels: list[list[str | None]] = []
    for name in map(str.strip, by.split(",")):
        if name == SERVER:
            raise UsageError(f"--by {by}: {SERVER} sorts calls, not tasks, and stands alone")
        if name in TAXONOMIES:
            raise UsageError(f"--by {by}: {name} sorts findings, not tasks, and stands alone")
        labels.append(_labels_of(run, table, name, names))
        if name not in (TYPE, SERVERS) and not any(labels[-1]):
            raise _no_such_label(name, table, names)
    return [
        _AND.join(label or UNKNOWN for label in of_run) if any(of_run) else None for of_run in zip(*labels, strict=True)
    ]


def _stratum_order(stratum: str) -> tuple[tuple[bool, int, str], ...]:
    """By the parts of a stratum: what is easier first, else by name, and what is not known last."""
    return tuple((part == UNKNOWN, _EASIER_FIRST.get(part.casefold(), 0), part) for part in stratum.split(_AND))


def strata_names(run: Run) -> list[str]:
    """What the tasks of a run can be sorted by: those that every run has, and the labels of its tasks."""
    return [TYPE, SERVER, SERVERS, *label_names(run.connection)]


def _by_server(table: TaskRuns) -> dict[tuple[str, str], TaskSums]:
    found: dict[tuple[str, str], TaskSums] = {}
    for server in sorted({group.server for group in table.groups}):
        of_server = table.of_server(server)
        called = set(of_server.calls.run.tolist())
        sums = sums_of(of_server, of_calls_alone=True)
        for model, rows in table.by_model.items():
            if chosen := [row for row in rows if row in called]:
                found[server or UNKNOWN, model] = _sums(table, sums, chosen)
    return found


def _by_label(table: TaskRuns, labels: Sequence[str | None]) -> dict[tuple[str, str], TaskSums]:
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row, (task_run, label) in enumerate(zip(table.runs, labels, strict=True)):
        groups[label or UNKNOWN, task_run.model].append(row)
    sums = sums_of(table)
    return {key: _sums(table, sums, rows) for key, rows in groups.items()}


def _labels_of(run: Run, table: TaskRuns, by: str, names: FileNames | None) -> list[str | None]:
    """The stratum of each run of a task."""
    if by == TYPE:
        return [one.type for one in table.runs]
    if by == SERVERS:
        servers = _server_counts(run, table)
        return [servers.get(one.task) for one in table.runs]
    paths = file_paths(run.connection)
    labels = {file: names.labels(path) for file, path in paths.items()} if names is not None else {}
    return [(one.labels | labels.get(one.file, {})).get(by) for one in table.runs]


def _server_counts(run: Run, table: TaskRuns) -> dict[str, str]:
    """Whether a task needs one server or several: those that the reference calls, else that most of its runs called."""
    known = list(run.servers())
    needed = {
        task: {server for tool in tools if (server := read_name(tool, known).server or tool.partition("/")[0])}
        for task, tools in reference_tool_names(run.connection).items()
    }
    runs_of_task = Counter(one.task for one in table.runs)
    calling: dict[str, Counter[str]] = defaultdict(Counter)
    for place, server in table.runs_calling([group.server for group in table.groups]):
        calling[table.runs[place].task][server] += 1
    for task, n in runs_of_task.items():
        if task not in needed:
            needed[task] = {server for server, calling_it in calling[task].items() if 2 * calling_it > n}
    several = {True: "multi-server", False: "single-server"}
    return {task: several[len(servers) > 1] for task, servers in needed.items() if servers}


def _no_such_label(by: str, table: TaskRuns, names: FileNames | None) -> UsageError:
    labels = Counter(name for one in table.runs for name in one.labels)
    from replay.formats.task_facts import LABELS

    known = [TYPE, SERVER, SERVERS, *labels, *(names.label_names if names else ())]
    if by in LABELS:
        return UsageError(f"--by {by}: no task says its {by}; there are {', '.join(known)}, or a field of --names")
    nearest = nearest_names(by, known)
    hint = f"nearest: {', '.join(nearest)}" if nearest else f"there are {', '.join(known)}"
    return UsageError(f"--by {by}: no task has such a label; {hint}; fields of file names are read with --names")
