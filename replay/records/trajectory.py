"""A trajectory: what a model was asked, the calls it made step by step, what came back, and what it concluded.

What came back from a call is one of three kinds of answer that are never mixed, or of a fourth for recordings that kept
only text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Field

from replay.json_values import digest, known_json
from replay.records.base import JsonObject, Record
from replay.records.server import Server, Tool
from replay.records.verdict import Verdict


class ToolResult(Record):
    """A `CallToolResult` (MCP specification, Server Features / Tools): the tool ran, whatever it says of its luck."""

    kind: Literal["result"] = "result"
    content: tuple[JsonObject, ...] = ()
    """Content blocks as the server sent them: `{"type": "text", "text": ...}`, images, resources."""
    structured: Any = None
    """`structuredContent`, or None."""
    is_error: bool = False
    """`isError`."""


class RpcError(Record):
    """A JSON-RPC error object: the server answered, but with an error of the protocol."""

    kind: Literal["error"] = "error"
    code: int
    message: str
    data: Any = None


class TransportFault(Record):
    """No answer arrived. Never the model's doing."""

    kind: Literal["fault"] = "fault"
    fault: Literal["timeout", "closed", "not-started", "unreadable"]
    """`timeout`: none within the limit; `closed`: the connection ended first; `not-started`: the server never ran;
    `unreadable`: what arrived was not a valid answer."""
    message: str


class TextAnswer(Record):
    """What a recording kept where it kept only text (the wrapped blocks, error flag and kind are lost)."""

    kind: Literal["text"] = "text"
    text: str


Answer: TypeAlias = Annotated[ToolResult | RpcError | TransportFault | TextAnswer, Field(discriminator="kind")]


def blocks_of(answer: ToolResult | TextAnswer) -> tuple[JsonObject, ...]:
    """The content blocks of an answer.

    A recorded text that is itself the JSON of a content block, or of a list of them, is opened; any other text is one
    text block. Extra fields that a block carries (`error`, `annotations`) are kept.
    """
    if isinstance(answer, ToolResult):
        return answer.content
    opened = _open_blocks(answer.text)
    return opened if opened is not None else ({"type": "text", "text": answer.text},)


def texts_of(answer: Answer) -> tuple[str, ...]:
    """The text of each text block; of an error or a fault its message."""
    if isinstance(answer, RpcError | TransportFault):
        return (answer.message,)
    return tuple(str(block["text"]) for block in blocks_of(answer) if block.get("type") == "text" and "text" in block)


def _open_blocks(text: str) -> tuple[JsonObject, ...] | None:
    stripped = text.strip()
    if not stripped.startswith(("{", "[")) or '"type"' not in stripped:
        return None
    try:
        value = known_json(stripped)
    except ValueError:
        return None
    blocks = value if isinstance(value, list) else [value]
    return tuple(blocks) if blocks and all(map(_is_block, blocks)) else None


_BODY_OF_TYPE = {"text": "text", "image": "data", "audio": "data", "resource": "resource", "resource_link": "uri"}


def _is_block(value: object) -> bool:
    return isinstance(value, dict) and _BODY_OF_TYPE.get(str(value.get("type")), "") in value


class Task(Record):
    """What the model was asked."""

    question: str | None = None
    type: str | None = None
    images: tuple[str, ...] = ()
    id: str | None = None
    """The task's own id, where the trajectory's id tells its run too."""
    labels: dict[str, str] | None = None
    """What the source or the file's name says of the task beside its type: difficulty, family, ..."""


class Source(Record):
    """Where a trajectory was read from."""

    file: str
    format: str
    position: str = ""
    """Place in the file: a JSON path such as `$[3]`, or `line 12`."""


class Dispatch(Record):
    """The call of a dispatcher as the model wrote it, where its arguments carried the call that counts."""

    name: str
    arguments: JsonObject
    server: str | None = None
    tool: str | None = None


class Call(Record):
    """One call as the model wrote it, without loss."""

    position: str
    """`s2c1` is the first call of the second step. Unique in its trajectory."""
    name: str | None = None
    """The tool name as written; None where there was none, or it was not a string."""
    server: str | None = None
    """The server that `name` was read as, where a reader knows it for sure; else the fleet decides."""
    tool: str | None = None
    """The tool that `name` was read as; goes with `server`."""
    arguments: JsonObject | None = None
    unreadable: Literal["call", "name", "arguments"] | None = None
    """Which part could not be read as what it must be; None in a well-formed call."""
    raw: str | None = None
    """The unreadable part verbatim: the model's text, or the JSON of a mistyped value. None where it is absent."""
    id: str | None = None
    """The call's id in its source (`tool_call_id`)."""
    answer: Answer | None = None
    """The recorded answer."""
    started: float | None = None
    """Seconds from the start of the recording."""
    seconds: float | None = None
    """How long the recorded answer took."""
    local: bool = False
    """The tool is built into the harness (Bash, Read, apply_patch): no MCP server has it. Its arguments may be free
    text, which then stands in `raw` with `arguments` None and nothing `unreadable`."""
    interrupted: bool = False
    """The user refused the call, or it was aborted before it was done; `answer` is what the harness wrote then."""
    dispatched_by: Dispatch | None = None
    """The dispatcher's call (`execute_tool`, `use_mcp_tool`) that this one was carried in; None for a direct call."""


def qualified_name(server: str | None, tool: str | None) -> str:
    """`server/tool`, or the tool's name alone where no server is known; empty where there is neither."""
    return f"{server}/{tool}" if server and tool else tool or ""


class Usage(Record):
    """Token counts, where the source gives them."""

    input_tokens: int | None = None
    output_tokens: int | None = None


class Step(Record):
    """The calls that a model issued together."""

    calls: tuple[Call, ...]
    text: str | None = None
    """What the model wrote beside the calls."""
    model: str | None = None
    """The model that issued them, where it is not the trajectory's."""
    usage: Usage | None = None
    """The tokens of the reply that issued them, where the source gives them reply by reply."""


class DataEdge(Record):
    """A value that flowed from one call into the arguments of a later one."""

    producer: str
    """Position of the call whose answer, or whose arguments, held the value first."""
    producer_place: Literal["answer", "arguments"] = "answer"
    producer_pointer: str
    """JSON pointer (RFC 6901) in the producer's answer (`/structured/...`, `/content/0/text`) or arguments; for a value
    inside a text, the pointer of the text."""
    consumer: str
    consumer_pointer: str
    """JSON pointer in the consumer's arguments."""
    value: Any
    certainty: Literal["certain", "likely"] = "certain"


class ParentCall(Record):
    """The call that started a sub-agent."""

    trajectory: str
    """Id of the trajectory that it stands in, of the same file."""
    call: str | None = None
    """Its position there; None where the source does not say which call it was."""


class ReportedResult(Record):
    """What the run said of itself: the benchmark's own verdict on the trajectory."""

    passed: bool | None = None
    score: float | None = None
    """A reward or score as the source gives it."""
    details: JsonObject | None = None
    """Other figures of the source, by its own names."""


class Trajectory(Record):
    """One task, one model, one run. This record is the DAG file."""

    id: str
    model: str
    task: Task = Task()
    source: Source
    steps: tuple[Step, ...]
    edges: tuple[DataEdge, ...] | None = None
    """Data edges, or None where they were not inferred yet. Step order is not stored: it follows from `steps`."""
    final_reply: str | None = None
    usage: Usage | None = None
    servers: tuple[Server, ...] = ()
    """The servers that a recording met; empty for other sources."""
    parent: ParentCall | None = None
    """Of a sub-agent's trajectory: the call that started it."""
    tools: tuple[Tool, ...] = ()
    """The tools that the model was offered, where the source kept their schemas; names as the model saw them."""
    reported: ReportedResult | None = None
    """The run's own verdict, where the source has one."""
    started_at: str | None = None
    """When it began, ISO 8601; `started` of its calls counts from here."""

    def calls(self) -> Iterator[Call]:
        """All calls, in the order of the steps."""
        for step in self.steps:
            yield from step.calls


def own_answer_key(key: str, mark: str) -> str:
    """Under which key a trajectory's answer stands where another one, which began alike, got a different answer.

    Each has a process of its own of a server with state, and such a server may draw other ids in each.

    Args:
        key: of `answer_key`, the same for both.
        mark: of the trajectory; see `mark_of`.
    """
    return digest([key, mark])


def mark_of(trajectory: Trajectory) -> str:
    """What tells a trajectory from others, wherever its file lies: attempts at a task differ in their calls alone."""
    return digest([trajectory.model, trajectory.id, [[call.arguments, call.raw] for call in trajectory.calls()]])


_STDERR: Final = ":stderr"


def stderr_key(key: str) -> str:
    """Under which key of the stored answers stands what the server wrote to stderr beside the answer of `key`."""
    return key + _STDERR


def is_stderr_key(key: str) -> bool:
    """Whether such text stands under a key, and no answer."""
    return key.endswith(_STDERR)


@dataclass(frozen=True)
class CallResult:
    """One call with its verdict, and what it was judged by."""

    call: Call
    verdict: Verdict
    server: str | None = None
    tool: str | None = None
    key: str | None = None
    """Of the answer that it got; None where it was not sent."""
    answer: Answer | None = None
