"""The table of hostile modes: which payload stands in which place of which message."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

TOKEN = "@@payload@@"
"""Stands in a message where the payload comes; `render` puts it there as JSON text."""

DEEP_OBJECT = '{"a":'


def _deep(levels: int, opening: str = "[", closing: str = "]", inside: str = "1") -> str:
    return opening * levels + inside + closing * levels


PAYLOADS: dict[str, Callable[[], str]] = {
    "lone-surrogate": lambda: '"half \\ud800 pair"',
    "low-surrogate": lambda: '"\\udc00"',
    "surrogate-key": lambda: '{"\\ud800": "\\udfff", "type": "text", "text": "\\ud83d"}',
    "deep-list-300": lambda: _deep(300),
    "deep-object-300": lambda: _deep(300, '{"a":', "}"),
    "deep-schema-450": lambda: _deep(450, '{"properties":{"a":', "}}", '{"type":"integer"}'),
    "deep-list-950": lambda: _deep(950),
    "deep-list-100000": lambda: _deep(100_000),
    "deep-text": lambda: '"' + _deep(900) + '"',
    "deep-error-text": lambda: '"{\\"error\\": ' + _deep(400, '{\\"a\\":', "}") + '}"',
    "surrogate-in-text": lambda: '"{\\"error\\": \\"\\\\ud800 not found\\"}"',
    "integer-5000-digits": lambda: "9" * 5000,
    "integer-400-digits": lambda: "9" * 400,
    "nan": lambda: "NaN",
    "infinity": lambda: "-Infinity",
    "float-overflow": lambda: "1e999",
    "megabyte": lambda: '"' + "x" * 1_000_000 + '"',
    "control": lambda: '"\\u0000\\u001b]52;c;aGk=\\u0007\\u009b31m\\u202e\\u2028"',
    "empty-text": lambda: '""',
    "null": lambda: "null",
    "true": lambda: "true",
    "number": lambda: "-7",
    "empty-list": lambda: "[]",
    "empty-object": lambda: "{}",
    "list-of-nulls": lambda: "[null, null]",
    "duplicate-keys": lambda: '{"type": "text", "type": 5, "text": 1, "text": {"text": []}}',
    "not-json": lambda: "{,}",
    "unterminated": lambda: '"never ends',
}
"""Name -> JSON text, or what should have been JSON."""


def _result(value: Any) -> dict[str, Any]:
    return {"result": value}


def _error(**fields: Any) -> dict[str, Any]:
    return {"error": {"code": -32000, "message": "no", **fields}}


ANSWERS: dict[str, dict[str, Any]] = {
    "result": _result(TOKEN),
    "content": _result({"content": TOKEN}),
    "block": _result({"content": [TOKEN]}),
    "block-text": _result({"content": [{"type": "text", "text": TOKEN}]}),
    "block-type": _result({"content": [{"type": TOKEN, "text": "x"}]}),
    "block-resource": _result({"content": [{"type": "resource", "resource": TOKEN}]}),
    "failed-text": _result({"content": [{"type": "text", "text": TOKEN}], "isError": True}),
    "structured": _result({"content": [], "structuredContent": TOKEN}),
    "is-error": _result({"content": [{"type": "text", "text": "x"}], "isError": TOKEN}),
    "result-meta": _result({"content": [{"type": "text", "text": "x"}], "_meta": TOKEN}),
    "error": {"error": TOKEN},
    "error-message": _error(message=TOKEN),
    "error-code": _error(code=TOKEN),
    "error-data": _error(data=TOKEN),
}
"""Place -> the answer to tools/call, but for its id."""

HANDSHAKES: dict[str, dict[str, Any]] = {
    "server-info": {"serverInfo": TOKEN},
    "server-name": {"serverInfo": {"name": TOKEN, "version": "1"}},
    "server-version": {"serverInfo": {"name": "hostile", "version": TOKEN}},
    "protocol": {"protocolVersion": TOKEN},
    "capabilities": {"capabilities": TOKEN},
    "instructions": {"instructions": TOKEN},
}
"""Place -> what is different in the answer to initialize."""

_SCHEMA: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}

TOOL_LISTS: dict[str, Any] = {
    "tools": {"tools": TOKEN},
    "tools-result": TOKEN,
    "tool": {"tools": [{"name": "work", "inputSchema": _SCHEMA}, TOKEN]},
    "tool-name": {"tools": [{"name": "work", "inputSchema": _SCHEMA}, {"name": TOKEN, "inputSchema": _SCHEMA}]},
    "description": {"tools": [{"name": "work", "description": TOKEN, "inputSchema": _SCHEMA}]},
    "schema": {"tools": [{"name": "work", "inputSchema": TOKEN}]},
    "schema-property": {"tools": [{"name": "work", "inputSchema": {"type": "object", "properties": {"a": TOKEN}}}]},
    "schema-pattern": {
        "tools": [{"name": "work", "inputSchema": {"type": "object", "properties": {"a": {"pattern": TOKEN}}}}]
    },
    "schema-ref": {"tools": [{"name": "work", "inputSchema": {"type": "object", "$ref": TOKEN, "required": ["b"]}}]},
    "annotations": {"tools": [{"name": "work", "inputSchema": _SCHEMA, "annotations": TOKEN}]},
    "output-schema": {"tools": [{"name": "work", "inputSchema": _SCHEMA, "outputSchema": TOKEN}]},
    "next-cursor": {"tools": [{"name": "work", "inputSchema": _SCHEMA}], "nextCursor": TOKEN},
}
"""Place -> the result of tools/list."""

EXTRAS: dict[str, dict[str, Any]] = {
    "notification-method": {"method": TOKEN, "params": {}},
    "notification-params": {"method": "notifications/message", "params": TOKEN},
    "request-id": {"method": "roots/list", "id": TOKEN},
    "request-method": {"method": TOKEN, "id": 1},
    "answer-id": {"id": TOKEN, "result": {"content": []}},
    "no-message": {"hello": TOKEN},
}
"""Place -> a message that is sent before each answer."""

PLACES = (*ANSWERS, *HANDSHAKES, *TOOL_LISTS, *EXTRAS)

_DOUBLED = {f"l{n}": {"allOf": [{"$ref": f"#/$defs/l{n + 1}"}] * 2} for n in range(29)}

SCHEMAS: dict[str, dict[str, Any]] = {
    "backtracking-pattern": {"type": "object", "properties": {"a": {"pattern": "^(a+)+$"}}},
    "backtracking-key": {"type": "object", "patternProperties": {"^(a+)+$": {}}, "additionalProperties": False},
    "doubled-references": {"type": "object", "$ref": "#/$defs/l0", "$defs": {**_DOUBLED, "l29": {"type": "object"}}},
    "endless-reference": {"type": "object", "$ref": "#"},
    "doubled-unevaluated": {"$ref": "#/$defs/l0", "unevaluatedProperties": False, "$defs": {**_DOUBLED, "l29": {}}},
    "foreign-reference": {"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}},
}
"""Behaviour -> the schema of the tool."""

STDIO_BEHAVIOURS = (
    "answers-early", "answers-twice", "floods-requests", "floods-notifications", "floods-stderr", "endless-line",
    "dies-in-call", "silent", "closes-stdout", "never-lists", "half-a-list", "huge-list", "changes-list",
    "prints-noise",    "id-5000-digits", "same-cursor",
)  # fmt: skip
HTTP_BEHAVIOURS = (
    "http-401", "http-403", "http-404", "http-429", "http-500", "http-503", "http-html", "http-redirect-loop",
    "http-bad-redirect", "http-empty", "http-endless-body", "http-endless-event", "http-endless-notification",
    "http-cut-off", "http-wrong-length", "http-batch", "http-header-flood",
)  # fmt: skip


def stdio_modes() -> Iterator[str]:
    """Every mode of the server over stdio."""
    for place in PLACES:
        for payload in PAYLOADS:
            yield f"{place}.{payload}"
    yield from SCHEMAS
    yield from STDIO_BEHAVIOURS


def http_modes() -> Iterator[str]:
    """Every mode of the server over HTTP: answers as JSON and as events, and what only HTTP can do wrong."""
    for place in ("result", "error-message", "block-text", "server-name", "tool-name", "next-cursor", "request-id"):
        for payload in PAYLOADS:
            yield f"{place}.{payload}"
    yield from HTTP_BEHAVIOURS


def short_modes() -> list[str]:
    """Some of each kind, for every run of the suite."""
    chosen = [
        f"{place}.{payload}"
        for number, place in enumerate(PLACES)
        for payload in list(PAYLOADS)[number % 3 : 12 : 3][:2]
    ]
    return [*chosen, "backtracking-pattern", "doubled-references", "answers-twice", "half-a-list", "never-lists"]
