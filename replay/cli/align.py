"""`replay align`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from replay.cli.input_files import InputFiles
from replay.cli.options import (
    DEFAULT_RUN,
    files_argument,
    find_missing_findings,
    json_option,
    judge_option,
    names_option,
    reference_option,
    run_option,
    strict_option,
    worker_location,
    workers_options,
)
from replay.cli.terminal import SlowLines, bar_on, echo_err, is_interactive, note, without_secrets
from replay.errors import FormatError, InputError, RunFileError, UsageError
from replay.safety.text import one_line
from replay.suggestions import nearest_names

if TYPE_CHECKING:
    from replay.alignment.aligner import Alignment, AlignmentSettings, Results
    from replay.alignment.judges import Judges
    from replay.alignment.output import RunStore
    from replay.alignment.tasks import Reference
    from replay.records import Certainty
    from replay.records.summary import Unread, UnreadFile
    from replay.replayer.pool import DoAll

EXAMPLES = """\b
Examples:
  replay align results/*.json --reference test_mcp_GT.json
  replay align results/gpt-5_test_mcp_fuzzy.json --reference test_mcp_GT.json --explain 00000003
  replay align results/*.json --reference REF.json --definitions equations --sweep
  replay align results/*.json --reference REF.json --judge judge.json --json > alignment.json
"""

_SHARE = click.FloatRange(0.0, 1.0)


@click.command(epilog=EXAMPLES)
@files_argument
@reference_option("The file with the reference trajectories, in any format that is read.", required=True)
@click.option(
    "--definitions",
    type=click.Choice(["published", "equations"]),
    default="published",
    show_default=True,
    help="As the released evaluator computes the metrics, or as the paper's equations say.",
)
@click.option("--tau-strong", type=_SHARE, default=0.8, show_default=True, help="Least similarity of a correct call.")
@click.option("--tau-weak", type=_SHARE, default=0.6, show_default=True, help="Least similarity of a matched pair.")
@click.option(
    "--tool-args-match-mode",
    type=click.Choice(["exact", "ignore", "subset", "superset"]),
    default="exact",
    show_default=True,
    help="How the trajectory matches (strict, unordered, subset, superset) compare arguments, as in agentevals.",
)
@click.option(
    "--ties",
    type=click.Choice(["rule", "published"]),
    default="rule",
    show_default=True,
    help="Of equally good assignments take that of our rule, or that of the released evaluator on this machine.",
)
@click.option(
    "--model",
    metavar="PATH|NAME",
    help="Embedding model: a directory, or a name on the model hub.  [default: all-MiniLM-L6-v2, as installed]",
)
@workers_options
@click.option("--no-cache", is_flag=True, help="Neither read nor keep embeddings in the user's cache directory.")
@judge_option("")
@click.option("--explain", "explained", metavar="TASK", help="Show a task's similarity matrices and chosen pairs.")
@click.option("--types", is_flag=True, help="Show each model's tasks by type too, worst first.")
@click.option("--sweep", "swept", is_flag=True, help="Show what other thresholds would give.")
@run_option("The run file: outcomes are taken from it, the alignment is kept in it.")
@names_option
@strict_option
@json_option
@click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values: rows of models, types and tasks.")
@click.pass_context
def align(
    context: click.Context,
    /,
    files: tuple[Path, ...],
    reference: Path,
    model: str | None,
    workers: int | None,
    cluster: str | None,
    no_cache: bool,
    judge_paths: tuple[Path, ...],
    explained: str | None,
    types: bool,
    swept: bool,
    run_path: Path,
    names: str | None,
    strict: bool,
    as_json: bool,
    as_csv: bool,
    **settings: Any,
) -> None:
    """Align predicted calls with reference calls, and score them.

    FILES are results files, folders, archives, glob patterns or - for stdin; the files of one model count as one. Each
    call is compared with the reference's calls of the same tool in the same task; the best assignment counts. Prints
    the classes of the calls, the share of tasks that match the reference as a whole, and last a leaderboard.
    """
    from replay.alignment.aligner import AlignmentSettings
    from replay.alignment.output import open_store
    from replay.replayer.worker_processes import workers_at

    if as_json and as_csv:
        raise UsageError("--json and --csv do not go together")
    how = AlignmentSettings(**settings)
    if how.tau_strong < how.tau_weak:
        raise UsageError(f"--tau-strong {how.tau_strong:g} is below --tau-weak {how.tau_weak:g}")
    location = worker_location(workers, cluster)
    inputs = InputFiles(files, names)
    run = None
    if run_path != DEFAULT_RUN or run_path.exists():
        run = open_store(run_path, asked=run_path != DEFAULT_RUN)
    done = _align(
        inputs,
        reference,
        run,
        settings=how,
        judge_paths=judge_paths,
        model=model,
        cached=not no_cache,
        do_all=context.with_resource(workers_at(location, note)) if location else None,
    )
    _print(done, explained=explained, types=types, swept=swept, as_json=as_json, as_csv=as_csv)
    inputs.end(strict=strict)
    if done.strangers:
        context.exit(2)


def keep_alignment(
    run_path: Path, reference: Path, files: Sequence[Path], names: str | None, judge_paths: Sequence[Path]
) -> None:
    """Align results files with a reference as `replay align` does by default, and keep that in their run.

    Raises:
        InputError: no file has a task in common with the reference.
    """
    from replay.alignment.aligner import AlignmentSettings
    from replay.alignment.output import RunStore

    inputs = InputFiles(tuple(files), names)
    _align(inputs, reference, RunStore(run_path), settings=AlignmentSettings(), judge_paths=judge_paths)


class _Aligned(NamedTuple):
    """What was aligned with what."""

    reference: Reference
    results: Sequence[Results]
    alignments: Sequence[Alignment]
    """One of each of the results."""
    strangers: bool
    """Whether some files have nothing to do with the reference, which was said."""
    unread: Unread | None
    certainties: Mapping[Certainty, int]
    """How many verdicts of these files, by which calls have their classes, are how certain."""


def _align(
    inputs: InputFiles,
    reference_path: Path,
    run: RunStore | None,
    *,
    settings: AlignmentSettings,
    judge_paths: Sequence[Path],
    model: str | None = None,
    cached: bool = True,
    do_all: DoAll | None = None,
) -> _Aligned:
    """Align files with a reference, in this process or on the workers of `do_all`, and keep that in the run."""
    from replay.alignment.aligner import align_model, group_by_model, signatures_to_embed
    from replay.alignment.embedding_cache import Embedder, default_path

    encoder = None
    if do_all is not None:
        from replay.alignment.on_workers import WorkersEncoder, align_on_workers

        encoder = WorkersEncoder(model, do_all)
    embedder = Embedder(model, default_path() if cached else None, echo_err, encoder)
    settings = replace(settings, encoder=embedder.model.name)
    reference = _reference(reference_path, run)
    per_file, strangers = _results(inputs, reference, run)
    with _bar() as progress:
        vectors = embedder.embed(signatures_to_embed(reference, per_file), progress)
    results = group_by_model(reference, per_file)
    judges = _judges(judge_paths, per_file, results)
    if do_all is None:
        alignments = [align_model(reference, of_model, vectors, settings, judges) for of_model in results]
    else:
        alignments = align_on_workers(do_all, reference, results, vectors, settings, judges)
    _keep(run, alignments, reference)
    return _Aligned(
        reference, results, alignments, strangers, _unread(inputs.unread, alignments), _certainties(run, inputs.paths)
    )


def _certainties(run: RunStore | None, paths: Sequence[str]) -> Mapping[Certainty, int]:
    from replay.runfile import Run
    from replay.runfile.summary import certainties

    if run is None:
        return {}
    with Run.read(run.path) as opened:
        return certainties(opened.connection, opened.file_ids(paths))


def _reference(path: Path, run: RunStore | None) -> Reference:
    """The reference file, read; what is odd about it is said."""
    from replay.alignment.tasks import read_reference
    from replay.formats import open_file
    from replay.formats.file_names import FileNames

    opened = open_file(path, FileNames())
    for warning in opened.warnings:
        echo_err(f"note: {warning}")
    return read_reference(opened, run.servers if run else {})


def _results(inputs: InputFiles, reference: Reference, run: RunStore | None) -> tuple[list[Results], bool]:
    """The files that can be aligned, and whether others have nothing to do with the reference, which is told."""
    from replay.alignment.aligner import Results
    from replay.alignment.tasks import no_common_id, pair_ids, sign

    results: list[Results] = []
    strangers: list[InputError] = []
    for file in inputs.open_all(need_calls=False):
        if not pair_ids(reference.tasks, file.ids):
            strangers.append(no_common_id(reference, file.path, file.ids))
            continue
        try:
            tasks = {trajectory.id: sign(trajectory) for trajectory in file.trajectories()}
        except FormatError as error:
            inputs.refused(file, error)
            continue
        results.append(Results(file.path, file.model, tasks, run.outcomes(file.path) if run else None))
    for stranger in strangers[: None if results else -1]:
        echo_err(f"replay: {stranger}")
    if strangers and not results:
        raise strangers[-1]
    if not results:
        raise InputError("", "no file could be read; see above")
    return results, bool(strangers)


def _unread(files: Sequence[UnreadFile], alignments: Sequence[Alignment]) -> Unread | None:
    """What was not read, and what it could change in the recall of its model."""
    from replay.records.summary import Unread, UnreadEffect

    effects: list[UnreadEffect] = []
    for model in (alignment.model for alignment in alignments):
        found, all_of_them = model.aggregate, model.aggregate_with_missing.total_gt_calls
        if model.missing and any(file.model == model.model for file in files):
            missing = all_of_them - found.total_gt_calls
            effects.append(UnreadEffect.on_recall(found.matched, all_of_them, missing, model.model))
    return Unread(files=tuple(files), effects=tuple(effects)) if files else None


def _judges(paths: Sequence[Path], results: Sequence[Results], together: Sequence[Results]) -> Judges:
    from replay.alignment.judges import read_judges

    judges = read_judges(paths, [name for one in results for name in one.names])
    names = [name for one in (*results, *together) for name in one.names]
    by_id = [identifier for name, identifier in judges.scores if not name and identifier]
    if by_id and len(together) > 1:
        nearest = nearest_names(by_id[0], names, limit=1)
        hint = f" (nearest: {one_line(nearest[0], 60)})" if nearest else ""
        raise UsageError(
            f"--judge: {one_line(by_id[0], 60)} is not a model of these files{hint}, and scores by id alone go with "
            "one results file; give them by model and then id"
        )
    for stranger in judges.unknown(names, (task for one in together for task in one.tasks)):
        nearest = nearest_names(stranger, names)
        hint = f"; nearest: {', '.join(one_line(name, 60) for name in nearest)}" if nearest else ""
        echo_err(f"note: --judge: {one_line(stranger, 60)} is neither a model nor a task of these files{hint}")
    return judges


def _keep(run: RunStore | None, alignments: Sequence[Alignment], reference: Reference) -> None:
    if run is None:
        return
    try:
        for file in run.save(alignments, reference):
            echo_err(f"note: {file} is not in the run: its outcomes are not known, and its alignment is not kept there")
        find_missing_findings(run.path)
    except RunFileError as error:
        echo_err(f"note: the alignment is not kept: {error}")


def _print(done: _Aligned, *, explained: str | None, types: bool, swept: bool, as_json: bool, as_csv: bool) -> None:
    from replay.alignment.aligner import sweep

    if explained is not None:
        parts = list(map(without_secrets, _explained(done, explained)))
    elif as_json:
        from replay.alignment.output import alignment_json

        sweeps = {each.model.file: sweep(each) for each in done.alignments} if swept else {}
        parts = [alignment_json(done.alignments, done.reference.faults, sweeps, done.unread, done.certainties)]
    elif as_csv:
        from replay.alignment.output import to_csv

        lines = to_csv(done.alignments).rstrip("\n").split("\n")
        parts = ["\n".join(map(without_secrets, lines))]
    else:
        parts = list(map(without_secrets, _tables(done, types=types, swept=swept)))
    click.echo("\n\n".join(parts))


def _tables(done: _Aligned, *, types: bool, swept: bool) -> Iterator[str]:
    from replay.alignment import tables
    from replay.alignment.aligner import sweep
    from replay.reports.basis import certainty_line, unread_lines

    models = [alignment.model for alignment in done.alignments]
    if done.reference.faults:
        yield tables.reference_faults(done.reference.faults)
    if types:
        yield from map(tables.by_type, models)
    yield "\n".join(filter(None, [tables.calls_table(models), certainty_line(done.certainties)]))
    yield tables.trajectory_match_table(models)
    if differing := [line for model in models for line in tables.differing_ids(model, done.reference)]:
        yield "\n".join(differing)
    if swept:
        yield from (tables.sweep_table(alignment.model, sweep(alignment)) for alignment in done.alignments)
    yield "\n".join([tables.leaderboard_text(models), *unread_lines(done.unread)])


def _explained(done: _Aligned, task: str) -> list[str]:
    from replay.alignment.tables import explain
    from replay.alignment.tasks import pair_ids

    if task not in done.reference.tasks:
        raise UsageError(f"--explain {task}: the reference {done.reference.path} has no such task")
    parts = []
    for alignment, results in zip(done.alignments, done.results, strict=True):
        predicted = pair_ids([task], results.tasks).get(task)
        if predicted is None:
            echo_err(f"note: {results.file} has no task {task}")
        else:
            parts.append(explain(alignment, done.reference.tasks[task], results.tasks[predicted]))
    if not parts:
        raise UsageError(f"--explain {task}: no results file has this task")
    return parts


@contextmanager
def _bar() -> Iterator[Callable[[int, int], None]]:
    """A progress bar on stderr while the model works; where nobody watches, a line every ten seconds."""
    if not is_interactive():
        lines = SlowLines()
        yield lambda done, total: lines.tell(f"embedding: {done}/{total} texts done")
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(file=sys.__stderr__), transient=True) as bar, bar_on(bar.console):
        task = bar.add_task("embedding", total=None, visible=False)
        yield lambda done, total: bar.update(task, completed=done, total=total, visible=True)
