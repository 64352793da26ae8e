"""AutoGen: events of a team (as a list, a line each, or in a saved state), and chats in which code was executed.

A call stands in a `ToolCallRequestEvent` or an `AssistantMessage` (`content: [{id, name, arguments}]`), its answer in a
`ToolCallExecutionEvent` or a `FunctionExecutionResultMessage` (`content: [{call_id, content, is_error}]`). In chats the
code blocks of a message are executed, and the next message is what came back: `exitcode: 0 (execution succeeded)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from replay.formats.call_log import CallLog, seconds_between
from replay.formats.document import NO_MATCH, Document, Head, Match
from replay.formats.fields import as_object, first_of, joined_text, object_in, objects, opened, text_of
from replay.formats.record_builders import build_call, function_call, result_with_flag
from replay.formats.task_facts import labels_of
from replay.records import JsonObject, Task, Trajectory

_EXECUTED = re.compile(r"exitcode: (\d+) \(execution (?:succeeded|failed)\)\nCode output:\s*")
_CODE = re.compile(r"```(\w*)[^\n]*\n(.*?)\n?```", re.DOTALL)
_TYPES = frozenset({
    "AssistantMessage", "FunctionExecutionResultMessage", "HandoffMessage", "MemoryQueryEvent", "MultiModalMessage",
    "StopMessage", "SystemMessage", "TextMessage", "ThoughtEvent", "ToolCallExecutionEvent", "ToolCallRequestEvent",
    "ToolCallSummaryMessage", "UserInputRequestedEvent", "UserMessage",
})  # fmt: skip
_ANSWERS = frozenset({"ToolCallExecutionEvent", "FunctionExecutionResultMessage"})


class AutoGenReader:
    """Reads what AutoGen's teams and chats write."""

    name = "autogen"
    title = "AutoGen events, states and chats"
    expected_shape = 'AutoGen events ([{"type": "ToolCallRequestEvent", "source", "content"}], or "agent_states")'

    def sniff(self, head: Head) -> Match:
        """Events by their types, a saved state, or answers of a code executor."""
        if any(map(_states, head.objects)):
            return Match(0.95, '"agent_states" of a team')
        if any(_is_event(message) for record in head.objects for message in (_messages(record) or [record])):
            return Match(0.95, 'messages with "source" and a "type" of AutoGen')
        if b"exitcode: " in head.data and any(map(_is_code_chat, map(_messages, head.objects))):
            return Match(0.94, 'messages that begin with "exitcode:"')
        return NO_MATCH

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """One an agent of a saved state, else one a record or one for the file."""
        bare: list[JsonObject] = []
        for element in document.objects():
            record = element.value
            states, messages = _states(record), _messages(record)
            for agent, inner in states.items():
                yield _log_of(inner, f"{element.place}.agent_states.{agent}", agent).trajectory(document, self.name)
            if states:
                continue
            if messages:
                task = Task(question=text_of(record.get("question")), labels=labels_of(record))
                facts = {"task": task} if task.question else {}
                identifier = text_of(first_of(record, "question_ID", "id", "run_id"))
                yield _log_of(messages, element.place, identifier).trajectory(document, self.name, **facts)
            elif _is_event(record):
                bare.append(record)
            else:
                document.leave(element)
        if bare:
            yield _log_of(bare).trajectory(document, self.name)


def _is_event(value: JsonObject) -> bool:
    return value.get("type") in _TYPES and ("source" in value or "content" in value)


def _states(record: JsonObject) -> dict[str, list[JsonObject]]:
    """The messages that each agent of a saved state has seen, by its name; those without a reply are left out."""
    states = as_object(record.get("agent_states"))
    if states is None and "llm_context" in record:
        states = {"agent": {"agent_state": record}}
    seen: dict[str, list[JsonObject]] = {}
    for name, state in (states or {}).items():
        messages = objects(object_in(state, "agent_state", "llm_context").get("messages"))
        if any(message.get("type") == "AssistantMessage" for message in messages):
            seen[name.split("/")[0]] = messages
    return seen


def _messages(record: JsonObject) -> list[JsonObject]:
    """The messages in a record: a result's, or those of a chat in which code was executed."""
    inner = object_in(record, "task_result") or record
    messages = objects(first_of(inner, "messages", "history", "chat_history"))
    return messages if any(map(_is_event, messages)) or _is_code_chat(messages) else []


def _is_code_chat(messages: list[JsonObject]) -> bool:
    return any(_EXECUTED.match(str(message.get("content"))) for message in messages)


def _log_of(messages: list[JsonObject], place: str = "$", identifier: str | None = None) -> CallLog:
    log = CallLog(place, identifier)
    for number, message in enumerate(messages):
        kind, content = message.get("type"), opened(message.get("content"))
        usage = object_in(message, "models_usage")
        log.count_tokens(usage.get("prompt_tokens"), usage.get("completion_tokens"))
        moment = text_of(message.get("created_at"))
        log.started_at = log.started_at or moment
        if kind in _ANSWERS:
            for result in objects(content):
                answer = result_with_flag(result.get("content"), result.get("is_error"))
                log.answer(text_of(result.get("call_id")), answer, name=text_of(result.get("name")))
        elif isinstance(content, list) and any("arguments" in each for each in objects(content)):
            log.say(text_of(message.get("thought")))
            for written in objects(content):
                log.add(function_call(written, started=seconds_between(log.started_at, moment)), number)
        else:
            _read_text(message, joined_text(content) or "", log, number)
    return log


def _read_text(message: JsonObject, text: str, log: CallLog, number: int) -> None:
    """A message that is text: what was asked or said, or what came back of the code in the message before it."""
    executed = _EXECUTED.match(text)
    if executed and log.final_reply:
        blocks = _CODE.findall(log.final_reply)
        code = {"code": "\n".join(body for _, body in blocks) or log.final_reply}
        language = (blocks[0][0] if blocks else "") or "code"
        log.add(build_call(language, code, id=f"code {number}", local=True), number)
        log.answer(f"code {number}", result_with_flag(text[executed.end() :], executed[1] != "0"))
    elif first_of(message, "source", "name", "role") in ("user", "human") or message.get("type") == "UserMessage":
        log.final_reply = text if not log.first_prompt and "```" in text else log.final_reply
        log.ask(text)
    else:
        log.say(text)
