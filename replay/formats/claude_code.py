"""Claude Code: session files (JSON Lines, sub-agents beside it or in between), and what its SDK and
`claude -p --output-format stream-json` print, as lines, as a list or under a key of an object.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from replay.formats.call_log import CallLog
from replay.formats.document import NO_MATCH, Document, Element, Head, Match
from replay.formats.fields import MISSING, nested_lines, text_of, to_json
from replay.formats.record_builders import build_call, result_with_flag, summed_usage
from replay.formats.times import seconds_between
from replay.records import Call, JsonObject, ParentCall, Trajectory, Usage

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
        lines = [line for record in head.records for line in nested_lines(record, _is_message_line)]
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
        for element in document.records():
            for written in nested_lines(element.value, _is_message_line) or [element.value]:
                line = _reported_line(written, document) or written
                if isinstance(line, dict) and _is_message_line(line):
                    threads.thread_of(line, element).read(line)
                elif not _is_other_line(line):
                    document.leave(element)
        yield from threads.trajectories(document)


def _reported_line(line: Any, document: Document) -> JsonObject | None:
    """The line of a sub-agent that the session's progress reports, unless the sub-agent has a file of its own."""
    data = line.get("data") if isinstance(line, dict) and line.get("type") == "progress" else None
    if not isinstance(data, dict) or data.get("type") != "agent_progress" or not isinstance(data.get("message"), dict):
        return None
    name = f"agent-{data.get('agentId')}.jsonl"
    if document.is_beside(name) or document.is_beside(Path(document.path).stem, "subagents", name):
        return None
    return {**data["message"], "sessionId": line.get("sessionId"), "isSidechain": True, "agentId": data.get("agentId")}


@dataclass
class _Thread:
    """A session, or one sub-agent's part of it."""

    id: str
    place: str
    parent_session: str | None = None
    log: CallLog = field(default_factory=CallLog)
    tokens: dict[str, tuple[int, int]] = field(default_factory=dict)
    called: set[int] = field(default_factory=set)
    """Hashes of its calls as they were written: their text is not held twice."""
    parent_call: str | None = None
    """The id of the call that started it, where the lines say so."""
    early: dict[str, JsonObject] = field(default_factory=dict)
    """Results that stand before the line of their call, by its id."""

    def read(self, line: JsonObject) -> None:
        """Take in one conversation line."""
        moment = line.get("timestamp")
        if self.log.started_at is None:
            self.log.started_at = text_of(moment)
        message = line["message"]
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks if isinstance(blocks, list) else ():
            if isinstance(block, dict):
                self._read_block(block, message, line)
        if line["type"] == "assistant":
            self._count_tokens(message)

    def _read_block(self, block: JsonObject, message: JsonObject, line: JsonObject) -> None:
        kind, moment = block.get("type"), line.get("timestamp")
        if line["type"] == "assistant":
            model = message.get("model")
            model = model if isinstance(model, str) and model != "<synthetic>" else None
            self.log.model = self.log.model or model
            if kind == "tool_use":
                call = _call(block, seconds_between(self.log.started_at, moment))
                if self._is_new(call):
                    self.log.add(call, str(message.get("id") or line.get("uuid")), model=model)
                    if call.id in self.early:
                        self._read_result(self.early.pop(call.id))
            elif kind == "text" and isinstance(block.get("text"), str):
                self.log.say(block["text"])
        elif kind == "tool_result":
            self._read_result(block)
        elif kind == "text" and isinstance(block.get("text"), str) and line.get("isCompactSummary") is not True:
            self.log.ask(block["text"])

    def _is_new(self, call: Call) -> bool:
        """Whether a call is not one that stood on an earlier line: iFlow writes a message again once it is whole."""
        written = hash((call.id, call.name, to_json(call.arguments)))
        if call.id is None or written not in self.called:
            self.called.add(written)
            return True
        return False

    def _read_result(self, block: JsonObject) -> None:
        """Give the call its answer; a tool that is done at once is told of before the reply that called it."""
        content, failed = block.get("content"), block.get("is_error") is True
        identifier, answer = text_of(block.get("tool_use_id")), result_with_flag(content, failed)
        changes: dict[str, Any] = (
            {"interrupted": True} if failed and _is_interrupted(_first_text(content).strip()) else {}
        )
        if not self.log.answer(identifier, answer, **changes) and identifier is not None:
            self.early[identifier] = block

    def usage(self) -> Usage | None:
        """The tokens of all its messages, which are forgotten then, as are the calls that were written."""
        self.log.step_tokens = counts = self.tokens
        self.tokens, self.called = {}, set()
        return summed_usage(counts.values())

    def _count_tokens(self, message: JsonObject) -> None:
        usage, identifier = message.get("usage"), message.get("id")
        if isinstance(usage, dict) and isinstance(identifier, str):
            read = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
            inputs = sum(usage[key] for key in read if isinstance(usage.get(key), int))
            outputs = usage.get("output_tokens")
            self.tokens[identifier] = (inputs, outputs if isinstance(outputs, int) else 0)


class _Threads:
    """The threads of a file, told apart by session, agent and the chain of parents."""

    def __init__(self) -> None:
        self._threads: dict[str, _Thread] = {}
        self._root_of: dict[str, str] = {}
        """For a line of a sub-agent: the first line of its chain."""

    def thread_of(self, line: JsonObject, element: Element) -> _Thread:
        """The thread that a line belongs to."""
        session, started_by = str(line.get("sessionId") or line.get("session_id")), line.get("parent_tool_use_id")
        if isinstance(started_by, str):
            identifier, parent = f"{session}/{started_by}", session
        elif line.get("isSidechain") is not True:
            identifier, parent = session, None
        elif isinstance(line.get("agentId"), str):
            identifier, parent = f"agent-{line['agentId']}", session
        else:
            identifier, parent = self._root(line), session
        thread = self._threads.get(identifier)
        if thread is None:
            thread = self._threads[identifier] = _Thread(identifier, element.place, parent)
            thread.parent_call = started_by if isinstance(started_by, str) else None
        return thread

    def _root(self, line: JsonObject) -> str:
        own, parent = str(line.get("uuid")), line.get("parentUuid")
        root = self._root_of.get(parent, own) if isinstance(parent, str) else own
        self._root_of[own] = root
        return root

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """Sessions first, then sub-agents; each thread is dropped once it was given out.

        A session that this file goes on with has a few lines in it: without calls it is the beginning of the other.
        """
        order = sorted(self._threads, key=lambda identifier: self._threads[identifier].parent_session is not None)
        sessions = [identifier for identifier in order if self._threads[identifier].parent_session is None]
        callers = [identifier for identifier in sessions if self._threads[identifier].log.calls()]
        if callers:
            for identifier in reversed([session for session in sessions if session not in callers]):
                self._threads[callers[0]].log.go_on_from(self._threads[identifier].log)
            order = callers + order[len(sessions) :]
        parents = {identifier: self._parent(self._threads[identifier]) for identifier in order}
        for identifier in order:
            thread = self._threads.pop(identifier)
            yield thread.log.trajectory(
                document,
                ClaudeCodeReader.name,
                thread.place,
                None if identifier == "None" else identifier,
                usage=thread.usage(),
                parent=parents[identifier],
            )

    def _parent(self, thread: _Thread) -> ParentCall | None:
        """The call that started a sub-agent: the one whose prompt is the sub-agent's first message."""
        if thread.parent_session is None:
            return None
        session = self._threads.get(thread.parent_session)
        prompt = thread.log.first_prompt
        for position, call in session.log.calls() if session else ():
            if thread.parent_call is not None:
                if call.id == thread.parent_call:
                    return ParentCall(trajectory=thread.parent_session, call=position)
            elif call.name in SUB_AGENT_TOOLS and prompt and (call.arguments or {}).get("prompt") == prompt:
                return ParentCall(trajectory=thread.parent_session, call=position)
        return ParentCall(trajectory=thread.parent_session)


def _is_message_line(line: JsonObject) -> bool:
    message = line.get("message")
    return line.get("type") in ("user", "assistant") and isinstance(message, dict) and "content" in message


def _is_other_line(line: Any) -> bool:
    """Whether a line is Claude Code's but no part of the conversation, also one of a kind that is new."""
    if not isinstance(line, dict) or not isinstance(line.get("type"), str):
        return False
    return line["type"] in LINE_TYPES or bool(
        {"sessionId", "session_id", "uuid", "leafUuid", "messageId"} & line.keys()
    )


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
