"""Listens to the JSON-RPC messages between one client and one server, and records the tool calls among them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from replay.recorder.journal import decode, encode
from replay.recorder.output import Output

CONNECTION_CLOSED: Final = -32000
_PROTOCOL_META: Final = "io.modelcontextprotocol/protocolVersion"
_OUR_MARK: Final = b"mcp-replay/tools-list/"
_INTRODUCTIONS: Final = frozenset({"initialize", "server/discover"})


@dataclass(frozen=True)
class _Pending:
    """A request of the client that the server has not answered yet."""

    id: Any
    method: str
    params: dict[str, Any]
    call: int | None = None
    """Number of the call in the recording."""


class Tap:
    """Hears every line in both directions; changes none.

    Args:
        output: where recordings come from.
        name: the server's name, where the user gave one.
    """

    def __init__(self, output: Output, name: str | None = None) -> None:
        self._output, self._name = output, name
        self._recording = output.begin()
        self._pending: dict[bytes, _Pending] = {}
        self._awaiting_input: dict[bytes, int] = {}
        self._initialized = False
        self._listed = False
        self._cursor: Any = None
        self._asked = 0
        self._failed = False
        self._unparsed: list[int] = []
        """Unreadable calls among the lines that are being heard: what came with them is of the same step."""
        self._meta: dict[str, Any] = {}
        """The envelope of the client's last request, where the protocol wants one on each."""

    @property
    def wants_tools(self) -> bool:
        """The server introduced itself, and nobody asked for its tools."""
        return self._recording.worth_keeping and not self._listed

    @property
    def introduced(self) -> bool:
        """The server said who it is."""
        return self._recording.worth_keeping

    @property
    def owes_answers(self) -> bool:
        """The client waits for some answer."""
        return bool(self._pending)

    @property
    def broken(self) -> bool:
        """Something could not be recorded."""
        return self._failed or self._recording.broken

    def hear_client(self, lines: list[bytes]) -> list[bytes]:
        """Hear lines on their way to the server; all of them pass."""
        self._hear(lines, self._from_client)
        return lines

    def hear_server(self, lines: list[bytes]) -> list[bytes]:
        """Hear lines on their way to the client; all pass but the answer to a question of ours."""
        self._hear(lines, self._from_server)
        return [line for line in lines if _OUR_MARK not in line] if self._asked else lines

    def question_for_tools(self) -> bytes:
        """A request for tools/list, or its next page, in the way that the client asked."""
        self._asked += 1
        params: dict[str, Any] = {"_meta": self._meta} if self._meta else {}
        if self._cursor is not None:
            params["cursor"] = self._cursor
        identifier = f"{_OUR_MARK.decode()}{self._asked}"
        line = encode({"jsonrpc": "2.0", "id": identifier, "method": "tools/list", "params": params}) + b"\n"
        self.hear_client([line])
        return line

    def _hear(self, lines: list[bytes], take: Callable[[Any, bytes | None], None]) -> None:
        for line in lines:
            try:
                self._hear_line(line, take)
            except Exception as error:  # noqa: BLE001  whatever goes wrong here, the client and its server must go on
                if not self._failed:
                    self._output.tell(f"not all could be recorded: {error!r}")
                self._failed = True
        while self._unparsed:
            self._recording.over(self._unparsed.pop())

    def _hear_line(self, line: bytes, take: Callable[[Any, bytes | None], None]) -> None:
        try:
            value = decode(line)
        except ValueError:
            if take == self._from_client and b'"tools/call"' in line:
                text = line.decode("utf-8", "backslashreplace").strip()
                self._unparsed.append(self._recording.unparsed(text, under_way=True))
            return
        if isinstance(value, list):
            for message in value:
                take(message, None)
        else:
            take(value, line)

    def give_up(self, fault: str, why: str) -> list[bytes]:
        """The server will answer no more: note it, and give the error lines that the client is owed."""
        waiting, self._pending = self._pending, {}
        for pending in waiting.values():
            if pending.call is not None:
                self._recording.fault(pending.call, fault, why)
        return [_error_line(pending.id, why) for pending in waiting.values()]

    def _from_client(self, message: Any, line: bytes | None) -> None:
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            return
        method, params = message["method"], message.get("params")
        params = params if isinstance(params, dict) else {}
        if method == "notifications/cancelled":
            self._cancelled(params)
        if "id" not in message:
            return
        if method == "initialize":
            self._initialize()
        if isinstance(params.get("_meta"), dict):
            self._meta = {key: value for key, value in params["_meta"].items() if "/" in key}
        call = self._call(message, params, line) if method == "tools/call" else None
        self._pending[encode(message["id"])] = _Pending(message["id"], method, params, call)

    def _initialize(self) -> None:
        """A client that initializes again, or after calls, begins a new session."""
        if self._initialized or self._recording.calls:
            self.give_up("closed", "the client began a new session")
            self._output.finish(self._recording)
            self._recording = self._output.begin()
            self._listed, self._cursor = False, None
            self._awaiting_input.clear()
        self._initialized = True

    def _call(self, message: dict[str, Any], params: dict[str, Any], line: bytes | None) -> int:
        if "requestState" in params or "inputResponses" in params:
            again = self._awaiting_input.pop(_flow(params), None)
            if again is not None:
                return again
        earlier = self._pending.get(encode(message["id"]))
        if earlier is not None and earlier.call is not None:
            self._recording.fault(earlier.call, "closed", "the client used its id for another request")
        return self._recording.call(message, raw=line)

    def _cancelled(self, params: dict[str, Any]) -> None:
        pending = self._pending.pop(encode(params.get("requestId")), None)
        if pending is not None and pending.call is not None:
            reason = str(params.get("reason") or "no reason given")
            timed_out = "timed out" in reason.lower() or "timeout" in reason.lower()
            self._recording.fault(
                pending.call, "timeout" if timed_out else "closed", f"the client cancelled the call: {reason}"
            )

    def _from_server(self, message: Any, line: bytes | None) -> None:
        if not isinstance(message, dict) or "method" in message or "id" not in message:
            return
        pending = self._pending.pop(encode(message["id"]), None)
        if pending is None:
            return
        if pending.call is not None:
            self._answer(pending, pending.call, message, line)
        elif pending.method in _INTRODUCTIONS and "result" in message:
            self._recording.identity(self._name, message, self._meta.get(_PROTOCOL_META))
        elif pending.method == "tools/list" and "result" in message:
            self._recording.tools(self._name, message, pending.params.get("cursor") is None, line)
            result = message["result"]
            self._cursor = result.get("nextCursor") if isinstance(result, dict) else None
            self._listed = self._cursor is None

    def _answer(self, pending: _Pending, call: int, message: dict[str, Any], line: bytes | None) -> None:
        result = message.get("result")
        if isinstance(result, dict) and result.get("resultType") == "input_required":
            self._awaiting_input[_flow({**pending.params, "requestState": result.get("requestState")})] = call
        else:
            self._recording.answer(call, message, line)


def _error_line(identifier: Any, why: str) -> bytes:
    error = {"code": CONNECTION_CLOSED, "message": why}
    return encode({"jsonrpc": "2.0", "id": identifier, "error": error}) + b"\n"


def _flow(params: dict[str, Any]) -> bytes:
    """What ties the retry of a call that asked for input to its first try."""
    return encode([params.get("name"), params.get("requestState"), params.get("arguments")])
