"""`replay compare`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click

from replay.cli.browse import is_run, run_of_its_own
from replay.cli.input_files import InputFiles
from replay.cli.options import (
    DEFAULT_RUN,
    json_option,
    judge_option,
    names_option,
    reference_option,
    results_argument,
    run_option,
    strict_option,
)
from replay.cli.output import format_option, output_format, output_options, stdout_width, write_output
from replay.cli.terminal import echo_err
from replay.errors import InputError, UsageError
from replay.formats.file_names import FileNames
from replay.runfile import Run
from replay.runfile.compare_queries import file_paths

EXAMPLES = """\b
Examples:
  replay compare
  replay compare results/*.json --reference test_mcp_GT.json
  replay compare --by type --metric average
  replay compare runs/ --names '{model}_{difficulty}_{task}.json' --by difficulty --metric task_success
  replay compare --by family,difficulty --metric task_success
  replay compare --by tobench
  replay compare --sort tokens --format markdown
"""
_FORMATS = ("text", "json", "csv", "markdown", "html")


@click.command("compare", epilog=EXAMPLES)
@results_argument
@run_option("The run file; RESULTS that it does not hold are judged by their recorded answers, and not kept.")
@reference_option("Align with these reference trajectories first, as replay align does.")
@judge_option("With --reference: ")
@click.option(
    "--by",
    metavar="WHAT",
    help="Strata: type, server, single-or-multi-server, difficulty, family, a field of --names; several with commas. "
    "tobench: findings by the classes of TOBench's taxonomy.",
)
@click.option("--metric", metavar="MEASURE", help="What strata and differences are about.  [default: as --sort]")
@click.option(
    "--sort",
    metavar="MEASURE",
    help="Column to sort by, best first, or model.  [default: the first that all models have of average, task_success, "
    "score, mcpbench_overall, mcpeval_trajectory, mcpeval_completion, well_formed]",
)
@names_option
@strict_option
@format_option(_FORMATS, "text")
@json_option
@output_options()
def compare(
    files: tuple[Path, ...],
    run_path: Path,
    reference: Path | None,
    judge_paths: tuple[Path, ...],
    by: str | None,
    metric: str | None,
    sort: str | None,
    names: str | None,
    strict: bool,
    form: str | None,
    as_json: bool,
    output: Path | None,
    force: bool,
) -> None:
    """Set many models side by side, with intervals and tests.

    One row a model, whatever files it stands in: outcomes, task success, alignment metrics, tokens, calls, recovery.
    Without RESULTS all of the run is compared. Several runs of a task by a model are runs of it, with their spread.
    """
    from replay.analysis.compare import CompareSettings, compare_models
    from replay.reports.compare import render

    form = output_format("json" if as_json else form, output, _FORMATS, "text", force=force)
    if judge_paths and reference is None:
        raise UsageError("--judge goes with --reference: the scores count in its average")
    inputs, run_path = run_among(files, run_path, names)
    pattern = FileNames(names) if names is not None else None
    labelling = pattern if pattern is not None and pattern.label_names else None
    with run_of(inputs, run_path, reference, judge_paths, names) as (run, numbers):
        unread = tuple(inputs.unread) if inputs else None
        settings = CompareSettings(numbers, sort, metric, by, labelling, unread)
        found = compare_models(run, settings)
    text = render(found, form, stdout_width())
    write_output([text.rstrip("\n") + "\n"], output)
    if inputs is not None:
        inputs.end(strict=strict)


def run_among(files: tuple[Path, ...], run_path: Path, names: str | None) -> tuple[InputFiles | None, Path]:
    """The files, if any, and the run; a run file that stands alone where results files may is the run."""
    if len(files) == 1 and run_path == DEFAULT_RUN and is_run(files[0]):
        return None, files[0]
    return InputFiles(files, names) if files else None, run_path


@contextmanager
def run_of(
    inputs: InputFiles | None,
    run_path: Path,
    reference: Path | None,
    judge_paths: tuple[Path, ...],
    names: str | None,
    *,
    with_findings: bool = True,
) -> Iterator[tuple[Run, tuple[int, ...] | None]]:
    """The run to compare, open for reading, and its numbers of the files; None for all of them."""
    from replay.cli.options import find_missing_findings

    with ExitStack() as stack:
        if inputs is not None:
            run_path, paths = _run_with(inputs, run_path, stack, with_findings), inputs.paths
        else:
            with Run.read(run_path) as run:
                paths = list(file_paths(run.connection).values())
        if reference is not None:
            from replay.cli.align import keep_alignment

            keep_alignment(run_path, reference, [Path(path) for path in paths], names, judge_paths)
        if with_findings:
            find_missing_findings(run_path, say=True)
        run = stack.enter_context(Run.read(run_path))
        yield run, run.file_ids(paths) if inputs is not None else None


def _run_with(inputs: InputFiles, run_path: Path, stack: ExitStack, with_findings: bool) -> Path:
    """A run that holds these files: the one that is named, else one for this comparison alone."""
    opened = inputs.open_all()
    if run_path.exists():
        with Run.read(run_path) as run:
            if len(run.file_ids(inputs.paths)) == len(set(inputs.paths)):
                return run_path
    elif run_path != DEFAULT_RUN:
        raise InputError(str(run_path), "there is no such run; make one with: replay classify")
    calls = sum(file.calls for file in opened)
    echo_err(f"judging {calls} calls by their recorded answers (replay classify judges them by replaying them) ...")
    return run_of_its_own(opened, stack, with_findings=with_findings)
