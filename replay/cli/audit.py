"""`replay audit`."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import click

from replay.cli.compare import run_among, run_of
from replay.cli.options import DEFAULT_RUN, fleet_of, fleet_option, json_option, names_option, run_option
from replay.cli.terminal import closed_pipe_ignored, echo_err

if TYPE_CHECKING:
    from replay.records.audit import Audit
    from replay.records.files import CallRow
    from replay.runfile import Run

EXAMPLES = """\b
Examples:
  replay audit results/*.json
  replay audit results/*.json --reference reference.json
  replay audit nightly.db -o audit.html
  replay audit results/ --format markdown
  replay audit results/ --verify --servers servers.yaml
"""
_FORMATS = ("text", "json", "markdown", "html")


@click.command("audit", epilog=EXAMPLES)
@click.argument("files", metavar="[RESULTS]...", nargs=-1, type=click.Path(path_type=Path))
@run_option("The run file; RESULTS that it does not hold are judged by their recorded answers, and not kept.")
@click.option(
    "--reference",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Reference trajectories: a lost task whose reference fails itself is undecided.",
)
@click.option(
    "--verify",
    is_flag=True,
    help="Issue the calls again on whose failure a task is undecided, as far as the fleet lets them be repeated.",
)
@fleet_option
@names_option
@click.option("--format", "form", type=click.Choice(_FORMATS), help="What to print.  [default: text, or as -o says]")
@json_option
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file.")
@click.option("--force", is_flag=True, help="Overwrite the output file.")
def audit(
    files: tuple[Path, ...],
    run_path: Path,
    reference: Path | None,
    verify: bool,
    fleet_path: Path | None,
    names: str | None,
    form: str | None,
    as_json: bool,
    output: Path | None,
    force: bool,
) -> None:
    """Tell how much of a benchmark's scores is the models' own.

    Lost tasks with an environment's fault on the way to the loss are undecided, and so are passed ones that rest on
    nothing that is shown: beside each reported score stands the interval that the evidence supports, with the chain of
    every undecided task, what to mend in the benchmark, and which models are still told apart. Judged are the recorded
    answers, what happened when the score was made.
    """
    from replay.analysis.audit import audit as audit_run
    from replay.analysis.audit import verified
    from replay.cli.report import check_free, write
    from replay.reports.audit import render

    if output is not None:
        check_free(output, force)
    form = "json" if as_json else form or _told_by(output)
    files, run_path = run_among(files, run_path)
    with run_of(files, run_path, None, (), names) as (run, numbers):
        found = audit_run(run, numbers, _faulty_references(reference))
        if verify:
            found = verified(found, _issued_again(run, found, fleet_path))
    text = render(found, form, shutil.get_terminal_size((160, 24)).columns)
    if output is None:
        with closed_pipe_ignored():
            click.echo(text.rstrip("\n"))
    else:
        write(output, text)
        echo_err(f"wrote {output}")


def _told_by(output: Path | None) -> str:
    """The format that an output's name tells; text without one."""
    suffix = output.suffix.lower() if output is not None else ""
    return {".json": "json", ".md": "markdown", ".html": "html", ".htm": "html"}.get(suffix, "text")


def _faulty_references(reference: Path | None) -> dict[str, str]:
    """What is wrong with the reference of each task: it has no call, or one of its calls is known to fail."""
    if reference is None:
        return {}
    from replay.analysis.audit import faulty_tasks

    with run_of((reference,), DEFAULT_RUN, None, (), None) as (run, numbers):
        return faulty_tasks(run, numbers)


def _issued_again(run: Run, found: Audit, fleet_path: Path | None) -> dict[str, CallRow]:
    """The verdicts of the calls on whose failure a task is undecided, replayed with their trajectories.

    Returns:
        By `MODEL:TRAJECTORY:s2c1`.
    """
    import json
    from tempfile import TemporaryDirectory

    import anyio

    from replay.cli.judging import InputFiles, judge_with_progress
    from replay.records.files import TrajectoryFile, dump
    from replay.replayer.plan import Options
    from replay.runfile import Run, call_rows
    from replay.runfile.trajectory_queries import find_trajectory, trajectory_record
    from replay.safety.redaction import Redactor

    wanted = {fault.call.full.rpartition(":")[0] for task in found.undecided for fault in task.faults}
    if not wanted:
        return {}
    fleet = fleet_of(fleet_path, "Name one with --servers: --verify issues calls again.")
    with TemporaryDirectory(prefix="replay-audit-") as directory:
        for number, reference in enumerate(sorted(wanted)):
            record = trajectory_record(run.connection, find_trajectory(run, reference).row)
            document = json.dumps(dump(TrajectoryFile(**dict(record))))
            (Path(directory) / f"{number}.trajectory.json").write_text(document, "utf-8")
        inputs = InputFiles((Path(directory),), None)
        with Run.open(Path(directory) / "run.db", redactor=Redactor(fleet.secrets() if fleet else ())) as again:
            anyio.run(judge_with_progress, again, inputs, inputs.open_all(), fleet, Options(), None, None)
            return {f"{row.model}:{row.trajectory}:{row.call}": row for row in call_rows(again)}
