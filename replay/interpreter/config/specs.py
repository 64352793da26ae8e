"""What a fleet file may say of a server, of the workspace, and of all servers together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from replay.records import Record, RuleSpec
from replay.safety.linear_regex import PatternError, compile_pattern

Effects = Literal["read-only", "sandboxed", "all"]
State = Literal["none", "trajectory"]
TransportType = Literal["stdio", "http", "sse"]

_OTHER_NAMES = {"streamable-http": "http", "streamableHttp": "http", "streamable_http": "http"}


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


class AuthSpec(Record):
    """How a remote server is logged in to with OAuth."""

    type: Literal["oauth"] = "oauth"
    grant: Literal["authorization_code", "client_credentials"] = "authorization_code"
    """`authorization_code`: a person logs in once, in the browser. `client_credentials`: a secret is enough."""
    client_id: str | None = None
    """Needed for `client_credentials`; otherwise the client registers itself where none is given."""
    client_secret: str | None = None
    scopes: tuple[str, ...] = ()
    """What to ask for; by default what the server names."""
    issuer: str | None = None
    """The authorization server that the secret belongs to, and the only one that gets to see it."""
    redirect_port: int | None = Field(default=None, gt=0, lt=65536)
    """Port of `http://127.0.0.1:PORT/callback`, where a registered client must name one; by default any free one."""

    @field_validator("scopes", mode="before")
    @classmethod
    def _scopes_as_list(cls, value: Any) -> Any:
        return tuple(value.split()) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _enough_to_log_in(self) -> AuthSpec:
        if self.grant == "client_credentials" and not (self.client_id and self.client_secret):
            raise ValueError('grant client_credentials needs "client_id" and "client_secret"')
        return self


class ServerSpec(Record):
    """How one server starts. Variables stand in it unresolved, so no secret does."""

    type: TransportType | None = None
    """The transport: `stdio` for a command, `http` (streamable HTTP) for a url; `sse` for a url of before 2025."""
    command: str | None = None
    args: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
    cwd: str | None = None
    """Working directory, relative to the fleet file; by default the workspace, or the fleet file's directory."""
    url: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    auth: AuthSpec | None = None
    writable: tuple[str, ...] = ()
    """What a sandboxed server may write to beside its workspace: paths, relative to the fleet file."""
    state: State = "none"
    effects: Effects = "read-only"
    call_timeout: float = Field(default=30.0, gt=0)
    startup_timeout: float = Field(default=60.0, gt=0)
    max_restarts: int = Field(default=3, ge=0)
    disabled: bool = False
    rules: tuple[RuleSpec, ...] = ()

    @field_validator("rules")
    @classmethod
    def _patterns_that_can_be_used(cls, rules: tuple[RuleSpec, ...]) -> tuple[RuleSpec, ...]:
        for rule in rules:
            try:
                compile_pattern(rule.pattern)
            except PatternError as problem:
                raise ValueError(f"the pattern of the rule {rule.id} cannot be used: {problem}") from None
        return rules

    @field_validator("type", mode="before")
    @classmethod
    def _one_name_of_a_transport(cls, value: Any) -> Any:
        return _OTHER_NAMES.get(value, value) if isinstance(value, str) else value

    @field_validator("args", "writable", mode="before")
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
        if self.type is not None and (self.type == "stdio") != (self.url is None):
            needed = "command" if self.type == "stdio" else "url"
            raise ValueError(f'type {self.type} needs "{needed}"')
        if self.auth is not None and self.url is None:
            raise ValueError('"auth" is for servers with a url')
        return self

    @property
    def uses_workspace(self) -> bool:
        """Whether the server is told where the workspace is."""
        return any("${workspace}" in text for text in (*self.args, *self.env.values(), self.cwd or ""))


def _as_text(value: Any) -> Any:
    """YAML's numbers and booleans, where the process needs text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else value
