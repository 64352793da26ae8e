"""Findings that several verbs see to."""

from __future__ import annotations

from pathlib import Path

from replay.cli.options import echo_err


def find_missing_findings(run_path: Path, *, say: bool = False) -> None:
    """Find and keep the findings of trajectories that have none yet: of an older run, or newly aligned.

    Args:
        run_path: of the run file.
        say: tell on stderr that it takes a moment.
    """
    from replay.errors import RunFileError
    from replay.runfile import Run
    from replay.runfile.task_runs import undiagnosed

    with Run.read(run_path) as run:
        count = len(undiagnosed(run.connection))
    if not count:
        return
    from replay.diagnosis.diagnose import FindingStore

    if say:
        echo_err(f"looking for the findings of {count} trajectories, once ...")
    try:
        with Run.open(run_path) as run:
            FindingStore(run).keep_missing()
    except RunFileError as error:
        echo_err(f"note: findings and recovery are left out: {error}")
