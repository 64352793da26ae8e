"""What the attributes and events of a span say of a tool call, and of what went into a model and what it replied.

The GenAI semantic conventions of OpenTelemetry first; then what instrumentations wrote before there were any, or
beside them (Google ADK, Pydantic AI, Vercel's AI SDK, OpenInference, Traceloop, Strands). Messages stand all in one
attribute or event (newer), or in an event each (older).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from replay.formats.fields import first_of, identifier_of, object_in, objects, opened, opened_repr, text_of
from replay.formats.spans import Span
from replay.formats.task_facts import tool_definitions, usage_of
from replay.records import JsonObject, Tool, Usage

_MODEL_OPERATIONS = frozenset({"chat", "text_completion", "generate_content", "completion", "responses"})
_ARGUMENTS = (
    "gen_ai.tool.call.arguments",
    "gcp.vertex.agent.tool_call_args",
    "tool_arguments",
    "ai.toolCall.args",
    "gen_ai.tool.input",
    "gen_ai.tool.arguments",
    "traceloop.entity.input",
    "input.value",
    "tool.parameters",
)
_RESULTS = (
    "gen_ai.tool.call.result",
    "gcp.vertex.agent.tool_response",
    "tool_response",
    "ai.toolCall.result",
    "gen_ai.tool.output",
    "gen_ai.tool.result",
    "traceloop.entity.output",
    "output.value",
)
_NAMES = ("gen_ai.tool.name", "ai.toolCall.name", "tool.name", "tool_name", "mcp.tool.name", "traceloop.entity.name")
_MODEL_NAMES = (
    "gen_ai.request.model", "gen_ai.response.model", "ai.model.id", "llm.model_name", "gen_ai.agent.model",
    "model_name",
)  # fmt: skip
_DECORATION = re.compile(r"^(?:execute_tool|running tool:?|tool:)\s+", re.IGNORECASE)
_SUMMARIES = ("(merged tools)",)
"""Google ADK writes one more span around calls that ran together."""


def is_tool_span(span: Span) -> bool:
    """Whether a span is the execution of a tool."""
    attributes = span.attributes
    if attributes.get("gen_ai.tool.name") in _SUMMARIES:
        return False
    operation = first_of(attributes, "gen_ai.operation.name")
    if operation is not None:
        return bool(operation == "execute_tool")
    if attributes.get("ai.operationId") is not None:
        return bool(attributes["ai.operationId"] == "ai.toolCall")
    kind = first_of(attributes, "openinference.span.kind", "traceloop.span.kind")
    if kind is not None:
        # OpenInference marks the handoff that a call led to as one more tool: `handoff to billing`, output `billing`.
        handoff = "tool.name" not in attributes and span.name == f"handoff to {attributes.get('output.value')}"
        return str(kind).lower() == "tool" and not handoff
    return text_of(attributes.get("gen_ai.tool.name")) is not None or bool(_tool_message(span))


def is_model_span(span: Span) -> bool:
    """Whether a span is one reply of a model."""
    attributes = span.attributes
    operation = first_of(attributes, "gen_ai.operation.name")
    if operation is not None:
        return str(operation) in _MODEL_OPERATIONS
    kind = first_of(attributes, "openinference.span.kind", "traceloop.span.kind")
    if kind is not None:
        return str(kind).lower() == "llm"
    return first_of(attributes, "gen_ai.request.model", "gen_ai.response.model") is not None and not is_tool_span(span)


def is_genai(span: Span) -> bool:
    """Whether a span says anything of a model, an agent or a tool."""
    return is_tool_span(span) or is_model_span(span) or span.attributes.get("gen_ai.operation.name") is not None


def tool_name(span: Span) -> str | None:
    """The tool's name, without what the framework puts before it."""
    named = text_of(first_of(span.attributes, *_NAMES) or _tool_message(span).get("name"))
    return named or text_of(undecorated(span.name))


def undecorated(name: str) -> str:
    """`get_weather` of `execute_tool get_weather`, `running tool: get_weather` and `get_weather.tool`."""
    return _DECORATION.sub("", name.strip()).removesuffix(".tool")


def call_id(span: Span) -> str | None:
    """The id that the model gave the call."""
    own = identifier_of(first_of(span.attributes, "gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id", "tool.id"))
    if own is not None:
        return own
    if message := _tool_message(span):
        return identifier_of(message.get("tool_call_id"))
    ids = (identifier_of(attributes.get("id")) for name, attributes in span.events if name == "gen_ai.tool.message")
    return next(filter(None, ids), None)


def call_arguments(span: Span) -> Any:
    """The arguments as recorded; None where they were not."""
    value = first_of(span.attributes, *_ARGUMENTS)
    if value is None:
        value = _from_events(span, "gen_ai.tool.message", "content", "gen_ai.input.messages", ("arguments",))
    if value is None:
        value = message_beside(span, "input")
    return _unwrapped(value, span.attributes.get("tool.parameters"))


def call_result(span: Span) -> Any:
    """The answer as recorded; None where it was not."""
    value = first_of(span.attributes, *_RESULTS)
    if value is None:
        value = _from_events(
            span, "gen_ai.choice", "message", "gen_ai.output.messages", ("response", "result", "content")
        )
    return message_beside(span, "output") if value is None else value


def message_beside(span: Span, direction: str) -> Any:
    """The one message that an exporter moved out of a span's attributes into a log record with a `body`."""
    for _, attributes in span.events:
        messages = objects(object_in(attributes, direction).get("messages"))
        if len(messages) == 1:
            content = messages[0].get("content")
            return content.get("content", content) if isinstance(content, dict) else content
    return None


def _tool_message(span: Span) -> JsonObject:
    """LangChain's ToolMessage, where it is all that tells what a span was."""
    message = object_in(opened(message_beside(span, "output")))
    return message if message.get("type") == "tool" and text_of(message.get("name")) else {}


def _from_events(span: Span, event: str, attribute: str, messages: str, fields: tuple[str, ...]) -> Any:
    """Out of the span's events: of the old convention (one event a message) or of the new (one with all messages)."""
    for name, attributes in span.events:
        if name == event:
            return attributes.get(attribute)
    for attributes in (span.attributes, *(attributes for _, attributes in span.events)):
        for message in objects(opened(attributes.get(messages))):
            for part in objects(message.get("parts")):
                if first_of(part, *fields) is not None:
                    return first_of(part, *fields)
    return None


def _unwrapped(value: Any, parameters: Any) -> Any:
    """Arguments without what a framework put around them: `{"input": {}}`, `{"args": [], "kwargs": {}}`,
    `{"input_str", "inputs": {}}`, `{"tool_name", "arguments": {}}`.
    """
    inner = opened_repr(value)
    if not isinstance(inner, dict):
        return value
    if set(inner) == {"input"} and isinstance(opened_repr(inner["input"]), dict):
        return opened_repr(inner["input"])
    if {"args", "kwargs"} <= set(inner) and isinstance(inner["kwargs"], dict) and isinstance(inner["args"], list):
        schema = object_in(opened(parameters))
        names = list(object_in(schema, "properties") or schema)
        if len(names) >= len(inner["args"]):
            return {**dict(zip(names, inner["args"], strict=False)), **inner["kwargs"]}
    if "input_str" in inner and isinstance(inner.get("inputs"), dict):
        return inner["inputs"]
    if set(inner) == {"tool_name", "arguments"} and isinstance(inner["arguments"], dict):
        return inner["arguments"]
    return inner


def tool_failure(span: Span) -> str | None:
    """Why the tool failed; None where nothing says that it did."""
    attributes = span.attributes
    kind = text_of(attributes.get("error.type"))
    status = text_of(first_of(attributes, "gen_ai.tool.status", "tool.status"))
    if not (span.failed or kind or (status is not None and status.lower() in {"error", "failed", "failure"})):
        return None
    raised = next((item for name, item in span.events if name == "exception"), {})
    said = text_of(raised.get("exception.message")) or span.message or text_of(attributes.get("error.message"))
    return said or kind or "the span has the status ERROR"


def span_model(span: Span) -> str | None:
    """The model that was asked; also of an agent's span, where it may stand alone."""
    return text_of(first_of(span.attributes, *_MODEL_NAMES))


def output_tools(span: Span) -> frozenset[str]:
    """The tools by which Pydantic AI makes a model give its final answer the shape that was asked for."""
    parameters = object_in(opened(span.attributes.get("model_request_parameters")))
    return frozenset(tool.name for tool in tool_definitions(parameters.get("output_tools")))


def span_usage(span: Span) -> Usage | None:
    """The tokens of one reply."""
    attributes = span.attributes
    read = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt")
    written = ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion")
    return usage_of(first_of(attributes, *read), first_of(attributes, *written))


def offered_tools(span: Span) -> tuple[Tool, ...]:
    """The tools that a model was offered."""
    listed = first_of(span.attributes, "gen_ai.tool.definitions", "gen_ai.agent.tools", "ai.prompt.tools")
    return tool_definitions(listed)


_FLAT_REPLY = re.compile(
    r"(?:gen_ai\.completion\.(\d+)|llm\.output_messages\.(\d+)\.message)"
    r"\.tool_calls\.(\d+)\.(?:tool_call\.)?(?:function\.)?(id|name|arguments)$"
)
_FLAT_MESSAGE = re.compile(
    r"(?:gen_ai\.prompt\.(\d+)|llm\.input_messages\.(\d+)\.message)\.(tool_call_id|content|role)$"
)


def written_parts(span: Span, direction: str) -> Iterator[tuple[str, JsonObject]]:
    """(role, part) of the messages that went into a model (`input`) or came out of it (`output`)."""
    key = f"gen_ai.{direction}.messages"
    sources = (span.attributes, *(attributes for _, attributes in span.events))
    for message in (item for source in sources for item in objects(opened(source.get(key)))):
        for part in objects(message.get("parts")):
            yield str(message.get("role")), part


def calls_in_reply(span: Span) -> list[JsonObject]:
    """The calls that a model wrote, as `{id, name, arguments}`."""
    calls = [part for _, part in written_parts(span, "output") if part.get("type") == "tool_call"]
    return calls or _flat_calls(span) or _calls_in_events(span) or _vercel_calls(span)


def answers_in_request(span: Span) -> Iterator[tuple[str, Any]]:
    """(call id, answer) of what a later request says that came back."""
    for _, part in written_parts(span, "input"):
        if part.get("type") == "tool_call_response":
            yield from _answer(part.get("id"), first_of(part, "response", "result"))
    for name, attributes in span.events:
        if name == "gen_ai.tool.message":
            yield from _answer(attributes.get("id"), attributes.get("content"))
    for message in _flat_messages(span):
        if message.get("role") == "tool":
            yield from _answer(message.get("tool_call_id"), message.get("content"))


def text_in_reply(span: Span) -> str | None:
    """What a model wrote beside its calls."""
    parts = [part.get("content") for _, part in written_parts(span, "output") if part.get("type") == "text"]
    return "\n".join(part for part in parts if isinstance(part, str)) or text_of(
        first_of(span.attributes, "gen_ai.completion.0.content", "llm.output_messages.0.message.content")
    )


def question_in(span: Span) -> str | None:
    """What the user asked, by the messages that went into a model."""
    contents = object_in(opened(span.attributes.get("gcp.vertex.agent.llm_request"))).get("contents")
    conventions: Iterator[Iterator[Any]] = iter(
        (
            (part.get("content") for role, part in written_parts(span, "input") if role == "user"),
            (message.get("content") for message in _flat_messages(span) if message.get("role") == "user"),
            (item.get("content") for name, item in span.events if name == "gen_ai.user.message"),
            (
                part.get("text") or None
                for content in objects(contents)
                if content.get("role") == "user"
                for part in objects(content.get("parts"))
            ),
        )
    )
    told = ([text for text in texts if isinstance(text, str)] for texts in conventions)
    return "\n\n".join(next(filter(None, told), [])) or None


def _answer(identifier: Any, value: Any) -> Iterator[tuple[str, Any]]:
    known = identifier_of(identifier)
    if known is not None and value is not None:
        yield known, opened(value)


def _flat_messages(span: Span) -> Iterable[JsonObject]:
    """The messages that went into a model, where each of their fields is an attribute."""
    flat: dict[str, JsonObject] = {}
    for key, value in span.attributes.items():
        if match := _FLAT_MESSAGE.match(key):
            flat.setdefault(match[1] or match[2], {})[match[3]] = value
    return flat.values()


def _flat_calls(span: Span) -> list[JsonObject]:
    flat: dict[tuple[str, str], JsonObject] = {}
    for key, value in span.attributes.items():
        match = _FLAT_REPLY.match(key)
        if match:
            flat.setdefault((match[1] or match[2], match[3]), {})[match[4]] = value
    return [call for _, call in sorted(flat.items(), key=lambda item: (int(item[0][0]), int(item[0][1])))]


def _calls_in_events(span: Span) -> list[JsonObject]:
    """The calls in `gen_ai.choice`: as OpenAI's messages have them, or as Bedrock's content blocks."""
    found: list[JsonObject] = []
    for message in (opened(item.get("message")) for name, item in span.events if name == "gen_ai.choice"):
        for call in objects(object_in(message).get("tool_calls")):
            function = object_in(call, "function") or call
            found.append({"id": call.get("id"), "name": function.get("name"), "arguments": function.get("arguments")})
        found += [
            {"id": block.get("toolUseId"), "name": block.get("name"), "arguments": block.get("input")}
            for item in objects(message)
            if (block := object_in(item.get("toolUse")))
        ]
    return found


def _vercel_calls(span: Span) -> list[JsonObject]:
    return [
        {"id": call.get("toolCallId"), "name": call.get("toolName"), "arguments": first_of(call, "input", "args")}
        for call in objects(opened(span.attributes.get("ai.response.toolCalls")))
    ]
