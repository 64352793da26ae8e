"""The tasks, or the calls, sorted into strata."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from replay.analysis.figures import TaskSums, figures_of, sums_by_task
from replay.analysis.measures import sums_of
from replay.analysis.task_runs import TaskRuns
from replay.errors import UsageError
from replay.records.model_comparison import ModelStratum, Strata
from replay.records.tool_name import read_name
from replay.runfile import Run
from replay.runfile.model_queries import label_names, reference_tool_names
from replay.suggestions import nearest_names

if TYPE_CHECKING:
    from replay.formats import FileNames

UNKNOWN: Final = "(not known)"
SERVER, SERVERS, TYPE = "server", "single-or-multi-server", "type"


def strata_of(run: Run, table: TaskRuns, models: Sequence[str], by: str, names: FileNames | None) -> Strata:
    """The models' figures, stratum by stratum.

    Args:
        run: that they were read from.
        table: their runs of tasks.
        models: in the order of the rows.
        by: `type`, `server`, `single-or-multi-server`, or the name of a label.
        names: how the names of the results files give labels.

    Raises:
        UsageError: no task has such a label.
    """
    parts = _by_server(table) if by == SERVER else _by_label(table, _labels_of(run, table, by, names))
    found = {stratum for stratum, _ in parts}
    if by not in (TYPE, SERVER, SERVERS) and found <= {UNKNOWN}:
        raise _no_such_label(by, table, names)
    order = sorted(found, key=lambda stratum: (stratum == UNKNOWN, stratum))
    keys = [(stratum, model) for stratum in order for model in models if (stratum, model) in parts]
    sums = [parts[key] for key in keys]
    rows = zip(keys, sums, figures_of(sums, in_stratum=True), strict=True)
    return Strata(
        by=by,
        names=tuple(order),
        rows=tuple(
            ModelStratum(model=model, stratum=stratum, tasks=len(own.tasks), figures=figures)
            for (stratum, model), own, figures in rows
        ),
    )


def strata_names(run: Run) -> list[str]:
    """What the tasks of a run can be sorted by: those that every run has, and the labels of its tasks."""
    return [TYPE, SERVER, SERVERS, *label_names(run.connection)]


def _by_server(table: TaskRuns) -> dict[tuple[str, str], TaskSums]:
    found: dict[tuple[str, str], TaskSums] = {}
    for server in sorted({group.server for group in table.groups}):
        of_server = table.of_server(server)
        called = set(of_server.calls.run.tolist())
        sums = sums_of(of_server, of_calls_alone=True)
        for model, places in table.by_model.items():
            if chosen := [place for place in places if place in called]:
                own = sums_by_task([table.runs[place].task for place in chosen], sums[chosen])
                found[server or UNKNOWN, model] = own
    return found


def _by_label(table: TaskRuns, labels: Sequence[str | None]) -> dict[tuple[str, str], TaskSums]:
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, (one, label) in enumerate(zip(table.runs, labels, strict=True)):
        groups[label or UNKNOWN, one.model].append(place)
    sums = sums_of(table)
    return {
        key: sums_by_task([table.runs[place].task for place in places], sums[places]) for key, places in groups.items()
    }


def _labels_of(run: Run, table: TaskRuns, by: str, names: FileNames | None) -> list[str | None]:
    """The stratum of each run of a task."""
    if by == TYPE:
        return [one.type for one in table.runs]
    if by == SERVERS:
        servers = _server_counts(run, table)
        return [servers.get(one.task) for one in table.runs]
    labels = _labels_of_names(run, names) if names is not None else {}
    return [(one.labels | labels.get(one.file, {})).get(by) for one in table.runs]


def _labels_of_names(run: Run, names: FileNames) -> dict[int, dict[str, str]]:
    return {file: names.labels(path) for file, path in run.connection.execute("SELECT id, path FROM files")}


def _server_counts(run: Run, table: TaskRuns) -> dict[str, str]:
    """Whether a task needs one server or several: those that the reference calls, else that most of its runs called."""
    known = [name for (name,) in run.connection.execute("SELECT name FROM servers")]
    needed = {
        task: {server for tool in tools if (server := read_name(tool, known).server or tool.partition("/")[0])}
        for task, tools in reference_tool_names(run.connection).items()
    }
    runs_of_task = Counter(one.task for one in table.runs)
    calling: dict[str, Counter[str]] = defaultdict(Counter)
    for place, server in table.servers_called:
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
