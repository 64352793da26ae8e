from __future__ import annotations

from replay.input_schema import schema_violations
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
