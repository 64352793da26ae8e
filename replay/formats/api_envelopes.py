"""Conversations in what logs and batches put around them: request and response, a batch's lines, another key.

LangChain's messages are brought to OpenAI's.

`opened` brings them to the shape that the readers of API messages know: `{messages, model, ...}`, `{input, output}`.
"""

from __future__ import annotations

from typing import Any

from replay.formats.record_builders import as_object, first_of, identifier_of, objects
from replay.formats.record_builders import opened as opened_text
from replay.records import JsonObject

CONVERSATION_KEYS = ("conversation", "conversations", "history", "trajectory", "transcript", "chat", "messages")
_REQUEST_KEYS = ("request", "params", "body")
_RESPONSE_KEYS = ("response", "result", "completion")
_BODY_KEYS = ("body", "parsed_body", "json", "message")
_LANGCHAIN_ROLES = {"human": "user", "ai": "assistant", "tool": "tool", "system": "system"}


def opened(value: Any) -> Any:
    """A record without its envelope; one that has none, or one that nobody knows, as it is."""
    if isinstance(value, list):
        return _as_messages({}, value) or value
    if not isinstance(value, dict) or _is_own_shape(value) or str(value.get("type")).startswith("response."):
        return value
    if isinstance(value.get("choices"), list):
        return _exchange(value, {}, value) or value
    request = next((body for key in _REQUEST_KEYS if (body := _body(value.get(key)))), {})
    response = next((body for key in _RESPONSE_KEYS if (body := _body(value.get(key)))), {})
    if request or response:
        return _exchange(value, request, response) or value
    found = (_as_messages(value, opened_text(value.get(key))) for key in CONVERSATION_KEYS)
    return next(filter(None, found), _from_langchain(value) or value)


def _is_own_shape(value: JsonObject) -> bool:
    """Whether it has its messages where an API has them."""
    messages = value.get("messages")
    if isinstance(messages, list):
        return any("role" in message for message in objects(messages))
    if value.get("type") == "message" or value.get("object") == "response":
        return True
    return isinstance(value.get("input"), list) and isinstance(value.get("model"), str)


def _body(value: Any) -> JsonObject:
    """An API's request or response, also one level down."""
    outer = as_object(opened_text(value))
    if not outer:
        return {}
    for body in (outer, *(as_object(opened_text(outer.get(key))) or {} for key in _BODY_KEYS)):
        if _is_own_shape(body) or isinstance(body.get("choices"), list) or _as_messages({}, body.get("messages")):
            return body
    return {}


def _exchange(around: JsonObject, request: JsonObject, response: JsonObject) -> JsonObject | None:
    """A request and what came back as one conversation."""
    about: JsonObject = {**request}
    for key in ("model", "usage"):
        if response.get(key) is not None:
            about[key] = response[key]
    name = identifier_of(first_of(around, "custom_id", "id"))
    if name is not None:
        about["id"] = name
    if response.get("object") == "response" or isinstance(request.get("input"), list):
        return {**about, "object": "response", "output": response.get("output") or []}
    messages = [*objects(request.get("messages"))]
    choice = next(iter(objects(response.get("choices"))), {})
    reply = as_object(choice.get("message"))
    if reply is None and response.get("type") == "message":
        reply = response
    if reply is None:
        messages += objects(response.get("messages"))
    else:
        messages.append({"role": "assistant", **reply})
    return {**about, "messages": messages} if messages else None


def _as_messages(around: JsonObject, found: Any) -> JsonObject | None:
    """A list of messages under whatever key, with what stands beside it; None where it is not one."""
    messages = objects(found)
    if messages and len(messages) == len(found):
        if all("role" in message for message in messages):
            return {**around, "messages": messages}
        read = [_from_langchain(message) for message in messages]
        if all(read):
            return {**around, "messages": read}
    return None


def _from_langchain(message: JsonObject) -> JsonObject | None:
    """A message as LangChain dumps it: `{type: ai, content, tool_calls: [{name, args, id}]}`, in `data` or `kwargs`."""
    inner = as_object(first_of(message, "data", "kwargs")) or message
    role = _LANGCHAIN_ROLES.get(str(first_of(inner, "type") or message.get("type")))
    if role is None or "content" not in inner:
        return None
    calls = [
        {
            "id": call.get("id"),
            "type": "function",
            "function": {"name": call.get("name"), "arguments": call.get("args")},
        }
        for call in objects(inner.get("tool_calls"))
    ]
    read = {"role": role, "content": inner["content"], "tool_call_id": inner.get("tool_call_id")}
    return {**read, "tool_calls": calls} if calls else read
