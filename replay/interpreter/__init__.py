"""The MCP host: fleet file, sessions, workspaces, effects policy. The only door to processes."""

from replay.interpreter.config.fleet import Fleet
from replay.interpreter.config.specs import AuthSpec, Defaults, ServerSpec, WorkspaceSpec
from replay.interpreter.events import ServerEvent
from replay.interpreter.interpreter import Interpreter
from replay.interpreter.sandbox import Sandbox

__all__ = ["AuthSpec", "Defaults", "Fleet", "Interpreter", "Sandbox", "ServerEvent", "ServerSpec", "WorkspaceSpec"]
