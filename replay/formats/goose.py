"""Goose sessions: `*.jsonl` (a header, then a message a line), `goose session export`, and what `goose run` prints.

A call is a content block `{type: toolRequest, id, toolCall: {status, value: {name, arguments}}}`, its answer a block
`{type: toolResponse, id, toolResult: {status, value | error}}` of the next user message.
"""

from __future__ import annotations

from collections.abc import Iterator

from replay.formats.call_log import CallLog, iso_time, seconds_between, seconds_of
from replay.formats.document import NO_MATCH, Document, Head, Match
from replay.formats.fields import first_of, joined_text, object_in, objects, text_of
from replay.formats.record_builders import answer_of, build_call, error_answer
from replay.formats.task_facts import usage_of
from replay.records import Answer, Call, JsonObject, Trajectory

_OWN_EXTENSIONS = frozenset({
    "autovisualiser", "chatrecall", "code_execution", "computercontroller", "developer", "dynamic_task",
    "extensionmanager", "memory", "platform", "recipe", "skills", "subagent", "todo", "tutorial",
})  # fmt: skip
"""What Goose brings along; other extensions are MCP servers."""


class GooseReader:
    """Reads Goose sessions."""

    name = "goose"
    title = "Goose sessions"
    expected_shape = 'Goose sessions ({"role", "content": [{"type": "toolRequest"}]}, or "conversation")'

    def sniff(self, head: Head) -> Match:
        """A header of Goose, or messages with its content blocks."""
        if any(map(_is_header, head.objects)):
            return Match(0.95, '"working_dir" beside counts of messages or a conversation')
        messages = [message for record in head.objects for message in _messages_of(record)]
        kinds = {str(block.get("type")) for message in messages for block in objects(message.get("content"))}
        own = kinds & {"toolRequest", "toolResponse"}
        return Match(0.96, "toolRequest and toolResponse blocks") if own else NO_MATCH

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """One a session."""
        sessions: list[tuple[CallLog, JsonObject]] = []
        for element in document.objects():
            messages, header = _messages_of(element.value), _is_header(element.value)
            if not sessions or (header and sessions[-1][0].last_step()):
                sessions.append((CallLog(element.place), {}))
            log, about = sessions[-1]
            if header or not messages:
                about |= element.value
            for message in messages:
                _read(message, log)
        for log, about in sessions:
            yield _finished(log, about, document)


def _is_header(value: JsonObject) -> bool:
    counted = {"message_count", "conversation", "total_tokens", "description"} & value.keys()
    return "working_dir" in value and bool(counted)


def _messages_of(value: JsonObject) -> list[JsonObject]:
    """The messages of a session, those of an object around them, or the one that a line is."""
    inner = first_of(value, "conversation", "messages", "message")
    found = objects(inner) if isinstance(inner, list) else [object_in(inner) or value]
    return [message for message in found if "role" in message and isinstance(message.get("content"), list)]


def _finished(log: CallLog, about: JsonObject, document: Document) -> Trajectory:
    log.identifier = text_of(about.get("id"))
    model = object_in(about, "model_config")
    log.model = text_of(first_of(model, "model_name", "model")) or log.model
    usage = usage_of(
        first_of(about, "accumulated_input_tokens", "input_tokens"),
        first_of(about, "accumulated_output_tokens", "output_tokens"),
    )
    return log.trajectory(document, GooseReader.name, usage=usage)


def _read(message: JsonObject, log: CallLog) -> None:
    time = iso_time(seconds_of(message.get("created")))
    log.started_at = log.started_at or time
    inference = object_in(message, "metadata", "inference")
    log.model = log.model or text_of(first_of(inference, "resolvedModel", "requestedModel"))
    text = joined_text([block for block in objects(message["content"]) if block.get("type") == "text"])
    if message.get("role") == "assistant":
        log.say(text)
    elif text:
        log.ask(text)
    reply = object()
    for block in objects(message["content"]):
        if block.get("type") == "toolRequest":
            call = _call(block).model_copy(update={"started": seconds_between(log.started_at, time)})
            log.add(call, reply)
        elif block.get("type") == "toolResponse":
            log.answer(text_of(block.get("id")), _answer(object_in(block, "toolResult")))


def _call(block: JsonObject) -> Call:
    """The call of a tool, whose extension stands before its name: `developer__shell`."""
    request = object_in(block, "toolCall")
    value = object_in(first_of(request, "value", "Ok")) or request
    name, arguments = value.get("name"), value.get("arguments")
    given, identifier = {} if arguments is None else arguments, text_of(block.get("id"))
    server, _, tool = name.partition("__") if isinstance(name, str) else ("", "", "")
    extension = text_of(object_in(block, "_meta").get("goose_extension"))
    if not tool and extension:
        server, tool = extension, str(name)
    if not tool or server in _OWN_EXTENSIONS:
        return build_call(name, given, id=identifier, local=True)
    return build_call(name, given, id=identifier, server=server, tool=tool)


def _answer(result: JsonObject) -> Answer | None:
    failure = first_of(result, "error", "Err")
    return error_answer(failure) if failure is not None else answer_of(first_of(result, "value", "Ok"), is_error=False)
