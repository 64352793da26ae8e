"""Recording in an agent's own code: a stand-in for its client session. All else is the session's own."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar, cast

from replay.recorder.recording import DEFAULT_SERVER_NAME, Recording, RecordingInfo, print_notice
from replay.recorder.recording_store import RecordingStore
from replay.safety.redaction import Redactor, secrets_around

_TIMEOUT: Final = -32001
_CLOSED: Final = -32000
SessionT = TypeVar("SessionT")


class Recorder:
    """Records one trajectory; a context manager, also an asynchronous one.

    ```python
    with Recorder("run.trajectory.json", model="gpt-5", task=question) as recorder:
        async with Client(server) as client:
            session = recorder.wrap(client)
            recorder.note(reply.text)
            await session.call_tool("search", {"query": "..."})
    ```

    Args:
        path: the trajectory file; where it is there already, the next free name (`run-2.trajectory.json`).
        model: the model's name.
        task: the question that it was asked.
        id: the trajectory's id; by default the file's name.
        redact: regular expressions; what they match is not written.
        secrets: values that are not written, in whatever spelling.

    Raises:
        InputError: the file cannot be written.
        UsageError: another recorder is writing to it, or a pattern is not a regular expression.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        model: str = "unknown",
        task: str | None = None,
        id: str = "",  # noqa: A002
        redact: Iterable[str] = (),
        secrets: Iterable[str] = (),
    ) -> None:
        self._store = RecordingStore(
            Path(path),
            RecordingInfo(id, model, task),
            Redactor({*secrets, *secrets_around(os.environ)}, redact),
            print_notice,
        )
        self._recording = self._store.begin()
        self._recording.has_content = True
        self._server_names: list[str] = []
        self._path: Path | None = None

    @property
    def path(self) -> Path | None:
        """The file that was written; None until the recorder is closed."""
        return self._path

    def wrap(self, session: SessionT, server: str | None = None) -> SessionT:
        """A drop-in for a session (`mcp.Client`, `ClientSession`) that records its tool calls.

        Args:
            session: anything with an asynchronous `call_tool(name, arguments)`.
            server: the server's name in your fleet file; by default the name that it gives of itself.
        """
        return cast("SessionT", WrappedSession(session, self._recording, server, self._server_names))

    def note(self, text: str, *, unparsed: bool = False) -> None:
        """Keep what the model wrote; it goes with the step that follows.

        Args:
            text: the model's raw text.
            unparsed: the text is a call that could not be read, and so is never sent.
        """
        if unparsed:
            self._recording.unparsed(text)
        else:
            self._recording.note(text)

    def unparsed(self, text: str) -> None:
        """Record a call that could not be read, and so is never sent."""
        self._recording.unparsed(text)

    def step(self) -> AbstractContextManager[object]:
        """Begin a step by hand: all calls up to the next mark are in it, whatever their timing.

        As a context manager the step ends with it, and from there on the timing decides again.
        """
        self._recording.step()
        ends = ExitStack()
        ends.callback(self._recording.step, begins=False)
        return ends

    def close(self) -> Path | None:
        """Write the trajectory file.

        Returns:
            The file that was written.
        """
        if self._path is None:
            self._path = self._store.finish(self._recording)
            self._store.close()
        return self._path

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


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
