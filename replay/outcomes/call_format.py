"""Stage 1: is the call well formed?"""

from __future__ import annotations

import json
import re

from replay.json_values import MAX_DEPTH, is_too_deep
from replay.records import Call, Judgement, Outcome, Reason
from replay.safety.text import cut

FORMAT_RULES: dict[str, tuple[str, str]] = {
    "format.delimiters": (
        "The call is wrapped in delimiters of a chat template or of Markdown, where the host expects bare JSON.",
        '<|begin_of_box|>{"name": "time/now", "arguments": {}}<|end_of_box|>',
    ),
    "format.cut-off": ("The JSON ends in the middle.", '{"path": "/tmp/a.txt", "content": "once upon'),
    "format.escape": (
        "A string in the JSON holds a backslash sequence that JSON does not have.",
        r'{"pattern": "\d+"}',
    ),
    "format.trailing": ("After a complete JSON value stands more.", '{"path": "a.txt"} I will read it now.'),
    "format.no-json": ("What the model wrote is not JSON.", "message=hi"),
    "format.no-name": ("The call names no tool, or an empty one.", '{"arguments": {}}'),
    "format.name-not-text": ("The name of the tool is not a string.", '{"name": 5, "arguments": {}}'),
    "format.no-arguments": ("The call has no arguments field.", '{"name": "time/now"}'),
    "format.arguments-not-object": (
        "The arguments are JSON, but not an object.",
        '{"name": "time/now", "arguments": ["UTC"]}',
    ),
    "format.too-deep": (
        "The arguments are a JSON object that is nested deeper than replay reads; nothing is wrong with the call.",
        '{"a": {"a": {"a": ...}}}',
    ),
}
"""Rule id -> what it says, and an example."""

_DELIMITER = re.compile(
    r"<\|[^|<>\n]{1,60}\|>|</?(?:tool_call|tool_calls|function_call|function|tool_use|tool|invoke|arguments?|think|answer|json)\b[^<>\n]{0,80}>"
    r"|```\w*|\[/?TOOL_CALLS?\]|\[TOOL_REQUEST\]|<｜[^｜<>\n]{1,60}｜>|\x1b?\[/?INST\]",
    re.IGNORECASE,
)
_DECODER = json.JSONDecoder(strict=False)
_KINDS = {
    list: "a list",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "a truth value",
    type(None): "null",
}


def judge_format(call: Call) -> Judgement | None:
    """Judge the form of a call; None where it is well formed."""
    if call.unreadable == "call":
        return _judge_raw(call.raw, "call")
    if call.unreadable == "name" or not call.name:
        return _judge_name(call)
    if "<|" in call.name and (wrapped := _DELIMITER.search(call.name)):
        return _judgement("format.delimiters", f"The tool's name holds {wrapped[0]}.")
    if call.unreadable == "arguments":
        return _judge_raw(call.raw, "arguments field") if call.raw is not None else _absent()
    free_text = call.local and call.raw is not None
    return _absent() if call.arguments is None and not free_text else None


def _judge_name(call: Call) -> Judgement:
    if call.raw is None or call.raw.strip() in ("", '""', "null"):
        return _judgement("format.no-name", "The call names no tool.")
    return _judgement("format.name-not-text", f"The tool's name is not a string: {_clip(call.raw)}.")


def _absent() -> Judgement:
    return _judgement("format.no-arguments", "The call has no arguments.")


def _judge_raw(raw: str | None, part: str) -> Judgement:
    """Say why a text that should hold a JSON object does not."""
    if raw is None:
        return _judgement("format.no-json", f"The {part} could not be read.")
    text = raw.strip()
    wrapped = (
        _DELIMITER.search(text[:400])
        if text[:1] not in ("{", "[")
        else _DELIMITER.match(text[-80:].rpartition("}")[2].strip())
    )
    if wrapped:
        place = raw.find(wrapped[0])
        return _judgement("format.delimiters", f"The {part} is wrapped in {wrapped[0]} (offset {place}).")
    try:
        value, end = _DECODER.raw_decode(text)
    except ValueError as error:
        return _judge_broken(text, error, part)
    except RecursionError:
        return _too_deep(part) if text[-1:] in ("]", "}") else _cut_off(part, text)
    if text[end:].strip():
        return _judgement(
            "format.trailing", f"The {part} is JSON up to offset {end}; then follows {_clip(text[end:])}."
        )
    return _judge_value(value, part, text)


def _judge_value(value: object, part: str, text: str) -> Judgement:
    if is_too_deep(value) and isinstance(value, dict):
        return _too_deep(part)
    if part == "call" and isinstance(value, dict):
        if not isinstance(value.get("name"), str) or not value["name"]:
            return _judgement("format.no-name", "The call names no tool.")
        return _judgement("format.no-arguments", "The call has no arguments that could be read.")
    if isinstance(value, dict):
        return _judgement(
            "format.no-json", f"The {part} holds control characters that JSON does not allow in a string."
        )
    kind = _KINDS.get(type(value), "a value")
    return _judgement("format.arguments-not-object", f"The {part} must be a JSON object and is {kind}: {_clip(text)}.")


def _judge_broken(text: str, error: ValueError, part: str) -> Judgement:
    if not isinstance(error, json.JSONDecodeError):
        return _judgement("format.no-json", f"The {part} holds a number with too many digits to read.")
    if not text:
        return _judgement("format.no-json", f"The {part} is empty.")
    if text[:1] not in "{[":
        return _judgement("format.no-json", f"The {part} is not JSON: it starts with {_clip(text, 40)} (offset 0).")
    if "escape" in error.msg:
        return _judgement(
            "format.escape", f"The {part} holds an escape sequence that JSON does not have, at offset {error.pos}."
        )
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
        return _cut_off(part, text)
    return _judgement(
        "format.no-json",
        f"The {part} is not JSON: {error.msg.lower()} at offset {error.pos}, near {_clip(text[error.pos :], 40)}.",
    )


def _cut_off(part: str, text: str) -> Judgement:
    return _judgement("format.cut-off", f"The {part} is JSON that is cut off at offset {len(text)}.")


def _clip(text: str, max_length: int = 80) -> str:
    flat = " ".join(cut(text, max_length * 4).split())
    return repr(flat if len(flat) <= max_length else flat[: max_length - 1] + "…")


def _too_deep(part: str) -> Judgement:
    return Judgement(
        outcome=Outcome.INCONCLUSIVE,
        reason=Reason.BEYOND_LIMITS,
        rule="format.too-deep",
        evidence="format",
        message=f"The {part} is nested deeper than the {MAX_DEPTH} levels that are read.",
    )


def _judgement(rule: str, message: str) -> Judgement:
    return Judgement(outcome=Outcome.ILLEGAL_FORMAT, rule=rule, evidence="format", message=message)
