"""What `codex exec --json` prints: `{type: item.completed, item}`, and before that `{id, msg}`."""

from __future__ import annotations

from typing import Any

from replay.formats.call_log import CallLog
from replay.formats.record_builders import build_call, result_with_flag
from replay.records import Call, JsonObject, Usage

EXEC_EVENT = "exec_event"
"""The type under which the reader passes these events on."""

_ITEM_EVENTS = ("item.started", "item.updated", "item.completed")
_EVENTS = frozenset({"thread.started", "turn.started", "turn.completed", "turn.failed", *_ITEM_EVENTS})


def is_exec_event(value: Any) -> bool:
    """Whether a line is one of these events."""
    if not isinstance(value, dict):
        return False
    if value.get("type") in _ITEM_EVENTS:
        return isinstance(value.get("item"), dict)
    if str(value.get("type")) in _EVENTS:
        return value["type"] != "thread.started" or "thread_id" in value
    message = value.get("msg")
    return "type" not in value and "id" in value and isinstance(message, dict) and isinstance(message.get("type"), str)


class ExecEvents:
    """Reads the events of one session into a log."""

    def __init__(self, log: CallLog) -> None:
        self.thread: str | None = None
        self.usage: Usage | None = None
        self._log = log
        self._known: set[str] = set()

    def read(self, event: JsonObject) -> None:
        """Take in one event."""
        item, message = event.get("item"), event.get("msg")
        if isinstance(item, dict):
            self._read_item(item, done=event["type"] == "item.completed")
        elif isinstance(message, dict):
            self._read_message(message)
        elif isinstance(event.get("thread_id"), str):
            self.thread = event["thread_id"]
        elif isinstance(event.get("usage"), dict):
            counts = (event["usage"].get("input_tokens"), event["usage"].get("output_tokens"))
            read, written = (count if isinstance(count, int) else None for count in counts)
            self.usage = Usage(input_tokens=read, output_tokens=written)

    def _read_item(self, item: JsonObject, *, done: bool) -> None:
        """An item; one that was announced when it began is the same call when it is done."""
        kind = str(item.get("type", item.get("item_type")))
        identifier = str(item.get("id"))
        if kind in {"agent_message", "assistant_message"}:
            self._log.say(item.get("text") if isinstance(item.get("text"), str) else None)
            return
        call = _call_of_item(kind, item, identifier)
        if call is None:
            return
        if identifier not in self._known:
            self._known.add(identifier)
            self._log.add(call)
        if done:
            content = _answer_of_item(item)
            failed = item.get("status") == "failed" or item.get("error") is not None
            self._log.answer(identifier, None if content is None else result_with_flag(content, failed))

    def _read_message(self, message: JsonObject) -> None:
        """An event of the older form: a call begins, and ends under the same `call_id`."""
        kind, identifier = str(message["type"]), str(message.get("call_id"))
        if kind == "agent_message":
            self._log.say(message.get("message") if isinstance(message.get("message"), str) else None)
        elif kind == "mcp_tool_call_begin":
            invocation = message.get("invocation")
            self._log.add(_mcp_call(invocation if isinstance(invocation, dict) else message, identifier))
        elif kind == "mcp_tool_call_end":
            result = message.get("result")
            failed = isinstance(result, dict) and "Err" in result
            content = result.get("Ok", result.get("Err")) if isinstance(result, dict) else result
            if isinstance(content, dict):
                failed = failed or content.get("isError") is True
                content = content.get("content", content)
            self._log.answer(identifier, result_with_flag(content, failed))
        elif kind == "exec_command_begin":
            self._log.add(build_call("shell", _without_envelope(message), id=identifier, local=True))
        elif kind == "exec_command_end":
            output = message.get("aggregated_output", message.get("stdout"))
            self._log.answer(identifier, result_with_flag(output, message.get("exit_code") not in (0, None)))
        elif kind == "patch_apply_begin":
            changes = {"changes": message.get("changes")}
            self._log.add(build_call("apply_patch", changes, id=identifier, local=True))
        elif kind == "patch_apply_end":
            self._log.answer(identifier, result_with_flag(message.get("stdout"), message.get("success") is False))


def _call_of_item(kind: str, item: JsonObject, identifier: str) -> Call | None:
    if kind == "mcp_tool_call":
        return _mcp_call(item, identifier)
    if kind == "command_execution":
        return build_call("shell", {"command": item.get("command")}, id=identifier, local=True)
    if kind == "file_change":
        return build_call("apply_patch", {"changes": item.get("changes")}, id=identifier, local=True)
    if kind == "web_search":
        return build_call("web_search", {"query": item.get("query")}, id=identifier, local=True)
    return None


def _mcp_call(source: JsonObject, identifier: str) -> Call:
    server, tool = source.get("server"), source.get("tool")
    if not (isinstance(server, str) and server and isinstance(tool, str) and tool):
        return build_call(tool, source.get("arguments"), id=identifier)
    arguments = source.get("arguments")
    arguments = {} if arguments is None else arguments
    return build_call(f"mcp__{server}__{tool}", arguments, id=identifier, server=server, tool=tool)


def _answer_of_item(item: JsonObject) -> Any:
    error, result = item.get("error"), item.get("result")
    if error is not None:
        return error.get("message", error) if isinstance(error, dict) else error
    if isinstance(result, dict):
        return result.get("content", result)
    return item.get("aggregated_output", result)


def _without_envelope(message: JsonObject) -> JsonObject:
    return {key: message[key] for key in ("command", "cwd") if key in message}
