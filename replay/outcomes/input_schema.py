"""Whether arguments keep to the inputSchema of their tool: told at once where they do, by `schema_errors` where not."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from replay.json_values import is_too_deep
from replay.records import JsonObject, SchemaViolation, Tool

_MAX_QUICK_LENGTH: Final = 100_000
_UNBOUNDED_WORK: Final = ('ef"', '"$id"', '"pattern', '"unevaluated', '"uniqueItems"')
"""In the text of a schema: references, patterns, and what compares each element with each."""
_LATEST_DRAFT: Final = "Draft202012Validator"
_QUICK_DRAFTS: Final = frozenset({"Draft7Validator", "Draft201909Validator", _LATEST_DRAFT})


@dataclass(frozen=True)
class SchemaCheck:
    """What holding arguments against a schema showed."""

    violations: tuple[SchemaViolation, ...] = ()
    unchecked: str | None = None
    """Why the schema, or a part of it, was not checked; None where all of it was."""


def schema_violations(tool: Tool, arguments: JsonObject) -> tuple[SchemaViolation, ...]:
    """Every way in which the arguments break the tool's inputSchema, in the order of their places."""
    return check_schema(tool, arguments).violations


def check_schema(tool: Tool, arguments: JsonObject) -> SchemaCheck:
    """Hold arguments against the tool's inputSchema.

    A schema that is itself broken is used as far as it can be: keywords that cannot be applied find nothing. No
    schema is fetched from anywhere.
    """
    if not isinstance(tool.input_schema, dict):
        return SchemaCheck()
    text = tool.input_schema_text
    if text is not None and _accepts(text, arguments):
        return SchemaCheck()
    if is_too_deep(tool.input_schema):
        return SchemaCheck(unchecked="the schema is nested too deeply")
    if text is None:
        return SchemaCheck()
    from replay.outcomes.schema_errors import violations_of  # not at the top: few arguments break their schema

    return SchemaCheck(*violations_of(text, arguments))


def is_valid(schema: JsonObject, value: Any) -> bool:
    """Whether a value keeps to a schema; False also where the schema asks for unbounded work."""
    try:
        return _accepts(json.dumps(schema, sort_keys=True), value)
    except (TypeError, ValueError, RecursionError):
        return False


def _accepts(schema_text: str, arguments: Any) -> bool:
    """Whether the arguments are found good at once; where they are not, nothing is said yet."""
    validator = _quick_validator(schema_text)
    try:
        return validator is not None and bool(validator.is_valid(arguments))
    except ValueError:  # halves of surrogate pairs
        return False


@lru_cache(maxsize=1024)
def _quick_validator(schema_text: str) -> Any:
    """A compiled validator of a schema whose work is bounded by its length and the arguments'; None of any other."""
    if len(schema_text) > _MAX_QUICK_LENGTH or any(keyword in schema_text for keyword in _UNBOUNDED_WORK):
        return None
    import jsonschema_rs  # not at the top: only a call with arguments needs it

    schema = json.loads(schema_text)
    draft = _draft_of(schema)
    if is_too_deep(schema) or draft not in _QUICK_DRAFTS:
        return None
    try:
        return getattr(jsonschema_rs, draft)(schema, offline=True)
    except ValueError:  # a broken schema: the slow one uses what can be used of it
        return None


def _draft_of(schema: JsonObject) -> str:
    """The name of its draft's validator, which both libraries share; jsonschema is loaded where a schema names one."""
    if not isinstance(schema.get("$schema"), str):
        return _LATEST_DRAFT
    from replay.outcomes.schema_errors import draft_of

    return str(draft_of(schema).__name__)
