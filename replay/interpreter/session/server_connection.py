"""One connection to a server: from its start to its end, in a task of its own, and the answers that it brings."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio

from replay.interpreter.session.handshake import DisconnectedOnProbeError, ServerHistory, ServerIdentity, negotiate
from replay.interpreter.session.json_rpc import Channel, Closed, Exchange, Failed, JsonRpcClient, RpcReply, Unreadable
from replay.interpreter.session.launch import CannotStartError, Launch
from replay.interpreter.session.stderr_log import tail_of
from replay.interpreter.session.stdio import StdioChannel, running
from replay.interpreter.session.tools_list import list_tools
from replay.interpreter.workspace import task_group
from replay.records import Answer, JsonObject, RpcError, Server, Tool, ToolResult, TransportFault, digest_of
from replay.safety.redaction import Redactor
from replay.safety.text import one_line

_INTERNAL_ERROR: Final = -32603
_OF_THE_PROTOCOL: Final = frozenset({"_meta", "resultType", "isError"})
Note = Callable[[str], None]
_MAX_REASON_LENGTH: Final = 300
_MAX_LISTINGS: Final = 3


class ServerConnection:
    """A connection to a server. `run` holds it open; `ready_or_failed` tells when it is up, or failed to come up."""

    def __init__(
        self, launch: Launch, log: Path, startup_timeout: float, history: ServerHistory, redactor: Redactor
    ) -> None:
        self._launch, self._log, self._startup_timeout, self._history = launch, log, startup_timeout, history
        self._redactor = redactor
        self._log_start = log.stat().st_size if log.exists() else 0
        self._cancel_scope = anyio.CancelScope()
        self._disconnected = anyio.Event()
        self._began = time.monotonic()
        self._client: JsonRpcClient | None = None
        self._identity: ServerIdentity | None = None
        self._tools: tuple[Tool, ...] = ()
        self._seconds: float | None = None
        self._list_changed = False
        self.ready_or_failed = anyio.Event()
        self.ended = anyio.Event()
        self.error: str | None = None
        """Why it did not come up."""
        self.disconnected_on_probe = False
        """Whether it ended the conversation at our first question, as older servers may."""

    @property
    def alive(self) -> bool:
        """Whether calls can be sent."""
        return self._client is not None and not self._client.closed and not self._cancel_scope.cancel_called

    @property
    def messages_received(self) -> int:
        """How many things have arrived from the server."""
        return self._client.messages_received if self._client else 0

    def stderr_tail(self) -> str | None:
        """The last lines that it wrote to stderr, without secrets."""
        return tail_of(self._log, self._log_start) or None

    async def run(self) -> None:
        """Start, serve calls, and leave nothing behind."""
        try:
            with self._cancel_scope:
                async with (
                    _channel(self._launch, self._log, self._redactor, self._history) as channel,
                    task_group() as tasks,
                ):
                    client = JsonRpcClient(channel, self._history.note)
                    client.on_notification = self._notified
                    tasks.start_soon(self._listen, client)
                    await self._come_up(client)
                    await self._disconnected.wait()
            if not self.ready_or_failed.is_set():
                self._fail("it was stopped before it was up")
        except CannotStartError as problem:
            self.disconnected_on_probe = isinstance(problem, DisconnectedOnProbeError)
            self._fail(str(problem))
        except Exception as problem:  # noqa: BLE001 - what goes wrong with one server must not end the others
            self._fail(_in_words(problem))
        finally:
            self._disconnected.set()
            self.ready_or_failed.set()
            self.ended.set()

    async def stop(self) -> None:
        """End it, and wait until all of it is gone."""
        self._cancel_scope.cancel()
        await self.ended.wait()

    async def call(
        self, tool: str, arguments: JsonObject, timeout_seconds: float, exchange: Exchange | None = None
    ) -> Answer:
        """Call a tool; whatever the server does is an answer."""
        client = self._client
        if client is None:
            return TransportFault(fault="closed", message="the server is gone")
        with anyio.move_on_after(timeout_seconds):
            reply = await client.request("tools/call", {"name": tool, "arguments": arguments}, exchange)
            return answer_of(reply, self._history.note)
        return TransportFault(fault="timeout", message=f"no answer within {timeout_seconds:g} s")

    async def answers_ping(self, timeout_seconds: float) -> bool:
        """Whether the server says anything at all when asked, even that it knows no ping."""
        if self._client is None:
            return False
        before = self.messages_received
        reply: RpcReply | None = None
        with anyio.move_on_after(timeout_seconds):
            reply = await self._client.request("ping")
        return (reply is not None and not isinstance(reply, Closed)) or self.messages_received > before

    def describe(self, name: str, state: str) -> Server:
        """The server as it described itself on this connection."""
        if self.error is not None or self._identity is None:
            return Server(name=name, state=state, error=self.error or "did not start", notes=self._history.notes)
        who = self._identity
        return Server(
            name=name,
            version=who.version,
            title=who.title,
            protocol=who.protocol,
            tools=self._tools,
            tools_complete=self._history.tools_complete,
            digest=digest_of(who.title, who.version, self._tools),
            state=state,
            notes=self._history.notes,
            seconds=self._seconds,
        )

    async def _listen(self, client: JsonRpcClient) -> None:
        await client.run()
        self._disconnected.set()

    async def _come_up(self, client: JsonRpcClient) -> None:
        try:
            with anyio.fail_after(self._startup_timeout):
                identity = await negotiate(client, self._history)
                await self._list_tools(client, identity)
        except TimeoutError:
            raise CannotStartError(f"it did not answer within {self._startup_timeout:g} s") from None
        self._client, self._identity, self._seconds = client, identity, round(time.monotonic() - self._began, 3)
        self.ready_or_failed.set()

    async def _list_tools(self, client: JsonRpcClient, identity: ServerIdentity) -> None:
        """List the tools; again where the list changes meanwhile, as some servers' does right after the start."""
        for _ in range(_MAX_LISTINGS):
            self._list_changed = False
            self._tools, self._history.tools_complete = await list_tools(client, identity, self._history.note)
            if not self._list_changed:
                return

    def _fail(self, why: str) -> None:
        if self.ready_or_failed.is_set():
            return
        self.error = one_line(why, _MAX_REASON_LENGTH)

    def _notified(self, method: str, params: JsonObject) -> None:
        if method != "notifications/tools/list_changed":
            return
        self._list_changed = True
        if self.ready_or_failed.is_set():
            self._history.note("changed its tools/list while it ran; the first list was kept")
            self._history.tools_complete = False


def _in_words(problem: BaseException) -> str:
    """What went wrong; of a group of exceptions the first: that a task group had errors tells nobody anything."""
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    return str(problem) if isinstance(problem, CannotStartError) else f"{type(problem).__name__}: {problem}"


@asynccontextmanager
async def _channel(launch: Launch, log: Path, redactor: Redactor, history: ServerHistory) -> AsyncIterator[Channel]:
    if launch.url is None:
        async with running(launch, log, redactor) as process:
            yield StdioChannel(process)
    else:
        from replay.interpreter.session.http_channels import remote_channel
        from replay.interpreter.session.oauth import login_of

        if launch.transport == "sse":
            history.wants_initialize = True  # the transport is older than the question for versions
        async with remote_channel(launch, login_of(launch, history)) as channel:
            yield channel


def answer_of(reply: RpcReply, note: Note) -> Answer:
    """The answer to a tools/call."""
    if isinstance(reply, Closed):
        return TransportFault(fault="closed", message=f"{reply.why} before the answer came")
    if isinstance(reply, Unreadable):
        return TransportFault(fault="closed" if reply.lost else "unreadable", message=reply.why)
    if isinstance(reply, Failed):
        return _error_of(reply.error)
    if not isinstance(reply.result, dict):
        return TransportFault(fault="unreadable", message="the result is not a JSON object")
    if reply.result.get("resultType") == "input_required":
        return TransportFault(fault="unreadable", message="the server asks its user for input, which a replay has not")
    return _result_of(reply.result, note)


def _error_of(error: JsonObject) -> RpcError:
    code, message = error.get("code"), error.get("message")
    return RpcError(
        code=code if isinstance(code, int) else _INTERNAL_ERROR,
        message=message if isinstance(message, str) else json.dumps(error if message is None else message),
        data=error.get("data"),
    )


def _result_of(result: JsonObject, note: Note) -> ToolResult:
    structured = result.get("structuredContent")
    if "content" not in result and structured is None:
        note("answers a call without content")
        rest = {key: value for key, value in result.items() if key not in _OF_THE_PROTOCOL}
        structured = rest or None
    return ToolResult(
        content=_blocks_of(result.get("content"), note), structured=structured, is_error=bool(result.get("isError"))
    )


def _blocks_of(content: Any, note: Note) -> tuple[JsonObject, ...]:
    if content is None:
        return ()
    if not isinstance(content, list):
        note("answers a call with content that is not a list")
        content = [content]
    return tuple(_block_of(block, note) for block in content)


def _block_of(block: Any, note: Note) -> JsonObject:
    if isinstance(block, dict):
        return block
    note("answers a call with a content block that is not an object")
    return {"type": "text", "text": block if isinstance(block, str) else json.dumps(block)}
