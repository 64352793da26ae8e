"""From a place in a call's arguments to the line of the inputSchema that speaks of it."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from replay.dag.pointers import join, parts, resolve

_VARIANTS: Final = ("anyOf", "oneOf", "allOf")
_MAX_REFERENCES: Final = 20


class SchemaPlace(NamedTuple):
    """A place in an inputSchema."""

    pointer: str
    schema: dict[str, Any]
    """What stands there; empty where nothing does."""


def field_place(schema: Any, pointer: str) -> SchemaPlace:
    """The subschema for what stands at a JSON pointer in the arguments.

    Where the schema knows no such field, the place is the one where it would be declared.
    """
    place = _dereferenced(schema, SchemaPlace("", schema if isinstance(schema, dict) else {}))
    for part in parts(pointer):
        place = _dereferenced(schema, _step(schema, place, part))
    return place


def keyword_place(schema: Any, schema_pointer: str) -> str:
    """A validator's path to a keyword, as a pointer into the schema itself: references on the way are followed."""
    pointer, value = "", schema
    for part in parts(schema_pointer):
        if part == "$ref" and isinstance(value, dict):
            pointer, value = _dereferenced(schema, SchemaPlace(pointer, value))
        else:
            pointer, value = join(pointer, part), _member(value, part)
    return pointer


def _member(value: Any, part: str) -> Any:
    try:
        return resolve(value, join("", part))
    except LookupError:
        return None


def _step(root: Any, place: SchemaPlace, part: str) -> SchemaPlace:
    """One step down: into a property, or into the elements of a list."""
    for holder in (place, *_variants(root, place)):
        properties = holder.schema.get("properties")
        if isinstance(properties, dict) and isinstance(properties.get(part), dict):
            return SchemaPlace(join(join(holder.pointer, "properties"), part), properties[part])
        items = holder.schema.get("items")
        if (part.isdecimal() or part == "*") and isinstance(items, dict):
            return SchemaPlace(join(holder.pointer, "items"), items)
    if part.isdecimal() or part == "*":
        return SchemaPlace(join(place.pointer, "items"), {})
    return SchemaPlace(join(join(place.pointer, "properties"), part), {})


def _variants(root: Any, place: SchemaPlace) -> list[SchemaPlace]:
    return [
        _dereferenced(root, SchemaPlace(join(join(place.pointer, keyword), number), variant))
        for keyword in _VARIANTS
        if isinstance(variants := place.schema.get(keyword), list)
        for number, variant in enumerate(variants)
        if isinstance(variant, dict)
    ]


def _dereferenced(root: Any, place: SchemaPlace) -> SchemaPlace:
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
        place = SchemaPlace(reference[1:], found)
    return place
