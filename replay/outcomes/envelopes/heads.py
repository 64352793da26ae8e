"""How an envelope of structure begins: a look at the first characters, before anything is parsed."""

from __future__ import annotations

import re

FLAGS = ("isError", "is_error", "iserror")

BLOCK_BODIES = {
    "text": "text",
    "input_text": "text",
    "output_text": "text",
    "image": "data",
    "audio": "data",
    "resource": "resource",
    "resource_link": "uri",
}
"""The type of a content block -> the field that holds what it carries."""

_FIELD = (
    r"(?:_?meta|content|isError|is_error|structured_?[cC]ontent|type|text|result|output|response|jsonrpc|id|annotations"
    r"|role|tool_use_id|tool_?[rR]esult|tool_output|result_?[tT]ype)"
)
_JSON_HEAD = re.compile(rf"\s*(?:\[\s*)?\{{\s*\"{_FIELD}\"\s*:|\s*\"", re.DOTALL)
_REPR_HEAD = re.compile(
    rf"\s*(?:\w{{1,60}}=|[\[(]{{0,3}}[A-Z]\w{{0,60}}\(\w{{1,60}}=|[\[(]{{0,2}}\{{'{_FIELD}':)", re.DOTALL
)
_REPR_FIELD = re.compile(r"\b(?:content|text|output|result|message|is_?[eE]rror)'?[=:]")
_HEAD = 4_000


def looks_like_json_envelope(text: str) -> bool:
    """Whether a text begins as the JSON of an envelope, or as a JSON string."""
    return _JSON_HEAD.match(text) is not None


def looks_like_repr(text: str) -> bool:
    """Whether a text begins as the Python repr of a result."""
    return _REPR_HEAD.match(text) is not None and _REPR_FIELD.search(text[:_HEAD]) is not None
