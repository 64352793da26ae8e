"""What a maintainer gets: a trajectory, a fleet file with only the servers that it needs, and one command."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from replay.filesystem import write_atomically, write_json
from replay.interpreter import Fleet
from replay.records.files import TrajectoryFile
from replay.redaction import REDACTED, Redactor
from replay.shrinking.shrink import Shrunk
from replay.text import one_line

TRAJECTORY: Final = "repro.trajectory.json"
FLEET: Final = "repro.servers.yaml"
_DEFAULTS: Final = ("call_timeout", "startup_timeout", "max_restarts")


class Repro(NamedTuple):
    """The two files, and the command that shows the failure."""

    trajectory: Path
    fleet: Path
    command: str


def files_in(directory: Path) -> tuple[Path, Path]:
    """Where the two files are written."""
    return directory / TRAJECTORY, directory / FLEET


def write_repro(shrunk: Shrunk, fleet: Fleet, directory: Path) -> Repro:
    """Write the reproduction into a directory, which is made where there is none."""
    directory.mkdir(parents=True, exist_ok=True)
    trajectory, servers = files_in(directory)
    fields = {name: getattr(shrunk.trajectory, name) for name in type(shrunk.trajectory).model_fields}
    write_json(TrajectoryFile(**fields), trajectory)
    write_atomically(servers, _fleet_text(shrunk, fleet, directory))
    return Repro(trajectory, servers, _command(trajectory, servers, directory))


def _command(trajectory: Path, servers: Path, directory: Path) -> str:
    words = ["replay", "classify", str(trajectory), "--servers", str(servers)]
    return shlex.join([*words, "--run", str(directory / "repro.db"), "--fresh"])


def _fleet_text(shrunk: Shrunk, fleet: Fleet, directory: Path) -> str:
    """The fleet file: what each server said of itself stands as a comment, what was a secret as a variable."""
    redactor = Redactor(fleet.secrets())
    document: dict[str, Any] = {"version": 1}
    if fleet.local_tools:
        document["local_tools"] = list(fleet.local_tools)
    workspace = _workspace(fleet, directory)
    if workspace:
        document["workspace"] = workspace
    document["servers"] = {name: _spec(fleet, name, directory, redactor) for name in sorted(shrunk.servers)}
    comments = [
        f"# {name}: {one_line(server.title or '?', 80)} {one_line(server.version or '?', 40)}, "
        f"protocol {server.protocol or '?'}"
        for name, server in sorted(shrunk.servers.items())
    ]
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=110)
    return "\n".join(["# The servers that the reproduction was made with.", *comments, text])


def _spec(fleet: Fleet, name: str, directory: Path, redactor: Redactor) -> dict[str, Any]:
    spec = fleet.servers[name].model_dump(mode="json", exclude_defaults=True)
    spec["state"] = "trajectory" if fleet.servers[name].command is not None else fleet.servers[name].state
    spec = {key: value for key, value in spec.items() if value not in ({}, [], None)}
    for field in ("env", "headers"):
        cleaned = {key: _secret(key, redactor.text(value)) for key, value in spec.get(field, {}).items()}
        if cleaned:
            spec[field] = cleaned
    if "client_secret" in spec.get("auth", {}):
        spec["auth"]["client_secret"] = _secret(f"{name}_client_secret", redactor.text(spec["auth"]["client_secret"]))
    spec["args"] = [_moved(redactor.text(argument), fleet, directory) for argument in spec.get("args", [])]
    if os.sep in (spec.get("command") or ""):
        spec["command"] = _moved(spec["command"], fleet, directory)
    if "cwd" in spec:
        spec["cwd"] = _relative(fleet.directory / spec["cwd"], directory)
    if not spec["args"]:
        del spec["args"]
    return redactor_safe(spec)


def redactor_safe(spec: dict[str, Any]) -> dict[str, Any]:
    """The specification as plain YAML data."""
    return {key: spec[key] for key in sorted(spec, key=lambda key: (key not in ("command", "url", "args"), key))}


def _secret(key: str, value: str) -> str:
    """A literal secret becomes a variable of the same name, which its reader sets."""
    return value if REDACTED not in value else f"${{{''.join(c if c.isalnum() else '_' for c in key).upper()}}}"


def _workspace(fleet: Fleet, directory: Path) -> dict[str, Any]:
    workspace = fleet.workspace
    found: dict[str, Any] = {}
    if workspace.template is not None:
        found["template"] = _relative(fleet.directory / Path(workspace.template).expanduser(), directory)
    if workspace.recorded_as:
        found["recorded_as"] = list(workspace.recorded_as)
    return found


def _moved(text: str, fleet: Fleet, directory: Path) -> str:
    """A path relative to the fleet file, as it is seen from the new one."""
    path = fleet.directory / text
    is_relative_file = text and not text.startswith(("-", "$")) and not Path(text).is_absolute() and path.exists()
    return _relative(path, directory) if is_relative_file else text


def _relative(path: Path, directory: Path) -> str:
    return os.path.relpath(path, directory.absolute())
