"""OpenAI chat messages, bare or as `{"messages": [...], ...}` (Toolathlon's shape), as JSON or JSON Lines.

The calls of one assistant message are one step.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from replay.errors import FormatError
from replay.formats.api_envelopes import without_envelope
from replay.formats.document import NO_MATCH, Document, Element, Head, Match
from replay.formats.fields import MISSING, first_of, joined_text, objects, opened, paragraphs, text_of, to_json
from replay.formats.record_builders import json_text_call, number_calls, recorded_answer
from replay.formats.task_facts import labels_of, reported_of, run_beside, total_usage, usage_in
from replay.records import Call, JsonObject, Source, Step, Task, Trajectory, Usage

ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})

_CALL_DELIMITERS = re.compile(
    r"<\|[a-z_ ]+\|>|</?(?:tool_call|function_call|function_calls|tool_use|invoke)\b[^>]*>|\[/?TOOL_CALLS?\]|```"
)
_CALL_FIELDS = re.compile(r'"(?:arguments|parameters|args|input)"\s*:|"tool_calls"\s*:')
_CALL_NAME = re.compile(r'"(?:name|tool|function|tool_name)"\s*:')


class OpenAIChatReader:
    """Reads chat messages."""

    name = "openai-chat"
    title = "OpenAI chat messages, as Toolathlon publishes them"
    expected_shape = 'chat messages ([{"role", "content", "tool_calls"}] or {"messages": [...]})'

    def sniff(self, head: Head) -> Match:
        """The first element is a message, or holds messages."""
        first: Any = without_envelope(next(iter(head.elements), None))
        if _is_message(first):
            messages = (first, *map(without_envelope, head.elements[1:]))
        elif _holds_messages(first):
            messages = tuple(first["messages"])
        else:
            return NO_MATCH
        if any(isinstance(message, dict) and message.get("tool_calls") for message in messages):
            return Match(0.85, 'messages with "role" and "tool_calls"')
        return Match(0.5, 'messages with "role"')

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """One for a file of bare messages, else one a conversation."""
        bare: list[Any] = []
        for element in document.elements():
            value = element.value if _is_message(element.value) else without_envelope(element.value)
            if _holds_messages(value):
                identifier = _id(replace(element, value=value), document)
                yield self._trajectory(value, identifier, element.place, document)
            elif bare or _is_message(value):
                bare.append(value)
            elif document.shape == "lines":
                document.leave(element)
            else:
                raise FormatError(document.path, 'expected an object with a list "messages"', element.place)
        if bare:
            yield self._trajectory({"messages": bare, **run_beside(document)}, document.task_name, "$", document)

    def _trajectory(self, record: JsonObject, identifier: str, place: str, document: Document) -> Trajectory:
        messages = record["messages"]
        steps, reply = conversation_steps(messages, document.path, place)
        return Trajectory(
            id=identifier,
            model=_model(record) or document.model_beside(place),
            task=Task(
                question=user_text(messages),
                type=kind if isinstance(kind := record.get("type"), str) else None,
                images=_images(messages),
                labels=labels_of(record),
            ),
            source=Source(file=document.path, format=self.name, position=place),
            steps=number_calls(steps),
            final_reply=reply,
            usage=usage_in(record.get("usage")) or total_usage(map(_usage, objects(messages))),
            reported=reported_of(record),
        )


def _is_message(value: Any) -> bool:
    return text_of(_role(value)) in ROLES


def _holds_messages(value: Any) -> bool:
    messages = value.get("messages") if isinstance(value, dict) else None
    return isinstance(messages, list) and (not messages or _is_message(messages[0]))


def _model(record: JsonObject) -> str | None:
    """The model that a conversation names, or the first of its messages that does."""
    replies = (message for message in objects(record["messages"]) if message.get("role") == "assistant")
    return next((name for each in (record, *replies) if (name := text_of(first_of(each, "model", "model_name")))), None)


def _id(element: Element, document: Document) -> str:
    for field in ("id", "task_id"):
        value = element.value.get(field)
        if isinstance(value, str | int) and not isinstance(value, bool):
            return str(value)
    return element.key or (document.task_name if element.place == "$" else element.place)


def conversation_steps(messages: list[Any], path: str, place: str) -> tuple[list[Step], str | None]:
    """The steps of a conversation with their answers, and the last thing the model said without a call."""
    steps: list[Step] = []
    reply: str | None = None
    waiting = [(index, each) for index, each in enumerate(messages) if _role(each) in ("tool", "function")]
    for index, message in enumerate(messages):
        if not isinstance(message, dict):
            raise FormatError(
                path, f"expected a message (an object), found {to_json(message)[:40]}", f"{place}[{index}]"
            )
        if message.get("role") != "assistant":
            continue
        text = _content_text(message.get("content"))
        written = _written_calls(message)
        if written:
            answers = [_take_answer(waiting, call, index, number) for number, call in enumerate(written)]
            calls = tuple(map(_call, written, answers))
        elif text is not None and is_unparsed_call(text):
            calls, text = (Call(position="", unreadable="call", raw=text),), None
        else:
            reply = text or reply
            continue
        steps.append(Step(calls=calls, text=text, usage=_usage(message)))
        reply = None
    return steps, reply


def _take_answer(waiting: list[tuple[int, JsonObject]], call: JsonObject, asked_at: int, number: int) -> Any:
    """The content of the first tool message behind a call with its id, or of the message in its place where one of them
    has no id; it waits no more.
    """
    identifier = call.get("id")
    for entry in waiting:
        index, message = entry
        answered = message.get("tool_call_id")
        own = answered == identifier if identifier and answered else index == asked_at + 1 + number
        if index > asked_at and own:
            waiting.remove(entry)
            content = message.get("content")
            return "" if content is None else content
    return None


def _usage(message: JsonObject) -> Usage | None:
    """The tokens of one reply: OpenAI's `usage`, or LangChain's `usage_metadata`."""
    return usage_in(first_of(message, "usage", "usage_metadata"))


def is_unparsed_call(text: str) -> bool:
    """Whether a reply is a call that the harness did not take for one: call syntax alone, or between delimiters."""
    stripped = text.strip()
    if not (_CALL_FIELDS.search(stripped) and _CALL_NAME.search(stripped)):
        return False
    return stripped.startswith(("{", "[")) or bool(_CALL_DELIMITERS.match(stripped))


def _written_calls(message: JsonObject) -> list[JsonObject]:
    calls = opened(message.get("tool_calls"))
    if isinstance(calls, list) and calls:
        return [call if isinstance(call, dict) else {"function": call} for call in calls]
    legacy = message.get("function_call")
    return [{"function": legacy}] if isinstance(legacy, dict) else []


def _call(written: JsonObject, answer: Any) -> Call:
    function = written.get("function", MISSING)
    if not isinstance(function, dict):
        function = written if function is MISSING and "name" in written else {"name": function}
    name, arguments, identifier = function.get("name", MISSING), function.get("arguments", ""), written.get("id")
    identifier = identifier if isinstance(identifier, str) else None
    return json_text_call(name, arguments, id=identifier, answer=recorded_answer(answer))


def _content_text(content: Any) -> str | None:
    return joined_text(content) if content is None or isinstance(content, str | list) else to_json(content)


def user_text(messages: list[Any]) -> str | None:
    """The text of all user messages: a value from any of it did not come from a tool."""
    return paragraphs(_content_text(message.get("content")) for message in messages if _role(message) == "user")


def _images(messages: list[Any]) -> tuple[str, ...]:
    shown = (
        part.get("image_url")
        for message in messages
        if _role(message) == "user"
        for part in objects(message.get("content"))
    )
    urls = (image.get("url") if isinstance(image, dict) else image for image in shown)
    return tuple(url for url in urls if isinstance(url, str) and not url.startswith("data:"))


def _role(message: Any) -> Any:
    return message.get("role") if isinstance(message, dict) else None
