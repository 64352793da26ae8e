"""The fleet: which MCP servers there are, how each starts, and what it may do.

Variables are filled in at the start: `${NAME}`, `${NAME:-default}`, `${workspace}`, `${task}`, and `$$` for a dollar.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import parse_qsl, quote, urlsplit

from pydantic import Field, ValidationError, model_validator

from replay.errors import FleetError
from replay.interpreter.config.fleet_file import read_fleet_file
from replay.interpreter.config.specs import AuthSpec, Defaults, ServerSpec, TransportType, WorkspaceSpec
from replay.records import JsonObject, Record
from replay.safety.filesystem import is_folder_name
from replay.safety.redaction import PLAIN_VALUE, is_secret_name
from replay.safety.text import one_line

_NOT_IN_FILES: Final = frozenset({"inputs", "path"})


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
    writable: tuple[Path, ...] = ()


class Fleet(Record):
    """All servers of a fleet file."""

    version: Literal[1] = 1
    defaults: Defaults = Defaults()
    local_tools: tuple[str, ...] = ()
    """Patterns of tools of the harness itself, which no server has."""
    dispatchers: tuple[str, ...] = ()
    """Patterns of tools that only carry other calls: the inner call is the one that is judged and replayed."""
    servers: dict[str, ServerSpec] = Field(default_factory=dict)
    workspace: WorkspaceSpec = WorkspaceSpec()
    inputs: dict[str, str | None] = Field(default_factory=dict)
    """VS Code's `inputs`: id -> default value."""
    path: Path = Path("servers.yaml")
    """The file this was read from."""

    @model_validator(mode="before")
    @classmethod
    def _fill_in_defaults(cls, data: Any) -> Any:
        if not isinstance(data, Mapping) or not isinstance(servers := data.get("servers"), Mapping):
            return data
        defaults = data.get("defaults") or {}
        common = defaults.model_dump() if isinstance(defaults, Defaults) else defaults
        if not isinstance(common, Mapping):
            return data
        known = {key: value for key, value in common.items() if key in Defaults.model_fields}
        filled = {name: {**known, **spec} if isinstance(spec, Mapping) else spec for name, spec in servers.items()}
        return {**data, "servers": filled}

    @classmethod
    def load(cls, path: Path) -> Fleet:
        """Read a fleet file: our own YAML, or the JSON of an MCP client.

        Raises:
            FleetError: the file is missing, broken, or has a mistake in it.
        """
        document = read_fleet_file(path, tuple(name for name in cls.model_fields if name not in _NOT_IN_FILES))
        try:
            return cls.model_validate({**document.data, "path": path})
        except ValidationError as problem:
            raise document.mistake(problem) from None

    @property
    def directory(self) -> Path:
        """Where the fleet file lies; what is relative is relative to this."""
        return self.path.parent.absolute()

    def spec(self, name: str) -> ServerSpec:
        """The server of that name.

        Raises:
            FleetError: there is none.
        """
        spec = self.servers.get(name)
        if spec is None:
            known = ", ".join(sorted(self.servers)) or "none"
            raise FleetError(str(self.path), f'there is no server "{name}"; it has: {known}', "servers")
        return spec

    def resolve(self, name: str, scope: VariableScope) -> ResolvedServer:
        """The server's way to start with all variables filled in.

        Raises:
            FleetError: a variable is not set; names variable, server and field.
        """
        return _Substitution(self, name, scope).resolved(self.spec(name))

    def require(self, names: Iterable[str]) -> None:
        """Check that all variables of these servers are set.

        Raises:
            FleetError: one is not, or there is no such server.
        """
        for name in names:
            if not self.spec(name).disabled:
                self.resolve(name, VariableScope(workspace=self.directory, task="task"))

    def secrets(self) -> tuple[str, ...]:
        """Every value that must not be written anywhere: from the environment, from headers, from secret-named keys."""
        values: set[str] = set()
        for name, spec in self.servers.items():
            substitution = _Substitution(self, name, VariableScope(Path("/workspace"), "task"), lenient=True)
            try:
                values.update(_secrets_in(substitution.resolved(spec)))
            except FleetError:
                continue
            values.update(value for variable, value in substitution.taken if _is_secret(variable, value))
        long_enough = (value for value in values if len(value) >= _MIN_SECRET_LENGTH)
        return tuple(sorted(long_enough, key=lambda secret: (-len(secret), secret)))

    def check_template(self) -> None:
        """Make sure of a template that is one directory for all trajectories; one per task may be missing for some.

        Raises:
            FleetError: there is no such directory.
        """
        template = self.workspace.template
        if template is not None and "${" not in template and not (self.directory / template).is_dir():
            raise FleetError(str(self.path), f"there is no directory {template!r} to copy", "workspace.template")

    def without_template(self) -> Fleet:
        """The same fleet with workspaces that are empty."""
        return self.model_copy(update={"workspace": self.workspace.model_copy(update={"template": None})})

    def digest(self, name: str) -> str:
        """SHA-256 (hexadecimal) of what decides how the server answers, without secrets."""
        spec = self.spec(name)
        public: JsonObject = {
            "command": spec.command,
            "args": spec.args,
            "env": {key: None if is_secret_name(key) else value for key, value in spec.env.items()},
            "cwd": spec.cwd,
            "url": spec.url,
            "headers": sorted(spec.headers),
        }
        if spec.type == "sse":
            public["type"] = spec.type
        if spec.auth is not None:
            public["auth"] = {"grant": spec.auth.grant, "client_id": spec.auth.client_id, "scopes": spec.auth.scopes}
        return hashlib.sha256(json.dumps(public, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(slots=True)
class _Substitution:
    """Fills in the variables of one server, and keeps what came from outside."""

    fleet: Fleet
    server: str
    scope: VariableScope
    lenient: bool = False
    taken: list[tuple[str, str]] = field(default_factory=list)
    """(variable, value) of everything that the environment gave."""

    def resolved(self, spec: ServerSpec) -> ResolvedServer:
        """A server's way to start, with every variable filled in."""
        env = {key: self._fill(f"env.{key}", value) for key, value in spec.env.items()}
        return ResolvedServer(
            command=None if spec.command is None else self._command(spec.command),
            args=tuple(self._fill(f"args[{index}]", value) for index, value in enumerate(spec.args)),
            env=env,
            cwd=None if spec.cwd is None else self.fleet.directory / self._fill("cwd", spec.cwd),
            url=None if spec.url is None else self._fill("url", spec.url),
            headers={key: self._fill(f"headers.{key}", value) for key, value in spec.headers.items()},
            auth=None if spec.auth is None else self._auth(spec.auth),
            transport=spec.type or ("stdio" if spec.url is None else "http"),
            writable=tuple(
                self.fleet.directory / Path(self._fill(f"writable[{index}]", value)).expanduser()
                for index, value in enumerate(spec.writable)
            ),
        )

    def _auth(self, auth: AuthSpec) -> AuthSpec:
        fields = {field: getattr(auth, field) for field in ("client_id", "client_secret", "issuer")}
        filled = {
            field: value if value is None else self._fill(f"auth.{field}", value) for field, value in fields.items()
        }
        scopes = tuple(self._fill(f"auth.scopes[{index}]", scope) for index, scope in enumerate(auth.scopes))
        return auth.model_copy(update={**filled, "scopes": scopes})

    def _command(self, command: str) -> str:
        """What starts comes from the fleet file alone, so a trajectory's task id has no place in the command."""
        if "${task}" in command:
            raise FleetError(str(self.fleet.path), "${task} cannot be part of it", f"servers.{self.server}.command")
        return self._fill("command", command)

    def _fill(self, where: str, text: str) -> str:
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
        value = self._environment(variable)
        if default is not None and not value:
            return default
        return value if value is not None else self._missing(where, f"environment variable {variable} is not set")

    def _environment(self, variable: str) -> str | None:
        """What the environment has for a variable; where it is something, that is remembered."""
        value = os.environ.get(variable)
        if value:
            self.taken.append((variable, value))
        return value

    def _own(self, where: str, name: str) -> str | None:
        """`${workspace}` and `${task}`, and VS Code's two that need no editor."""
        if name == "workspace":
            return str(self.scope.workspace) if self.scope.workspace else self._missing(where, "there is no workspace")
        if name == "task":
            return self._task(where)
        if name == "workspaceFolder":
            directory = self.fleet.directory
            return str(directory.parent if directory.name == ".vscode" else directory)
        return str(Path.home()) if name == "userHome" else None

    def _task(self, where: str) -> str:
        """A results file gives the task's id: it is a name in a path that the fleet file writes, and nothing else."""
        task = self.scope.task
        if task is None:
            return self._missing(where, "${task} needs state: trajectory")
        if not is_folder_name(task):
            return self._missing(where, f"the task id {one_line(task, 60)!r} is not the name of a folder")
        return quote(task, safe="") if where == "url" else task

    def _input(self, where: str, name: str) -> str:
        """VS Code would ask its user; here the environment or the input's default answers."""
        variable = re.sub(r"\W", "_", name).upper()
        default = self.fleet.inputs.get(name)
        if value := self._environment(variable):
            return value
        if default is not None:
            return default
        return self._missing(where, f'input "{name}" has no value; set the environment variable {variable}')

    def _missing(self, where: str, why: str) -> str:
        if self.lenient:
            return ""
        raise FleetError(str(self.fleet.path), why, f"servers.{self.server}.{where}")


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
