from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from replay.outcomes.input_schema import schema_violations
from replay.records import Tool


def _violations(schema, arguments):
    return schema_violations(Tool(name="t", input_schema=schema), arguments)


def test_every_violation_has_its_pointer_and_keyword():
    schema = {
        "type": "object",
        "required": ["path"],
        "properties": {"head": {"type": "integer"}, "a/b": {"type": "array", "items": {"enum": ["x"]}}},
    }
    found = _violations(schema, {"head": "two", "a/b": ["y"]})
    assert [(one.pointer, one.keyword) for one in found] == [("", "required"), ("/a~1b/0", "enum"), ("/head", "type")]


def test_the_draft_follows_the_schemas_own_word():
    tuples = {"properties": {"at": {"items": [{"type": "string"}]}}}
    assert _violations({"$schema": "http://json-schema.org/draft-07/schema#", **tuples}, {"at": [5]})
    prefix = {"properties": {"at": {"prefixItems": [{"type": "string"}]}}}
    assert _violations(prefix, {"at": [5]})


def test_a_broken_schema_is_used_as_far_as_it_can_be():
    schema = {"type": "object", "required": ["a"], "properties": {"b": {"type": "strnig"}, "c": {"type": "integer"}}}
    found = _violations(schema, {"b": 1, "c": "x"})
    assert {(one.pointer, one.keyword) for one in found} >= {("", "required"), ("/c", "type")}


def test_nothing_is_fetched_and_nothing_raised_for_a_reference_to_elsewhere():
    schema = {"required": ["a"], "properties": {"b": {"$ref": "https://example.invalid/schema.json"}}}
    assert [one.keyword for one in _violations(schema, {"b": 1})] == ["required"]


def test_a_tool_without_a_usable_schema_has_no_violations():
    assert _violations(None, {"a": 1}) == ()
    assert _violations("object", {"a": 1}) == ()
    assert _violations({}, {"a": 1}) == ()
    assert _violations({"properties": 5, "minProperties": "many"}, {"a": 1}) == ()


def test_references_inside_the_schema_are_followed():
    schema = {"$defs": {"n": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/n"}}}
    assert [one.pointer for one in _violations(schema, {"a": "x"})] == ["/a"]


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(-1e6, 1e6) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
_TYPES = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
_SCHEMAS = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": _TYPES | st.lists(_TYPES, min_size=1, max_size=3, unique=True),
            "enum": st.lists(_VALUES, min_size=1, max_size=3),
            "const": _VALUES,
            "minimum": st.integers(-5, 5),
            "maxLength": st.integers(0, 3),
            "minItems": st.integers(0, 2),
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
            "required": st.lists(st.sampled_from("abc"), max_size=2, unique=True),
            "additionalProperties": st.booleans() | inner,
            "items": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "oneOf": st.lists(inner, min_size=1, max_size=2),
            "not": inner,
        },
    ),
    max_leaves=5,
)


@settings(max_examples=150)
@given(_SCHEMAS, st.dictionaries(st.sampled_from("abc"), _VALUES, max_size=3))
def test_what_is_found_good_at_once_is_what_the_reference_implementation_finds_good(schema, arguments):
    assert bool(_violations(schema, arguments)) == (not Draft202012Validator(schema).is_valid(arguments))
