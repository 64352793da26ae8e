"""How arguments break the inputSchema of their tool."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from typing import Any

from jsonschema import (
    Draft3Validator,
    Draft4Validator,
    Draft6Validator,
    Draft7Validator,
    Draft201909Validator,
    Draft202012Validator,
)
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import validator_for
from referencing import Registry
from referencing.exceptions import NoSuchResource

from replay.records import JsonObject, SchemaViolation, Tool
from replay.text import cut

_DRAFTS = (
    Draft3Validator,
    Draft4Validator,
    Draft6Validator,
    Draft7Validator,
    Draft201909Validator,
    Draft202012Validator,
)
_MAX_VIOLATIONS = 50
_MAX_MESSAGE_LENGTH = 300


def schema_violations(tool: Tool, arguments: JsonObject) -> tuple[SchemaViolation, ...]:
    """Every way in which the arguments break the tool's inputSchema, in the order of their places.

    A schema that is itself broken is used as far as it can be: keywords that cannot be applied find nothing. No
    schema is fetched from anywhere.
    """
    if not isinstance(tool.input_schema, dict):
        return ()
    try:
        text = json.dumps(tool.input_schema, sort_keys=True)
    except (TypeError, ValueError):
        return ()
    found = _errors(_validator(text), arguments)
    return tuple(sorted(map(_violation, found), key=lambda violation: (violation.pointer, violation.keyword)))


@lru_cache(maxsize=1024)
def _validator(schema_text: str) -> Validator:
    schema = json.loads(schema_text)
    kind = (
        validator_for(schema, default=Draft202012Validator)
        if isinstance(schema.get("$schema"), str)
        else Draft202012Validator
    )
    if kind not in _DRAFTS:
        kind = Draft202012Validator
    registry: Registry[Any] = Registry(retrieve=_retrieve_nothing)  # type: ignore[call-arg]
    validator: Validator = kind(schema, registry=registry)
    return validator


def _retrieve_nothing(uri: str) -> Any:
    raise NoSuchResource(uri)


def _errors(validator: Validator, arguments: JsonObject) -> list[ValidationError]:
    """The validator's errors; where the schema as a whole cannot be applied, those of its parts that can."""
    try:
        return _first(validator.iter_errors(arguments))
    except Exception:  # noqa: BLE001 - a broken schema fails in as many ways as there are keywords
        return _errors_of_parts(validator, arguments)


def _errors_of_parts(validator: Validator, arguments: JsonObject) -> list[ValidationError]:
    schema = validator.schema if isinstance(validator.schema, dict) else {}
    context = {key: schema[key] for key in ("$schema", "$defs", "definitions") if key in schema}
    parts: list[dict[str, Any]] = [{key: value} for key, value in schema.items() if key not in {*context, "properties"}]
    properties = schema.get("properties")
    if isinstance(properties, dict):
        parts += [{"properties": {name: field}} for name, field in properties.items()]
    found: list[ValidationError] = []
    for part in parts:
        try:
            found += _first(validator.evolve(schema={**context, **part}).iter_errors(arguments))
        except Exception:  # noqa: BLE001, S112 - this part of the schema says nothing that can be checked
            continue
    return found


def _first(errors: Iterable[ValidationError]) -> list[ValidationError]:
    return list(islice(errors, _MAX_VIOLATIONS))


def _violation(error: ValidationError) -> SchemaViolation:
    message = error.message
    if len(message) > _MAX_MESSAGE_LENGTH:
        message = cut(message, _MAX_MESSAGE_LENGTH - 1) + "…"
    return SchemaViolation(
        pointer=_pointer(error.absolute_path),
        keyword=str(error.validator),
        message=message,
        expected=error.validator_value,
        schema_pointer=_pointer(error.absolute_schema_path),
    )


def _pointer(path: Iterable[str | int]) -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)
