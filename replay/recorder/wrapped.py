"""A client session that records its tool calls. All else is the session's own."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final, Self

from replay.recorder.recording import NAMELESS, Recording

_TIMEOUT: Final = -32001
_CLOSED: Final = -32000


class WrappedSession:
    """Stands in for a `mcp.Client` or `ClientSession`.

    Args:
        session: the real one.
        recording: where its calls are noted.
        name: the server's name, where the user gave one.
        taken: names of the sessions that are recorded together; each gets its own.
    """

    def __init__(self, session: Any, recording: Recording, name: str | None, taken: list[str]) -> None:
        self._session, self._recording, self._name, self._taken = session, recording, name, taken
        self._named = False
        self._listed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    async def __aenter__(self) -> Self:
        await self._session.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        left: bool | None = await self._session.__aexit__(kind, error, trace)
        return left

    async def call_tool(self, name: str, arguments: Any = None, *args: Any, **more: Any) -> Any:
        """Call a tool, and record it."""
        server = self._introduce()
        given = {} if arguments is None else {"arguments": arguments}
        number = self._recording.call({"params": {"name": name, **given}}, server=server)
        try:
            result = await self._session.call_tool(name, arguments, *args, **more)
        except BaseException as error:
            self._failed(number, error)
            raise
        self._recording.answer(number, {"result": _as_sent(result)})
        await self._list_once()
        return result

    async def list_tools(self, *args: Any, **more: Any) -> Any:
        """List the tools, and record them."""
        result = await self._session.list_tools(*args, **more)
        self._listed = True
        self._recording.tools(self._introduce(), {"result": _as_sent(result)}, not _cursor(args, more))
        return result

    def _failed(self, number: int, error: BaseException) -> None:
        detail = getattr(error, "error", None)
        code, message = getattr(detail, "code", None), str(getattr(detail, "message", error))
        if not isinstance(error, Exception):
            self._recording.fault(number, "closed", "the agent cancelled the call")
        elif not isinstance(code, int):
            fault = "closed" if "Resource" in type(error).__name__ else "unreadable"
            self._recording.fault(number, fault, f"{type(error).__name__}: {error}")
        elif code == _TIMEOUT and "timed out" in message.lower():
            self._recording.fault(number, "timeout", message)
        elif code == _CLOSED and "closed" in message.lower():
            self._recording.fault(number, "closed", message)
        else:
            data = getattr(detail, "data", None)
            self._recording.answer(number, {"error": {"code": code, "message": message, "data": data}})

    def _introduce(self) -> str:
        """Note who the server is, once."""
        if not self._named:
            info = getattr(self._session, "server_info", None)
            identity = _as_sent(info) if info is not None else {}
            name = self._free_name(self._name or str(identity.get("name") or NAMELESS))
            protocol = getattr(self._session, "protocol_version", None)
            self._recording.identity(name, {"result": {"serverInfo": identity}}, protocol)
            self._name, self._named = name, True
        assert self._name is not None
        return self._name

    def _free_name(self, wanted: str) -> str:
        name, number = wanted, 1
        while name in self._taken:
            number += 1
            name = f"{wanted}-{number}"
        self._taken.append(name)
        return name

    async def _list_once(self) -> None:
        """The tools belong in the recording, also where the agent knows them by heart."""
        if self._listed or not hasattr(self._session, "list_tools"):
            return
        self._listed = True
        try:
            result = await self.list_tools()
            while cursor := getattr(result, "next_cursor", None) or getattr(result, "nextCursor", None):
                result = await self._page(cursor)
        except Exception:  # noqa: BLE001, S110  a recording without its tools is better than an agent that fails
            pass

    async def _page(self, cursor: str) -> Any:
        try:
            return await self.list_tools(cursor=cursor)
        except TypeError:
            from mcp_types import PaginatedRequestParams

            return await self.list_tools(params=PaginatedRequestParams(cursor=cursor))


def _as_sent(value: Any) -> Any:
    """The JSON of a result, only what was sent."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return dict(value) if isinstance(value, Mapping) else value


def _cursor(args: tuple[Any, ...], more: Mapping[str, Any]) -> Any:
    params = more.get("params")
    return more.get("cursor") or getattr(params, "cursor", None) or (args[0] if args else None)
