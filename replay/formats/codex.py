"""Codex CLI rollouts: JSON Lines of `{timestamp, type, payload}`, one session a file.

Older ones have no payload: a first line `{id, timestamp, instructions}`, then the response items themselves. What
`codex exec --json` prints is read too: `{type: item.completed, item}`, and before that `{id, msg}`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from replay.formats.call_log import CallLog, seconds_between
from replay.formats.document import NO_MATCH, Document, Head, Match
from replay.formats.fields import as_number, joined_text, nested_lines, object_in, objects, text_of
from replay.formats.record_builders import build_call, json_text_call, result_with_flag, text_call
from replay.formats.task_facts import tool_definitions, usage_of
from replay.records import Answer, Call, JsonObject, ParentCall, Tool, ToolResult, Trajectory, Usage

EXEC_EVENT = "exec_event"
"""The type under which the reader passes these events on."""

_ITEM_EVENTS = ("item.started", "item.updated", "item.completed")
_EVENTS = frozenset({"thread.started", "turn.started", "turn.completed", "turn.failed", *_ITEM_EVENTS})
LINE_TYPES = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted"})
BARE_TYPES = frozenset({
    "message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output",
    "local_shell_call", "web_search_call", "tool_search_call", "tool_search_output",
})  # fmt: skip
_ONLY_CODEX = "internal_chat_message_metadata_passthrough"
"""A field that only Codex's harness puts on calls and answers."""
_OWN_ITEMS = {
    "command_execution": ("shell", "command"),
    "file_change": ("apply_patch", "changes"),
    "web_search": ("web_search", "query"),
}
"""Items that are calls of Codex's own tools: the tool, and the field that is its argument."""
_MCP = "mcp__"


class CodexReader:
    """Reads Codex rollouts."""

    name = "codex"
    title = "Codex CLI rollouts"
    expected_shape = 'Codex lines ({"timestamp", "type": "response_item", "payload"} or {"type": "item.completed"})'

    def sniff(self, head: Head) -> Match:
        """Every line has a payload; the first one says which session it is."""
        records = [line for record in head.objects for line in nested_lines(record, _is_any_line)]
        lines = list(filter(_is_line, records))
        if any(map(_is_old_meta, records[:1])) and any(map(_is_bare_item, records)):
            return Match(0.96, 'a first line with "instructions", then response items')
        if any(map(is_exec_event, records)):
            return Match(0.9, "events of codex exec")
        if not lines or len(lines) * 2 < len(records):
            bare = sum(_is_bare_item(record) and _ONLY_CODEX in record for record in records)
            return Match(0.75, "response items of Codex's own tools") if bare * 2 > len(records) else NO_MATCH
        if lines[0]["type"] == "session_meta":
            return Match(0.95, 'a first line "session_meta", lines with "payload"')
        return Match(0.8, 'lines with "payload" of the types that Codex writes')

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """The session; where several stand one after the other, each."""
        sessions: list[_Session] = []
        for element in document.objects():
            for written in nested_lines(element.value, _is_any_line):
                line = _with_payload(written)
                if line is None:
                    document.leave(element)
                    continue
                if not sessions or (line["type"] == "session_meta" and sessions[-1].is_before(line["payload"])):
                    sessions.append(_Session(element.place))
                sessions[-1].read(line)
        for session in sessions:
            usage, tools = session.usage or session.usage_of_turn, tuple(session.tools.values())
            session.identifier = session.identifier or session.thread
            yield session.trajectory(document, self.name, usage=usage, tools=tools)


def _is_any_line(value: JsonObject) -> bool:
    return _is_line(value) or _is_bare_item(value) or is_exec_event(value)


def _with_payload(value: JsonObject) -> JsonObject | None:
    """A line as today's Codex writes it; None where it is not Codex's."""
    if _is_line(value):
        return dict(value)
    if _is_bare_item(value):
        return {"type": "response_item", "payload": value, "timestamp": value.get("timestamp")}
    if is_exec_event(value):
        return {"type": EXEC_EVENT, "payload": value}
    if _is_old_meta(value):
        return {"type": "session_meta", "payload": value}
    return {"type": "state", "payload": value} if "record_type" in value else None


def _is_old_meta(value: JsonObject) -> bool:
    return "type" not in value and {"id", "timestamp", "instructions"} <= value.keys()


def _is_bare_item(value: JsonObject) -> bool:
    return "payload" not in value and str(value.get("type")) in BARE_TYPES


def _is_line(value: JsonObject) -> bool:
    typed = isinstance(value.get("type"), str) and isinstance(value.get("payload"), dict)
    return typed and (value["type"] in LINE_TYPES or "timestamp" in value)


def is_exec_event(value: JsonObject) -> bool:
    """Whether a line is one of these events."""
    if value.get("type") in _ITEM_EVENTS:
        return isinstance(value.get("item"), dict)
    if str(value.get("type")) in _EVENTS:
        return value["type"] != "thread.started" or "thread_id" in value
    message = value.get("msg")
    return "type" not in value and "id" in value and isinstance(message, dict) and isinstance(message.get("type"), str)


class _Session(CallLog):
    def __init__(self, place: str) -> None:
        super().__init__(place)
        self.usage: Usage | None = None
        self.tools: dict[str, Tool] = {}
        self.thread: str | None = None
        """The session's id, as `codex exec` tells it."""
        self.usage_of_turn: Usage | None = None
        """Likewise, of the turn that ended last."""
        self._flags: dict[str, ToolResult] = {}
        self._called: set[str] = set()
        self._from_events: set[str] = set()
        """Ids of calls that an event told first."""
        self._announced: set[str] = set()
        """Ids of the items of `codex exec` that are calls."""
        self._plan: list[JsonObject] = []

    def is_before(self, meta: JsonObject) -> bool:
        """Whether a `session_meta` is of another session; a forked one repeats its own."""
        own = self.parent is not None or self.identifier in (None, meta.get("id"))
        return not own and isinstance(meta.get("id"), str)

    def read(self, line: JsonObject) -> None:
        payload, kind = line["payload"], line["type"]
        if kind == "session_meta":
            self._read_meta(payload)
        elif kind == "turn_context" and isinstance(payload.get("model"), str):
            self.model = payload["model"]
        elif kind == "response_item":
            self._read_item(payload, line.get("timestamp"))
        elif kind == "event_msg":
            self._read_event(payload)
        elif kind == EXEC_EVENT:
            self._read_exec_event(payload)

    def _read_meta(self, payload: JsonObject) -> None:
        if self.identifier is None and isinstance(payload.get("id"), str):
            self.identifier = payload["id"]
            self.started_at = text_of(payload.get("timestamp"))
            spawn = object_in(payload, "source", "subagent", "thread_spawn")
            parent = text_of(spawn.get("parent_thread_id") if spawn else payload.get("forked_from_id"))
            self.parent = ParentCall(trajectory=parent) if parent else None

    def _read_item(self, payload: JsonObject, moment: Any) -> None:
        kind, identifier = str(payload.get("type")), text_of(payload.get("call_id"))
        if kind in {"function_call", "custom_tool_call", "tool_search_call", "web_search_call", "local_shell_call"}:
            if identifier in self._from_events:
                self._from_events.discard(identifier)
                self.change(identifier, name=payload.get("name"))
                return
            self._called.add(identifier or "")
            self.add(_call(payload, seconds_between(self.started_at, moment)), model=self.model)
        elif kind == "tool_search_output":
            self._keep_tools(payload.get("tools"))
        elif kind in {"function_call_output", "custom_tool_call_output"}:
            self.answer(identifier, self._answer(identifier, payload.get("output")))
        elif kind == "message" and payload.get("role") == "assistant":
            self.say(joined_text(payload.get("content")))
        elif kind == "message" and payload.get("role") == "user":
            self.ask(joined_text(payload.get("content")))

    def _answer(self, identifier: str | None, output: Any) -> Answer | None:
        if isinstance(output, dict) and isinstance(output.get("success"), bool):
            return result_with_flag(output.get("content"), not output["success"])
        event = self._flags.pop(identifier or "", None)
        answer = result_with_flag(output, event.is_error if event else None)
        if event and isinstance(answer, ToolResult) and event.structured is not None:
            answer = answer.model_copy(update={"structured": event.structured})
        return answer

    def _read_event(self, payload: JsonObject) -> None:
        if payload.get("type") == "token_count":
            total, last = (object_in(payload, "info", f"{which}_token_usage") for which in ("total", "last"))
            self.count_tokens(last.get("input_tokens"), last.get("output_tokens"), behind=True)
            if total:
                self.usage = usage_of(total.get("input_tokens"), total.get("output_tokens"))
        elif payload.get("type") == "mcp_tool_call_end":
            self._read_mcp_end(payload)

    def _read_mcp_end(self, payload: JsonObject) -> None:
        identifier = text_of(payload.get("call_id")) or ""
        if identifier not in self._called:
            self._add_from_event(payload, identifier)
        if isinstance(payload.get("result"), dict):
            _, failed, structured = _ended(payload)
            self._flags[identifier] = ToolResult(structured=structured, is_error=failed)
        duration = object_in(payload, "duration")
        seconds = as_number(duration.get("secs"))
        if seconds is not None:
            seconds += (as_number(duration.get("nanos")) or 0) / 1e9
        self.change(identifier, local=False, **({} if seconds is None else {"seconds": seconds}))

    def _add_from_event(self, payload: JsonObject, identifier: str) -> None:
        """A call of which no response item told yet: code that the model wrote made it, or its item comes later."""
        call = _mcp_call(object_in(payload, "invocation"), identifier)
        if call.server is None:
            return
        self.add(call, model=self.model)
        content, failed, _ = _ended(payload)
        self.change(identifier, answer=result_with_flag(content, failed))
        self._called.add(identifier)
        self._from_events.add(identifier)

    def _keep_tools(self, listed: Any) -> None:
        for entry in objects(listed):
            if isinstance(entry.get("tools"), list):
                self._keep_tools(entry["tools"])
            else:
                self.tools |= {tool.name: tool for tool in tool_definitions([entry])}

    def _read_exec_event(self, event: JsonObject) -> None:
        item, message = event.get("item"), event.get("msg")
        if isinstance(item, dict):
            self._read_exec_item(item, done=event["type"] == "item.completed")
        elif isinstance(message, dict):
            self._read_exec_message(message)
        elif isinstance(event.get("thread_id"), str):
            self.thread = event["thread_id"]
        elif isinstance(event.get("usage"), dict):
            self.usage_of_turn = usage_of(event["usage"].get("input_tokens"), event["usage"].get("output_tokens"))

    def _read_exec_item(self, item: JsonObject, *, done: bool) -> None:
        """An item; one that was announced when it began is the same call when it is done."""
        kind = str(item.get("type", item.get("item_type")))
        identifier = str(item.get("id"))
        if kind in {"agent_message", "assistant_message"}:
            self.say(text_of(item.get("text")))
            return
        if kind == "todo_list":
            self._read_plan(item, identifier)
            return
        if kind != "mcp_tool_call" and kind not in _OWN_ITEMS:
            return
        if identifier not in self._announced:
            self._announced.add(identifier)
            self.add(_mcp_call(item, identifier) if kind == "mcp_tool_call" else _own_call(kind, item, identifier))
        if done:
            content = _answer_of_item(item)
            failed = item.get("status") == "failed" or item.get("error") is not None
            self.answer(identifier, None if content is None else result_with_flag(content, failed))

    def _read_plan(self, item: JsonObject, identifier: str) -> None:
        """The list of things to do: one item for the session, which each call of its tool changes."""
        steps = objects(item.get("items"))
        if steps and steps != self._plan:
            self._plan = steps
            self.add(build_call("update_plan", {"plan": steps}, id=identifier, local=True))
            self.answer(identifier, None)

    def _read_exec_message(self, message: JsonObject) -> None:
        """An event of the older form: a call begins, and ends under the same `call_id`."""
        kind, identifier = str(message["type"]), str(message.get("call_id"))
        if kind == "agent_message":
            self.say(text_of(message.get("message")))
        elif kind == "mcp_tool_call_begin":
            self.add(_mcp_call(object_in(message, "invocation") or message, identifier))
        elif kind == "mcp_tool_call_end":
            content, failed, _ = _ended(message)
            self.answer(identifier, result_with_flag(content, failed))
        elif kind == "exec_command_begin":
            command = {key: message[key] for key in ("command", "cwd") if key in message}
            self.add(build_call("shell", command, id=identifier, local=True))
        elif kind == "exec_command_end":
            output = message.get("aggregated_output", message.get("stdout"))
            self.answer(identifier, result_with_flag(output, message.get("exit_code") not in (0, None)))
        elif kind == "patch_apply_begin":
            self.add(_own_call("file_change", message, identifier))
        elif kind == "patch_apply_end":
            self.answer(identifier, result_with_flag(message.get("stdout"), message.get("success") is False))


def _call(payload: JsonObject, started: float | None) -> Call:
    """A call of any kind; the server stands in `namespace`, and free text is the argument of a custom tool."""
    kind = payload["type"]
    identifier = text_of(payload.get("call_id"))
    if kind == "custom_tool_call" and isinstance(payload.get("input"), str):
        return text_call(str(payload.get("name")), payload["input"], id=identifier, started=started)
    if kind in {"web_search_call", "tool_search_call", "local_shell_call"}:
        arguments = payload.get("arguments", payload.get("action"))
        name = kind.removesuffix("_call")
        return json_text_call(name, arguments or {}, id=identifier, started=started, local=True)
    name, namespace = payload.get("name"), payload.get("namespace")
    fields: dict[str, Any] = {}
    if isinstance(namespace, str) and namespace.startswith(_MCP):
        fields = {"server": namespace.removeprefix(_MCP).rstrip("_"), "tool": text_of(name)}
    elif isinstance(name, str) and name.startswith(_MCP) and "__" in name.removeprefix(_MCP):
        server, _, tool = name.removeprefix(_MCP).partition("__")
        fields = {"server": server, "tool": tool}
    local = not fields and isinstance(name, str) and "__" not in name
    return json_text_call(name, payload.get("arguments"), id=identifier, started=started, local=local, **fields)


def _own_call(kind: str, item: JsonObject, identifier: str) -> Call:
    name, argument = _OWN_ITEMS[kind]
    return build_call(name, {argument: item.get(argument)}, id=identifier, local=True)


def _mcp_call(source: JsonObject, identifier: str) -> Call:
    server, tool = source.get("server"), source.get("tool")
    if not (isinstance(server, str) and server and isinstance(tool, str) and tool):
        return build_call(tool, source.get("arguments"), id=identifier)
    arguments = source.get("arguments")
    given = {} if arguments is None else arguments
    return json_text_call(f"{_MCP}{server}__{tool}", given, id=identifier, server=server, tool=tool)


def _ended(event: JsonObject) -> tuple[Any, bool, Any]:
    """What came back at the end of an MCP call: its content, whether it failed, and the structured content."""
    result = event.get("result")
    outcome = result.get("Ok", result.get("Err")) if isinstance(result, dict) else result
    body = object_in(outcome)
    failed = "Err" in object_in(result) or body.get("isError") is True
    return body.get("content", outcome), failed, body.get("structuredContent")


def _answer_of_item(item: JsonObject) -> Any:
    error, result = item.get("error"), item.get("result")
    if error is not None:
        return error.get("message", error) if isinstance(error, dict) else error
    if isinstance(result, dict):
        return result.get("content", result)
    return item.get("aggregated_output", result)
