"""One life of a server: from its start to its end, in a task of its own."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import anyio

from replay.interpreter.answers import answer_of
from replay.interpreter.channel import Channel
from replay.interpreter.handshake import HungUpOnProbeError, Identity, negotiate
from replay.interpreter.launch import CannotStartError, Launch
from replay.interpreter.peer import Closed, Outcome, Peer
from replay.interpreter.process import running, tail_of
from replay.interpreter.server_history import ServerHistory
from replay.interpreter.stdio import StdioChannel
from replay.interpreter.tasks import task_group
from replay.interpreter.tools_list import list_tools
from replay.records import Answer, JsonObject, Server, Tool, TransportFault, digest_of
from replay.redaction import Redactor
from replay.text import one_line

_REASON_LENGTH: Final = 300
_MOST_LISTINGS: Final = 3


class Connection:
    """A server while it lives. `run` is its life; `settled` tells when it is up, or has failed to come up."""

    def __init__(
        self, launch: Launch, log: Path, startup_timeout: float, known: ServerHistory, redactor: Redactor
    ) -> None:
        self._launch, self._log, self._startup_timeout, self._known = launch, log, startup_timeout, known
        self._redactor = redactor
        self._log_start = log.stat().st_size if log.exists() else 0
        self._life = anyio.CancelScope()
        self._hung_up = anyio.Event()
        self._began = time.monotonic()
        self._peer: Peer | None = None
        self._identity: Identity | None = None
        self._tools: tuple[Tool, ...] = ()
        self._seconds: float | None = None
        self._list_changed = False
        self.settled = anyio.Event()
        self.ended = anyio.Event()
        self.error: str | None = None
        """Why it did not come up."""
        self.hung_up_on_probe = False
        """Whether it ended the conversation at our first question, as older servers may."""

    @property
    def alive(self) -> bool:
        """Whether calls can be sent."""
        return self._peer is not None and not self._peer.closed and not self._life.cancel_called

    @property
    def heard(self) -> int:
        """How many things have arrived from the server."""
        return self._peer.heard if self._peer else 0

    def stderr_tail(self) -> str | None:
        """The last lines that it wrote to stderr, without secrets."""
        return tail_of(self._log, self._log_start) or None

    async def run(self) -> None:
        """Live: start, serve calls, and leave nothing behind."""
        try:
            with self._life:
                async with _channel(self._launch, self._log, self._redactor) as channel, task_group() as tasks:
                    peer = Peer(channel, self._known.note)
                    peer.on_notification = self._notified
                    tasks.start_soon(self._listen, peer)
                    await self._come_up(peer)
                    await self._hung_up.wait()
            if not self.settled.is_set():
                self._fail("it was stopped before it was up")
        except CannotStartError as problem:
            self.hung_up_on_probe = isinstance(problem, HungUpOnProbeError)
            self._fail(str(problem))
        except Exception as problem:  # noqa: BLE001 - what goes wrong with one server must not end the others
            self._fail(f"{type(problem).__name__}: {problem}")
        finally:
            self._hung_up.set()
            self.settled.set()
            self.ended.set()

    async def stop(self) -> None:
        """End its life, and wait until all of it is gone."""
        self._life.cancel()
        await self.ended.wait()

    async def call(self, tool: str, arguments: JsonObject, patience: float) -> Answer:
        """Call a tool; whatever the server does is an answer."""
        peer, identity = self._peer, self._identity
        if peer is None or identity is None:
            return TransportFault(fault="closed", message="the server is gone")
        params, headers = identity.stamp("tools/call", {"name": tool, "arguments": arguments})
        with anyio.move_on_after(patience):
            return answer_of(await peer.request("tools/call", params, headers), self._known.note)
        return TransportFault(fault="timeout", message=f"no answer within {patience:g} s")

    async def answers_ping(self, patience: float) -> bool:
        """Whether the server says anything at all when asked, even that it knows no ping."""
        if self._peer is None or self._identity is None:
            return False
        before = self.heard
        outcome: Outcome | None = None
        params, headers = self._identity.stamp("ping", {})
        with anyio.move_on_after(patience):
            outcome = await self._peer.request("ping", params or None, headers)
        return (outcome is not None and not isinstance(outcome, Closed)) or self.heard > before

    def describe(self, name: str, state: str) -> Server:
        """The server as this life met it."""
        if self.error is not None or self._identity is None:
            return Server(name=name, state=state, error=self.error or "did not start", notes=self._known.notes)
        who = self._identity
        return Server(
            name=name,
            version=who.version,
            title=who.title,
            protocol=who.protocol,
            tools=self._tools,
            digest=digest_of(who.title, who.version, self._tools),
            state=state,
            notes=self._known.notes,
            seconds=self._seconds,
        )

    async def _listen(self, peer: Peer) -> None:
        await peer.run()
        self._hung_up.set()

    async def _come_up(self, peer: Peer) -> None:
        try:
            with anyio.fail_after(self._startup_timeout):
                identity = await negotiate(peer, self._known)
                await self._list_tools(peer, identity)
        except TimeoutError:
            raise CannotStartError(f"it did not answer within {self._startup_timeout:g} s") from None
        self._peer, self._identity, self._seconds = peer, identity, round(time.monotonic() - self._began, 3)
        self.settled.set()

    async def _list_tools(self, peer: Peer, identity: Identity) -> None:
        """List the tools; again where the list changes meanwhile, as some servers' does right after the start."""
        for _ in range(_MOST_LISTINGS):
            self._list_changed = False
            self._tools = await list_tools(peer, identity, self._known.note)
            if not self._list_changed:
                return

    def _fail(self, why: str) -> None:
        if self.settled.is_set():
            return
        self.error = one_line(why, _REASON_LENGTH)

    def _notified(self, method: str, params: JsonObject) -> None:
        if method != "notifications/tools/list_changed":
            return
        self._list_changed = True
        if self.settled.is_set():
            self._known.note("changed its tools/list while it ran; the first list was kept")


@asynccontextmanager
async def _channel(launch: Launch, log: Path, redactor: Redactor) -> AsyncIterator[Channel]:
    if launch.url is None:
        async with running(launch, log, redactor) as process:
            yield StdioChannel(process)
    else:
        from replay.interpreter.http import http_channel

        async with http_channel(launch.url, launch.headers) as channel:
            yield channel
