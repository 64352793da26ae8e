"""From a server's specification to what is really started: the program's path, its arguments and its environment."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from replay.interpreter.config.fleet import ResolvedServer
from replay.interpreter.config.specs import AuthSpec, TransportType
from replay.interpreter.confinement import caches_of, can_confine, confined
from replay.interpreter.processes import ProcessGuard, find_command
from replay.interpreter.workspace import Workspace

_INHERITED: Final = frozenset(
    {"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "TZ", "TMPDIR"}
    | {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy"}
    | {"CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE"}
)
"""What every server gets. The rest of the environment may hold secrets that are none of its business."""
_INHERITED_PREFIXES: Final = ("LC_", "XDG_", "UV_", "PIP_", "NPM_CONFIG_", "npm_config_")
"""What `uvx` and `npx` need to fetch packages as the user has set them up."""


@dataclass(frozen=True, slots=True)
class Launch:
    """One start of one server. Holds secrets: never written anywhere."""

    name: str
    command: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    cwd: Path | None = None
    url: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    auth: AuthSpec | None = None
    transport: TransportType = "stdio"
    guard: ProcessGuard | None = None
    """Sees to it that what is started ends."""


class CannotStartError(Exception):
    """A server that did not come up; the text is one line that says why."""


def launch_of(
    name: str, resolved: ResolvedServer, directory: Path, cwd: Path, confined_to: Workspace | None = None
) -> Launch:
    """What to start.

    Args:
        name: the server's name in the fleet file.
        resolved: its specification, variables filled in.
        directory: where the fleet file lies.
        cwd: working directory unless the specification names one.
        confined_to: where it may write, beside what its specification allows; None where it is not confined.

    Raises:
        CannotStartError: the command or the working directory is not there.
    """
    if resolved.url is not None:
        headers = dict(resolved.headers)
        return Launch(name, url=resolved.url, headers=headers, auth=resolved.auth, transport=resolved.transport)
    workdir = resolved.cwd or cwd
    if not workdir.is_dir():
        raise CannotStartError(f"the working directory {workdir} does not exist")
    program = _program(resolved.command or "", directory)
    arguments = resolved.args
    if resolved.cwd is None and workdir != directory:
        arguments = tuple(_argument(text, directory, workdir) for text in resolved.args)
    env = {**_inherited(), **resolved.env}
    command = (program, *arguments)
    if confined_to is not None and can_confine():
        caches = caches_of(program, env)
        for cache in caches:  # the kernel allows only what is there before the server starts
            with suppress(OSError):
                cache.mkdir(parents=True, exist_ok=True)
        command = confined(command, (confined_to.path, confined_to.temporary, *resolved.writable, *caches))
        env = {**env, "TMPDIR": resolved.env.get("TMPDIR", str(confined_to.temporary))}
    return Launch(name, command, env, workdir)


def _argument(text: str, directory: Path, workdir: Path) -> str:
    """A file beside the fleet file, such as the server's own script, by its whole path: the server starts elsewhere."""
    if text.startswith("-") or Path(text).is_absolute() or os.path.lexists(workdir / text):
        return text
    path = directory.absolute() / text
    return str(path) if os.path.isfile(path) else text  # noqa: PTH113 (any text may stand here; it never raises)


def _program(command: str, directory: Path) -> str:
    """The program's path: relative to the fleet file where it names a directory, else where programs are found.

    Raises:
        CannotStartError: there is no such program.
    """
    if os.sep in command:
        path = directory / Path(command).expanduser()
        if os.access(path, os.X_OK) and path.is_file():
            return str(path)
        raise CannotStartError(f"the command {command} does not exist or is not executable")
    found = find_command(command)
    if found:
        return found
    hint = '; put its arguments into "args"' if " " in command.strip() else "; install it, or put it on PATH"
    raise CannotStartError(f"the command {command!r} was not found{hint}")


def _inherited() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if key in _INHERITED or key.startswith(_INHERITED_PREFIXES)}
