"""A client session that records its tool calls. All else is the session's own."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final, Self

from replay.recorder.recording import DEFAULT_SERVER_NAME, Recording

_TIMEOUT: Final = -32001
_CLOSED: Final = -32000


class WrappedSession:
    """Stands in for a `mcp.Client` or `ClientSession`.

    Args:
        session: the real one.
        recording: where its calls are noted.
        name: the server's name, where the user gave one.
        taken_names: names of the sessions that are recorded together; each gets its own.
    """

    def __init__(self, session: Any, recording: Recording, name: str | None, taken_names: list[str]) -> None:
        self._session, self._recording, self._name, self._taken_names = session, recording, name, taken_names
        self._identity_recorded = False
        self._listed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    async def __aenter__(self) -> Self:
        await self._session.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        suppressed: bool | None = await self._session.__aexit__(kind, error, trace)
        return suppressed

    async def call_tool(self, name: str, arguments: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Call a tool, and record it."""
        server = self._record_identity()
        params = {} if arguments is None else {"arguments": arguments}
        number = self._recording.call({"params": {"name": name, **params}}, server=server)
        try:
            result = await self._session.call_tool(name, arguments, *args, **kwargs)
        except BaseException as error:
            self._failed(number, error)
            raise
        self._recording.answer(number, {"result": _wire_json(result)})
        await self._record_tools_once()
        return result

    async def list_tools(self, *args: Any, **kwargs: Any) -> Any:
        """List the tools, and record them."""
        result = await self._session.list_tools(*args, **kwargs)
        self._listed = True
        self._recording.tools(self._record_identity(), {"result": _wire_json(result)}, not _cursor(args, kwargs))
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

    def _record_identity(self) -> str:
        """Note who the server is, once."""
        if not self._identity_recorded:
            info = getattr(self._session, "server_info", None)
            identity = _wire_json(info) if info is not None else {}
            name = self._unique_name(self._name or str(identity.get("name") or DEFAULT_SERVER_NAME))
            protocol = getattr(self._session, "protocol_version", None)
            self._recording.identity(name, {"result": {"serverInfo": identity}}, protocol)
            self._name, self._identity_recorded = name, True
        assert self._name is not None
        return self._name

    def _unique_name(self, wanted: str) -> str:
        name, number = wanted, 1
        while name in self._taken_names:
            number += 1
            name = f"{wanted}-{number}"
        self._taken_names.append(name)
        return name

    async def _record_tools_once(self) -> None:
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


def _wire_json(value: Any) -> Any:
    """The JSON of a result, only what was sent."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return dict(value) if isinstance(value, Mapping) else value


def _cursor(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    params = kwargs.get("params")
    return kwargs.get("cursor") or getattr(params, "cursor", None) or (args[0] if args else None)
