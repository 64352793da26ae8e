"""The fleet: which MCP servers there are, how each starts, and what it may do."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field, ValidationError, model_validator

from replay.errors import FleetError
from replay.interpreter.config.fleet_file import read_fleet_file
from replay.interpreter.config.specs import Defaults, ServerSpec, WorkspaceSpec
from replay.interpreter.config.variables import (
    FleetContext,
    ResolvedServer,
    VariableScope,
    resolve,
    secrets_of,
)
from replay.records import JsonObject, Record
from replay.safety.redaction import is_secret_name

_NOT_IN_FILES: Final = frozenset({"inputs", "path"})


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
        return resolve(name, self.spec(name), scope, self._context)

    @property
    def _context(self) -> FleetContext:
        return FleetContext(self.path, self.inputs)

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
        return self._secrets

    @cached_property
    def _secrets(self) -> tuple[str, ...]:
        return tuple(sorted(secrets_of(self.servers, self._context), key=lambda secret: (-len(secret), secret)))

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
