"""The command line without a process of its own: for tests of many commands."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from click.testing import CliRunner

from replay.cli import cli
from replay.errors import ReplayError


class Done(NamedTuple):
    """What a command left, as `subprocess.run` has it."""

    returncode: int
    stdout: str
    stderr: str


def replay_here(*arguments: str | Path) -> Done:
    """Run a command in the working directory."""
    result = CliRunner().invoke(cli, [str(argument) for argument in arguments], prog_name="replay")
    if isinstance(result.exception, ReplayError):
        return Done(result.exception.exit_code, result.stdout, f"{result.stderr}replay: {result.exception}\n")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Done(result.exit_code, result.stdout, result.stderr)
