"""Task folders of Cline and Roo Code: `api_conversation_history.json`, and `ui_messages.json` where that is missing.

The conversation has content blocks as Anthropic's API has them, but an answer is a text that begins with
`[read_file for 'a'] Result:`, and older versions write a call as XML: `<read_file><path>a</path></read_file>`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from replay.errors import NoTrajectoryError
from replay.formats.call_log import CallLog, iso_time, seconds_of
from replay.formats.document import NO_MATCH, Document, Head, Match
from replay.formats.fields import joined_text, object_in, objects, opened, sum_of, text_of
from replay.formats.record_builders import build_call, error_answer, json_text_call, of_server
from replay.records import Answer, Call, JsonObject, TextAnswer, Trajectory

_HISTORY = "api_conversation_history.json"
_MCP = "use_mcp_tool"
_RESULT = re.compile(r"^\[(\w+)(?: .{0,2000}?)?\] Result:\s*", re.DOTALL | re.MULTILINE)
_NOT_THE_ANSWER = re.compile(
    r"\s*(?:<environment_details>|# (?:task_progress|todo list)\b).*", re.DOTALL | re.IGNORECASE
)
_FAILED = "The tool execution failed with the following error:"
_DENIED = "The user denied this operation."
_XML_CALL = re.compile(
    r"<(execute_command|read_file|write_to_file|replace_in_file|apply_diff|insert_content|search_and_replace"
    r"|search_files|list_files|list_code_definition_names|browser_action|use_mcp_tool|access_mcp_resource"
    r"|ask_followup_question|attempt_completion|plan_mode_respond|new_task|switch_mode|fetch_instructions"
    r"|codebase_search|update_todo_list|load_mcp_documentation|web_fetch)>(.*?)</\1>",
    re.DOTALL,
)
_XML_PARAMETER = re.compile(r"<(\w+)>(.*?)</\1>", re.DOTALL)
_SHOWN = {
    "command": ("execute_command", "command"),
    "followup": ("ask_followup_question", "question"),
    "completion_result": ("attempt_completion", "result"),
    "plan_mode_respond": ("plan_mode_respond", "response"),
    "load_mcp_documentation": ("load_mcp_documentation", ""),
    "browser_action_launch": ("browser_action", "url"),
}
"""Of what was shown: the tool that it was, and the argument that the text is."""


class ClineReader:
    """Reads tasks of Cline and Roo Code."""

    name = "cline"
    title = "Cline and Roo Code tasks"
    expected_shape = "Cline's api_conversation_history.json or ui_messages.json"

    def sniff(self, head: Head) -> Match:
        """Messages with the details of the editor in them, or what was said and asked."""
        if head.records and all(_is_shown(object_in(record)) for record in head.records[:-1] or head.records):
            return Match(0.96, 'messages that "say" or "ask", with "ts"')
        messages = [record for record in head.objects if "role" in record]
        if messages and b"<environment_details>" in head.data and _RESULT.search(_all_text(messages)):
            return Match(0.97, 'answers that begin with "[tool] Result:"')
        if messages and b"<environment_details>" in head.data and b'"<task>' in head.data:
            return Match(0.96, "a <task> and <environment_details>")
        return NO_MATCH

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """One a file."""
        task, shown = _Task("$", Path(document.path).parent.name or None), False
        for element in document.objects(lambda message: _is_shown(message) or "role" in message):
            if _is_shown(element.value):
                shown = True
                task.read_shown(element.value)
            else:
                task.read_message(element.value)
        if shown and document.is_beside(_HISTORY):
            raise NoTrajectoryError(document.path, f"the calls of this task stand in {_HISTORY} beside it")
        usage = objects(object_in(document.beside("task_metadata.json")).get("model_usage"))
        task.model = task.model or next((text_of(each.get("model_id")) for each in reversed(usage)), None)
        yield task.trajectory(document, self.name)


def _is_shown(value: JsonObject) -> bool:
    return "ts" in value and value.get("type") in ("say", "ask") and value["type"] in value


def _all_text(messages: list[JsonObject]) -> str:
    return "\n".join(joined_text(message.get("content")) or "" for message in messages)


class _Task(CallLog):
    def __init__(self, place: str, identifier: str | None) -> None:
        super().__init__(place, identifier)
        self._calls = 0
        self._unanswered: list[tuple[str, str]] = []
        """Of each call of the last message: the tool as the harness names it, and the id."""

    def read_message(self, message: JsonObject) -> None:
        self._note_details(message)
        content = message.get("content")
        blocks = objects(content) if isinstance(content, list) else [{"type": "text", "text": content}]
        if message.get("role") == "assistant":
            native = [block for block in blocks if block.get("type") == "tool_use"]
            text = joined_text(content) or ""
            self.say(text if native else _XML_CALL.sub("", text))
            self._unanswered = []
            for block in native:
                self._add(str(block.get("name")), _native_call(block))
            for match in () if native else _XML_CALL.finditer(text):
                self._add(match[1], _xml_call(match[1], match[2]))
            return
        awaited: str | None = None
        for block in blocks:
            if block.get("type") == "tool_result":
                self.answer(text_of(block.get("tool_use_id")), _answer(joined_text(block.get("content")) or ""))
            elif block.get("type") == "text":
                awaited = self._read_user_text(str(block.get("text") or ""), awaited)

    def read_shown(self, message: JsonObject) -> None:
        """Take in what was shown: a call, or a request, which has the answers to the calls before it."""
        kind, text = message[message["type"]], str(message.get("text") or "")
        if message.get("partial"):
            return
        self._note_details(message)
        body = object_in(opened(text))
        if kind == "api_req_started":
            self._read_answers(str(body.get("request", "")))
            self.count_tokens(sum_of(body, "tokensIn", "cacheReads", "cacheWrites"), body.get("tokensOut"))
        elif kind == "tool" and body:
            self._add("", build_call(body.pop("tool", None), body, local=True))
        elif kind == "use_mcp_server" and body.get("toolName"):
            self._add(_MCP, _mcp_call(body.get("serverName"), body["toolName"], body.get("arguments")))
        elif kind in _SHOWN and (text or not _SHOWN[kind][1]):
            name, argument = _SHOWN[kind]
            self._add(name, build_call(name, {argument: body.get(argument, text)} if argument else {}, local=True))
        elif kind == "user_feedback" or (kind == "text" and not self.first_prompt):
            self.ask(text)
        elif kind == "text":
            self.say(text)

    def _note_details(self, message: JsonObject) -> None:
        tokens = object_in(message, "metrics", "tokens")
        self.model = text_of(object_in(message, "modelInfo").get("modelId")) or self.model
        self.started_at = self.started_at or iso_time(seconds_of(message.get("ts")))
        self.count_tokens(sum_of(tokens, "prompt", "cached"), tokens.get("completion"))

    def _add(self, name: str, call: Call) -> None:
        """A call; `name` is that of the tool as its answer will give it, where that is known."""
        self._calls += 1
        identifier = call.id or f"call {self._calls}"
        self._unanswered.append((name, identifier))
        self.add(call.model_copy(update={"id": identifier}), model=self.model)

    def _answer(self, tool: str, text: str) -> None:
        """Give an answer to the first waiting call of its tool, or to the first one, whose tool it then names."""
        position = next((index for index, waiting in enumerate(self._unanswered) if waiting[0] == tool), 0)
        if self._unanswered:
            named, identifier = self._unanswered.pop(position)
            if not named:
                self.change(identifier, name=tool)
            self.answer(identifier, _answer(text), interrupted=text.startswith(_DENIED))

    def _read_user_text(self, text: str, name: str | None) -> str | None:
        """Take in a text of the user's messages.

        Args:
            text: as it stands there.
            name: the tool whose answer this text is, where the text before it said so.

        Returns:
            The tool whose answer is the next text.
        """
        begun = _RESULT.match(text)
        if begun and begun.end() == len(text):
            return begun[1]
        if begun:
            self._answer(begun[1], text[begun.end() :])
        elif name:
            self._answer(name, text)
        elif not _NOT_THE_ANSWER.match(text):
            self.ask(text)
        return None

    def _read_answers(self, request: str) -> None:
        """The answers to the calls before a request, which also tell the names that the model called them by."""
        begun = list(_RESULT.finditer(request))
        ends = [match.start() for match in begun[1:]] + [len(request)]
        for match, end in zip(begun, ends, strict=False):
            self._answer(match[1], _NOT_THE_ANSWER.sub("", request[match.end() : end]))
        self._unanswered = []


def _answer(text: str) -> Answer:
    return error_answer(text.removeprefix(_FAILED).strip()) if text.startswith(_FAILED) else TextAnswer(text=text)


def _native_call(block: JsonObject) -> Call:
    """A call as content block; that of an MCP server may be named `SERVER0mcp0TOOL` or `mcp--SERVER--TOOL`."""
    name, given, identifier = block.get("name"), block.get("input"), text_of(block.get("id"))
    if name == _MCP and isinstance(given, dict):
        return _mcp_call(given.get("server_name"), given.get("tool_name"), given.get("arguments"), id=identifier)
    if isinstance(name, str):
        server, _, tool = name.partition("0mcp0") if "0mcp0" in name else name.removeprefix("mcp--").partition("--")
        if known := of_server(server, tool):
            return build_call(name, given, id=identifier, **known)
    return build_call(name, given, id=identifier, local=True)


def _xml_call(name: str, body: str) -> Call:
    arguments = {key: value.strip("\n") for key, value in _XML_PARAMETER.findall(body)}
    if name == _MCP:
        return _mcp_call(arguments.get("server_name"), arguments.get("tool_name"), arguments.get("arguments"))
    return build_call(name, arguments, local=True)


def _mcp_call(server: Any, tool: Any, arguments: Any, **fields: Any) -> Call:
    """The call of an MCP server's tool, as the harness's own tool for it has it in its arguments."""
    return json_text_call(tool, {} if arguments is None else arguments, **of_server(server, tool), **fields)
