"""Conversations in what logs and batches put around them: request and response, a batch's lines, another key.

The messages of LangChain, fast-agent and AgentDojo are brought to OpenAI's.

`without_envelope` brings them to the shape that the readers of API messages know: `{messages, model, ...}`, or
`{input, output}`.
"""

from __future__ import annotations

from typing import Any

from replay.formats.fields import as_object, first_of, identifier_of, object_in, objects, opened
from replay.records import JsonObject

CONVERSATION_KEYS = ("conversation", "conversations", "history", "trajectory", "transcript", "chat", "messages")
_REQUEST_KEYS = ("request", "params", "body")
_RESPONSE_KEYS = ("response", "result", "completion")
_BODY_KEYS = ("body", "parsed_body", "json", "message")
_LANGCHAIN_ROLES = {"human": "user", "ai": "assistant", "tool": "tool", "system": "system"}


def without_envelope(value: Any) -> Any:
    """A record without its envelope; one that has none, or one that nobody knows, as it is."""
    if isinstance(value, list):
        return _as_messages({}, value) or value
    if not isinstance(value, dict) or str(value.get("type")).startswith("response."):
        return value
    if _is_own_shape(value):
        return _from_agentdojo(value) if "pipeline_name" in value else _with_reply(_from_fast_agent(value))
    if isinstance(value.get("choices"), list):
        return _exchange(value, {}, value) or value
    request = next((body for key in _REQUEST_KEYS if (body := _body(value.get(key)))), {})
    response = next((body for key in _RESPONSE_KEYS if (body := _body(value.get(key)))), {})
    if request or response:
        return _exchange(value, request, response) or value
    found = (_as_messages(value, opened(value.get(key))) for key in CONVERSATION_KEYS)
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
    outer = as_object(opened(value))
    if not outer:
        return {}
    for body in (outer, *(object_in(opened(outer.get(key))) for key in _BODY_KEYS)):
        if _is_own_shape(body) or isinstance(body.get("choices"), list) or _as_messages({}, body.get("messages")):
            return body
    return {}


def _with_reply(value: JsonObject) -> JsonObject:
    """A request's messages with the completion that a log keeps beside them, unless they end with it."""
    messages = objects(value.get("messages"))
    completion = next((body for key in _RESPONSE_KEYS if (body := _body(value.get(key))).get("choices")), None)
    if completion is None or not messages or messages[-1].get("role") == "assistant":
        return value
    return _exchange(value, value, completion) or value


def _from_fast_agent(value: JsonObject) -> JsonObject:
    """A history of fast-agent: calls and results are those of MCP by their ids, the results in a user's message."""
    messages = objects(value.get("messages"))
    if not any(as_object(message.get(key)) for message in messages for key in ("tool_calls", "tool_results")):
        return value
    read: list[JsonObject] = []
    for message in messages:
        calls, results = object_in(message, "tool_calls"), object_in(message, "tool_results")
        written = [{"id": key, "function": object_in(call).get("params")} for key, call in calls.items()]
        read += [{"role": "tool", "tool_call_id": key, "content": result} for key, result in results.items()]
        read.append({**message, "tool_calls": written})
    return {**value, "messages": read}


def _from_agentdojo(value: JsonObject) -> JsonObject:
    """A run of AgentDojo, or of what follows it: a tool's error stands beside its answer, the result in the run."""
    read: list[JsonObject] = []
    for message in objects(value.get("messages")):
        content = message.get("content")
        if isinstance(content, list):
            content = "\n".join(str(part.get("content")) for part in objects(content))
        calls = [_openai_call(call, call.get("function")) for call in objects(message.get("tool_calls"))]
        if message.get("role") == "tool":
            error = message.get("error")
            content = _result(error or content or "", is_error=error is not None)
        read.append({**message, "content": content, "tool_calls": calls})
    about = {
        "id": identifier_of(first_of(value, "user_task_id", "task_id")),
        "model": value["pipeline_name"],
        "family": value.get("suite_name"),
        "passed": value.get("utility", object_in(value, "evaluation").get("utility")),
    }
    return {**value, **about, "messages": read}


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
    inner = object_in(first_of(message, "data", "kwargs")) or message
    path = message.get("id")
    kinds = [inner.get("type"), message.get("type"), path[-1] if isinstance(path, list) and path else None]
    names = (str(kind).removesuffix("Chunk").removesuffix("Message").lower() for kind in kinds)
    role = next((_LANGCHAIN_ROLES[name] for name in names if name in _LANGCHAIN_ROLES), None)
    if role is None or "content" not in inner:
        return None
    written = [call for key in ("tool_calls", "invalid_tool_calls") for call in objects(inner.get(key))]
    calls = [_openai_call(call, call.get("name")) for call in written]
    about = object_in(inner, "response_metadata")
    read = {"role": role, "content": inner["content"], "tool_call_id": inner.get("tool_call_id")}
    read["model"] = first_of(about, "model_name", "model")
    if inner.get("status") == "error":
        read["content"] = _result(str(inner["content"]), is_error=True)
    return {**read, "tool_calls": calls} if calls else read


def _openai_call(call: JsonObject, name: Any) -> JsonObject:
    return {"id": call.get("id"), "function": {"name": name, "arguments": call.get("args")}}


def _result(text: Any, *, is_error: bool) -> JsonObject:
    return {"content": [{"type": "text", "text": text}], "isError": is_error}
