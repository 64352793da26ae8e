"""What a server's own check of the arguments says, read as schema violations.

For calls whose tools/list is not known, or whose server checks more than its schema says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from replay.dag.documents import join
from replay.records import SchemaViolation
from replay.safety.text import cut

_ZOD: Final = re.compile(r"\[\s*\{.*\}\s*\]", re.DOTALL)
_PYDANTIC: Final = re.compile(r"^(?P<path>[\w.\[\]-]+)\n\s+(?P<message>[^\n\[]+?)\s*\[type=(?P<type>\w+)", re.MULTILINE)
_PYDANTIC_TYPES: Final = {
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "string": "string",
    "list": "array",
    "dict": "object",
}
_ZOD_AT: Final = re.compile(
    r"Invalid (?:input|option): expected (?P<expected>one of [^\n]+?|\w+)(?:, received (?P<received>\w+))?"
    r" at (?P<path>[\w.\[\]]+)"
)
_BODY: Final = re.compile(
    r"body failed validation: body\.(?P<path>[\w.\[\] -]+?) should be (?:an? )?"
    r"(?P<expected>object|array|string|number|boolean|defined)\b"
)
_QUOTED: Final = re.compile(r"\"((?:[^\"\\]|\\.)*)\"")


def validation_errors(text: str) -> tuple[SchemaViolation, ...]:
    """The violations that an error message reports; none where it speaks of no field."""
    found = (tuple(read(text)) for read in (_bodies, _zod, _pydantic, _zod_sentences, _sentences))
    return next(filter(None, found), ())


def _zod(text: str) -> Iterator[SchemaViolation]:
    """`[{"code": "invalid_type", "expected": "string", "path": ["head"], "message": ...}]`."""
    match = _ZOD.search(text)
    try:
        issues = json.loads(match[0]) if match else []
    except ValueError:
        return
    for issue in issues:
        if not isinstance(issue, dict) or not isinstance(issue.get("path"), list):
            continue
        message = str(issue.get("message", ""))
        received = issue.get("received") or message.rpartition("received ")[2]
        if issue.get("code") == "unrecognized_keys":
            for key in issue.get("keys", ()):
                yield _violation(issue["path"], "additionalProperties", message, str(key))
        elif received == "undefined" or message == "Required":
            yield _missing(issue["path"], message)
        elif issue.get("code") == "invalid_type":
            yield _violation(issue["path"], "type", message, _number_or(issue.get("expected")))
        elif "values" in issue or "options" in issue:
            choices = issue.get("values", issue.get("options"))
            yield _violation(issue["path"], "enum", message, choices)
        else:
            yield _violation(issue["path"], str(issue.get("code", "check")), message)


def _pydantic(text: str) -> Iterator[SchemaViolation]:
    """The lines of `N validation errors for fooArguments`, none where it is the tool's output that broke."""
    if "validation error" not in text or re.search(r"validation errors? for \w*(?:Output|Result|Response)\b", text):
        return
    for match in _PYDANTIC.finditer(text):
        path, message, kind = _path(match), match["message"], match["type"]
        if kind in ("missing", "missing_argument"):
            yield _missing(path, message)
        elif kind in ("extra_forbidden", "unexpected_keyword_argument"):
            yield _violation(path[:-1], "additionalProperties", message, path[-1])
        elif kind in ("literal_error", "enum"):
            choices = re.findall(r"'([^']*)'", message)
            yield _violation(path, "enum", message, choices)
        else:
            head, _, tail = kind.partition("_")
            expected = _PYDANTIC_TYPES.get(head) if tail in ("type", "parsing") else None
            yield _violation(path, "type" if expected else kind, message, expected)


def _bodies(text: str) -> Iterator[SchemaViolation]:
    """`body failed validation: body.parent.type should be a string, instead was ...`; not where several would do."""
    found = _BODY.search(text)
    if found is not None and "Fix one" not in text:
        path = _path(found)
        if found["expected"] == "defined":
            yield _missing(path, found[0])
        else:
            yield _violation(path, "type", found[0], _number_or(found["expected"]))


def _zod_sentences(text: str) -> Iterator[SchemaViolation]:
    """`Invalid input: expected string, received undefined at message`."""
    for match in _ZOD_AT.finditer(text):
        path, message = _path(match), match[0].rpartition(" at ")[0]
        if match["expected"].startswith("one of "):
            yield _violation(path, "enum", message, _QUOTED.findall(match["expected"]))
        elif match["received"] == "undefined":
            yield _missing(path, message)
        else:
            yield _violation(path, "type", message, _number_or(match["expected"]))


_LACKING: Final = (
    re.compile(r"'([^']+)' is a required property"),
    re.compile(r"missing (?:\d+ )?(?:required )?(?:positional |keyword-only )?arguments?:? ['\"]?(\w+)['\"]?"),
    re.compile(r"must have required property '([^']+)'"),
    re.compile(r"[Mm]issing required (?:parameter|field|argument|property|key)(?:: ['\"`]?| ['\"`])(\w+)"),
    re.compile(r"[Mm]issing required ['\"`](\w+)['\"`]"),
)
_SURPLUS: Final = (
    re.compile(r"\(?'(\w+)' (?:was|were) unexpected|unexpected keyword argument '(\w+)'"),
    re.compile(r"(\w+): unknown field"),
)
"""Sentences that name the field which is missing, or that the tool does not take."""


def _sentences(text: str) -> Iterator[SchemaViolation]:
    for pattern in _LACKING:
        yield from (_missing([found[1]], found[0]) for found in pattern.finditer(text))
    for found in (match for pattern in _SURPLUS for match in pattern.finditer(text)):
        yield _violation([], "additionalProperties", found[0], next(filter(None, found.groups())))


def _path(found: re.Match[str]) -> list[str]:
    return [part for part in re.split(r"[.\[\]]", found["path"]) if part]


def _missing(path: list[Any], message: str) -> SchemaViolation:
    return _violation(path[:-1], "required", message, [str(path[-1])] if path else [])


def _violation(path: list[Any], keyword: str, message: str, expected: Any = None) -> SchemaViolation:
    pointer = "".join(join("", part) for part in path)
    return SchemaViolation(pointer=pointer, keyword=keyword, message=cut(message, 300), expected=expected)


def _number_or(name: Any) -> str | None:
    return {"int": "integer", "float": "number"}.get(str(name), str(name)) if name else None
