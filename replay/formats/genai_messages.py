"""What went into a model and what came out of it, by the attributes and events of its span.

As with the attributes of tools: the GenAI conventions of OpenTelemetry first, in their newer form (all messages in one
attribute or event) and in their older one (an event a message), then OpenInference, Traceloop and Vercel's AI SDK.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from replay.formats.loose_json import first_of, identifier_of, objects, opened, text_of
from replay.formats.record_builders import as_object
from replay.formats.spans import Span
from replay.records import JsonObject

_FLAT_REPLY = re.compile(
    r"(?:gen_ai\.completion\.(\d+)|llm\.output_messages\.(\d+)\.message)"
    r"\.tool_calls\.(\d+)\.(?:tool_call\.)?(?:function\.)?(id|name|arguments)$"
)
_FLAT_ANSWER = re.compile(
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
    flat: dict[str, JsonObject] = {}
    for key, value in span.attributes.items():
        match = _FLAT_ANSWER.match(key)
        if match:
            flat.setdefault(match[1] or match[2], {})[match[3]] = value
    for message in flat.values():
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
    parts = [part.get("content") for role, part in written_parts(span, "input") if role == "user"]
    texts = [part for part in parts if isinstance(part, str)]
    attributes = span.attributes
    texts = texts or [
        attributes[key.removesuffix("role") + "content"]
        for key, value in attributes.items()
        if key.startswith(("gen_ai.prompt.", "llm.input_messages."))
        and key.endswith(".role")
        and value == "user"
        and isinstance(attributes.get(key.removesuffix("role") + "content"), str)
    ]
    texts = texts or [
        item["content"]
        for name, item in span.events
        if name == "gen_ai.user.message" and isinstance(item.get("content"), str)
    ]
    texts = texts or [
        part["text"]
        for content in objects(
            (as_object(opened(attributes.get("gcp.vertex.agent.llm_request"))) or {}).get("contents")
        )
        if content.get("role") == "user"
        for part in objects(content.get("parts"))
        if text_of(part.get("text"))
    ]
    return "\n\n".join(texts) or None


def _answer(identifier: Any, value: Any) -> Iterator[tuple[str, Any]]:
    known = identifier_of(identifier)
    if known is not None and value is not None:
        yield known, opened(value)


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
        written = objects(message.get("tool_calls")) if isinstance(message, dict) else []
        for call in written:
            function = as_object(call.get("function")) or call
            found.append({"id": call.get("id"), "name": function.get("name"), "arguments": function.get("arguments")})
        found += [
            {"id": block.get("toolUseId"), "name": block.get("name"), "arguments": block.get("input")}
            for item in objects(message)
            if (block := as_object(item.get("toolUse")))
        ]
    return found


def _vercel_calls(span: Span) -> list[JsonObject]:
    return [
        {
            "id": call.get("toolCallId"),
            "name": call.get("toolName"),
            "arguments": first_of(call, "input", "args"),
        }
        for call in objects(opened(span.attributes.get("ai.response.toolCalls")))
    ]
