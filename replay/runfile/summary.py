"""What a run comes to, by SQL over its tables: counts by model, tool and rule, what went wrong most, root causes."""

from __future__ import annotations

import posixpath
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from replay.records import FAILURES, Certainty, Outcome, Reason, faults_of, qualified_name
from replay.records.summary import (
    Disagreements,
    FailureGroup,
    ModelSummary,
    RootCause,
    RunSummary,
    Unread,
    UnreadEffect,
    UnreadFile,
)
from replay.runfile.compare_queries import file_paths
from replay.runfile.repeated_calls import repeated_calls
from replay.runfile.rows import in_files, is_failure, placeholders, rows_as_dicts
from replay.runfile.run import Run
from replay.runfile.run_inputs import unread_files
from replay.runfile.trajectory_queries import Addresses


def summarize(
    run: Run,
    *,
    most: int = 10,
    files: Sequence[int] | None = None,
    most_models: int | None = None,
    unread: Sequence[UnreadFile] | None = None,
) -> RunSummary:
    """Counts by model, what went wrong most, and the root causes.

    Args:
        run: open for reading or writing.
        most: how many groups of failures and root causes at the most.
        files: the run's numbers of the files to count; by default all.
        most_models: how many models are listed, the first ones; by default all. The other counts are of all models.
        unread: files that could not be read; by default all that the run knows of.
    """
    where = in_files("f.id", files)
    addresses = Addresses.of(run)
    trials = run.trials()
    models = model_counts(run.connection, files)
    paths = file_paths(run.connection)
    outcomes: Counter[Outcome] = Counter()
    reasons: Counter[Reason] = Counter()
    for counted in models:
        outcomes.update(counted.outcomes)
        reasons.update(counted.reasons)
    return RunSummary(
        models=tuple(_model_summary(counted, paths) for counted in models[:most_models]),
        model_count=len(models),
        outcomes={outcome: outcomes[outcome] for outcome in Outcome},
        reasons=_most_first(reasons),
        faults=faults_of(outcomes, reasons),
        certainties=certainties(run.connection, files),
        failures=tuple(_groups(run, addresses, f"{is_failure('c.outcome')} AND {where}", most)),
        inconclusive=tuple(_groups(run, addresses, f"c.outcome = 'inconclusive' AND {where}", most)),
        root_causes=tuple(_root_causes(run, addresses, most, where)),
        disagreements=_disagreements(run, where),
        trials=trials,
        repeated=repeated_calls(run.connection, files),
        unread=_unread(unread_files(run.connection) if unread is None else unread, outcomes, models),
        flaky=tuple(_groups(run, addresses, f"c.details LIKE '%\"flaky\"%' AND {where}", most)) if trials > 1 else (),
    )


def _unread(
    files: Sequence[UnreadFile], outcomes: Mapping[Outcome, int], models: Sequence[ModelCount]
) -> Unread | None:
    """What was not read, and what it could change in the share of calls that succeeded."""
    if not files:
        return None
    effect = UnreadEffect.on_calls(files, outcomes, sum(len(counted.files) for counted in models))
    return Unread(files=tuple(files), effects=(effect,) if effect else ())


def certainties(connection: sqlite3.Connection, files: Sequence[int] | None = None) -> dict[Certainty, int]:
    """How many verdicts of these files (by the run's numbers, by default all) are how certain."""
    rows = connection.execute(
        f"SELECT certainty, sum(n) FROM call_groups WHERE n > 0 AND {in_files('file', files)} GROUP BY certainty"  # noqa: S608
    )
    counts = dict(rows.fetchall())
    return {certainty: counts[certainty] for certainty in get_args(Certainty) if certainty in counts}


def _disagreements(run: Run, where: str) -> Disagreements | None:
    condition = f"c.recorded IS NOT NULL AND c.replayed IS NOT NULL AND {where}"
    compared, calls, by_recording = run.connection.execute(
        "SELECT count(*), sum(c.recorded <> c.replayed), sum(c.recorded <> c.replayed AND c.evidence = 'recorded') "  # noqa: S608
        f"FROM calls c JOIN files f ON f.id = c.file WHERE {condition}"
    ).fetchone()
    if not compared:
        return None
    paths = [
        path
        for (path,) in run.connection.execute(
            "SELECT json_extract(c.details, '$.absent_path') FROM calls c JOIN files f ON f.id = c.file "  # noqa: S608
            f"WHERE c.details LIKE '%\"absent_path\"%' AND {condition}"
        )
        if path
    ]
    below = posixpath.commonpath([posixpath.dirname(path) for path in paths]) if paths else None
    return Disagreements(
        compared=compared, calls=calls, by_recording=by_recording, absent_paths=len(paths), absent_below=below
    )


def withheld_servers(run: Run) -> dict[str, int]:
    """How many calls of each server the effects policy kept back."""
    rows = run.connection.execute(
        "SELECT server, count(*) FROM calls WHERE replayed IS NULL AND details LIKE '%\"withheld\"%' GROUP BY server"
    )
    return dict(rows.fetchall())


def has_calls_of(run: Run, servers: Sequence[str], files: Sequence[int] | None = None) -> bool:
    """Whether a call of the files is of one of these servers."""
    query = f"SELECT 1 FROM calls WHERE server IN ({placeholders(servers)}) AND {in_files('file', files)} LIMIT 1"  # noqa: S608
    return run.connection.execute(query, tuple(servers)).fetchone() is not None


def calls_without_answer(run: Run, servers: Sequence[str], files: Sequence[int] | None = None) -> list[str]:
    """The addresses of calls to these servers that would be sent, and that no stored answer judges."""
    addresses = Addresses.of(run)
    rows = run.connection.execute(
        "SELECT f.path, t.name, c.position FROM calls c JOIN trajectories t ON t.id = c.trajectory "  # noqa: S608
        f"JOIN files f ON f.id = t.file WHERE c.server IN ({placeholders(servers)}) AND c.answer_key IS NULL "
        f"AND c.evidence NOT IN ('format', 'registry') AND {in_files('f.id', files)} ORDER BY c.trajectory, c.ordinal",
        tuple(servers),
    )
    return [addresses.call(*row) for row in rows]


def _model_summary(counted: ModelCount, paths: Mapping[int, str]) -> ModelSummary:
    return ModelSummary(
        model=counted.model,
        files=tuple(paths[file] for file in counted.files),
        trajectories=counted.trajectories,
        calls=sum(counted.outcomes.values()),
        outcomes={outcome: counted.outcomes.get(outcome, 0) for outcome in Outcome},
        reasons=_most_first(counted.reasons),
        faults=faults_of(counted.outcomes, counted.reasons),
    )


def _most_first(reasons: Mapping[Reason, int]) -> dict[Reason, int]:
    return dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0])))


def _groups(run: Run, addresses: Addresses, where: str, most: int) -> Iterator[FailureGroup]:
    rows = run.connection.execute(
        f"""
        WITH alike AS (
            SELECT c.server, c.tool, c.outcome, c.reason, c.rule, count(*) AS n,
                   min(c.trajectory * 1000000 + c.ordinal) AS first
            FROM calls c JOIN files f ON f.id = c.file WHERE {where}
            GROUP BY c.server, c.tool, c.outcome, c.reason, c.rule, c.message
        ), ranked AS (
            SELECT *, sum(n) OVER every AS calls, min(first) OVER every AS earliest,
                   row_number() OVER (every ORDER BY n DESC, first) AS rank
            FROM alike WINDOW every AS (PARTITION BY server, tool, outcome, reason, rule)
        )
        SELECT r.server, r.tool, r.outcome, CASE r.outcome WHEN 'inconclusive' THEN r.reason END AS reason, r.rule,
               r.calls, r.n AS alike, f.path AS example_file, t.name AS example_trajectory,
               c.position AS example_call, c.message AS example_message
        FROM (SELECT * FROM ranked WHERE rank = 1 ORDER BY calls DESC, earliest LIMIT ?) r
        JOIN calls c ON c.trajectory = r.first / 1000000 AND c.ordinal = r.first % 1000000
        JOIN trajectories t ON t.id = c.trajectory JOIN files f ON f.id = t.file ORDER BY r.calls DESC, r.earliest
        """,  # noqa: S608
        (most,),
    )
    for columns in rows_as_dicts(rows):
        example = addresses.call(*(columns[f"example_{name}"] for name in ("file", "trajectory", "call")))
        yield FailureGroup(**columns, example=example)


def _root_causes(run: Run, addresses: Addresses, most: int, where: str) -> Iterator[RootCause]:
    causes = f"""
        SELECT f.path, t.name, c.position, c.server, c.tool, c.outcome, g.trajectory
        FROM (
            SELECT trajectory, caused_by, count(*) AS n FROM calls c JOIN files f ON f.id = c.file
            WHERE caused_by IS NOT NULL AND {where} GROUP BY 1, 2 ORDER BY n DESC, 1, 2 LIMIT ?
        ) g
        JOIN calls c ON c.trajectory = g.trajectory AND c.position = g.caused_by
        JOIN trajectories t ON t.id = c.trajectory JOIN files f ON f.id = t.file ORDER BY g.n DESC, 7, 3
    """  # noqa: S608
    for path, name, cause, server, tool, outcome, trajectory in run.connection.execute(causes, (most,)).fetchall():
        followed = run.connection.execute(
            "SELECT outcome, count(*) FROM calls WHERE trajectory = ? AND caused_by = ? GROUP BY 1 ORDER BY 2 DESC, 1",
            (trajectory, cause),
        )
        yield RootCause(
            address=addresses.call(path, name, cause),
            file=path,
            trajectory=name,
            call=cause,
            tool=qualified_name(server, tool),
            outcome=outcome,
            followed={Outcome(outcome): count for outcome, count in followed},
        )


_MAX_ROOT_GROUPS: Final = 50
Breakdown: TypeAlias = Literal["server", "tool", "task_type", "rule", "reason"]


@dataclass(frozen=True)
class ModelCount:
    """One model, with all of its results files."""

    model: str
    files: tuple[int, ...]
    trajectories: int
    outcomes: dict[Outcome, int]
    reasons: dict[Reason, int]
    """Why calls are inconclusive."""


@dataclass(frozen=True)
class Group:
    """The calls that share a server, a tool, a task type, a rule or a reason."""

    names: tuple[str, ...]
    outcomes: dict[Outcome, int]


@dataclass(frozen=True)
class RootGroup:
    """Failures of one tool, under one rule, that made others fail."""

    tool: str
    """`server/tool`."""
    outcome: Outcome
    rule: str
    followed: int


def data_version(connection: sqlite3.Connection) -> int:
    """A number that moves when another process wrote to the run."""
    return int(connection.execute("PRAGMA data_version").fetchone()[0])


def model_counts(connection: sqlite3.Connection, files: Sequence[int] | None = None) -> list[ModelCount]:
    """The models that made calls, in the order of their files, with how many calls of each outcome.

    Args:
        connection: to the run file.
        files: the run's numbers of the files to count; by default all.
    """
    where = in_files("file", files)
    trajectories = dict(
        connection.execute(f"SELECT file, count(*) FROM trajectories WHERE {where} GROUP BY file")  # noqa: S608
    )
    outcomes: dict[str, Counter[Outcome]] = defaultdict(Counter)
    reasons: dict[str, Counter[Reason]] = defaultdict(Counter)
    for model, outcome, reason, number in connection.execute(
        "SELECT model, outcome, reason, sum(n) FROM outcome_counts JOIN files ON files.id = file "  # noqa: S608
        f"WHERE n > 0 AND {where} GROUP BY model, outcome, reason"
    ):
        outcomes[model][Outcome(outcome)] += number
        if reason and outcome == Outcome.INCONCLUSIVE:
            reasons[model][Reason(reason)] += number
    of_model: dict[str, list[int]] = defaultdict(list)
    for file, model in connection.execute(f"SELECT id, model FROM files WHERE {in_files('id', files)} ORDER BY id"):  # noqa: S608
        of_model[model].append(file)
    return [
        ModelCount(
            model,
            tuple(own),
            sum(trajectories.get(file, 0) for file in own),
            dict(outcomes[model]),
            dict(reasons[model]),
        )
        for model, own in of_model.items()
        if outcomes[model]
    ]


def breakdown(connection: sqlite3.Connection, by: Breakdown, files: Sequence[int] | None = None) -> list[Group]:
    """Counts by server, tool, task type, rule or reason; what has most failures first.

    Args:
        connection: to the run file.
        by: what to group by.
        files: only of these; by default all.
    """
    columns = "server, tool" if by == "tool" else by
    table = "outcome_counts" if by in {"task_type", "reason"} else "call_groups"
    rows = connection.execute(
        f"SELECT {columns}, outcome, sum(n) FROM {table} WHERE n > 0 AND {in_files('file', files)} "  # noqa: S608
        f"GROUP BY {columns}, outcome"
    )
    groups: dict[tuple[str, ...], dict[Outcome, int]] = {}
    for *names, outcome, number in rows:
        groups.setdefault(tuple(names), {})[Outcome(outcome)] = number
    found = [Group(names, outcomes) for names, outcomes in groups.items() if any(names) or by != "reason"]
    return sorted(found, key=lambda group: (-failed(group.outcomes), -sum(group.outcomes.values()), group.names))


def failed(outcomes: dict[Outcome, int]) -> int:
    """How many of the calls are failures of the model."""
    return sum(outcomes.get(outcome, 0) for outcome in FAILURES)


def root_groups(connection: sqlite3.Connection, files: Sequence[int] | None = None) -> list[RootGroup]:
    """The failures that made others fail, alike ones together; those that most followed from first."""
    rows = connection.execute(
        f"""
        WITH followers AS (
          SELECT c.trajectory, c.caused_by, count(*) AS n FROM calls c INDEXED BY calls_by_cause
          WHERE {in_files("c.file", files)} AND c.caused_by IS NOT NULL GROUP BY c.file, c.trajectory, c.caused_by
        )
        SELECT ifnull(r.server, ''), ifnull(r.tool, ''), r.outcome, r.rule, sum(f.n)
        FROM followers f JOIN calls r ON r.trajectory = f.trajectory AND r.position = f.caused_by
        GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC, 1, 2 LIMIT {_MAX_ROOT_GROUPS}
        """  # noqa: S608
    )
    return [
        RootGroup(qualified_name(server, tool), Outcome(outcome), rule, followed)
        for server, tool, outcome, rule, followed in rows
    ]
