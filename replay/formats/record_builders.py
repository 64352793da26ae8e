"""From the fields of recordings to calls, answers and steps; used by every reader."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from replay.formats.fields import (
    MISSING,
    as_object,
    first_of,
    identifier_of,
    object_in,
    opened,
    python_value,
    text_of,
    to_json,
)
from replay.json_values import json_value, parse_json
from replay.records import Answer, Call, JsonObject, Step, TextAnswer, ToolResult


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
    try:
        value = as_object(json_value(text)) if text.strip() else {}
    except ValueError:
        value = None
    call = build_call(name, value or {}, **fields)
    if value is not None or call.unreadable is not None:
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
    call = json_text_call(name, {} if arguments is None else arguments, **fields)
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
    fields, content = dict(_PRINTED_FIELD.findall(printed["fields"] or "")), python_value(printed["content"])
    return {**fields, "content": content} if "tool_call_id" in fields and content is not None else None


def error_answer(message: Any) -> ToolResult:
    """The answer of a call of which only the error is known."""
    text = message if isinstance(message, str) else "" if message is None else to_json(message)
    return ToolResult(content=({"type": "text", "text": text},), is_error=True)


def _is_text_block(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("text"), str) and value.get("type", "text") == "text"
