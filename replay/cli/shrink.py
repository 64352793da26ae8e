"""`replay shrink`."""

from __future__ import annotations

from pathlib import Path

import click

from replay.analysis.answer_labels import known_labels
from replay.cli.options import allow_effects_option, fleet_of, fleet_option, read_run_option, run_to_read
from replay.cli.terminal import echo_err
from replay.diagnosis import TrajectoryContext
from replay.diagnosis.phrasing import counted
from replay.errors import FormatError, UsageError
from replay.formats import open_file
from replay.records import Trajectory
from replay.runfile import Run
from replay.runfile.trajectory_queries import find_call
from replay.safety.redaction import Redactor
from replay.safety.secret_patterns import REDACTED
from replay.safety.text import one_line
from replay.shrinking import Shrunk, confirm, write_repro, write_test
from replay.shrinking import shrink as shrink_call
from replay.shrinking.repro import files_in

EXAMPLES = """\b
Examples:
  replay shrink --call 00060000:s7c1
  replay shrink --run nightly.db --call gpt-5:00060000:s7c1 --servers servers.yaml -o bug-17
  replay shrink --call 00060000:s7c1 -o tests/bug_17 --pytest
"""


@click.command("shrink", epilog=EXAMPLES)
@read_run_option
@click.option(
    "--call", required=True, metavar="ID", help="The failing call: TRAJECTORY:s2c1, or MODEL:TRAJECTORY:s2c1."
)
@fleet_option
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, file_okay=False), default=Path("repro"), show_default=True,
    help="Directory for repro.trajectory.json and repro.servers.yaml.",
)  # fmt: skip
@click.option("--pytest", "as_test", is_flag=True, help="Also write test_repro.py there, for the pytest plugin.")
@click.option("--force", is_flag=True, help="Overwrite a reproduction that is there.")
@click.option(
    "--most-replays",
    type=click.IntRange(5),
    default=58,
    show_default=True,
    help="Stop after so many replays, with the smallest found so far.",
)
@allow_effects_option("Re-issue calls of this server although they may change something: once in each replay.")
def shrink(
    run_argument: Path | None,
    run_path: Path | None,
    call: str,
    fleet_path: Path | None,
    output: Path,
    as_test: bool,
    force: bool,
    most_replays: int,
    allow_effects: tuple[str, ...],
) -> None:
    """Find the smallest sequence of calls that shows a failure.

    Every earlier call that the failure does not need is dropped, then arguments are shortened as long as the call
    fails in the same way. Each attempt is replayed against the real servers in a sandbox of its own. Secrets are taken
    out of what is written, and the command is tried on these files before it is printed.
    """
    from replay.cli.terminal import run_in_order

    taken = [path for path in files_in(output) if path.exists()]
    if taken and not force:
        raise UsageError(f"{taken[0]} exists; overwrite it with --force")
    path = run_to_read(run_path, run_argument)
    trajectory, position = _look_up(path, call)
    fleet = fleet_of(fleet_path, "Name one with --servers FILE")
    assert fleet is not None
    redactor = Redactor(fleet.secrets())
    logs = path.with_name(f"{path.stem}.logs")

    async def find() -> Shrunk:
        return await shrink_call(
            trajectory,
            position,
            fleet,
            logs=logs,
            allowed=frozenset(allow_effects),
            labels=known_labels(fleet),
            max_replays=most_replays,
            tell=lambda text: echo_err(redactor.text(f"note: {text}")),
        )

    shrunk = run_in_order(find)
    repro = write_repro(shrunk, fleet, output)
    confirm(repro, shrunk, redactor)
    if as_test:
        echo_err(f"wrote {write_test(repro, shrunk)}: it fails until the call succeeds")
    _echo_summary(shrunk, redactor)
    if repro.variables:
        echo_err(f"set before: {', '.join(sorted(repro.variables))} (secrets of the fleet file, which are not written)")
    needs = ", ".join(["replay", *repro.needs])
    echo_err(f"to run it elsewhere, take {output} along; this is needed there: {needs}")
    click.echo(repro.command)


def _look_up(run_path: Path, call: str) -> tuple[Trajectory, str]:
    """The trajectory of a call, and its position there.

    The fleet file that the run was made with is not looked up: nothing in a run file decides what starts.

    Raises:
        UsageError: there is no such call, or the harness itself ran it.
    """
    with Run.read(run_path) as run:
        place, position = find_call(run, call)
        context = TrajectoryContext.load(run, place)
    if context.is_of_harness(position):
        why = "a tool of the harness: no server has it, so it cannot be run again"
        raise UsageError(f"{position} cannot be shrunk: {why}")
    return _original(context.trajectory, place.file), position


def _original(stored: Trajectory, file: str) -> Trajectory:
    """The trajectory as its results file has it, where the run had to take secrets out and the file is still there."""
    if REDACTED not in stored.model_dump_json():
        return stored
    try:
        found = next((item for item in open_file(file).trajectories() if item.id == stored.id), None)
    except FormatError:
        found = None
    same = found is not None and [call.position for call in found.calls()] == [call.position for call in stored.calls()]
    return found.model_copy(update={"edges": stored.edges}) if found is not None and same else stored


def _echo_summary(shrunk: Shrunk, redactor: Redactor) -> None:
    kept = [call.position for call in shrunk.trajectory.calls()]
    calls, replays = counted(shrunk.calls_before, "call"), counted(shrunk.replays, "replay")
    echo_err(f"{len(kept)} of {calls} after {replays}: {', '.join(kept)}")
    verdict = shrunk.result.verdict
    message = one_line(redactor.text(verdict.message), 200)
    echo_err(f"the command was tried: {shrunk.position} is {verdict.outcome} ({verdict.rule}): {message}")
    if shrunk.redaction_matters:
        echo_err(
            "warning: the failure depends on a secret. It was taken out of what is written, and without it the call "
            "has another result; put it back by hand where [REDACTED] stands"
        )
