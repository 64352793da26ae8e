"""Rung 3: do the arguments keep to the tool's inputSchema?"""

from __future__ import annotations

from jsonschema import Draft202012Validator

from replay.records import JsonObject, SchemaViolation, Tool


def schema_violations(tool: Tool, arguments: JsonObject) -> tuple[SchemaViolation, ...]:
    """Every way in which the arguments break the tool's inputSchema, in the order of their places."""
    try:
        errors = list(Draft202012Validator(tool.input_schema or {}).iter_errors(arguments))
    except Exception:  # noqa: BLE001
        return ()
    return tuple(
        SchemaViolation(
            pointer="".join(f"/{part}" for part in error.absolute_path),
            keyword=str(error.validator),
            message=error.message[:300],
        )
        for error in errors
    )
