"""The readers, which of them reads a file, and what was not understood.

That is files of products that are not read, and signs of calls where none was read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from replay.errors import UnknownFormatError
from replay.formats.anthropic_messages import AnthropicMessagesReader
from replay.formats.atif import AtifReader
from replay.formats.autogen import AutoGenReader
from replay.formats.bfcl import BfclReader
from replay.formats.claude_code import ClaudeCodeReader
from replay.formats.cline import ClineReader
from replay.formats.codex import CodexReader
from replay.formats.copilot_cli import CopilotCliReader
from replay.formats.cursor import CursorReader
from replay.formats.dagfile import DagFileReader
from replay.formats.document import NO_MATCH, READER_FAULTS, Head, Match, Reader
from replay.formats.fields import opened
from replay.formats.gemini_cli import GeminiCliReader
from replay.formats.google_adk import GoogleAdkReader
from replay.formats.goose import GooseReader
from replay.formats.inspect_log import InspectReader
from replay.formats.langfuse import LangfuseReader
from replay.formats.langsmith import LangSmithReader
from replay.formats.m3bench import M3BenchReader
from replay.formats.mcpbench_results import McpBenchReader
from replay.formats.mcpeval_results import McpEvalReader
from replay.formats.openai_chat import OpenAIChatReader
from replay.formats.openai_responses import OpenAIResponsesReader
from replay.formats.opencode import OpenCodeReader
from replay.formats.openhands import OpenHandsReader
from replay.formats.otel_genai import OtelReader
from replay.formats.pi import PiReader
from replay.formats.promptfoo import PromptfooReader
from replay.formats.smolagents import SmolagentsReader
from replay.formats.swe_agent import SweAgentReader
from replay.formats.tau_bench import TauBenchReader

READERS: tuple[Reader, ...] = (
    DagFileReader(),
    M3BenchReader(),
    OpenAIChatReader(),
    InspectReader(),
    AtifReader(),
    OtelReader(),
    LangfuseReader(),
    McpBenchReader(),
    GoogleAdkReader(),
    McpEvalReader(),
    ClaudeCodeReader(),
    CodexReader(),
    GeminiCliReader(),
    CopilotCliReader(),
    OpenCodeReader(),
    OpenAIResponsesReader(),
    AnthropicMessagesReader(),
    TauBenchReader(),
    SweAgentReader(),
    OpenHandsReader(),
    LangSmithReader(),
    CursorReader(),
    ClineReader(),
    PiReader(),
    GooseReader(),
    BfclReader(),
    SmolagentsReader(),
    AutoGenReader(),
    PromptfooReader(),
)

DOUBT = 0.5
"""Below this certainty the user is told."""


def surest_reader(head: Head) -> tuple[Reader, Match, str | None]:
    """The reader that is surest of a file, its match, and the doubt to tell the user, if there is one.

    Raises:
        UnknownFormatError: no reader knows it.
    """
    matches = [(_sniffed(reader, head), reader) for reader in READERS]
    found = sorted(((m, r) for m, r in matches if m.certainty > 0), key=lambda pair: -pair[0].certainty)
    if not found:
        looked_for = "; ".join(reader.expected_shape for reader in READERS)
        first = next(iter(head.elements), None)
        place = "" if len(head.elements) == 1 and head.data.lstrip()[:1] == b"{" else "$[0]"
        product = product_of((*head.records, *head.elements))
        seems = f"this looks like {product}, which is not read" if product else "unknown shape"
        recording = product is not None or is_recording(head.records)
        message = f"{seems}: {_describe(first)}"
        raise UnknownFormatError(head.path, message, place, is_recording=recording, looked_for=looked_for)
    (match, reader), *others = found
    doubt = None
    if others and others[0][0].certainty == match.certainty:
        doubt = (
            f"{head.path}: read as {reader.name} ({match.why}); it might be {others[0][1].name} ({others[0][0].why})"
        )
    elif match.certainty < DOUBT:
        doubt = f"{head.path}: read as {reader.name}, which is not sure ({match.why})"
    return reader, match, doubt


def _sniffed(reader: Reader, head: Head) -> Match:
    """What a reader says of a head; one that trips over it does not know the file."""
    try:
        return reader.sniff(head)
    except READER_FAULTS:
        return NO_MATCH


def _describe(value: object) -> str:
    if isinstance(value, dict):
        keys = ", ".join(map(repr, list(value)[:8]))
        return f"an object with the keys {keys}" if value else "an empty object"
    names = {list: "a list", str: "a text", bool: "a boolean", int: "a number", float: "a number"}
    return names.get(type(value), "null")


_PRODUCTS: Final = (
    ("a LangGraph checkpoint", ("channel_values", "channel_versions")),
    ("a LangGraph thread state", ("values", "next", "checkpoint")),
    ("a LangGraph thread state", ("values", "next", "checkpoint_id")),
    ("a DSPy history", ("kwargs", "outputs", "usage", "timestamp")),
    ("a CrewAI log", ("task_name", "task", "agent", "status")),
    ("a Helicone export", ("request_body", "response_body")),
    ("a Helicone export", ("request_id", "request_path", "response_status")),
    ("an MLflow trace", ("info.request_id", "data.spans")),
    ("an MLflow trace", ("info.trace_id", "data.spans")),
    ("an MLflow trace", ("trace_id", "request_time", "execution_duration", "spans")),
    ("a Weights & Biases Weave export", ("op_name", "trace_id")),
    ("a Weights & Biases export", ("_step", "_runtime", "_timestamp")),
    ("a Dify log", ("query", "agent_thoughts")),
    ("a Dify workflow run", ("workflow_run_id", "node_type")),
    ("an n8n execution", ("data.resultData",)),
    ("an n8n execution", ("resultData.runData",)),
    ("an HTTP archive (HAR)", ("log.entries", "log.creator")),
    ("a Braintrust export", ("root_span_id", "span_attributes")),
    ("a Datadog LLM export", ("ml_app",)),
    ("a DeepEval result", ("testCases",)),
    ("an Aider benchmark result", ("testcase", "tests_outcomes")),
    ("a log of Claude Code's hooks", ("hook_event_name", "session_id")),
    ("a log of mcp-agent or fast-agent", ("level", "timestamp", "namespace", "message")),
    ("a Pydantic AI message history", ("parts", "kind", "timestamp")),
    ("a ChatGPT export", ("mapping", "current_node")),
    ("a Claude.ai export", ("chat_messages", "uuid")),
    ("a VS Code chat export", ("requesterUsername", "responderUsername", "requests")),
    ("a Continue session", ("sessionId", "history", "workspaceDirectory")),
    ("an Amazon Bedrock agent's trace", ("trace.orchestrationTrace",)),
    ("an Amazon Bedrock Converse response", ("output.message", "stopReason")),
    ("a Playwright trace", ("callId", "apiName", "startTime")),
)
"""Of each: keys of its record; `a.b` is a key in the object under another."""

_NAMES: Final = frozenset({"tool", "tools", "function", "action", "actions", "invoke", "invocation", "invocations"})
_COMPOUND = re.compile(r"(?:tool|function)(?:call|use|name|result|request|response|invocation)s?")
_NOT_CALLED: Final = frozenset({
    "allowed", "available", "choice", "config", "configs", "configuration", "count", "declarations", "definition",
    "definitions", "enabled", "evaluation", "expected", "hook", "hooks", "parallel", "permissions", "required",
    "schema", "schemas", "settings", "spec", "specs", "tokens",
})  # fmt: skip
"""Words in names of what is offered, set or wanted, not called."""
_BESIDE: Final = frozenset({
    "answer", "args", "argument", "arguments", "content", "exit", "input", "inputs", "kwargs", "observation",
    "observations", "output", "outputs", "parameters", "params", "request", "response", "result", "results", "stdout",
})  # fmt: skip
"""Words in names of what a call is given or answered."""
_SPOKE: Final = frozenset({"ai", "agent", "assistant", "bot", "gpt", "model"})
_TEXTS: Final = frozenset({"content", "parts", "text", "value"})
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SHOWN, _MAX_NODES = 3, 200_000


def product_of(records: tuple[Any, ...]) -> str | None:
    """What wrote a file that no reader knows; None where nothing tells."""
    return next(
        (product for record in records[:20] for product, keys in _PRODUCTS if all(_holds(record, key) for key in keys)),
        None,
    )


def _holds(record: Any, path: str) -> bool:
    for key in path.split("."):
        if not isinstance(record, dict) or key not in record:
            return False
        record = record[key]
    return True


def signs_of_calls(records: tuple[Any, ...]) -> tuple[str, ...]:
    """The names in a file that speak of calls, the most frequent first; none where nothing does."""
    return tuple(name for name, _ in Counter(name for name, _ in _signs(records)).most_common(_SHOWN))


def is_recording(records: tuple[Any, ...]) -> bool:
    """Whether a file looks like what an agent did: calls with arguments or answers, or what a model said."""
    return any(is_call for _, is_call in _signs(records)) or any(map(_is_message, _objects_in(records)))


def _signs(records: tuple[Any, ...]) -> Iterator[tuple[str, bool]]:
    """Each name that speaks of a call, and whether the call's arguments or its answer stand beside it."""
    for value in _objects_in(records):
        kind = value.get("type", value.get("kind", value.get("event")))
        told = [(kind, value)] if isinstance(kind, str) and kind != "function" else []
        for name, inner in (*value.items(), *told):
            near = inner if isinstance(inner, list) else [inner]
            if _speaks_of_call(name) and any(
                isinstance(item, str | dict) and item and not _is_definition(item) for item in near
            ):
                keys = {key for item in (value, *near) if isinstance(item, dict) for key in item}
                yield name, any(_words(key) & _BESIDE for key in keys)


def _objects_in(records: tuple[Any, ...]) -> Iterator[dict[str, Any]]:
    """All objects, those in JSON texts too, but for definitions of tools and what is offered, set or wanted."""
    waiting: list[Any] = [list(records)]
    for _ in range(_MAX_NODES):
        if not waiting:
            return
        value = opened(waiting.pop())
        if isinstance(value, list):
            waiting += reversed(value)
        elif isinstance(value, dict) and not _is_definition(value):
            yield value
            waiting += [inner for name, inner in value.items() if not _is_offered(name)]


def _is_definition(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    schemas = (value.get(key) for key in ("parameters", "input_schema", "inputSchema"))
    return any(isinstance(schema, dict) and bool({"type", "properties", "json"} & schema.keys()) for schema in schemas)


def _words(name: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(name)}


def _is_offered(name: str) -> bool:
    return name in ("tools", "functions", "actions") or (bool(_words(name) & _NOT_CALLED))


def _speaks_of_call(name: str) -> bool:
    words = _words(name)
    named = bool(words & _NAMES) or any(map(_COMPOUND.fullmatch, words))
    return named and len(name) <= 40 and "/" not in name and not _is_offered(name)  # no field is called by a path


def _is_message(value: dict[str, Any]) -> bool:
    said = value.get("role", value.get("from", value.get("sender", value.get("speaker"))))
    return isinstance(said, str) and said.lower() in _SPOKE and bool(_TEXTS & value.keys())


def finding(path: str, title: str, signs: tuple[str, ...], product: str | None) -> str:
    """What to tell of a file that is known, and has signs of calls of which none was read."""
    if product:
        return f"{path}: read as {title}, and no call was found; this looks like {product}, which is not read"
    quoted = ", ".join(f'"{name}"' for name in signs)
    return f"{path}: read as {title}, and no call was found, but it has {quoted}: this version may not be understood"
