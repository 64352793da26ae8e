"""The tasks, or the calls, sorted into strata."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from replay.errors import UsageError
from replay.formats import FileNames
from replay.formats.task_facts import LABELS
from replay.models.figures import figures_of, sums_by_task
from replay.models.task_runs import TaskRun
from replay.records.model_comparison import ModelStratum, Strata
from replay.records.tool_name import read_name
from replay.runfile import Run
from replay.runfile.model_queries import reference_tool_names
from replay.suggestions import nearest_names

UNKNOWN: Final = "(not known)"
SERVER, SERVERS, TYPE = "server", "single-or-multi-server", "type"


def strata_of(run: Run, runs: Mapping[str, Sequence[TaskRun]], by: str, names: FileNames | None) -> Strata:
    """The models' figures, stratum by stratum.

    Args:
        run: that they were read from.
        runs: by model, in the order of the rows.
        by: `type`, `server`, `single-or-multi-server`, or the name of a label.
        names: how the names of the results files give labels.

    Raises:
        UsageError: no task has such a label.
    """
    labels = _labels_of_names(run, names) if names is not None else {}
    servers = _server_counts(run, (one for of_model in runs.values() for one in of_model)) if by == SERVERS else {}
    grouped = {model: _grouped(of_model, by, labels, servers) for model, of_model in runs.items()}
    found = {stratum for groups in grouped.values() for stratum in groups}
    if by not in (TYPE, SERVER, SERVERS) and found <= {UNKNOWN}:
        raise _no_such_label(by, runs, names)
    order = sorted(found, key=lambda stratum: (stratum == UNKNOWN, stratum))
    rows = []
    for stratum in order:
        for model, groups in grouped.items():
            if part := groups.get(stratum):
                sums = sums_by_task(part)
                figures = figures_of(sums, in_stratum=True)
                rows.append(ModelStratum(model=model, stratum=stratum, tasks=len(sums.tasks), figures=figures))
    return Strata(by=by, names=tuple(order), rows=tuple(rows))


def _grouped(
    runs: Sequence[TaskRun], by: str, labels: Mapping[int, dict[str, str]], servers: Mapping[str, str]
) -> dict[str, list[TaskRun]]:
    groups: dict[str, list[TaskRun]] = defaultdict(list)
    if by == SERVER:
        for one in runs:
            for server in dict.fromkeys(call.group.server for call in one.calls):
                groups[server or UNKNOWN].append(one.of_server(server))
        return groups
    for one in runs:
        if by == TYPE:
            stratum = one.type
        elif by == SERVERS:
            stratum = servers.get(one.task)
        else:
            stratum = (one.labels | labels.get(one.file, {})).get(by)
        groups[stratum or UNKNOWN].append(one)
    return groups


def _labels_of_names(run: Run, names: FileNames) -> dict[int, dict[str, str]]:
    return {file: names.labels(path) for file, path in run.connection.execute("SELECT id, path FROM files")}


def _server_counts(run: Run, runs: Iterable[TaskRun]) -> dict[str, str]:
    """Whether a task needs one server or several: those that the reference calls, else that most of its runs called."""
    known = [name for (name,) in run.connection.execute("SELECT name FROM servers")]
    needed = {
        task: {server for tool in tools if (server := read_name(tool, known).server or tool.partition("/")[0])}
        for task, tools in reference_tool_names(run.connection).items()
    }
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for one in runs:
        counts[one.task].update({call.group.server for call in one.calls if call.group.server} | {""})
    for task, count in counts.items():
        if task not in needed:
            needed[task] = {server for server, n in count.items() if server and 2 * n > count[""]}
    several = {True: "multi-server", False: "single-server"}
    return {task: several[len(servers) > 1] for task, servers in needed.items() if servers}


def _no_such_label(by: str, runs: Mapping[str, Sequence[TaskRun]], names: FileNames | None) -> UsageError:
    labels = Counter(name for of_model in runs.values() for one in of_model for name in one.labels)
    known = [TYPE, SERVER, SERVERS, *labels, *(names.label_names if names else ())]
    if by in LABELS:
        return UsageError(f"--by {by}: no task says its {by}; there are {', '.join(known)}, or a field of --names")
    nearest = nearest_names(by, known)
    hint = f"nearest: {', '.join(nearest)}" if nearest else f"there are {', '.join(known)}"
    return UsageError(f"--by {by}: no task has such a label; {hint}; fields of file names are read with --names")
