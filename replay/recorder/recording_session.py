"""One client's session with the whole fleet: its recording, and the servers that are its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import anyio
import anyio.abc

from replay.errors import ReplayError
from replay.interpreter.interpreter import Interpreter, Sandbox
from replay.recorder.recording import Recording
from replay.recorder.recording_store import RecordingStore
from replay.records import Answer, JsonObject, RpcError, Server, ToolResult, TransportFault
from replay.safety.text import one_line


class ServerTool(NamedTuple):
    """A server of the fleet, and a tool as the server calls it."""

    server: str
    tool: str


class RecordingSession:
    """Records the calls of one client, and sends them on."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._caller: Sandbox | None = None
        self._failure = "the session has ended"
        self._servers_ready, self._ended = anyio.Event(), anyio.Event()

    async def hold_servers(self, interpreter: Interpreter, trajectory: str) -> None:
        """Hold the session's own servers until `end`: a sandbox must be left by the task that entered it."""
        try:
            async with interpreter.sandbox(trajectory) as sandbox:
                self._caller = sandbox
                self._servers_ready.set()
                await self._ended.wait()
        except Exception as problem:  # noqa: BLE001 - what goes wrong with one session must not end the others
            self._failure = one_line(f"{type(problem).__name__}: {problem}", 300)
        finally:
            self._caller = None
            self._servers_ready.set()

    def end(self) -> None:
        """The client has disconnected."""
        self._ended.set()

    @property
    def has_calls(self) -> bool:
        """Whether the client called a tool."""
        return bool(self.recording.calls)

    def record_servers(self, servers: Mapping[str, Server]) -> None:
        """Record the servers as they are known by now."""
        for server in servers.values():
            self.recording.server(server.model_dump(mode="json"))

    async def call(self, request: dict[str, Any], target: ServerTool, arguments: JsonObject) -> Answer:
        """Record a call, make it, and record its answer before giving it."""
        number = self.recording.call(request, server=target.server, tool=target.tool)
        try:
            await self._servers_ready.wait()
            if self._caller is None:
                answer: Answer = TransportFault(fault="not-started", message=self._failure)
            else:
                answer = await self._caller.call(target.server, target.tool, arguments)
        except anyio.get_cancelled_exc_class():
            self.recording.fault(number, "closed", "the client cancelled the call")
            raise
        if isinstance(answer, TransportFault):
            self.recording.fault(number, answer.fault, answer.message)
        else:
            self.recording.answer(number, to_response(answer))
        return answer

    def record_rejected(self, request: dict[str, Any], code: int, message: str) -> None:
        """Record a call that goes to no server, and the error that the client gets."""
        number = self.recording.call(request)
        self.recording.answer(number, {"error": {"code": code, "message": message}})


class SessionManager:
    """All sessions: begins and ends them."""

    def __init__(self, store: RecordingStore, interpreter: Interpreter, tasks: anyio.abc.TaskGroup) -> None:
        self._store, self._interpreter, self._tasks = store, interpreter, tasks
        self._count = 0

    def begin(self, identifier: str | None = None) -> RecordingSession:
        """A client has connected.

        Args:
            identifier: the trajectory's id, where the client chose one.
        """
        self._count += 1
        session = RecordingSession(self._store.begin(identifier))
        self._tasks.start_soon(session.hold_servers, self._interpreter, identifier or f"session-{self._count}")
        return session

    def end(self, session: RecordingSession) -> None:
        """The client has disconnected: write its trajectory."""
        session.end()
        try:
            self._store.finish(session.recording)
        except (ReplayError, OSError) as problem:
            self._store.notify(f"a recording could not be finished: {problem}")


def to_response(answer: Answer) -> dict[str, Any]:
    """A JSON-RPC response with that answer."""
    if isinstance(answer, ToolResult):
        return {"result": to_result(answer)}
    if isinstance(answer, RpcError):
        data = {} if answer.data is None else {"data": answer.data}
        return {"error": {"code": answer.code, "message": answer.message, **data}}
    raise TypeError(f"no response can carry {answer!r}")


def to_result(answer: ToolResult) -> dict[str, Any]:
    """A tool result as it goes over the wire."""
    structured = {} if answer.structured is None else {"structuredContent": answer.structured}
    return {"content": list(answer.content), **structured, "isError": answer.is_error}
