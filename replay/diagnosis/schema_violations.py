"""Arguments that break the tool's inputSchema: which part, and what would have been right."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from rapidfuzz import fuzz
from rapidfuzz.utils import default_process

from replay.dag.documents import join, parts, resolve
from replay.diagnosis.phrasing import kind_of, listed, place, plain, quoted, types_of
from replay.diagnosis.server_validation_errors import validation_errors
from replay.diagnosis.trajectory_context import TrajectoryContext
from replay.outcomes.input_schema import check_schema
from replay.records import Outcome, SchemaViolation, Tool, canonical
from replay.records.finding import Finding
from replay.suggestions import nearest_name

_ALIKE: Final = 60.0
_NEARLY: Final = 80.0
_MIN_SPELLING: Final = 4
"""Characters of a name from which one that holds it is another spelling of it."""
_MAX_FINDINGS: Final = 8
_ABSENT: Final = object()
_TRUE_FALSE: Final = {"true": True, "false": False}


def schema_findings(context: TrajectoryContext, position: str) -> list[Finding]:
    """What the schema, or else the server's own check, says against the arguments."""
    row = context.rows[position]
    accepted = row.outcome is Outcome.SUCCESS
    violations, own_check = row.violations, False
    if not violations and row.outcome is Outcome.INVALID_ARGUMENTS and not row.rule.startswith("program."):
        violations, own_check = validation_errors(context.answer_text(position)), True
    finder = _Finder(context, position, violations, accepted=accepted, own_check=own_check)
    return list(finder.all())[:_MAX_FINDINGS]


class _Finder:
    """Turns the violations of one call into findings."""

    def __init__(
        self,
        context: TrajectoryContext,
        position: str,
        violations: tuple[SchemaViolation, ...],
        *,
        accepted: bool,
        own_check: bool,
    ) -> None:
        self._context, self._position = context, position
        self._arguments = context.arguments(position)
        self._accepted = accepted
        self._check = "the server's check" if own_check else "the schema"
        tool = context.tool(position)
        schema = tool.input_schema if tool is not None else None
        self._schema: dict[str, Any] = schema if isinstance(schema, dict) else {}
        self._violations = tuple(part for each in violations for part in self._of_one_type(each))
        self._misnamed: set[str] = set()

    def all(self) -> Iterator[Finding]:
        """In the order of the violations; a field of another name is one finding and not two."""
        for violation in self._violations:
            if violation.keyword == "required":
                yield from self._missing(violation)
        for violation in self._violations:
            if violation.keyword in ("additionalProperties", "unevaluatedProperties"):
                yield from self._unexpected(violation)
            elif violation.keyword != "required":
                yield self._wrong_value(violation)

    def _of_one_type(self, violation: SchemaViolation) -> tuple[SchemaViolation, ...]:
        """Of a field that takes null or one type: what that type has against the value; else the violation itself."""
        branches = violation.expected if violation.keyword in ("anyOf", "oneOf") else None
        types = [branch for branch in branches if branch != {"type": "null"}] if isinstance(branches, list) else []
        if len(types) != 1:
            return (violation,)
        definitions = {key: self._schema[key] for key in ("$defs", "definitions") if key in self._schema}
        tool = Tool(name="", input_schema={"properties": {"value": types[0]}, **definitions})
        against = check_schema(tool, {"value": self._at(violation.pointer)}).violations
        found = (
            each.model_copy(
                update={
                    "pointer": violation.pointer + each.pointer.removeprefix("/value"),
                    "schema_pointer": violation.schema_pointer,
                }
            )
            for each in against
        )
        return tuple(found) or (violation,)

    def _missing(self, violation: SchemaViolation) -> Iterator[Finding]:
        given = self._at(violation.pointer)
        if not isinstance(given, dict):
            return
        for name in _names(violation.expected):
            if name in given:
                continue
            written = self._written_as(violation.pointer, name, given)
            if written is not None:
                self._misnamed.add(join(violation.pointer, written))
                yield self._make(
                    "misnamed-field",
                    f"The field {quoted(name)} is missing; the call has {quoted(written)} instead, "
                    "which is not a field of the tool.",
                    f"Rename {quoted(written)} to {quoted(name)}.",
                    join(violation.pointer, written),
                    certainty="likely",
                    expected=name,
                    found=written,
                )
            else:
                yield self._make(
                    "missing-field",
                    f"The required field {quoted(name)} is missing{_inside(violation.pointer)}.",
                    f"Add {quoted(name)}{self._described(violation.pointer, name)}"
                    f"{self._later(violation.pointer, name)}.",
                    join(violation.pointer, name),
                    expected=name,
                )

    def _written_as(self, pointer: str, name: str, given: dict[str, Any]) -> str | None:
        """The field that was given in place of a missing one: no field of the tool, and alike or the only one."""
        known = self._properties(pointer)
        strays = [key for key in given if key not in known and join(pointer, key) not in self._misnamed]
        if not known and not self._schema:
            strays = [key for key in self._refused_names(pointer) if key in given]
        likely = next((key for key in strays if alike(key, name)), None)
        if likely is None and len(strays) == 1 and self._is_only_missing(pointer, name, given):
            is_short_for = strays[0].lower().startswith(name.lower()) or name.lower().startswith(strays[0].lower())
            likely = strays[0] if is_short_for and self._fits(pointer, name, given[strays[0]]) else None
        return likely

    def _is_only_missing(self, pointer: str, name: str, given: dict[str, Any]) -> bool:
        here = (each for each in self._violations if each.keyword == "required" and each.pointer == pointer)
        return {missing for each in here for missing in _names(each.expected) if missing not in given} == {name}

    def _fits(self, pointer: str, name: str, value: Any) -> bool:
        """Whether a value is of the type of the field; of one that is not described any is."""
        field = self._properties(pointer).get(name)
        wanted = field.get("type") if isinstance(field, dict) else None
        types = [wanted] if isinstance(wanted, str) else wanted
        kind = kind_of(value)
        return not isinstance(types, list) or kind in types or (kind == "integer" and "number" in types)

    def _refused_names(self, pointer: str) -> list[str]:
        keywords = ("additionalProperties", "unevaluatedProperties")
        here = (
            violation
            for violation in self._violations
            if violation.keyword in keywords and violation.pointer == pointer
        )
        return [name for violation in here for name in _names(violation.expected)]

    def _unexpected(self, violation: SchemaViolation) -> Iterator[Finding]:
        given = self._at(violation.pointer)
        known = self._properties(violation.pointer)
        if not isinstance(given, dict):
            return
        strays = _names(violation.expected) or [key for key in given if key not in known]
        for key in strays:
            pointer = join(violation.pointer, key)
            if pointer in self._misnamed or key not in given or key in known:
                continue
            near = next((field for field in known if field not in given and alike(key, field)), None)
            takes = (
                f"The tool takes {listed([quoted(field) for field in known])}" if known else f"Leave {quoted(key)} out"
            )
            yield self._make(
                "misnamed-field" if near else "unexpected-field",
                f"The tool takes no field {quoted(key)}{_inside(violation.pointer)}.",
                f"Rename {quoted(key)} to {quoted(near)}." if near else f"{takes}.",
                pointer,
                certainty="likely" if near else "certain",
                found=key,
                **({"expected": near} if near else {}),
            )

    def _wrong_value(self, violation: SchemaViolation) -> Finding:
        value = self._at(violation.pointer)
        where = place(violation.pointer)
        if violation.keyword == "type" and violation.expected and value is not _ABSENT:
            return self._wrong_type(violation, value, where)
        choices = _choices(violation)
        if choices and value is not _ABSENT:
            return self._not_a_choice(violation, value, where, choices)
        shown = f"{where}, {quoted(value)}," if value is not _ABSENT and violation.pointer else where
        limits = f" ({violation.keyword}: {quoted(violation.expected)})" if _is_limit(violation) else ""
        return self._make(
            "out-of-bounds" if _is_limit(violation) else "schema-violation",
            f"The value of {shown} fails {self._check}: {plain(violation.message)}."
            if violation.pointer
            else f"The arguments fail {self._check}: {plain(violation.message)}.",
            f"Give {where} a value within its bounds{limits}." if _is_limit(violation) else None,
            violation.pointer,
            keyword=violation.keyword,
            **({"expected": violation.expected} if _is_limit(violation) else {}),
        )

    def _wrong_type(self, violation: SchemaViolation, value: Any, where: str) -> Finding:
        meant = _converted(value, violation.expected)
        fix = f": {quoted(meant)} and not {quoted(value)}" if meant is not _ABSENT else ""
        return self._make(
            "wrong-type",
            f"{where[0].upper() + where[1:]} must be of type {types_of(violation.expected)}, "
            f"and is of type {kind_of(value)}: {quoted(value)}.",
            f"Give {where} as {types_of(violation.expected)}{fix}.",
            violation.pointer,
            expected=violation.expected,
            found=kind_of(value),
        )

    def _not_a_choice(self, violation: SchemaViolation, value: Any, where: str, choices: list[Any]) -> Finding:
        texts = [choice for choice in choices if isinstance(choice, str)]
        nearest = (
            nearest_name(value, texts, min_score=_ALIKE, processor=default_process) if isinstance(value, str) else None
        )
        near = f"{quoted(nearest)}; the choices are" if nearest is not None else "one of"
        return self._make(
            "not-a-choice",
            f"{where[0].upper() + where[1:]} has the value {quoted(value)}, which is none of its choices.",
            f"Use {near} {listed([quoted(choice) for choice in choices], 'or', 20)}.",
            violation.pointer,
            expected=choices,
            found=value,
        )

    def _make(
        self, kind: str, sentence: str, suggestion: str | None, pointer: str, certainty: Any = "certain", **details: Any
    ) -> Finding:
        """A finding; where the server took the call, it says so."""
        if self._accepted:
            sentence = f"{sentence.rstrip('.')}; the server took the call all the same."
            details["accepted"] = True
        refs = self._context.refs(self._position)
        return Finding(
            kind=kind,
            scope="call",
            sentence=sentence,
            suggestion=suggestion,
            calls=refs,
            certainty=certainty,
            pointer=pointer,
            details=details,
        )

    def _at(self, pointer: str) -> Any:
        try:
            return resolve(self._arguments, pointer)
        except (LookupError, ValueError, TypeError):
            return _ABSENT

    def _properties(self, pointer: str) -> dict[str, Any]:
        properties = field_location(self._schema, pointer).schema.get("properties")
        return properties if isinstance(properties, dict) else {}

    def _later(self, pointer: str, name: str) -> str:
        """What later calls to the same server have in a field of that name, where they all have the same."""
        if pointer:
            return ""
        context, server = self._context, self._context.rows[self._position].server
        later = [
            position
            for position, row in context.rows.items()
            if row.server == server and context.order[position] > context.order[self._position]
        ]
        holders = [position for position in later if name in context.arguments(position)]
        values = {canonical(context.arguments(position)[name]) for position in holders}
        return f"; {holders[0]} has {quoted(context.arguments(holders[0])[name])} there" if len(values) == 1 else ""

    def _described(self, pointer: str, name: str) -> str:
        """Type and description of a field: ` (string): where to look`."""
        field = field_location(self._schema, join(pointer, name)).schema
        kind = types_of(field.get("type")) if field.get("type") else ""
        words = field.get("description")
        about = f": {plain(words, 120)}" if isinstance(words, str) and words.strip() else ""
        return f"{f' ({kind})' if kind else ''}{about}"


def _names(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [name for name in value if isinstance(name, str)] if isinstance(value, list | tuple) else []


def alike(left: str, right: str) -> bool:
    """Whether two field names are one name in two spellings: `file_path` and `path`, `sheetName` and `sheet_name`."""
    left_words, right_words = _words(left), _words(right)
    if left_words and right_words and (left_words <= right_words or right_words <= left_words):
        return True
    folded = sorted(("".join(re.findall(r"[a-z0-9]", name.lower())) for name in (left, right)), key=len)
    whole = len(folded[0]) >= _MIN_SPELLING and (folded[1].startswith(folded[0]) or folded[1].endswith(folded[0]))
    return whole or fuzz.ratio(*folded) >= _NEARLY


def _words(name: str) -> frozenset[str]:
    return frozenset(word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+", name))


def _choices(violation: SchemaViolation) -> list[Any]:
    if violation.keyword == "const":
        return [violation.expected]
    return list(violation.expected) if violation.keyword == "enum" and isinstance(violation.expected, list) else []


def _is_limit(violation: SchemaViolation) -> bool:
    return violation.keyword in {
        "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems",
        "minProperties", "maxProperties", "multipleOf", "pattern", "format", "uniqueItems",
    }  # fmt: skip


def _inside(pointer: str) -> str:
    return f" in {place(pointer)}" if pointer else ""


def _converted(value: Any, expected: Any) -> Any:
    """The same value in the type that was asked for, where there is no doubt which that is."""
    wanted = {expected} if isinstance(expected, str) else set(expected or ())
    if not isinstance(value, str):
        plain_number = isinstance(value, int | float) and not isinstance(value, bool)
        return str(value) if "string" in wanted and plain_number else [value] if wanted == {"array"} else _ABSENT
    if "boolean" in wanted and value.lower() in _TRUE_FALSE:
        return _TRUE_FALSE[value.lower()]
    try:
        meant = json.loads(value)
    except ValueError:
        return _ABSENT
    kinds = {kind_of(meant)} | ({"number"} if kind_of(meant) == "integer" else set())
    return meant if kinds & wanted else _ABSENT


_VARIANTS: Final = ("anyOf", "oneOf", "allOf")
_MAX_REFERENCES: Final = 20


class SchemaLocation(NamedTuple):
    """A place in an inputSchema."""

    pointer: str
    schema: dict[str, Any]
    """What stands there; empty where nothing does."""


def field_location(schema: Any, pointer: str) -> SchemaLocation:
    """The subschema for what stands at a JSON pointer in the arguments.

    Where the schema knows no such field, the place is the one where it would be declared.
    """
    place = _dereferenced(schema, SchemaLocation("", schema if isinstance(schema, dict) else {}))
    for part in parts(pointer):
        place = _dereferenced(schema, _step(schema, place, part))
    return place


def keyword_location(schema: Any, schema_pointer: str) -> str:
    """A validator's path to a keyword, as a pointer into the schema itself: references on the way are followed."""
    pointer, value = "", schema
    for part in parts(schema_pointer):
        if part == "$ref" and isinstance(value, dict):
            pointer, value = _dereferenced(schema, SchemaLocation(pointer, value))
        else:
            pointer, value = join(pointer, part), _member(value, part)
    return pointer


def _member(value: Any, part: str) -> Any:
    try:
        return resolve(value, join("", part))
    except LookupError:
        return None


def _step(root: Any, place: SchemaLocation, part: str) -> SchemaLocation:
    """One step down: into a property, or into the elements of a list."""
    for holder in (place, *_variants(root, place)):
        properties = holder.schema.get("properties")
        if isinstance(properties, dict) and isinstance(properties.get(part), dict):
            return SchemaLocation(join(join(holder.pointer, "properties"), part), properties[part])
        others = holder.schema.get("additionalProperties")
        if isinstance(others, dict):
            return SchemaLocation(join(holder.pointer, "additionalProperties"), others)
        items = holder.schema.get("items")
        if (part.isdecimal() or part == "*") and isinstance(items, dict):
            return SchemaLocation(join(holder.pointer, "items"), items)
    if part.isdecimal() or part == "*":
        return SchemaLocation(join(place.pointer, "items"), {})
    return SchemaLocation(join(join(place.pointer, "properties"), part), {})


def _variants(root: Any, place: SchemaLocation) -> list[SchemaLocation]:
    return [
        _dereferenced(root, SchemaLocation(join(join(place.pointer, keyword), number), variant))
        for keyword in _VARIANTS
        if isinstance(variants := place.schema.get(keyword), list)
        for number, variant in enumerate(variants)
        if isinstance(variant, dict)
    ]


def _dereferenced(root: Any, place: SchemaLocation) -> SchemaLocation:
    """Where a reference leads; the place itself where it is none, or leads nowhere."""
    for _ in range(_MAX_REFERENCES):
        reference = place.schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return place
        try:
            found = resolve(root, reference[1:])
        except LookupError:
            return place
        if not isinstance(found, dict):
            return place
        place = SchemaLocation(reference[1:], found)
    return place
