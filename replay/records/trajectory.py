"""A trajectory: what a model was asked, the calls it made step by step, and what it concluded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from replay.records.answer import Answer
from replay.records.base import JsonObject, Record
from replay.records.server import Server


class Task(Record):
    """What the model was asked."""

    question: str | None = None
    type: str | None = None
    images: tuple[str, ...] = ()


class Source(Record):
    """Where a trajectory was read from."""

    file: str
    format: str
    position: str = ""
    """Place in the file: a JSON path such as `$[3]`, or `line 12`."""


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


def qualified_name(server: str | None, tool: str | None) -> str:
    """`server/tool`, or the tool's name alone where no server is known; empty where there is neither."""
    return f"{server}/{tool}" if server and tool else tool or ""


class Step(Record):
    """The calls that a model issued together."""

    calls: tuple[Call, ...]
    text: str | None = None
    """What the model wrote beside the calls."""


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


class Usage(Record):
    """Token counts, where the source gives them."""

    input_tokens: int | None = None
    output_tokens: int | None = None


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

    def calls(self) -> Iterator[Call]:
        """All calls, in the order of the steps."""
        for step in self.steps:
            yield from step.calls
