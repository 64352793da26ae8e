"""Claude Code: session files (JSON Lines, sub-agents beside it or in between), and what its SDK and
`claude -p --output-format stream-json` print, as lines, as a list or under a key of an object.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from replay.formats.call_log import CallLog, seconds_between
from replay.formats.document import NO_MATCH, Document, Head, Match
from replay.formats.fields import MISSING, nested_lines, object_in, objects, sum_of, text_of, to_json
from replay.formats.record_builders import build_call, result_with_flag
from replay.formats.task_facts import total_usage, usage_of
from replay.records import Call, JsonObject, ParentCall, Trajectory

LINE_TYPES = frozenset({
    "user", "assistant", "summary", "system", "file-history-snapshot", "progress", "queue-operation", "result",
    "stream_event", "rate_limit_event",
})  # fmt: skip

INTERRUPTIONS = (
    "The user doesn't want to proceed",
    "The user doesn't want to take this action",
    "Sibling tool call errored",
    "[Request interrupted",
    "Request interrupted",
)
"""How the harness's own answers begin where the user refused a call, or it was aborted with others."""

SUB_AGENT_TOOLS = frozenset({"Task", "Agent"})
_MCP = "mcp__"


class ClaudeCodeReader:
    """Reads Claude Code sessions."""

    name = "claude-code"
    title = "Claude Code sessions"
    expected_shape = 'Claude Code lines ({"type": "assistant", "sessionId", "uuid", "message"})'

    def sniff(self, head: Head) -> Match:
        """A conversation line among the first lines."""
        lines = [line for record in head.objects for line in nested_lines(record, _is_message_line)]
        own_keys = {"sessionId", "parentUuid", "session_id"}
        if any(_is_message_line(line) and own_keys & line.keys() for line in lines):
            return Match(0.95, 'lines with "sessionId", "parentUuid" and "message"')
        if any(_is_message_line(line) for line in lines):
            return Match(0.88, 'lines of "type" user or assistant, with a "message"')
        kinds = {line.get("type") for line in lines if isinstance(line.get("type"), str)}
        own = kinds & {"file-history-snapshot", "queue-operation"} or any("leafUuid" in line for line in lines)
        return Match(0.6, "lines that Claude Code writes before a conversation") if own else NO_MATCH

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """The session, then the sub-agents whose lines stand between its own."""
        threads = _Threads()
        for element in document.objects():
            for written in nested_lines(element.value, _is_message_line):
                line = _reported_line(written, document) or written
                if _is_message_line(line):
                    threads.thread_of(line, element.place).read(line)
                elif not _is_other_line(line):
                    document.leave(element)
        yield from threads.trajectories(document)


def _reported_line(line: JsonObject, document: Document) -> JsonObject | None:
    """The line of a sub-agent that the session's progress reports, unless the sub-agent has a file of its own."""
    data = object_in(line, "data") if line.get("type") == "progress" else {}
    if data.get("type") != "agent_progress" or not isinstance(data.get("message"), dict):
        return None
    name = f"agent-{data.get('agentId')}.jsonl"
    if document.is_beside(name) or document.is_beside(Path(document.path).stem, "subagents", name):
        return None
    return {**data["message"], "sessionId": line.get("sessionId"), "isSidechain": True, "agentId": data.get("agentId")}


class _Thread(CallLog):
    def __init__(self, place: str, identifier: str, parent_session: str | None, parent_call: str | None) -> None:
        super().__init__(place, identifier)
        self.parent_session, self.parent_call = parent_session, parent_call
        """The session that started it, and the id of the call that did, where the lines say so."""
        self.step_tokens: dict[Any, tuple[int, int]] = {}
        self._called: set[int] = set()
        """Hashes of its calls as they were written: their text is not held twice."""
        self._early: dict[str, JsonObject] = {}
        """Results that stand before the line of their call, by its id."""

    def read(self, line: JsonObject) -> None:
        if self.started_at is None:
            self.started_at = text_of(line.get("timestamp"))
        message = line["message"]
        content = message.get("content")
        for block in objects([{"type": "text", "text": content}] if isinstance(content, str) else content):
            self._read_block(block, message, line)
        usage, identifier = message.get("usage"), message.get("id")
        if line["type"] == "assistant" and isinstance(usage, dict) and isinstance(identifier, str):
            read = sum_of(usage, "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
            written = usage.get("output_tokens")
            self.step_tokens[identifier] = (read or 0, written if isinstance(written, int) else 0)

    def _read_block(self, block: JsonObject, message: JsonObject, line: JsonObject) -> None:
        kind, text = block.get("type"), block.get("text") if block.get("type") == "text" else None
        if line["type"] == "assistant":
            model = message.get("model")
            model = model if isinstance(model, str) and model != "<synthetic>" else None
            self.model = self.model or model
            if kind == "tool_use":
                call = _call(block, seconds_between(self.started_at, line.get("timestamp")))
                if self._is_new(call):
                    self.add(call, str(message.get("id") or line.get("uuid")), model=model)
                    if call.id in self._early:
                        self._read_result(self._early.pop(call.id))
            self.say(text_of(text))
        elif kind == "tool_result":
            self._read_result(block)
        elif isinstance(text, str) and line.get("isCompactSummary") is not True:
            self.ask(text)

    def _is_new(self, call: Call) -> bool:
        """Whether a call is not one that stood on an earlier line: iFlow writes a message again once it is whole."""
        if call.id is None:
            return True
        written = hash((call.id, call.name, to_json(call.arguments)))
        known = written in self._called
        self._called.add(written)
        return not known

    def _read_result(self, block: JsonObject) -> None:
        """Give the call its answer; a tool that is done at once is told of before the reply that called it."""
        content, failed = block.get("content"), block.get("is_error") is True
        identifier, answer = text_of(block.get("tool_use_id")), result_with_flag(content, failed)
        interrupted = failed and _is_interrupted(_first_text(content).strip())
        if not self.answer(identifier, answer, interrupted=interrupted) and identifier is not None:
            self._early[identifier] = block


class _Threads:
    """The threads of a file, told apart by session, agent and the chain of parents."""

    def __init__(self) -> None:
        self._threads: dict[str, _Thread] = {}
        self._root_of: dict[str, str] = {}
        """For a line of a sub-agent: the first line of its chain."""

    def thread_of(self, line: JsonObject, place: str) -> _Thread:
        """The thread that a line belongs to."""
        session, started_by = str(line.get("sessionId") or line.get("session_id")), line.get("parent_tool_use_id")
        started_by = started_by if isinstance(started_by, str) else None
        if started_by is not None:
            identifier, parent = f"{session}/{started_by}", session
        elif line.get("isSidechain") is not True:
            identifier, parent = session, None
        elif isinstance(line.get("agentId"), str):
            identifier, parent = f"agent-{line['agentId']}", session
        else:
            identifier, parent = self._root(line), session
        if identifier not in self._threads:
            self._threads[identifier] = _Thread(place, identifier, parent, started_by)
        return self._threads[identifier]

    def _root(self, line: JsonObject) -> str:
        own, parent = str(line.get("uuid")), line.get("parentUuid")
        root = self._root_of.get(parent, own) if isinstance(parent, str) else own
        self._root_of[own] = root
        return root

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """Sessions first, then sub-agents.

        A session that this file goes on with has a few lines in it: without calls it is the beginning of the other.
        """
        threads = list(self._threads.values())
        sessions = [thread for thread in threads if thread.parent_session is None]
        agents = [thread for thread in threads if thread.parent_session is not None]
        callers = [thread for thread in sessions if thread.calls()]
        if callers:
            for thread in reversed([session for session in sessions if session not in callers]):
                callers[0].go_on_from(thread)
        order = (callers or sessions) + agents
        for thread in order:
            thread.parent = self._parent(thread)
            thread.identifier = None if thread.identifier == "None" else thread.identifier
        for thread in order:
            usage = total_usage(usage_of(*count) for count in thread.step_tokens.values())
            yield thread.trajectory(document, ClaudeCodeReader.name, usage=usage)

    def _parent(self, thread: _Thread) -> ParentCall | None:
        """The call that started a sub-agent: the one whose prompt is the sub-agent's first message."""
        if thread.parent_session is None:
            return None
        session = self._threads.get(thread.parent_session)
        prompt = thread.first_prompt
        for position, call in session.calls() if session else ():
            if thread.parent_call is not None:
                if call.id == thread.parent_call:
                    return ParentCall(trajectory=thread.parent_session, call=position)
            elif call.name in SUB_AGENT_TOOLS and prompt and (call.arguments or {}).get("prompt") == prompt:
                return ParentCall(trajectory=thread.parent_session, call=position)
        return ParentCall(trajectory=thread.parent_session)


def _is_message_line(line: JsonObject) -> bool:
    message = line.get("message")
    return line.get("type") in ("user", "assistant") and isinstance(message, dict) and "content" in message


def _is_other_line(line: JsonObject) -> bool:
    """Whether a line is Claude Code's but no part of the conversation, also one of a kind that is new."""
    own_keys = {"sessionId", "session_id", "uuid", "leafUuid", "messageId"}
    return isinstance(line.get("type"), str) and (line["type"] in LINE_TYPES or bool(own_keys & line.keys()))


def _call(block: JsonObject, started: float | None) -> Call:
    name = block.get("name", MISSING)
    local = isinstance(name, str) and not name.startswith(_MCP)
    return build_call(name, block.get("input", MISSING), id=text_of(block.get("id")), started=started, local=local)


def _is_interrupted(text: str) -> bool:
    """Whether the harness says that a call was refused or aborted: behind the program's status it stands last."""
    return text.startswith(INTERRUPTIONS) or text.rpartition("\n")[2].startswith("[Request interrupted")


def _first_text(content: Any) -> str:
    if isinstance(content, list):
        content = next((block.get("text") for block in content if isinstance(block, dict)), None)
    return content if isinstance(content, str) else ""
