"""`replay audit`."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from replay.analysis.answer_labels import known_labels
from replay.cli.compare import run_among, run_of
from replay.cli.input_files import InputFiles
from replay.cli.options import (
    DEFAULT_RUN,
    fleet_of,
    fleet_option,
    json_option,
    names_option,
    reference_option,
    results_argument,
    run_option,
    strict_option,
)
from replay.cli.output import format_option, output_format, output_options, stdout_width, write_output
from replay.records.audit import Audit
from replay.records.files import CallRow, TrajectoryFile, dump
from replay.runfile import Run, call_rows
from replay.runfile.run_inputs import unread_files
from replay.runfile.trajectory_queries import trajectory_places, trajectory_record
from replay.safety.redaction import Redactor

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
@results_argument
@run_option("The run file; RESULTS that it does not hold are judged by their recorded answers, and not kept.")
@reference_option("Reference trajectories: a lost task whose reference fails itself is undecided.")
@click.option(
    "--verify",
    is_flag=True,
    help="Issue the calls again on whose failure a task is undecided, as far as the fleet lets them be repeated.",
)
@fleet_option
@names_option
@strict_option
@format_option(_FORMATS, "text")
@json_option
@output_options()
def audit(
    files: tuple[Path, ...],
    run_path: Path,
    reference: Path | None,
    verify: bool,
    fleet_path: Path | None,
    names: str | None,
    strict: bool,
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
    from replay.analysis.audit import verified, with_unread
    from replay.reports.audit import render

    form = output_format("json" if as_json else form, output, _FORMATS, "text", force=force)
    inputs, run_path = run_among(files, run_path, names)
    with run_of(inputs, run_path, None, (), names, with_findings=False) as (run, numbers):
        unread = inputs.unread if inputs else unread_files(run.connection)
        found = with_unread(audit_run(run, numbers, _faulty_references(reference)), unread)
        if verify:
            found = verified(found, _issued_again(run, found, fleet_path))
    text = render(found, form, stdout_width())
    write_output([text.rstrip("\n") + "\n"], output)
    if inputs is not None:
        inputs.end(strict=strict)


def _faulty_references(reference: Path | None) -> dict[str, str]:
    """What is wrong with the reference of each task: it has no call, or one of its calls is known to fail."""
    if reference is None:
        return {}
    from replay.analysis.audit import faulty_tasks

    with run_of(InputFiles((reference,), None), DEFAULT_RUN, None, (), None, with_findings=False) as (run, numbers):
        return faulty_tasks(run, numbers)


def _issued_again(run: Run, found: Audit, fleet_path: Path | None) -> dict[tuple[str, str, str], CallRow]:
    """The verdicts of the calls on whose failure a task is undecided, replayed with their trajectories.

    Returns:
        By file, trajectory and position.
    """
    from replay.cli.judging import judge_with_progress
    from replay.cli.terminal import run_in_order
    from replay.replayer.plan import Options

    failed = {(fault.call.file, fault.call.trajectory) for task in found.undecided for fault in task.faults}
    wanted = [place for place in trajectory_places(run) if (place.file, place.trajectory) in failed]
    if not wanted:
        return {}
    fleet = fleet_of(fleet_path, "Name one with --servers: --verify issues calls again.")
    with TemporaryDirectory(prefix="replay-audit-") as directory:
        for number, place in enumerate(wanted):
            record = trajectory_record(run.connection, place.row)
            document = json.dumps(dump(TrajectoryFile(**dict(record))))
            (Path(directory) / f"{number}.trajectory.json").write_text(document, "utf-8")
        inputs, options = InputFiles((Path(directory),), None), Options(labels=known_labels(fleet))
        with Run.open(Path(directory) / "run.db", redactor=Redactor(fleet.secrets() if fleet else ())) as again:
            run_in_order(judge_with_progress, again, inputs, inputs.open_all(), fleet, options, None, None)
            files = {f"{number}.trajectory.json": place.file for number, place in enumerate(wanted)}
            return {(files[Path(row.file).name], row.trajectory, row.call): row for row in call_rows(again)}
