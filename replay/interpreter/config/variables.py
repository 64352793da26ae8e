"""Variables in the fleet file: `${NAME}`, `${NAME:-default}`, `${workspace}`, `${task}`, and `$$` for a dollar."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from replay.errors import FleetError
from replay.interpreter.config.specs import AuthSpec, ServerSpec, TransportType
from replay.safety.redaction import PLAIN_VALUE, is_secret_name

_VARIABLE: Final = re.compile(r"\$\$|\$\{([^{}]*)\}")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PUBLIC_VARIABLES: Final = frozenset(
    ("HOME", "HOSTNAME", "LANG", "LOGNAME", "PATH", "PWD", "PYTHONPATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")
)
_MIN_SECRET_LENGTH: Final = 4


@dataclass(frozen=True, slots=True)
class VariableScope:
    """What `${workspace}` and `${task}` stand for."""

    workspace: Path | None = None
    task: str | None = None


@dataclass(frozen=True, slots=True)
class ResolvedServer:
    """How a server starts, with every variable filled in. Holds secrets: never written anywhere."""

    command: str | None
    args: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path | None
    url: str | None
    headers: Mapping[str, str]
    auth: AuthSpec | None
    transport: TransportType


@dataclass(frozen=True, slots=True)
class FleetContext:
    """What the rest of a fleet file says that variables may stand for."""

    path: Path
    inputs: Mapping[str, str | None]
    """VS Code's `inputs`: id -> default value."""

    @property
    def directory(self) -> Path:
        """Where the fleet file lies."""
        return self.path.parent.absolute()


@dataclass(slots=True)
class _Substitution:
    """Fills in the variables of one server, and keeps what came from outside."""

    fleet: FleetContext
    server: str
    scope: VariableScope
    lenient: bool = False
    taken: list[tuple[str, str]] = field(default_factory=list)
    """(variable, value) of everything that the environment gave."""

    def fill(self, where: str, text: str) -> str:
        return _VARIABLE.sub(lambda found: self._value(where, found[1]), text)

    def _value(self, where: str, name: str | None) -> str:
        if name is None:
            return "$"
        own = self._own(where, name)
        if own is not None:
            return own
        variable, given, default = name.partition(":-")
        if variable.startswith("input:"):
            return self._input(where, variable.removeprefix("input:"))
        return self._from_environment(where, variable.removeprefix("env:"), default if given else None)

    def _from_environment(self, where: str, variable: str, default: str | None) -> str:
        if not _NAME.fullmatch(variable):
            return self._missing(where, f"${{{variable}}} is not a variable name")
        value = os.environ.get(variable)
        if value:
            self.taken.append((variable, value))
            return value
        if default is not None:
            return default
        if value is not None:
            return value
        return self._missing(where, f"environment variable {variable} is not set")

    def _own(self, where: str, name: str) -> str | None:
        """`${workspace}` and `${task}`, and VS Code's two that need no editor."""
        if name == "workspace":
            return str(self.scope.workspace) if self.scope.workspace else self._missing(where, "there is no workspace")
        if name == "task":
            return self.scope.task or self._missing(where, "${task} needs state: trajectory")
        if name == "workspaceFolder":
            directory = self.fleet.directory
            return str(directory.parent if directory.name == ".vscode" else directory)
        return str(Path.home()) if name == "userHome" else None

    def _input(self, where: str, name: str) -> str:
        """VS Code would ask its user; here the environment or the input's default answers."""
        variable = re.sub(r"\W", "_", name).upper()
        value = os.environ.get(variable)
        if value:
            self.taken.append((variable, value))
            return value
        default = self.fleet.inputs.get(name)
        if default is not None:
            return default
        return self._missing(where, f'input "{name}" has no value; set the environment variable {variable}')

    def _missing(self, where: str, why: str) -> str:
        if self.lenient:
            return ""
        raise FleetError(str(self.fleet.path), why, f"servers.{self.server}.{where}")


def resolve(name: str, spec: ServerSpec, scope: VariableScope, fleet: FleetContext) -> ResolvedServer:
    """A server's way to start, with every variable filled in.

    Raises:
        FleetError: a variable is not set; names variable, server and field.
    """
    return _resolved(_Substitution(fleet, name, scope), spec)


def _resolved(substitution: _Substitution, spec: ServerSpec) -> ResolvedServer:
    env = {key: substitution.fill(f"env.{key}", value) for key, value in spec.env.items()}
    return ResolvedServer(
        command=None if spec.command is None else _command(substitution, spec.command),
        args=tuple(substitution.fill(f"args[{index}]", value) for index, value in enumerate(spec.args)),
        env=env,
        cwd=None if spec.cwd is None else substitution.fleet.directory / substitution.fill("cwd", spec.cwd),
        url=None if spec.url is None else substitution.fill("url", spec.url),
        headers={key: substitution.fill(f"headers.{key}", value) for key, value in spec.headers.items()},
        auth=None if spec.auth is None else _auth(substitution, spec.auth),
        transport=spec.type or ("stdio" if spec.url is None else "http"),
    )


def _auth(substitution: _Substitution, auth: AuthSpec) -> AuthSpec:
    fields = {field: getattr(auth, field) for field in ("client_id", "client_secret", "issuer")}
    filled = {
        field: value if value is None else substitution.fill(f"auth.{field}", value) for field, value in fields.items()
    }
    scopes = tuple(substitution.fill(f"auth.scopes[{index}]", scope) for index, scope in enumerate(auth.scopes))
    return auth.model_copy(update={**filled, "scopes": scopes})


def _command(substitution: _Substitution, command: str) -> str:
    """What starts comes from the fleet file alone, so a trajectory's task id has no place in the command."""
    if "${task}" in command:
        raise FleetError(
            str(substitution.fleet.path), "${task} cannot be part of it", f"servers.{substitution.server}.command"
        )
    return substitution.fill("command", command)


def secrets_of(servers: Mapping[str, ServerSpec], fleet: FleetContext) -> set[str]:
    """Values of the fleet that must appear in nothing we write; unset variables are passed over."""
    found: set[str] = set()
    for name, spec in servers.items():
        substitution = _Substitution(fleet, name, VariableScope(Path("/workspace"), "task"), lenient=True)
        try:
            resolved = _resolved(substitution, spec)
        except FleetError:
            continue
        found.update(_secrets_in(resolved))
        found.update(value for variable, value in substitution.taken if _is_secret(variable, value))
    return {secret for secret in found if len(secret) >= _MIN_SECRET_LENGTH}


def _is_secret(variable: str, value: str) -> bool:
    if variable in _PUBLIC_VARIABLES:
        return False
    return is_secret_name(variable) or (len(value) >= 8 and not PLAIN_VALUE.fullmatch(value))


def _secrets_in(resolved: ResolvedServer) -> Iterator[str]:
    yield from (
        value for key, value in resolved.env.items() if is_secret_name(key) and not PLAIN_VALUE.fullmatch(value)
    )
    for key, value in resolved.headers.items():
        if key.lower() in {"authorization", "cookie", "proxy-authorization"} or is_secret_name(key):
            yield value
            yield value.rpartition(" ")[2]
    if resolved.auth is not None and resolved.auth.client_secret:
        yield resolved.auth.client_secret
    try:
        address = urlsplit(resolved.url or "")
    except ValueError:  # the server will not start, and says so
        address = urlsplit("")
    if address.password:
        yield address.password
    yield from (value for key, value in parse_qsl(address.query) if is_secret_name(key))
