"""Inspects the JSON-RPC messages between one client and one server, and records the tool calls among them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from replay.recorder.line_pump import MAX_LINE_BYTES
from replay.recorder.recording import decode_entry, encode_entry
from replay.recorder.recording_store import RecordingStore

CONNECTION_CLOSED: Final = -32000
_PROTOCOL_META: Final = "io.modelcontextprotocol/protocolVersion"
_OWN_REQUEST_PREFIX: Final = b"mcp-replay/tools-list/"
_ID: Final = re.compile(rb'^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*("[^"\\]{1,200}"|\d{1,15})\s*,')
_IDENTITY_METHODS: Final = frozenset({"initialize", "server/discover"})


@dataclass(frozen=True)
class _Pending:
    """A request of the client that the server has not answered yet."""

    id: Any
    method: str
    params: dict[str, Any]
    call: int | None = None
    """Number of the call in the recording."""


class MessageInspector:
    """Reads every line in both directions; changes none.

    Args:
        store: where recordings come from.
        name: the server's name, where the user gave one.
    """

    def __init__(self, store: RecordingStore, name: str | None = None) -> None:
        self._store, self._name = store, name
        self._recording = store.begin()
        self._pending: dict[bytes, _Pending] = {}
        self._awaiting_input: dict[bytes, int] = {}
        self._initialized = False
        self._listed = False
        self._cursor: Any = None
        self._own_requests = 0
        self._failed = False
        self._unparsed: list[int] = []
        """Unreadable calls among the lines being inspected: what came with them is of the same step."""
        self._meta: dict[str, Any] = {}
        """The envelope of the client's last request, where the protocol wants one on each."""

    @property
    def needs_tools_list(self) -> bool:
        """The server gave its identity, and nobody asked for its tools."""
        return self._recording.has_content and not self._listed

    @property
    def server_identified(self) -> bool:
        """The server gave its identity."""
        return self._recording.has_content

    @property
    def has_pending_requests(self) -> bool:
        """The client waits for an answer."""
        return bool(self._pending)

    @property
    def broken(self) -> bool:
        """Something could not be recorded."""
        return self._failed or self._recording.broken

    def inspect_client_lines(self, lines: list[bytes]) -> list[bytes]:
        """Inspect lines on their way to the server; all of them pass."""
        self._inspect(lines, self._from_client)
        return lines

    def inspect_server_lines(self, lines: list[bytes]) -> list[bytes]:
        """Inspect lines on their way to the client; all pass but the answers to our own requests."""
        self._inspect(lines, self._from_server)
        return [line for line in lines if _OWN_REQUEST_PREFIX not in line] if self._own_requests else lines

    def on_overlong_request(self, beginning: bytes) -> None:
        """A line of the client is too long to be read."""
        del beginning
        self._store.notify(f"a message of more than {MAX_LINE_BYTES >> 20} MB was passed on and not recorded")

    def on_overlong_answer(self, beginning: bytes) -> None:
        """A line of the server is too long to be read: no more comes of the request that it answers."""
        found = _ID.search(beginning)
        key = found[1] if found else next(iter(self._pending), b"") if len(self._pending) == 1 else b""
        pending = self._pending.pop(key, None)
        if pending is not None and pending.call is not None:
            why = f"the answer is longer than the limit of {MAX_LINE_BYTES >> 20} MB"
            self._recording.fault(pending.call, "unreadable", why)

    def tools_list_request(self) -> bytes:
        """A request for tools/list, or its next page, in the way that the client asked."""
        self._own_requests += 1
        params: dict[str, Any] = {"_meta": self._meta} if self._meta else {}
        if self._cursor is not None:
            params["cursor"] = self._cursor
        identifier = f"{_OWN_REQUEST_PREFIX.decode()}{self._own_requests}"
        line = encode_entry({"jsonrpc": "2.0", "id": identifier, "method": "tools/list", "params": params}) + b"\n"
        self.inspect_client_lines([line])
        return line

    def _inspect(self, lines: list[bytes], handle: Callable[[Any, bytes | None], None]) -> None:
        for line in lines:
            try:
                self._inspect_line(line, handle)
            except Exception as error:  # noqa: BLE001  whatever goes wrong here, the client and its server must go on
                if not self._failed:
                    self._store.notify(f"not all could be recorded: {error!r}")
                self._failed = True
        while self._unparsed:
            self._recording.end_unparsed(self._unparsed.pop())

    def _inspect_line(self, line: bytes, handle: Callable[[Any, bytes | None], None]) -> None:
        try:
            value = decode_entry(line)
        except ValueError:
            if handle == self._from_client and b'"tools/call"' in line:
                text = line.decode("utf-8", "backslashreplace").strip()
                self._unparsed.append(self._recording.unparsed(text, in_flight=True))
            return
        if isinstance(value, list):
            for message in value:
                handle(message, None)
        else:
            handle(value, line)

    def fail_pending(self, fault: str, reason: str) -> list[bytes]:
        """No more answers will come: record that, and return the error lines for the pending requests."""
        waiting, self._pending = self._pending, {}
        for pending in waiting.values():
            if pending.call is not None:
                self._recording.fault(pending.call, fault, reason)
        return [_error_line(pending.id, reason) for pending in waiting.values()]

    def _from_client(self, message: Any, line: bytes | None) -> None:
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            return
        method, params = message["method"], message.get("params")
        params = params if isinstance(params, dict) else {}
        if method == "notifications/cancelled":
            self._on_cancelled(params)
        if "id" not in message:
            return
        if method == "initialize":
            self._initialize()
        if isinstance(params.get("_meta"), dict):
            self._meta = {key: value for key, value in params["_meta"].items() if "/" in key}
        call = self._begin_call(message, params, line) if method == "tools/call" else None
        self._pending[encode_entry(message["id"])] = _Pending(message["id"], method, params, call)

    def _initialize(self) -> None:
        """A client that initializes again, or after calls, begins a new session."""
        if self._initialized or self._recording.calls:
            self.fail_pending("closed", "the client began a new session")
            self._store.finish(self._recording)
            self._recording = self._store.begin()
            self._listed, self._cursor = False, None
            self._awaiting_input.clear()
        self._initialized = True

    def _begin_call(self, message: dict[str, Any], params: dict[str, Any], line: bytes | None) -> int:
        if "requestState" in params or "inputResponses" in params:
            first_try = self._awaiting_input.pop(_call_key(params), None)
            if first_try is not None:
                return first_try
        earlier = self._pending.get(encode_entry(message["id"]))
        if earlier is not None and earlier.call is not None:
            self._recording.fault(earlier.call, "closed", "the client used its id for another request")
        return self._recording.call(message, raw=line)

    def _on_cancelled(self, params: dict[str, Any]) -> None:
        pending = self._pending.pop(encode_entry(params.get("requestId")), None)
        if pending is not None and pending.call is not None:
            reason = str(params.get("reason") or "no reason given")
            timed_out = "timed out" in reason.lower() or "timeout" in reason.lower()
            self._recording.fault(
                pending.call, "timeout" if timed_out else "closed", f"the client cancelled the call: {reason}"
            )

    def _from_server(self, message: Any, line: bytes | None) -> None:
        if not isinstance(message, dict) or "method" in message or "id" not in message:
            return
        pending = self._pending.pop(encode_entry(message["id"]), None)
        if pending is None:
            return
        if pending.call is not None:
            self._record_answer(pending, pending.call, message, line)
        elif pending.method in _IDENTITY_METHODS and "result" in message:
            self._recording.identity(self._name, message, self._meta.get(_PROTOCOL_META))
        elif pending.method == "tools/list" and "result" in message:
            self._recording.tools(self._name, message, pending.params.get("cursor") is None, line)
            result = message["result"]
            cursor = result.get("nextCursor") if isinstance(result, dict) else None
            self._cursor = cursor if isinstance(cursor, str) else None
            self._listed = self._cursor is None

    def _record_answer(self, pending: _Pending, call: int, message: dict[str, Any], line: bytes | None) -> None:
        result = message.get("result")
        if isinstance(result, dict) and result.get("resultType") == "input_required":
            self._awaiting_input[_call_key({**pending.params, "requestState": result.get("requestState")})] = call
        else:
            self._recording.answer(call, message, line)


def _error_line(identifier: Any, reason: str) -> bytes:
    error = {"code": CONNECTION_CLOSED, "message": reason}
    return encode_entry({"jsonrpc": "2.0", "id": identifier, "error": error}) + b"\n"


def _call_key(params: dict[str, Any]) -> bytes:
    """What ties the retry of a call that asked for input to its first try."""
    return encode_entry([params.get("name"), params.get("requestState"), params.get("arguments")])
