"""The interpreter is what the paper calls the MCP host: fleet file, sessions, workspaces, which calls may be sent.

It alone starts servers.
"""

from replay.interpreter.config.fleet import Fleet
from replay.interpreter.config.specs import AuthSpec, Defaults, ServerSpec, WorkspaceSpec
from replay.interpreter.interpreter import Interpreter, Sandbox
from replay.interpreter.session.json_rpc import Exchange
from replay.interpreter.session.supervisor import ServerEvent

__all__ = [
    "AuthSpec",
    "Defaults",
    "Exchange",
    "Fleet",
    "Interpreter",
    "Sandbox",
    "ServerEvent",
    "ServerSpec",
    "WorkspaceSpec",
]
