"""Gemini CLI: its chat files, as one object with `sessionId` and `messages` or as JSON Lines, the history that `/chat
save` keeps (contents of the Gemini API), and the events of `--output-format stream-json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from replay.formats.call_log import CallLog
from replay.formats.document import Document, Head
from replay.formats.file_names import FileNames
from replay.formats.gemini_lines import (
    ChatLines,
    contents_in,
    has_parts,
    is_event,
    is_message,
    is_meta,
    is_stream_event,
    messages_of,
)
from replay.formats.reader import NO_MATCH, Match
from replay.formats.record_builders import MISSING, build_call, objects, result_with_flag, seconds_between
from replay.records import Call, JsonObject, Source, Task, Trajectory, Usage

BUILT_IN = frozenset({
    "activate_skill", "ask_user", "cli_help", "codebase_investigator", "complete_task", "delegate_to_agent",
    "edit", "enter_plan_mode", "exit_plan_mode", "generalist", "get_internal_docs", "glob", "google_web_search",
    "grep_search", "list_directory", "read_file", "read_many_files", "replace", "run_shell_command", "save_memory",
    "search_file_content", "web_fetch", "write_file", "write_todos",
})  # fmt: skip
"""The tools that Gemini CLI brings."""

_SHOWN_SERVER = re.compile(r"^(?P<tool>.+) \((?P<server>[^()]+) MCP Server\)$")


class GeminiCliReader:
    """Reads Gemini CLI chats."""

    name = "gemini-cli"
    title = "Gemini CLI chats"
    expected_shape = 'a Gemini CLI chat ({"sessionId", "projectHash", "messages": [{"type": "gemini"}]})'

    def sniff(self, head: Head) -> Match:
        """The two ids, and messages without a role; or contents with function calls; or events with a tool's id."""
        records = [record for record in head.records if isinstance(record, dict)]
        if _is_chat(head.first):
            return Match(0.95, '"sessionId", "projectHash" and "messages"')
        if any(map(is_meta, records)) and any(map(is_message, records)):
            return Match(0.95, 'lines with "sessionId" and "projectHash", then messages')
        if any(map(is_event, records)):
            return Match(0.9, 'events with "tool_name" and "tool_id"')
        if any(record.get("type") == "init" and {"session_id", "model"} <= record.keys() for record in records):
            return Match(0.7, 'an event "init" with "session_id" and "model"')
        if any(map(is_meta, records)):
            return Match(0.7, '"sessionId" and "projectHash"')
        contents = [content for record in records for content in contents_in(record)]
        return Match(0.8, "contents of the Gemini API") if any(map(has_parts, contents)) else NO_MATCH

    def trajectories(self, document: Document, names: FileNames) -> Iterator[Trajectory]:
        """One a chat."""
        lines = ChatLines()
        contents: list[JsonObject] = []
        for element in document.records():
            value = element.value
            if _is_chat(value):
                yield _trajectory(value, element.place, document, names)
            elif isinstance(value, dict) and lines.read(value):
                continue
            elif found := contents_in(value):
                contents += found
            elif not is_stream_event(value):
                document.leave(element)
        for chat in lines.chats(names.task(document.path)):
            yield _trajectory(chat, "$", document, names)
        if contents:
            chat = {"sessionId": names.task(document.path), "messages": messages_of(contents)}
            yield _trajectory(chat, "$", document, names)


def _is_chat(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and {"sessionId", "messages"} <= value.keys()
        and bool({"projectHash", "lastUpdated", "startTime"} & value.keys())
    )


def _trajectory(chat: JsonObject, place: str, document: Document, names: FileNames) -> Trajectory:
    log, prompts, models, usage = CallLog(), [], [], [0, 0]
    started_at = chat.get("startTime") if isinstance(chat.get("startTime"), str) else None
    messages = chat["messages"] if isinstance(chat["messages"], list) else []
    for number, message in enumerate(messages):
        if not isinstance(message, dict):
            continue
        text = _text(message.get("content"))
        if message.get("type") == "user" and text:
            prompts.append(text)
        if message.get("type") != "gemini":
            continue
        if isinstance(message.get("model"), str):
            models.append(message["model"])
        log.say(text)
        _count(message.get("tokens"), usage)
        for written in objects(message.get("toolCalls")):
            log.add(_call(written, started_at), number, model=models[-1] if models else None)
    model = models[-1] if models else names.model(document.path)
    return Trajectory(
        id=str(chat["sessionId"]),
        model=model,
        task=Task(question="\n\n".join(prompts) or None),
        source=Source(file=document.path, format=GeminiCliReader.name, position=place),
        steps=log.steps(model),
        final_reply=log.final_reply,
        usage=Usage(input_tokens=usage[0], output_tokens=usage[1]) if any(usage) else None,
        started_at=started_at,
    )


def _call(written: JsonObject, started_at: str | None) -> Call:
    name, status = written.get("name", MISSING), written.get("status")
    identifier = written.get("id")
    shown = _SHOWN_SERVER.match(str(written.get("displayName")))
    fields = {"server": shown["server"], "tool": shown["tool"]} if shown else {}
    answer = None
    for part in objects(written.get("result")):
        response = part.get("functionResponse")
        body = response.get("response") if isinstance(response, dict) else None
        if isinstance(body, dict):
            content = body.get("output", body.get("error", body))
            answer = result_with_flag(content, status in ("error", "cancelled") or "error" in body)
            break
    return build_call(
        name,
        written.get("args", MISSING),
        id=identifier if isinstance(identifier, str) else None,
        answer=answer,
        started=seconds_between(started_at, written.get("timestamp")),
        local=isinstance(name, str) and name in BUILT_IN,
        interrupted=status == "cancelled",
        **fields,
    )


def _text(content: Any) -> str | None:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    return "\n".join(p["text"] for p in parts if isinstance(p, dict) and isinstance(p.get("text"), str)) or None


def _count(tokens: Any, usage: list[int]) -> None:
    for place, key in enumerate(("input", "output")):
        count = tokens.get(key) if isinstance(tokens, dict) else None
        usage[place] += count if isinstance(count, int) else 0
