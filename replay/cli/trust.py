"""What a fleet file starts is said before anything does; who wishes is asked first, once for each file."""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import click
import platformdirs

from replay.cli.terminal import echo_err
from replay.errors import InputError, UsageError
from replay.safety.filesystem import read_small_file
from replay.safety.text import one_line

if TYPE_CHECKING:
    from replay.interpreter import Fleet

VARIABLE: Final = "REPLAY_TRUST"
_ASK, _ALL = "ask", "all"
_MAX_LINE: Final = 1000
"""Characters of the line that names the commands."""
_MAX_CONFIGURATION: Final = 65_536


def say_what_starts(fleet: Fleet, *, named: bool, names: Iterable[str] = ()) -> None:
    """Name the fleet file and the commands that it starts; ask first, where the user wishes to be asked.

    Args:
        fleet: whose servers are about to start.
        named: the user named the file with `--servers`.
        names: of its servers, those that start; where none is named, those that turn out to be called.

    Raises:
        UsageError: the user says no, or cannot be asked.
        InputError: the user's configuration cannot be read.
    """
    commands = _commands(fleet, names)
    echo_err(f"{fleet.path} starts{'' if names else ' what the calls need of'}: {_in_a_line(commands)}")
    if named or _policy() == _ALL:
        return
    mark = platformdirs.user_data_path("mcp-replay", appauthor=False) / "trusted" / _digest(fleet)
    if mark.exists():
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            f"{fleet.path} was found here, not named, and you want to be asked ({VARIABLE}={_ASK}): "
            f"to say yes, name it: --servers {shlex.quote(str(fleet.path))}"
        )
    for command in commands:
        echo_err(f"  {command}")
    if not click.confirm("Start what this file names, today and as long as it stays as it is?", err=True):
        raise UsageError(f"nothing of {fleet.path} was started")
    mark.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    mark.write_text(f"{fleet.path.absolute()}\n", "utf-8", "surrogateescape")


def _commands(fleet: Fleet, names: Iterable[str]) -> list[str]:
    """What starts, with the variables as they stand in the file, and so without their secrets."""
    wanted = set(names) or set(fleet.servers)
    specs = [spec for name, spec in fleet.servers.items() if name in wanted and not spec.disabled]
    return [one_line(shlex.join([spec.command, *spec.args])) for spec in specs if spec.command is not None]


def _in_a_line(commands: list[str]) -> str:
    line, shown = "", 0
    for command in commands:
        if shown and len(line) + len(command) > _MAX_LINE:
            break
        line += f"; {command}" if line else command[:_MAX_LINE]
        shown += 1
    rest = len(commands) - shown
    return (line or "no program") + (f"; and {rest} more" if rest else "")


def _digest(fleet: Fleet) -> str:
    """Of the file's place and of all that was read from it: what was changed since is asked about again."""
    content = f"{os.path.realpath(fleet.path)}\0{fleet.model_dump_json(exclude={'path'})}"
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


def _policy() -> str:
    """`ask` or `all`: by the environment, else by the line `trust: ask` of the user's configuration."""
    value, where = os.environ.get(VARIABLE), VARIABLE
    if not value:
        value, where = _configured()
    if value not in {_ASK, _ALL}:
        raise UsageError(f'{where} is "{value}"; it takes "{_ASK}" or "{_ALL}"')
    return value


def _configured() -> tuple[str, str]:

    path = platformdirs.user_config_path("mcp-replay", appauthor=False) / "config.yaml"
    try:
        text = read_small_file(path, _MAX_CONFIGURATION).decode()
    except FileNotFoundError:
        return _ALL, str(path)
    except (OSError, UnicodeDecodeError) as problem:
        raise InputError(str(path), f"cannot be read: {problem}") from None
    import yaml

    try:
        data = yaml.safe_load(text) or {}
    except yaml.YAMLError as problem:
        raise InputError(str(path), f"is not YAML: {str(problem).splitlines()[0]}") from None
    if not isinstance(data, dict) or data.keys() - {"trust"}:
        raise InputError(str(path), 'expected the line "trust: ask", or nothing')
    return str(data.get("trust", _ALL)), f"trust in {path}"
