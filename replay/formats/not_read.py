"""What was not understood: files of products that are not read, and signs of calls where none was read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from replay.formats.fields import opened

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
