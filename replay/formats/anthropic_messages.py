"""Anthropic Messages API: responses, and requests with their history, also of the MCP connector."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from replay.formats.api_envelopes import without_envelope
from replay.formats.call_log import CallLog
from replay.formats.document import NO_MATCH, Document, Head, Match
from replay.formats.fields import MISSING, identifier_of, object_in, objects, text_of
from replay.formats.record_builders import build_call, of_server, result_with_flag
from replay.formats.task_facts import tool_definitions, usage_in
from replay.records import JsonObject, Trajectory

CALL_BLOCKS = frozenset({"tool_use", "mcp_tool_use", "server_tool_use"})
RESULT_BLOCKS = frozenset({"tool_result", "mcp_tool_result"})


class AnthropicMessagesReader:
    """Reads what goes in and out of the Messages API."""

    name = "anthropic-messages"
    title = "Anthropic Messages requests and responses"
    expected_shape = 'Anthropic messages ({"type": "message", "content": [...]} or messages with tool_use blocks)'

    def sniff(self, head: Head) -> Match:
        """Content blocks of the API's own types."""
        first = without_envelope(head.first)
        if _is_response(first):
            return Match(0.95, '"type": "message" or "stop_reason" with content blocks')
        messages = _messages(first) or head.objects
        kinds = {str(block.get("type")) for message in messages for block in _blocks(message) if _is_message(message)}
        if kinds & (CALL_BLOCKS | RESULT_BLOCKS):
            return Match(0.95, "messages with tool_use and tool_result blocks")
        own = any("input_schema" in tool for tool in objects(first.get("tools")))
        if any("tool_calls" in message or message.get("role") == "tool" for message in messages):
            return NO_MATCH
        if _messages(first) and (own or "anthropic_version" in first or "mcp_servers" in first):
            return Match(0.9, 'a request with "messages" and tools with "input_schema"')
        if _messages(first) and "max_tokens" in first and kinds:
            return Match(0.55, "a request with content blocks")
        return NO_MATCH

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """One for a list of messages, else one a request or response."""
        bare: list[JsonObject] = []
        for element in document.records():
            value, lines = without_envelope(element.value), element.place.startswith("line ")
            if _is_response(value) and not bare:
                own = value.get("id") if isinstance(value.get("id"), str) else None
                yield _trajectory(value, [value], own, element.place, document)
            elif _messages(value):
                own = identifier_of(value.get("id")) if value is not element.value else None
                name = own or document.task_name + (f"_{element.place.removeprefix('line ')}" if lines else "")
                yield _trajectory(value, value["messages"], name, element.place, document)
            elif _is_message(value):
                bare.append(value)
            else:
                document.leave(element)
        if bare:
            yield _trajectory({}, bare, None, "$", document)


def _is_response(value: Any) -> bool:
    content = object_in(value).get("content")
    if not isinstance(content, list):
        return False
    typed = all("type" in object_in(block) for block in content)
    return value.get("type") == "message" or ("stop_reason" in value and typed)


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and value.get("role") in ("user", "assistant") and "content" in value


def _messages(value: Any) -> list[Any] | None:
    messages = object_in(value).get("messages")
    return messages if isinstance(messages, list) and any(map(_is_message, messages)) else None


def _blocks(message: JsonObject) -> list[JsonObject]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return objects(content)


def _trajectory(
    body: JsonObject, messages: list[Any], identifier: str | None, place: str, document: Document
) -> Trajectory:
    log = CallLog(place, identifier)
    for message in objects(messages):
        for block in _blocks(message):
            if block.get("type") != "text":
                _read_block(block, log)
            elif message.get("role", "assistant") == "assistant":
                log.say(text_of(block.get("text")))
            else:
                log.ask(text_of(block.get("text")))
    log.model = text_of(next((item["model"] for item in (body, *objects(messages)) if item.get("model")), None))
    usage, tools = usage_in(body.get("usage")), tool_definitions(body.get("tools"))
    return log.trajectory(document, AnthropicMessagesReader.name, usage=usage, tools=tools)


def _read_block(block: JsonObject, log: CallLog) -> None:
    kind = block.get("type")
    if not isinstance(kind, str):
        return
    if kind in CALL_BLOCKS:
        name, fields = block.get("name", MISSING), of_server(block.get("server_name"), block.get("name"))
        identifier, local = text_of(block.get("id")), kind == "server_tool_use"
        log.add(build_call(name, block.get("input", MISSING), id=identifier, local=local, **fields))
    elif kind in RESULT_BLOCKS or kind.endswith("_tool_result"):
        content = block.get("content")
        failed = isinstance(content, dict) and str(content.get("type")).endswith("_error")
        answer = result_with_flag(content, failed or block.get("is_error") is True)
        log.answer(text_of(block.get("tool_use_id")), answer)
