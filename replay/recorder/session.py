"""One client's session with the whole fleet: its recording, and the servers that are its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import anyio
import anyio.abc

from replay.interpreter.interpreter import Interpreter
from replay.recorder.names import RealName
from replay.recorder.output import Output
from replay.recorder.recording import Recording
from replay.records import Answer, JsonObject, RpcError, Server, ToolResult, TransportFault


class Caller(Protocol):
    """What calls a tool: a sandbox of the interpreter."""

    async def call(self, server: str, tool: str, arguments: JsonObject) -> Answer:
        """Call a tool; whatever happens is an answer."""


class Session:
    """Records the calls of one client, and sends them on."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._caller: Caller | None = None
        self._ready, self._over = anyio.Event(), anyio.Event()

    async def live(self, interpreter: Interpreter, trajectory: str) -> None:
        """Hold the session's own servers until `end`: a sandbox must be left by the task that entered it."""
        async with interpreter.sandbox(trajectory) as sandbox:
            self._caller = sandbox
            self._ready.set()
            await self._over.wait()

    def end(self) -> None:
        """The client has gone."""
        self._over.set()

    def introduce(self, servers: Mapping[str, Server]) -> None:
        """Note who the servers are."""
        for server in servers.values():
            self.recording.server(server.model_dump(mode="json"))

    async def call(self, request: dict[str, Any], real: RealName, arguments: JsonObject) -> Answer:
        """Record a call, make it, and record its answer before giving it."""
        number = self.recording.call(request, server=real.server, tool=real.tool)
        try:
            await self._ready.wait()
            assert self._caller is not None
            answer = await self._caller.call(real.server, real.tool, arguments)
        except anyio.get_cancelled_exc_class():
            self.recording.fault(number, "closed", "the client cancelled the call")
            raise
        if isinstance(answer, TransportFault):
            self.recording.fault(number, answer.fault, answer.message)
        else:
            self.recording.answer(number, response_of(answer))
        return answer

    def refuse(self, request: dict[str, Any], code: int, message: str) -> None:
        """Record a call that goes to no server, and what the client is told."""
        number = self.recording.call(request)
        self.recording.answer(number, {"error": {"code": code, "message": message}})


class Sessions:
    """All sessions: begins and ends them."""

    def __init__(self, output: Output, interpreter: Interpreter, tasks: anyio.abc.TaskGroup) -> None:
        self._output, self._interpreter, self._tasks = output, interpreter, tasks
        self._count = 0

    def begin(self, identifier: str | None = None) -> Session:
        """A client has come.

        Args:
            identifier: the trajectory's id, where the client chose one.
        """
        self._count += 1
        session = Session(self._output.begin(identifier))
        self._tasks.start_soon(session.live, self._interpreter, identifier or f"session-{self._count}")
        return session

    def end(self, session: Session) -> None:
        """The client has gone: its trajectory is written."""
        session.end()
        self._output.finish(session.recording)


def response_of(answer: Answer) -> dict[str, Any]:
    """A JSON-RPC response with that answer."""
    if isinstance(answer, ToolResult):
        return {"result": result_of(answer)}
    if isinstance(answer, RpcError):
        data = {} if answer.data is None else {"data": answer.data}
        return {"error": {"code": answer.code, "message": answer.message, **data}}
    raise TypeError(f"no response can carry {answer!r}")


def result_of(answer: ToolResult) -> dict[str, Any]:
    """A tool result as it goes over the wire."""
    structured = {} if answer.structured is None else {"structuredContent": answer.structured}
    return {"content": list(answer.content), **structured, "isError": answer.is_error}
