"""Every way in which arguments break a schema, told by jsonschema with its work counted.

The schema is the server's, and may be made to take for ever: a pattern that backtracks, references that double at each
of thirty levels. Patterns are matched in linear time, and the work is counted; what is beyond the limit is not checked,
and said so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any, Final

import jsonschema
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend, validator_for
from referencing import Registry
from referencing.exceptions import NoSuchResource

from replay.json_values import bounded
from replay.records import JsonObject, SchemaViolation
from replay.safety.linear_regex import PatternError, compile_pattern
from replay.safety.text import cut

_DRAFTS = (
    jsonschema.Draft3Validator,
    jsonschema.Draft4Validator,
    jsonschema.Draft6Validator,
    jsonschema.Draft7Validator,
    jsonschema.Draft201909Validator,
    jsonschema.Draft202012Validator,
)
_MAX_VIOLATIONS = 50
_MAX_MESSAGE_LENGTH = 300
_MAX_SCHEMA_LENGTH: Final = 1_000_000
_MAX_STEPS: Final = 50_000
"""Subschemas applied, references followed, list elements compared: some tenths of a second."""
_STEPS_OF_REFERENCE: Final = 5
_MAX_LEVELS: Final = 100
"""Keywords applied inside one another. Where Python's own limit is met instead, the registry of references panics."""
_MAX_REFERENCES_BESIDE_UNEVALUATED: Final = 8
"""jsonschema follows references once more for `unevaluated*`, where they cannot be counted."""

_Keyword = Callable[[Any, Any, Any, Any], Iterable[ValidationError] | None]


@dataclass
class _Work:
    steps: int = 0
    levels: int = 0
    unchecked: list[str] = field(default_factory=list)

    def spend(self, steps: int) -> None:
        self.steps += steps
        if self.steps > _MAX_STEPS:
            raise _BeyondLimitError

    @contextmanager
    def level(self) -> Iterator[None]:
        if self.levels == _MAX_LEVELS:
            raise _BeyondLimitError
        self.levels += 1
        try:
            yield
        finally:
            self.levels -= 1


class _BeyondLimitError(Exception):
    """The schema asks for more work than is done."""


_WORK: ContextVar[_Work] = ContextVar("_WORK")


def violations_of(text: str, arguments: JsonObject) -> tuple[tuple[SchemaViolation, ...], str | None]:
    """How arguments break the schema of a text, and why it, or a part of it, was not checked; None where all was."""
    beyond = _beyond_limits(text)
    if beyond is not None:
        return (), beyond
    work = _Work()
    token = _WORK.set(work)
    try:
        found = _errors(_validator(text), arguments)
    except _BeyondLimitError:
        return (), "the schema asks for more work than is done for one call"
    finally:
        _WORK.reset(token)
    violations = sorted(map(_violation, found), key=lambda violation: (violation.pointer, violation.keyword))
    return tuple(violations), "; ".join(dict.fromkeys(work.unchecked)) or None


def _beyond_limits(text: str) -> str | None:
    if len(text) > _MAX_SCHEMA_LENGTH:
        return f"the schema is longer than {_MAX_SCHEMA_LENGTH // 1_000_000} MB"
    if '"unevaluated' in text and (
        text.count('Ref":') + text.count('$ref":') > _MAX_REFERENCES_BESIDE_UNEVALUATED or '"patternProperties"' in text
    ):
        return "the schema has unevaluatedProperties or unevaluatedItems beside many references or patterns"
    return None


def draft_of(schema: JsonObject) -> Any:
    """The validator of the draft that a schema names; of the latest where it names none that is known."""
    if not isinstance(schema.get("$schema"), str):
        return jsonschema.Draft202012Validator
    kind = validator_for(schema, default=jsonschema.Draft202012Validator)
    return kind if kind in _DRAFTS else jsonschema.Draft202012Validator


@lru_cache(maxsize=1024)
def _validator(schema_text: str) -> Validator:
    schema = json.loads(schema_text)
    registry: Registry[Any] = Registry(retrieve=_retrieve_nothing)  # type: ignore[call-arg]
    validator: Validator = _limited(draft_of(schema))(schema, registry=registry)
    return validator


def _retrieve_nothing(uri: str) -> Any:
    raise NoSuchResource(uri)


@lru_cache
def _limited(draft: Any) -> Any:
    """The draft's validator, with its work counted and its patterns matched in linear time."""
    known: dict[str, _Keyword] = draft.VALIDATORS
    changed = {name: _counted(keyword) for name, keyword in known.items() if name not in _CONSTANT_WORK}
    changed["pattern"] = _pattern
    if "patternProperties" in known:
        changed["patternProperties"] = _counted(_pattern_properties)
        changed["additionalProperties"] = _counted(_additional_properties(known["additionalProperties"]))
    return extend(draft, changed)  # type: ignore[no-untyped-call]


_CONSTANT_WORK: Final = frozenset(
    {"type", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "divisibleBy"}
    | {"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "format", "pattern"}
)


def _counted(keyword: _Keyword) -> _Keyword:
    def check(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        steps = 1 + _length(value) + (_STEPS_OF_REFERENCE if isinstance(value, str) else 0)
        if isinstance(instance, list) and value is True:  # uniqueItems compares each with each
            steps += len(instance) ** 2 // 2 if any(isinstance(item, dict | list) for item in instance) else 0
        work = _WORK.get()
        work.spend(steps + _length(instance))
        with work.level():
            yield from keyword(validator, value, instance, schema) or ()

    return check


def _length(value: Any) -> int:
    return len(value) if isinstance(value, dict | list) else 0


def _matches(pattern: Any, text: str) -> bool | None:
    """Whether a text matches; None, and noted, where the pattern cannot be used."""
    try:
        return compile_pattern(pattern).search(text) is not None
    except PatternError as problem:
        _WORK.get().unchecked.append(f"the pattern {pattern[:80]!r} was not checked: {problem}")
        return None


def _pattern(validator: Any, pattern: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    del schema
    if validator.is_type(instance, "string") and _matches(pattern, bounded(instance)) is False:
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    del schema
    if not validator.is_type(instance, "object"):
        return
    for pattern, subschema in patterns.items():
        for name, value in instance.items():
            _WORK.get().spend(1)
            if _matches(pattern, bounded(name)):
                yield from validator.descend(value, subschema, path=name, schema_path=pattern)


def _additional_properties(original: _Keyword) -> _Keyword:
    """The keyword of jsonschema, for those properties that no pattern names."""

    def check(validator: Any, allowed: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        patterns = schema.get("patternProperties")
        if patterns and validator.is_type(instance, "object"):
            _WORK.get().spend(len(patterns) * len(instance))
            instance = {
                name: value
                for name, value in instance.items()
                if all(_matches(pattern, bounded(name)) is False for pattern in patterns)
            }
            schema = {key: value for key, value in schema.items() if key != "patternProperties"}
        yield from original(validator, allowed, instance, schema) or ()

    return check


def _errors(validator: Validator, arguments: JsonObject) -> list[ValidationError]:
    """The validator's errors; where the schema as a whole cannot be applied, those of its parts that can."""
    try:
        return _first(validator.iter_errors(arguments))
    except _BeyondLimitError:
        raise
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
        except _BeyondLimitError:
            raise
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
