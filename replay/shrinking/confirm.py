"""Trying what was written: the very command that is printed, on the very files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from replay.diagnosis import TrajectoryContext
from replay.errors import ReplayError, UsageError
from replay.records import CallResult
from replay.runfile import Run
from replay.runfile.lookup import trajectory_places
from replay.safety.redaction import Redactor
from replay.safety.text import one_line
from replay.shrinking.repro import Repro
from replay.shrinking.shrink import Shrunk
from replay.shrinking.trial import Failure

_MAX_LENGTH = 200


def confirm(repro: Repro, shrunk: Shrunk, redactor: Redactor) -> None:
    """Run the command of a reproduction, and see that the call fails as it did; the run that it makes is deleted.

    Args:
        repro: the files and the command.
        shrunk: how the call came out when it was last replayed.
        redactor: of the fleet: the run holds answers without secrets, so that they are compared without.

    Raises:
        UsageError: it does not; the files are deleted too, since they show nothing.
    """
    try:
        problem = _problem(repro, shrunk, redactor)
    finally:
        _delete_run(repro.run)
    if problem is not None:
        for path in (repro.trajectory, repro.fleet):
            path.unlink(missing_ok=True)
        if repro.made:
            with suppress(OSError):
                repro.fleet.parent.rmdir()
        raise UsageError(
            f"what was found does not fail again when it is run by itself, so nothing was written: {problem}"
        )


def _problem(repro: Repro, shrunk: Shrunk, redactor: Redactor) -> str | None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "replay", *repro.words[1:]],
        env={**os.environ, **repro.variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        return one_line(done.stderr.strip().rpartition("\n")[2], _MAX_LENGTH)
    try:
        result = _result(repro.run, shrunk.position)
    except ReplayError as error:
        return str(error)
    failure = Failure.of(result.verdict, result.call, result.answer)
    if failure == _without_secrets(shrunk.result, redactor):
        return None
    return f"{shrunk.position} is {failure.outcome} ({failure.rule}): {one_line(result.verdict.message, _MAX_LENGTH)}"


def _without_secrets(result: CallResult, redactor: Redactor) -> Failure:
    verdict = type(result.verdict).model_validate(redactor.json(result.verdict.model_dump(mode="json")))
    if result.answer is None:
        return Failure.of(verdict, result.call, None)
    answer = type(result.answer).model_validate(redactor.json(result.answer.model_dump(mode="json")))
    return Failure.of(verdict, result.call, answer)


def _result(path: Path, position: str) -> CallResult:
    with Run.read(path) as run:
        context = TrajectoryContext.load(run, trajectory_places(run)[0])
    row = context.rows[position]
    return CallResult(context.calls[position], row, row.server, row.tool, None, context.answers.get(position))


def _delete_run(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-lock"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    shutil.rmtree(path.with_name(f"{path.stem}.logs"), ignore_errors=True)
