"""The fleet: which MCP servers there are, how each starts, and what it may do."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from replay.errors import FleetError
from replay.interpreter.variables import Resolved, Scope, is_secret_name, resolve, secrets_of
from replay.records import Record, RuleSpec

Effects = Literal["read-only", "sandboxed", "all"]
State = Literal["none", "trajectory"]


class Defaults(Record):
    """What holds for every server that does not say otherwise."""

    call_timeout: float = Field(default=30.0, gt=0)
    startup_timeout: float = Field(default=60.0, gt=0)
    effects: Effects = "read-only"
    max_restarts: int = Field(default=3, ge=0)


class WorkspaceSpec(Record):
    """What a trajectory finds in its working directory."""

    template: str | None = None
    """Directory that is copied for each trajectory, relative to the fleet file; may hold `${task}`."""
    recorded_as: tuple[str, ...] = ()
    """Absolute paths that the workspace had when trajectories were recorded."""

    @field_validator("recorded_as", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @field_validator("recorded_as")
    @classmethod
    def _absolute(cls, paths: tuple[str, ...]) -> tuple[str, ...]:
        trimmed = tuple(path.rstrip("/") for path in paths)
        for path in trimmed:
            if not path.startswith("/"):
                raise ValueError(f"must be an absolute path other than /, got {path!r}")
        return trimmed


class ServerSpec(Record):
    """How one server starts. Variables stand in it unresolved, so no secret does."""

    command: str | None = None
    args: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
    cwd: str | None = None
    """Working directory, relative to the fleet file; by default the workspace, or the fleet file's directory."""
    url: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    state: State = "none"
    effects: Effects = "read-only"
    call_timeout: float = Field(default=30.0, gt=0)
    startup_timeout: float = Field(default=60.0, gt=0)
    max_restarts: int = Field(default=3, ge=0)
    disabled: bool = False
    rules: tuple[RuleSpec, ...] = ()

    @field_validator("args", mode="before")
    @classmethod
    def _args_as_text(cls, value: Any) -> Any:
        return [_as_text(item) for item in value] if isinstance(value, list | tuple) else value

    @field_validator("env", "headers", mode="before")
    @classmethod
    def _values_as_text(cls, value: Any) -> Any:
        return {key: _as_text(item) for key, item in value.items()} if isinstance(value, Mapping) else value or {}

    @model_validator(mode="after")
    def _one_way_to_start(self) -> ServerSpec:
        if (self.command is None) == (self.url is None):
            raise ValueError('needs either "command" or "url"')
        return self

    @property
    def uses_workspace(self) -> bool:
        """Whether the server is told where the workspace is."""
        return any("${workspace}" in text for text in (*self.args, *self.env.values(), self.cwd or ""))


class Fleet(Record):
    """All servers of a fleet file."""

    version: Literal[1] = 1
    defaults: Defaults = Defaults()
    local_tools: tuple[str, ...] = ()
    """Patterns of tools of the harness itself, which no server has."""
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
        from replay.interpreter.fleetfile import read_fleet

        return read_fleet(path)

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

    def resolve(self, name: str, scope: Scope) -> Resolved:
        """The server's way to start with all variables filled in.

        Raises:
            FleetError: a variable is not set; names variable, server and field.
        """
        return resolve(self, name, scope)

    def require(self, names: Iterable[str]) -> None:
        """Check that all variables of these servers are set.

        Raises:
            FleetError: one is not, or there is no such server.
        """
        for name in names:
            if not self.spec(name).disabled:
                self.resolve(name, Scope(workspace=self.directory, task="task"))

    def secrets(self) -> tuple[str, ...]:
        """Every value that must not be written anywhere: from the environment, from headers, from secret-named keys."""
        return self._secrets

    @cached_property
    def _secrets(self) -> tuple[str, ...]:
        return tuple(sorted(secrets_of(self), key=lambda secret: (-len(secret), secret)))

    def without_template(self) -> Fleet:
        """The same fleet with workspaces that are empty."""
        return self.model_copy(update={"workspace": self.workspace.model_copy(update={"template": None})})

    def digest(self, name: str) -> str:
        """SHA-256 (hexadecimal) of what decides how the server answers, without secrets."""
        spec = self.spec(name)
        public = {
            "command": spec.command,
            "args": spec.args,
            "env": {key: None if is_secret_name(key) else value for key, value in spec.env.items()},
            "cwd": spec.cwd,
            "url": spec.url,
            "headers": sorted(spec.headers),
        }
        return hashlib.sha256(json.dumps(public, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()


def _as_text(value: Any) -> Any:
    """YAML's numbers and booleans, where the process needs text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else value
