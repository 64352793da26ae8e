"""`replay classify`."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from replay.alignment.other_benchmarks import mcpbench_rates, rates_line
from replay.analysis.answer_labels import known_labels
from replay.analysis.known_failures import failures_of, find_known_file, read_known_file
from replay.cli.input_files import InputFiles
from replay.cli.judging import judge_with_progress
from replay.cli.known import KnownInRun, note_unseen
from replay.cli.options import (
    DEFAULT_RUN,
    FILE,
    NEW,
    allow_effects_option,
    csv_option,
    fail_conditions,
    files_argument,
    first_moment,
    fleet_of,
    fleet_option,
    found_by,
    json_option,
    known_option,
    names_option,
    raise_on,
    run_option,
    strict_option,
    worker_location,
    workers_options,
)
from replay.cli.output import stdout_width
from replay.cli.terminal import closed_pipe_ignored, echo_err, ended_in_order, note, run_in_order, typed_command
from replay.diagnosis.phrasing import counted
from replay.errors import FoundFailuresError, UsageError
from replay.formats.mcpbench_results import McpBenchReader
from replay.records import qualified_name
from replay.records.summary import RunSummary
from replay.reports.summary import MAX_LISTED, summary_text
from replay.runfile import Run, summarize
from replay.runfile.compare_queries import has_format
from replay.runfile.run_inputs import RunCommand, save_command
from replay.runfile.summary import breakdown, calls_without_answer, has_calls_of
from replay.safety.redaction import Redactor
from replay.safety.text import one_line
from replay.suggestions import nearest_name

if TYPE_CHECKING:
    from replay.interpreter import Fleet
    from replay.replayer.cassette import Cassette
    from replay.replayer.plan import Options

_WITHOUT_FLEET = (
    "Name one with --servers FILE (your MCP client's server JSON will do), or judge by the recorded answers with "
    "--offline"
)

EXAMPLES = """\b
Examples:
  replay classify results/*.json
  replay classify results/*.json --servers mcp_servers.json --jobs 8
  replay classify runs/*.json --names '{model}_{task}.json' --allow-effects notion
  replay classify results/*.json --offline --json > run.json
  replay classify results/*.json --fail-on not_found,invalid_arguments
  replay classify ~/.claude/projects --offline --since 7d
"""


@click.command(epilog=EXAMPLES)
@files_argument
@fleet_option
@run_option("The run file: made where there is none, else resumed.")
@click.option("--fresh", is_flag=True, help="Start the run over; what the run file held is gone.")
@click.option(
    "--keep-inconclusive",
    is_flag=True,
    help="Do not try calls again that a server, its limits or the network kept from a verdict.",
)
@click.option("--offline", is_flag=True, help="Start no server: judge by stored and recorded answers.")
@click.option("--cassette", type=FILE, help="Judge by the answers in a cassette file; starts no server.")
@click.option(
    "--cassette-strict",
    is_flag=True,
    help="With --cassette: exit with 1 if a call of its servers has no answer in it, or none is of them.",
)
@click.option("--jobs", type=click.IntRange(1, 256), default=4, show_default=True, help="Trajectories side by side.")
@click.option(
    "--instances",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="Processes of each server without state; trajectories side by side share them out.",
)
@workers_options
@click.option(
    "--trials",
    type=click.IntRange(1, 1000),
    default=1,
    help="Re-issue so many times: finds volatile values and flaky outcomes.",
)
@allow_effects_option("Re-issue calls of this server although they may change something.")
@click.option(
    "--only",
    metavar="GLOB",
    help="Judge only calls whose SERVER/TOOL matches, e.g. 'excel/*'. Not into a run that holds others.",
)
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Take the first N trajectories of each file.")
@click.option(
    "--no-rebinding",
    "rebinding",
    flag_value=False,
    default=True,
    help="Send arguments as recorded, also where a producer's new answer differs.",
)
@click.option(
    "--fail-on",
    metavar="OUTCOMES",
    help="Exit with 1 if a call has one of these outcomes: failed (the four that are), illegal_format, unknown_tool, "
    "invalid_arguments, not_found, inconclusive; new (failed as is not known); or if more than a share has: "
    "'not_found>5%'. Comma-separated.",
)
@strict_option
@click.option("--since", metavar="TIME", help="Only files in which something happened since then: 7d, 12h, 2026-11-20.")
@known_option
@names_option
@json_option
@csv_option
def classify(
    files: tuple[Path, ...],
    fleet_path: Path | None,
    run_path: Path,
    fresh: bool,
    offline: bool,
    cassette: Path | None,
    cassette_strict: bool,
    jobs: int,
    workers: int | None,
    cluster: str | None,
    allow_effects: tuple[str, ...],
    fail_on: str | None,
    strict: bool,
    since: str | None,
    known_path: Path | None,
    names: str | None,
    as_json: bool,
    as_csv: bool,
    **plan: Any,  # the other fields of `Options`
) -> None:
    """Put every call into one of five outcomes, by replaying it.

    FILES are results files of any known format, folders or archives. Each call is re-issued through the real MCP server
    that it names; calls that may change something outside a sandbox are judged by their recorded answer unless you
    allow them. The same command goes on where an interrupted one stopped.
    """
    from replay.replayer.cassette import read_cassette
    from replay.replayer.plan import Options

    if cassette_strict and cassette is None:
        raise UsageError("--cassette-strict goes with --cassette")
    recorded = read_cassette(cassette) if cassette is not None else None
    conditions, by_recording = fail_conditions(fail_on), offline or cassette is not None
    location = worker_location(workers, cluster, 1 if by_recording else jobs)
    inputs = InputFiles(files, names, first_moment(since))
    with ended_in_order():
        is_known = run_path.exists() and not fresh
        # where servers start it must be known which ones, so the files are looked through first
        sources = inputs.sources(is_known=is_known) if by_recording else inputs.open_all()
    fleet = fleet_of(fleet_path, "" if by_recording else _WITHOUT_FLEET)
    options = Options(
        jobs=jobs,
        allow_effects=_known_servers(allow_effects, fleet),
        offline=by_recording,
        labels=known_labels(fleet),
        **plan,
    )
    with Run.open(run_path, fresh=fresh, redactor=Redactor(fleet.secrets() if fleet else ())) as run:
        _begin(run, fleet, options, names)
        run_in_order(judge_with_progress, run, inputs, sources, fleet, options, recorded, location)
        known = _known(run, inputs.paths, known_path, needed=NEW in {condition.name for condition in conditions})
        summary = _print(run, inputs, options, known, as_json=as_json, as_csv=as_csv)
        _check_answered(run, recorded, inputs.paths, strict=cassette_strict)
    raise_on(found_by(conditions, summary.outcomes, known.new if known else 0))
    inputs.end(strict=strict)


def _check_answered(run: Run, cassette: Cassette | None, paths: list[str], *, strict: bool) -> None:
    """See that the cassette, if any, answered every call of its servers that would have been sent, and there was one.

    Raises:
        FoundFailuresError: it is strict, and the cassette did not.
    """
    if cassette is None:
        return
    servers = [name for name, server in cassette.servers.items() if server.error is None]
    files = run.file_ids(paths)
    if not has_calls_of(run, servers, files):
        unused = f"{cassette.path} was not used: no call is of its servers ({', '.join(servers) or 'none'})"
        if strict:
            raise FoundFailuresError(f"--cassette-strict: {unused}")
        echo_err(f"note: {unused}")
    missed = calls_without_answer(run, servers, files) if strict else []
    if missed:
        more = f" and {len(missed) - 1} more" if len(missed) > 1 else ""
        raise FoundFailuresError(
            f"--cassette-strict: {cassette.path} has no answer to {missed[0]}{more}; record it anew"
        )


def _begin(run: Run, fleet: Fleet | None, options: Options, names: str | None) -> None:
    """Keep what the run is made with, for the commands that reports print, once it may be judged so.

    Raises:
        UsageError: the run holds verdicts that would be dropped.
    """
    _check_only(run, options)
    command = RunCommand(
        servers=str(fleet.path.absolute()) if fleet else None,
        allow_effects=tuple(sorted(options.allow_effects)),
        names=names,
        rebinding=options.rebinding,
    )
    save_command(run.connection, command)


def _known(run: Run, paths: list[str], known_path: Path | None, *, needed: bool) -> KnownInRun | None:
    """The failures by their fingerprints, which takes reading the trajectories again; None where nobody asks."""
    book = read_known_file(known_path or find_known_file(run.path))
    if book.path is None and not needed:
        return None
    if book.path is None:
        echo_err("note: there is no replay-known.yaml: every failure is new (replay known add makes one)")
    failures = failures_of(run, book.failures, run.file_ids(paths))
    note_unseen(book, failures)
    return KnownInRun(book, failures)


def _known_servers(names: tuple[str, ...], fleet: Fleet | None) -> frozenset[str]:
    known = list(fleet.servers) if fleet else []
    for name in names:
        if known and name not in known:
            nearest = nearest_name(name, known)
            raise UsageError(f"--allow-effects: there is no server {name!r} in the fleet; the nearest is {nearest!r}")
    return frozenset(names)


def _check_only(run: Run, options: Options) -> None:
    """See that a run keeps the verdicts that it holds: with `--only` it holds those of the glob alone.

    Raises:
        UsageError: it holds others.
    """
    groups = breakdown(run.connection, "tool") if options.only is not None else []
    held = sum(sum(group.outcomes.values()) for group in groups)
    kept = sum(sum(group.outcomes.values()) for group in groups if options.wanted(qualified_name(*group.names)))
    if kept < held:
        which = f"{kept or 'none'} of the {counted(held, 'call')} that {run.path} holds"
        raise UsageError(
            f"--only {options.only!r} matches {which}, and would drop the verdicts of the others: "
            "judge into another file with --run, or start this one over with --fresh"
        )


def _print(
    run: Run, inputs: InputFiles, options: Options, known: KnownInRun | None, *, as_json: bool, as_csv: bool
) -> RunSummary:
    files = run.file_ids(inputs.paths)
    summary = summarize(run, files=files, most_models=MAX_LISTED, unread=inputs.unread)
    if options.only is not None and not any(summary.outcomes.values()):
        raise UsageError(f"--only {options.only!r} matches no call of these files")
    if (others := run.file_count() - len(files)) > 0:
        shown = "it" if others == 1 else "them"
        note(f"{run.path} also holds {counted(others, 'other file')}; replay browse and report show {shown}")
    with closed_pipe_ignored():
        if as_json:
            from replay.reports.json_ import write_run_json

            write_run_json(run, sys.stdout, files, known.failures if known else None, inputs.unread)
        elif as_csv:
            from replay.reports.csv_ import write_csv

            write_csv(run, sys.stdout, files)
        else:
            dimmed = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
            click.echo(summary_text(summary, stdout_width(), partial(click.style, dim=True) if dimmed else str))
            if known is not None:
                click.echo("\n" + "\n".join(known.lines()))
            if rates := list(_mcpbench_rates(run, files, summary)):
                click.echo("\n" + "\n".join(["MCP-Bench's rates", *rates]))
            click.echo("\n" + "\n".join(_next_commands(run, summary)))
    return summary


def _mcpbench_rates(run: Run, files: Sequence[int], summary: RunSummary) -> Iterator[str]:
    """The benchmark's three rates of each model, where its results are among the files."""
    if not has_format(run.connection, McpBenchReader.name, files):
        return
    for model in summary.models:
        yield f"  {rates_line(one_line(model.model, 40), mcpbench_rates(model.outcomes))}"


def _next_commands(run: Run, summary: RunSummary) -> Iterator[str]:
    """What to do with the run, as it is typed."""
    where = [] if run.path == DEFAULT_RUN else ["--run", str(run.path)]
    commands = [["browse", *where]]
    if summary.failures:
        first = summary.failures[0]
        commands.append(["report", "--call", first.example, *where])
    commands.append(["report", "-o", "report.html", *where])
    for number, words in enumerate(commands):
        yield f"{'      ' if number else 'Next: '}{one_line(shlex.join([*typed_command(), *words]), 400)}"
