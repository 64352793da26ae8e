"""From the fields of recordings to calls, answers, steps, tokens, and what is said of a task; used by every reader.

Also what our own exporters put into other formats, where those have no field for it, and how it is read back.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeVar

from replay.formats.document import Document
from replay.formats.fields import (
    MISSING,
    as_number,
    as_object,
    first_of,
    identifier_of,
    object_in,
    opened,
    text_of,
    to_json,
    whole_number,
)
from replay.json_values import bounded, is_too_deep, json_text, json_value, parse_json
from replay.records import Answer, Call, JsonObject, Record, Step, TextAnswer, Tool, ToolResult, Trajectory, Usage
from replay.records.trajectory import ReportedResult, texts_of

_R = TypeVar("_R", bound=Record)


def number_calls(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps with each call's position: `s2c1` is the first call of the second step."""
    return tuple(
        step.model_copy(
            update={
                "calls": tuple(
                    call.model_copy(update={"position": f"s{number}c{index}"})
                    for index, call in enumerate(step.calls, 1)
                )
            }
        )
        for number, step in enumerate(steps, 1)
    )


def build_call(name: Any, arguments: Any, **fields: Any) -> Call:
    """A call from a name and arguments of any JSON type; what is not as it must be is kept verbatim in `raw`.

    Pass `arguments=MISSING` where the field is absent.
    """
    if not isinstance(name, str) or not name.strip():
        raw = None if name is None or name is MISSING else to_json(name)
        return Call(position="", unreadable="name", raw=raw, arguments=as_object(arguments), **fields)
    if not isinstance(arguments, dict):
        raw = None if arguments is MISSING else to_json(arguments)
        return Call(position="", name=name, unreadable="arguments", raw=raw, **fields)
    return Call(position="", name=name, arguments=arguments, **fields)


def text_call(name: str, text: str, **fields: Any) -> Call:
    """A call of a harness tool whose argument is free text, such as a patch."""
    return Call(position="", name=name, raw=text, local=True, **fields)


def json_text_call(name: Any, text: Any, **fields: Any) -> Call:
    """A call whose arguments stand in the file as JSON text, as OpenAI's formats have them; `""` means `{}`."""
    if not isinstance(text, str):
        return build_call(name, text, **fields)
    if not text.strip():
        return build_call(name, {}, **fields)
    try:
        value = json_value(text)
    except ValueError:
        value = None
    if isinstance(value, dict):
        return build_call(name, value, **fields)
    call = build_call(name, {}, **fields)
    if call.unreadable == "name":
        return call
    return call.model_copy(update={"arguments": None, "unreadable": "arguments", "raw": text})


def function_call(written: JsonObject, **fields: Any) -> Call:
    """A call as OpenAI writes it, `{id, function: {name, arguments}}`, or without the object around the last two."""
    body = object_in(written, "function") or written
    return json_text_call(body.get("name"), body.get("arguments"), id=text_of(written.get("id")), **fields)


def result_with_flag(content: Any, is_error: Any) -> Answer | None:
    """An answer of a format that has an error flag: text, content blocks or any other JSON, and the flag.

    Where the flag is not one (the format has none, or left it out) it is what `recorded_answer` makes of it.
    """
    if not isinstance(is_error, bool):
        return recorded_answer(content)
    if isinstance(content, list) and content and all(isinstance(block, dict) for block in content):
        return ToolResult(content=tuple(content), is_error=is_error)
    if _is_call_result(content):
        answer = recorded_answer(content)
        return answer.model_copy(update={"is_error": is_error}) if isinstance(answer, ToolResult) else answer
    text = content if isinstance(content, str) else "" if content is None else to_json(content)
    return ToolResult(content=({"type": "text", "text": text},), is_error=is_error)


def recorded_answer(value: Any) -> Answer | None:
    """What a recording kept of an answer: None, text, a whole `CallToolResult`, or any other JSON as text."""
    if value is None:
        return None
    if isinstance(value, str):
        whole = _dumped_result(value)
        return TextAnswer(text=value) if whole is None else recorded_answer(whole)
    if _is_call_result(value) and all(map(as_object, value["content"])):
        return ToolResult(
            content=tuple(value["content"]),
            structured=value.get("structuredContent", value.get("structured_content")),
            is_error=value.get("isError", value.get("is_error")) is True,
        )
    return TextAnswer(text=to_json(value))


def _dumped_result(text: str) -> JsonObject | None:
    """The `CallToolResult` with its flag whose JSON a text is, as hosts dump it; None of any other text."""
    if _DUMPED_RESULT.match(text) is None:
        return None
    try:
        value = parse_json(text)
    except ValueError:
        return None
    flagged = _is_call_result(value) and isinstance(value.get("isError"), bool)
    return value if flagged and value.keys() <= _RESULT_FIELDS and all(map(as_object, value["content"])) else None


def _is_call_result(value: Any) -> bool:
    """Whether a value is a `CallToolResult`, and not a program's output beside an empty list of the files it made."""
    if not isinstance(value, dict) or not isinstance(value.get("content"), list):
        return False
    return bool(value["content"]) or not {"stdout", "stderr", "return_code"} & value.keys()


_DUMPED_RESULT = re.compile(r'\s*\{\s*"(?:_meta|content|structuredContent|isError)"\s*:')
_RESULT_FIELDS = {"_meta", "meta", "content", "structuredContent", "isError", "resultType"}
_MCP_PREFIX = "mcp__"
_PRINTED_MESSAGE = re.compile(
    r"content=(?P<content>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")(?P<fields> .*)?$",
    re.DOTALL,
)
_PRINTED_FIELD = re.compile(r"(?<= )(name|tool_call_id|status)='([^']*)'")


def of_server(server: Any, tool: Any) -> dict[str, str]:
    """The fields of a call of an MCP server's tool; none where server or tool has no name."""
    return {"server": server, "tool": tool} if text_of(server) and text_of(tool) else {}


def written_call(name: Any, arguments: Any, **fields: Any) -> Call:
    """A call whose arguments are an object, or the JSON of one; none at all stand for `{}`.

    `mcp__SERVER__TOOL` names its server.
    """
    return with_mcp_server(json_text_call(name, {} if arguments is None else arguments, **fields))


def with_mcp_server(call: Call) -> Call:
    """The call with the server that `mcp__SERVER__TOOL` names."""
    if call.server is None and call.name and call.name.startswith(_MCP_PREFIX):
        server, _, tool = call.name.removeprefix(_MCP_PREFIX).partition("__")
        return call.model_copy(update=of_server(server, tool))
    return call


def answer_of(value: Any, is_error: bool | None = None) -> Answer | None:
    """A recorded answer, with the error flag where the source has one.

    Args:
        value: None, text, the JSON of a `CallToolResult`, or any other JSON value.
        is_error: what the source says beside it; None where it says nothing.
    """
    message = tool_message(value)
    if message is not None:
        failed = is_error or message.get("status") == "error"
        flag = failed if failed or message.get("status") == "success" else is_error
        return answer_of(message["content"], flag)
    whole = opened(value)
    if _is_call_result(whole):
        own_flag = first_of(whole, "isError", "is_error")
        return result_with_flag(whole, is_error or own_flag is True)
    if isinstance(whole, list) and whole and all(map(_is_text_block, whole)):
        blocks = tuple({"type": "text", "text": item["text"]} for item in whole)
        return ToolResult(content=blocks, is_error=is_error or False)
    return None if value is None else result_with_flag(value, is_error)


def tool_message(value: Any) -> JsonObject | None:
    """LangChain's ToolMessage: its fields, its constructor (`{"lc": 1, "kwargs": {...}}`), the JSON of either, or what
    Python prints of it (`content='...' name='...' tool_call_id='...'`); None where it is none.
    """
    whole = opened(value)
    if isinstance(whole, dict):
        inner = object_in(first_of(whole, "kwargs", "data")) or whole
        return inner if identifier_of(inner.get("tool_call_id")) and "content" in inner else None
    printed = _PRINTED_MESSAGE.match(whole) if isinstance(whole, str) and whole.startswith("content=") else None
    if printed is None:
        return None
    fields = dict(_PRINTED_FIELD.findall(printed["fields"] or ""))
    try:
        return {**fields, "content": ast.literal_eval(printed["content"])} if "tool_call_id" in fields else None
    except (ValueError, SyntaxError):
        return None


def error_answer(message: Any) -> ToolResult:
    """The answer of a call of which only the error is known."""
    text = message if isinstance(message, str) else "" if message is None else to_json(message)
    return ToolResult(content=({"type": "text", "text": text},), is_error=True)


def _is_text_block(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("text"), str) and value.get("type", "text") == "text"


def usage_of(input_tokens: Any, output_tokens: Any) -> Usage | None:
    """Token counts; None where there are none."""
    read, written = whole_number(input_tokens), whole_number(output_tokens)
    return None if read is None and written is None else Usage(input_tokens=read, output_tokens=written)


def usage_in(value: Any) -> Usage | None:
    """The token counts of a `usage` object, by OpenAI's names or by Anthropic's."""
    counts = object_in(value)
    read = counts.get("prompt_tokens", counts.get("input_tokens"))
    written = counts.get("completion_tokens", counts.get("output_tokens"))
    return usage_of(*(count if isinstance(count, int) else None for count in (read, written)))


def summed_usage(counts: Iterable[tuple[Any, Any]]) -> Usage | None:
    """The sum of (input, output) token counts; None where there are none."""
    pairs = [(whole_number(read), whole_number(written)) for read, written in counts]
    reads = [read for read, _ in pairs if read is not None]
    writes = [written for _, written in pairs if written is not None]
    return usage_of(sum(reads) if reads else None, sum(writes) if writes else None)


def total_usage(usages: Iterable[Usage | None]) -> Usage | None:
    """The tokens of several replies together; None where none has any."""
    return summed_usage((usage.input_tokens, usage.output_tokens) for usage in usages if usage is not None)


def tool_definitions(value: Any) -> tuple[Tool, ...]:
    """Tools as a request offers them: `{name, description, parameters | inputSchema | input_schema}`, or in `function`.

    Of several of one name the first stands.
    """
    tools: dict[str, Tool] = {}
    entries = opened(value)
    for entry in map(opened, entries if isinstance(entries, list) else []):
        body = object_in(entry, "function") or entry if isinstance(entry, dict) else {}
        name = text_of(body.get("name"))
        if name is None:
            continue
        schema = first_of(body, "parameters", "inputSchema", "input_schema", "parameters_json_schema")
        tools.setdefault(name, Tool(name=name, description=text_of(body.get("description")), input_schema=schema))
    return tuple(tools.values())


def within_limits(record: _R) -> _R:
    """A trajectory, or a record in it, without what is nested too deeply; the same object where all is well.

    Arguments that are nested too deeply cannot be sent as they were recorded: they count as not read, and stand in
    `raw`. Whatever else holds JSON of others is kept as far as everything behind the readers can hold it.
    """
    changes = {}
    for name, value in record:
        kept = _kept(value)
        if kept is not value:
            changes[name] = kept
    if isinstance(record, Call) and "arguments" in changes and is_too_deep(record.arguments):
        raw = json_text(record.arguments)
        changes |= {"arguments": None, "unreadable": record.unreadable or "arguments", "raw": raw}
    return record.model_copy(update=changes) if changes else record


def _kept(value: Any) -> Any:
    if isinstance(value, Record):
        return within_limits(value)
    if isinstance(value, tuple) and value and isinstance(value[0], Record):
        kept = tuple(map(within_limits, value))
        return kept if any(new is not old for new, old in zip(kept, value, strict=True)) else value
    return bounded(value) if isinstance(value, dict | list | tuple) else value


_PASSED: Final = ("pass", "passed", "success", "resolved")
_SCORE: Final = ("reward", "score")
_WHY: Final = ("failure", "failure_reason")
LABELS: Final = ("difficulty", "family", "category", "domain", "level")
"""Fields of a record that sort tasks, beside `type`."""


def reported_of(record: JsonObject) -> ReportedResult | None:
    """The verdict that a results file itself gives on a task; None where it gives none.

    Args:
        record: the object that holds the trajectory.
    """
    own = object_in(record, "replay")
    if "reported" in own:
        return reported_in(own)
    passed = next((record[name] for name in _PASSED if isinstance(record.get(name), bool)), None)
    score = next((number for name in _SCORE if (number := _number(record.get(name))) is not None), None)
    if passed is None and score is None:
        return None
    details = {name: record[name] for name in _WHY if isinstance(record.get(name), str)}
    return ReportedResult(passed=passed, score=score, details=details or None)


def run_beside(document: Document) -> JsonObject:
    """Model, tokens and result of a run whose bare messages or items MCPMark keeps beside a `meta.json`."""
    meta = object_in(document.beside("meta.json"))
    result = as_object(meta.get("execution_result"))
    return {**result, "model": meta.get("model_name"), "usage": meta.get("token_usage")} if result else {}


def reported_in(details: JsonObject) -> ReportedResult | None:
    """The verdict on a task in what our own exporters write of it."""
    given = as_object(details.get("reported"))
    if given is None:
        return None
    passed = given.get("passed")
    return ReportedResult(
        passed=passed if isinstance(passed, bool) else None,
        score=_number(given.get("score")),
        details=as_object(given.get("details")),
    )


def labels_of(record: JsonObject) -> dict[str, str] | None:
    """The labels of a task; None where it has none."""
    found = {name: (identifier_of(record.get(name)) or "").strip() for name in LABELS}
    return {name: text for name, text in found.items() if text} or None


def _number(value: Any) -> float | None:
    given = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if given else None


_PREFIX = "replay."


TASK_ATTRIBUTE = f"{_PREFIX}task"
"""The attribute of a span that holds what is known of the task."""


def task_details(record: Trajectory) -> JsonObject:
    """What is written of a task: whether it passed, its score, and when it began."""
    reported = record.reported and record.reported.model_dump(mode="json", exclude_none=True)
    fields = {"reported": reported, "started_at": record.started_at}
    return {name: value for name, value in fields.items() if value}


def details_in(extra: Any) -> JsonObject | None:
    """The details of a call or a task in an `extra` of ATIF; None where another tool wrote it."""
    return as_object(object_in(extra).get("replay"))


def details_in_attributes(attributes: JsonObject) -> JsonObject | None:
    """The details in the attributes of a span; None where another tool wrote it."""
    found = {key.removeprefix(_PREFIX): value for key, value in attributes.items() if key.startswith(_PREFIX)}
    return found if "position" in found else None


def with_details(call: Call, details: JsonObject) -> Call:
    """The call as it was before it was exported."""
    raw, unreadable = text_of(details.get("raw")), details.get("unreadable")
    changes: JsonObject = {
        "local": details.get("local") is True,
        "interrupted": details.get("interrupted") is True,
        "started": as_number(details.get("started")),
        "seconds": as_number(details.get("seconds")),
        **of_server(details.get("server"), details.get("tool")),
    }
    if unreadable in {"call", "name", "arguments"} if isinstance(unreadable, str) else raw is not None:
        changes |= {"unreadable": text_of(unreadable), "raw": raw}
        changes |= {"arguments": None} if unreadable != "name" else {}
        changes |= {"name": None} if unreadable in {"call", "name"} else {}
    if isinstance(details.get("is_error"), bool) and call.answer is not None:
        blocks = tuple({"type": "text", "text": text} for text in texts_of(call.answer))
        changes["answer"] = ToolResult(content=blocks, is_error=details["is_error"])
    return call.model_copy(update=changes)
