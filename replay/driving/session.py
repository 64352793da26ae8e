"""One task under way: asks the model, makes its calls in a sandbox, records both, and keeps what was answered.

And the tools that a model is offered, with what it may write to name them.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import anyio
from pydantic import TypeAdapter

from replay.chat import ChatModel, ChatReply
from replay.interpreter import Fleet, Interpreter, Sandbox
from replay.recorder.assembly import to_response
from replay.recorder.recording import Journal, Recording, entry_of
from replay.records import (
    Answer,
    JsonObject,
    ToolResult,
    TransportFault,
    Usage,
    canonical,
    digest,
    qualified_name,
    texts_of,
)
from replay.records.server import Tool
from replay.safety.filesystem import open_regular
from replay.safety.redaction import Redactor

Kind: TypeAlias = Literal["reply", "answer"]
_KINDS: Final[Mapping[Kind, TypeAdapter[Any]]] = {"reply": TypeAdapter(ChatReply), "answer": TypeAdapter(Answer)}
"""The model's replies to requests, and the answers to its calls; each is counted by itself."""
_NO_SUCH_TOOL: Final = -32602
_MEDIA: Final = "media"
_ENDINGS: Final = {"image/jpeg": "jpg", "image/png": "png", "image/gif": "gif", "image/webp": "webp"}

_NOT_IN_FUNCTION_NAME: Final = re.compile(r"[^a-zA-Z0-9_-]")
_MAX_FUNCTION_NAME: Final = 64
"""What the OpenAI protocol allows."""


@dataclass(frozen=True)
class OfferedTool:
    """One tool of one server."""

    server: str
    tool: Tool
    function: str
    """Its name as a function of the OpenAI protocol."""

    @property
    def name(self) -> str:
        """`server/tool`."""
        return qualified_name(self.server, self.tool.name)

    @property
    def line(self) -> str:
        """Name and docstring."""
        return f"- {self.name}: {(self.tool.description or '').strip()}"

    @property
    def definition(self) -> str:
        """Name, docstring and the schema of its arguments."""
        return f"{self.line}\n  arguments: {json.dumps(self.tool.input_schema, ensure_ascii=False)}"

    @property
    def as_function(self) -> dict[str, Any]:
        """A function of the OpenAI protocol."""
        schema = self.tool.input_schema if isinstance(self.tool.input_schema, dict) else {"type": "object"}
        about = {"name": self.function, "description": self.tool.description or "", "parameters": schema}
        return {"type": "function", "function": about}


class Toolbox:
    """What is offered for one task."""

    def __init__(self, tools: Iterable[OfferedTool]) -> None:
        self.tools = tuple(tools)
        self._by_name = {tool.name: tool for tool in self.tools} | {tool.function: tool for tool in self.tools}

    def find(self, name: str) -> OfferedTool | None:
        """The tool that a model names, as `server/tool` or as a function."""
        return self._by_name.get(name.strip())

    def named_in(self, text: str) -> tuple[OfferedTool, ...]:
        """The tools whose names stand in a text; all of them where it names none."""
        return tuple(tool for tool in self.tools if tool.name in text) or self.tools


def offered_tools(
    interpreter: Interpreter, servers: Sequence[str], allowed: Collection[str]
) -> tuple[list[OfferedTool], list[str]]:
    """The tools of these servers that a model may call, and the names of those that it may not.

    Args:
        interpreter: with its servers started.
        servers: in order.
        allowed: servers whose tools may change something outside a sandbox.
    """
    offered: list[OfferedTool] = []
    withheld: list[str] = []
    taken: set[str] = set()
    for name in servers:
        server = interpreter.servers.get(name)
        for tool in server.tools if server is not None else ():
            if interpreter.may_issue(name, tool, allowed):
                function = next(free for free in _function_names(name, tool.name) if free not in taken)
                taken.add(function)
                offered.append(OfferedTool(name, tool, function))
            else:
                withheld.append(qualified_name(name, tool.name))
    return offered, withheld


def _function_names(server: str, tool: str) -> Iterator[str]:
    name = _NOT_IN_FUNCTION_NAME.sub("_", f"{server}__{tool}")
    yield name[:_MAX_FUNCTION_NAME]
    for number in range(2, 10_000):
        suffix = f"_{number}"
        yield name[: _MAX_FUNCTION_NAME - len(suffix)] + suffix


class ProgressLog:
    """The replies and answers of a task, by their order; those of an earlier process come first.

    Args:
        path: of the file, which `close` removes where the task is finished.
    """

    def __init__(self, path: Path) -> None:
        self._journal = Journal(path)
        self._known: dict[tuple[str, int, str], Any] = {}
        with open_regular(path) as file:
            entries = [entry_of(line) for line in file if line.endswith(b"\n")]
        for entry in filter(None, entries):
            for kind in _KINDS.keys() & entry.keys():
                value = _KINDS[kind].validate_python(entry[kind])
                self._known[kind, int(entry["n"]), str(entry["digest"])] = value

    def known(self, kind: Kind, number: int, digest: str) -> Any:
        """The reply to request `number`, or the answer to call `number`; None where it was not this very one."""
        return self._known.get((kind, number, digest))

    def keep(self, kind: Kind, number: int, digest: str, value: ChatReply | Answer) -> None:
        """Keep a reply or an answer."""
        entry = {"n": number, "digest": digest, kind: _KINDS[kind].dump_python(value, mode="json")}
        self._journal.append(entry)

    def close(self, *, finished: bool) -> None:
        """Let go of the file."""
        self._journal.close(remove=finished)


class WrittenCall(NamedTuple):
    """A call as the model wrote it."""

    name: Any
    arguments: Any
    """An object, or whatever stands in its place."""
    text: str | None = None
    """The arguments where they are text that is not JSON."""


class MadeCall(NamedTuple):
    """A call, and what the model is told of it."""

    name: str
    arguments: Any
    told: str


@dataclass
class Session:
    """Everything that a protocol needs to work on one task.

    Args:
        model: that works on it.
        sandbox: where its calls go.
        fleet: says which servers may be sent a call a second time.
        toolbox: the tools that it is offered.
        recording: what it does, as it does it.
        log: what was answered already.
        clean: takes the secrets out of what the model is told.
        workspace: the path by which the model knows its workspace.
    """

    model: ChatModel
    sandbox: Sandbox
    fleet: Fleet
    toolbox: Toolbox
    recording: Recording
    log: ProgressLog
    clean: Redactor
    workspace: str
    input_tokens: int = 0
    output_tokens: int = 0
    _requests: int = 0
    _calls: int = 0
    _images: int = 0

    @property
    def usage(self) -> Usage:
        """The tokens of all replies, those of an earlier process included."""
        return Usage(input_tokens=self.input_tokens, output_tokens=self.output_tokens)

    async def ask(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] = (), *, as_json: bool = False
    ) -> ChatReply:
        """The model's next message; one that was given already is not asked for again.

        Raises:
            LimitReachedError: no more may be asked.
            ModelError: there is no reply.
        """
        number, asked = self._requests, digest(canonical([list(messages), list(tools)]))
        self._requests += 1
        reply: ChatReply | None = self.log.known("reply", number, asked)
        if reply is None:
            reply = await self.model.ask(messages, tools, as_json=as_json)
            self.log.keep("reply", number, asked, reply)
        self.input_tokens += reply.input_tokens or 0
        self.output_tokens += reply.output_tokens or 0
        return reply

    async def say(self, system: str, user: str, *, as_json: bool = False) -> str:
        """The text of the reply to a request that stands alone."""
        messages = [{"role": "system", "content": system.strip()}, {"role": "user", "content": user.strip()}]
        return (await self.ask(messages, as_json=as_json)).text

    def unreadable(self, text: str) -> None:
        """Record a reply that was meant as calls and cannot be read as such."""
        self.recording.step()
        self.recording.unparsed(text)
        self.recording.step(begins=False)

    async def make(self, calls: Sequence[WrittenCall], note: str = "") -> list[MadeCall]:
        """Make the calls of a step at once, each recorded as it was written.

        Args:
            calls: as the model wrote them.
            note: what it wrote beside them.
        """
        if note:
            self.recording.note(note)
        self.recording.step()
        told: list[str] = [""] * len(calls)
        async with anyio.create_task_group() as tasks:
            for place, call in enumerate(calls):
                tasks.start_soon(partial(self._make, call, self._calls + place, told, place))
        self._calls += len(calls)
        self.recording.step(begins=False)
        return [MadeCall(str(call.name), call.arguments, text) for call, text in zip(calls, told, strict=True)]

    async def _make(self, call: WrittenCall, number: int, told: list[str], place: int) -> None:
        tool = self.toolbox.find(call.name) if isinstance(call.name, str) else None
        if call.text is not None or tool is None or not isinstance(call.arguments, dict):
            told[place] = self._rejected(call, tool)
            return
        recorded = self.recording.call(
            {"params": {"name": tool.name, "arguments": call.arguments}}, server=tool.server, tool=tool.tool.name
        )
        answer = await self._answer(tool, call.arguments, number)
        if isinstance(answer, TransportFault):
            self.recording.fault(recorded, answer.fault, answer.message)
        else:
            self.recording.answer(recorded, to_response(answer))
        told[place] = self.clean.text(self._told(answer))

    def _rejected(self, call: WrittenCall, tool: OfferedTool | None) -> str:
        """Record a call that goes to no server, and give the error that the model gets."""
        params: dict[str, Any] = {"name": tool.name if tool is not None else call.name, "arguments": call.arguments}
        request: dict[str, Any] = {"params": params}
        if call.text is not None:
            request["unreadable_arguments"] = call.text
        number = self.recording.call(request)
        message = "the arguments must be a JSON object" if tool is not None else f"there is no tool {call.name}"
        self.recording.answer(number, {"error": {"code": _NO_SUCH_TOOL, "message": message}})
        return f"error: {message}"

    async def _answer(self, tool: OfferedTool, arguments: JsonObject, number: int) -> Answer:
        """The answer to a call. One that was made already is made again only to bring a sandbox to the same state."""
        call = digest(canonical([tool.name, arguments]))
        known: Answer | None = self.log.known("answer", number, call)
        spec = self.fleet.servers[tool.server]
        if known is None or (spec.effects == "sandboxed" and spec.state == "trajectory"):
            problem = self.sandbox.forbidden_path(tool.server, arguments)
            if problem is not None:
                return TransportFault(fault="not-started", message=f"not sent: {problem} is outside the workspace")
            answer = await self.sandbox.call(tool.server, tool.tool.name, arguments)
            if known is None:
                self.log.keep("answer", number, call, answer)
                return answer
        return known

    def _told(self, answer: Answer) -> str:
        """An answer as text; its images are kept in the workspace, and named."""
        texts = [text for text in texts_of(answer) if text]
        if isinstance(answer, ToolResult):
            texts += [self._keep_image(block) for block in answer.content if block.get("type") == "image"]
            if not texts and answer.structured is not None:
                texts.append(canonical(answer.structured))
            if answer.is_error:
                texts.insert(0, "error:")
        return "\n".join(texts)

    def _keep_image(self, block: JsonObject) -> str:
        self._images += 1
        name = f"{self._images}.{_ENDINGS.get(str(block.get('mimeType')), 'bin')}"
        try:
            data = base64.b64decode(str(block.get("data", "")), validate=True)
        except binascii.Error:
            return "[an image that cannot be read]"
        directory = self.sandbox.workspace / _MEDIA
        directory.mkdir(exist_ok=True)
        (directory / name).write_bytes(data)
        return f"[image saved as {PurePosixPath(self.workspace) / _MEDIA / name}]"
