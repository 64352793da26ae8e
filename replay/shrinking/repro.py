"""What a maintainer gets: a trajectory, a fleet file with only the servers that it needs, and one command, tried."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from replay.diagnosis import TrajectoryContext
from replay.errors import ReplayError, UsageError
from replay.interpreter import Fleet
from replay.records.files import TrajectoryFile
from replay.runfile import Run
from replay.runfile.trajectory_queries import trajectory_places
from replay.safety.filesystem import write_atomically, write_json
from replay.safety.redaction import Redactor
from replay.safety.secret_patterns import REDACTED
from replay.safety.text import one_line
from replay.shrinking.shrink import Failure, Shrunk

SCRIPTS: Final = "servers"
"""The folder of the copied scripts."""
_SUFFIXES: Final = frozenset({".py", ".js", ".mjs", ".cjs", ".ts", ".sh", ".rb"})
_MAX_SIZE: Final = 1_000_000
_IMPORT: Final = re.compile(r"^\s*(?:from\s+([A-Za-z_]\w*)|import\s+([A-Za-z_]\w*(?:\s*,\s*[A-Za-z_]\w*)*))", re.M)
_BEHIND: Final = {"uvx": "uv", "uv": "uv", "npx": "Node.js", "npm": "Node.js", "node": "Node.js", "docker": "Docker"}
"""What brings a command."""
TRAJECTORY: Final = "repro.trajectory.json"
FLEET: Final = "repro.servers.yaml"
RUN: Final = "repro.db"
TEST: Final = "test_repro.py"
_MAX_LENGTH: Final = 200


class Repro(NamedTuple):
    """The two files, and the command that shows the failure."""

    trajectory: Path
    fleet: Path
    run: Path
    """The run file that the command makes."""
    words: tuple[str, ...]
    """The command."""
    variables: dict[str, str]
    """Environment variables that stand where the fleet file had a secret, with that secret."""
    needs: tuple[str, ...] = ()
    """What must be installed where the command is to run."""
    scripts: tuple[Path, ...] = ()
    """Copies of the servers' own scripts."""
    made: bool = False
    """The directory was not there before."""

    @property
    def command(self) -> str:
        """The command as it is typed."""
        return shlex.join(self.words)


def files_in(directory: Path) -> tuple[Path, Path]:
    """Where the two files are written."""
    return directory / TRAJECTORY, directory / FLEET


def write_repro(shrunk: Shrunk, fleet: Fleet, directory: Path) -> Repro:
    """Write the reproduction into a directory, which is made where there is none."""
    made = not directory.exists()
    directory.mkdir(parents=True, exist_ok=True)
    if directory.is_absolute() and directory.is_relative_to(Path.cwd()):
        directory = directory.relative_to(Path.cwd())
    trajectory, servers = files_in(directory)
    source = shrunk.trajectory.source.model_copy(update={"file": Path(shrunk.trajectory.source.file).name})
    write_json(TrajectoryFile(**{**dict(shrunk.trajectory), "source": source}), trajectory)
    copy = _FleetCopy(shrunk, fleet, directory)
    write_atomically(servers, copy.text())
    run = directory / RUN
    words = ["replay", "classify", str(trajectory), "--servers", str(servers), "--run", str(run), "--fresh"]
    for name in sorted(shrunk.allowed):
        words += ["--allow-effects", name]
    copies = tuple(copy.scripts.copied.values())
    return Repro(trajectory, servers, run, tuple(words), copy.variables, tuple(copy.needs), copies, made)


def write_test(repro: Repro, shrunk: Shrunk) -> Path:
    """Write a test of the reproduction beside it, for the pytest plugin: it passes when the call succeeds."""
    path = repro.trajectory.parent / TEST
    allowed = f", allow_effects={sorted(shrunk.allowed)!r}" if shrunk.allowed else ""
    verdict = shrunk.result.verdict
    write_atomically(
        path,
        f'''"""A failure that `replay shrink` made small: {shrunk.position} was {verdict.outcome} ({verdict.rule})."""

import pytest


@pytest.mark.replay("{TRAJECTORY}", servers="{FLEET}", live=True{allowed})
def test_the_call_succeeds(replay_run):
    (call,) = [call for call in replay_run.calls() if call.call == "{shrunk.position}"]
    assert call.outcome == "success", call.message
''',
    )
    return path


class _FleetCopy:
    """The fleet file of a reproduction, written for the directory that it stands in.

    Args:
        shrunk: names the servers that are needed.
        fleet: where their settings are from.
        directory: of the reproduction.
    """

    def __init__(self, shrunk: Shrunk, fleet: Fleet, directory: Path) -> None:
        self._shrunk, self._fleet, self._directory = shrunk, fleet, directory
        self._redactor = Redactor(fleet.secrets())
        self.scripts = Scripts(directory.absolute(), fleet.secrets())
        self.variables: dict[str, str] = {}
        """Environment variables that stand where the fleet file has a secret, with that secret."""
        self.needs: dict[str, None] = {}
        """What must be installed."""

    def text(self) -> str:
        """What each server said of itself stands as a comment, what was a secret as a variable."""
        document: dict[str, Any] = {"version": 1}
        if self._fleet.local_tools:
            document["local_tools"] = list(self._fleet.local_tools)
        if workspace := self._workspace():
            document["workspace"] = workspace
        document["servers"] = specs = {name: self._spec(name) for name in sorted(self._shrunk.servers)}
        for spec in specs.values():
            needs = self.scripts.needs(spec["command"]) if "command" in spec else [f"access to {spec.get('url')}"]
            self.needs.update(dict.fromkeys(needs))
        comments = [
            f"# {name}: {one_line(server.title or '?', 80)} {one_line(server.version or '?', 40)}, "
            f"protocol {server.protocol or '?'}"
            for name, server in sorted(self._shrunk.servers.items())
        ]
        text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=110)
        wanted = f"# To run it, this is needed: {', '.join(['replay', *self.needs])}."
        return "\n".join(["# The servers that the reproduction was made with.", *comments, wanted, text])

    def _spec(self, name: str) -> dict[str, Any]:
        own, folder = self._fleet.servers[name], self._fleet.directory
        spec = own.model_dump(mode="json", exclude_defaults=True)
        spec["state"] = "trajectory" if own.command is not None else own.state
        spec = {key: value for key, value in spec.items() if value not in ({}, [], None)}
        for field in ("env", "headers"):
            if field in spec:
                spec[field] = {key: self._secret(key, value) for key, value in spec[field].items()}
        if "client_secret" in spec.get("auth", {}):
            spec["auth"]["client_secret"] = self._secret(f"{name}_client_secret", spec["auth"]["client_secret"])
        if "args" in spec:
            spec["args"] = [self.scripts.copy(folder / argument) or self._moved(argument) for argument in spec["args"]]
        if "command" in spec:
            script = self.scripts.copy(folder / spec["command"]) if os.sep in spec["command"] else None
            spec["command"] = script or portable_command(spec["command"], folder, self._directory.absolute())
        if "cwd" in spec:
            spec["cwd"] = self._relative(folder / spec["cwd"])
        return {key: spec[key] for key in sorted(spec, key=lambda key: (key not in ("command", "url", "args"), key))}

    def _secret(self, key: str, value: str) -> str:
        """A literal secret becomes a variable of the same name, which its reader sets."""
        cleaned = self._redactor.text(value)
        if REDACTED not in cleaned:
            return cleaned
        name = "".join(c if c.isalnum() else "_" for c in key).upper()
        self.variables[name] = value
        return f"${{{name}}}"

    def _workspace(self) -> dict[str, Any]:
        workspace = self._fleet.workspace
        found: dict[str, Any] = {}
        if workspace.template is not None:
            found["template"] = self._relative(self._fleet.directory / Path(workspace.template).expanduser())
        if workspace.recorded_as:
            found["recorded_as"] = list(workspace.recorded_as)
        return found

    def _moved(self, argument: str) -> str:
        """A path, as it is seen from the new fleet file."""
        text = self._redactor.text(argument)
        path = self._fleet.directory / text
        is_file = text and not text.startswith(("-", "$")) and text != os.sep and path.exists()
        return self._relative(path) if is_file else text

    def _relative(self, path: Path) -> str:
        return os.path.relpath(path, self._directory.absolute())


def confirm(repro: Repro, shrunk: Shrunk, redactor: Redactor) -> None:
    """Run the command of a reproduction, and see that the call fails as it did; the run that it makes is deleted.

    Args:
        repro: the files and the command.
        shrunk: the call's result when it was last replayed.
        redactor: of the fleet: the run holds answers without secrets, so that they are compared without.

    Raises:
        UsageError: it does not; the files are deleted too, since they show nothing.
    """
    try:
        problem = _problem(repro, shrunk, redactor)
    finally:
        _delete_run(repro.run)
    if problem is not None:
        for path in (repro.trajectory, repro.fleet, *repro.scripts):
            path.unlink(missing_ok=True)
            if path in repro.scripts:
                with suppress(OSError):
                    path.parent.rmdir()
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
        with Run.read(repro.run) as run:
            context = TrajectoryContext.load(run, trajectory_places(run)[0])
    except ReplayError as error:
        return str(error)
    position, row = shrunk.position, context.rows[shrunk.position]
    failure = Failure.of(row, context.calls[position], context.answers.get(position), context.drawn)
    if failure == _without_secrets(shrunk, redactor):
        return None
    return f"{position} is {failure.outcome} ({failure.rule}): {one_line(row.message, _MAX_LENGTH)}"


def _without_secrets(shrunk: Shrunk, redactor: Redactor) -> Failure:
    result, answer = shrunk.result, shrunk.result.answer
    verdict = type(result.verdict).model_validate(redactor.json(result.verdict.model_dump(mode="json")))
    if answer is not None:
        answer = type(answer).model_validate(redactor.json(answer.model_dump(mode="json")))
    return Failure.of(verdict, result.call, answer, shrunk.drawn)


def _delete_run(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-lock"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    shutil.rmtree(path.with_name(f"{path.stem}.logs"), ignore_errors=True)


def portable_command(command: str, directory: Path, new_directory: Path) -> str:
    """The command without its directory, where it is found by its name elsewhere too; else relative to the new one."""
    if os.sep not in command:
        return command
    name = Path(command).name
    if re.fullmatch(r"python[\d.]*", name):
        return "python3"
    return name if shutil.which(name) is not None else os.path.relpath(directory / command, new_directory)


class Scripts:
    """The scripts of servers, copied beside a reproduction.

    Args:
        directory: of the reproduction.
        secrets: taken out of what is copied.
    """

    def __init__(self, directory: Path, secrets: tuple[str, ...]) -> None:
        self._directory, self._secrets = directory, secrets
        self.copied: dict[Path, Path] = {}
        """By where it was."""
        self._packages: dict[str, None] = {}

    def copy(self, script: Path) -> str | None:
        """Copy a script, with the modules beside it that it imports.

        Returns:
            Its path there; None where it is no script, or is a part of something larger.
        """
        if script.suffix not in _SUFFIXES or not script.is_file() or script.stat().st_size > _MAX_SIZE:
            return None
        script = script.resolve()
        if script not in self.copied:
            text = script.read_text("utf-8", errors="replace")
            if any(script.with_name(module).is_dir() for module in _imported(text)):
                return None
            text = Redactor(self._secrets).text(text)
            target = self.copied[script] = self._free(script.name)
            target.parent.mkdir(exist_ok=True)
            write_atomically(target, text)
            shutil.copymode(script, target)
            for module in _imported(text) if script.suffix == ".py" else ():
                if (beside := script.with_name(f"{module}.py")).is_file():
                    self.copy(beside)
                elif module not in sys.stdlib_module_names:
                    self._packages[module] = None
        return os.path.relpath(self.copied[script], self._directory)

    def _free(self, name: str) -> Path:
        folder, number = self._directory / SCRIPTS, 1
        while folder / name in self.copied.values():
            number += 1
            folder = self._directory / f"{SCRIPTS}-{number}"
        return folder / name

    def needs(self, command: str) -> Iterator[str]:
        """What must be installed for a command, and for the scripts so far."""
        name = Path(command).name
        yield "Python" if name.startswith("python") else _BEHIND.get(name, name)
        yield from (f"the Python package {package}" for package in self._packages)


def _imported(text: str) -> Iterator[str]:
    for match in _IMPORT.finditer(text):
        yield from re.findall(r"\w+", match[1] or match[2])
