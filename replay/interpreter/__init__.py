"""The MCP host: fleet file, sessions, workspaces, effects policy. The only door to processes."""

from replay.interpreter.events import ServerEvent
from replay.interpreter.fleet import Defaults, Fleet, ServerSpec, WorkspaceSpec
from replay.interpreter.interpreter import Interpreter
from replay.interpreter.sandbox import Sandbox

__all__ = ["Defaults", "Fleet", "Interpreter", "Sandbox", "ServerEvent", "ServerSpec", "WorkspaceSpec"]
