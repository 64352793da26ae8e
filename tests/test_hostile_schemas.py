"""Schemas made to take for ever: the work is bounded, and what was left out is said."""

from __future__ import annotations

from replay.outcomes.input_schema import check_schema
from replay.records import Tool


def check(schema, arguments):
    return check_schema(Tool(name="t", input_schema=schema), arguments)


def test_a_pattern_that_backtracks_is_matched_in_linear_time():
    schema = {"properties": {"a": {"pattern": "^(a+)+$"}}}
    assert [one.keyword for one in check(schema, {"a": "a" * 5000 + "!"}).violations] == ["pattern"]
    assert check(schema, {"a": "a" * 5000}).violations == ()


def test_the_names_of_pattern_properties_are_matched_in_linear_time():
    name = "a" * 5000 + "!"
    schema = {"patternProperties": {"^(a+)+$": {"type": "integer"}}, "additionalProperties": False}
    assert [one.keyword for one in check(schema, {name: 1}).violations] == ["additionalProperties"]
    assert check(schema, {"aaa": 1}).violations == ()
    assert [one.pointer for one in check(schema, {"aaa": "x"}).violations] == ["/aaa"]


def test_references_that_double_at_each_level_are_given_up_and_said_so():
    levels = {f"l{n}": {"allOf": [{"$ref": f"#/$defs/l{n + 1}"}] * 2} for n in range(29)}
    found = check({"$ref": "#/$defs/l0", "$defs": {**levels, "l29": {"type": "object"}}}, {"a": 1})
    assert found.violations == ()
    assert found.unchecked is not None


def test_doubled_references_under_unevaluated_properties_are_not_followed():
    levels = {f"l{n}": {"allOf": [{"$ref": f"#/$defs/l{n + 1}"}] * 2} for n in range(29)}
    schema = {"unevaluatedProperties": False, "$ref": "#/$defs/l0", "$defs": {**levels, "l29": {}}}
    assert check(schema, {"a": 1}).unchecked is not None


def test_a_long_list_of_objects_that_must_be_unique_is_not_compared_each_with_each():
    schema = {"properties": {"a": {"uniqueItems": True}}}
    assert check(schema, {"a": [{"n": n} for n in range(5000)]}).unchecked is not None
    assert check(schema, {"a": [{"n": 1}, {"n": 1}]}).violations


def test_a_pattern_with_look_around_is_left_out_and_the_rest_is_checked():
    schema = {"required": ["b"], "properties": {"a": {"pattern": "^(?=x)y"}}}
    found = check(schema, {"a": "y"})
    assert [one.keyword for one in found.violations] == ["required"]
    assert found.unchecked is not None
    assert "(?=x)" in found.unchecked


def test_a_schema_nested_too_deeply_is_not_checked():
    schema: dict = {"type": "integer"}
    for _ in range(400):
        schema = {"properties": {"a": schema}}
    assert check(schema, {"a": 1}).unchecked == "the schema is nested too deeply"


def test_an_ordinary_schema_is_checked_to_its_end():
    schema = {"properties": {"a": {"items": {"$ref": "#/$defs/x"}}}, "$defs": {"x": {"type": "integer"}}}
    found = check(schema, {"a": [*range(2000), "x"]})
    assert [one.pointer for one in found.violations] == ["/a/2000"]
    assert found.unchecked is None


def test_references_without_end_are_given_up_before_the_interpreter_is():
    for schema in (
        {"$ref": "#"},
        {"$defs": {"x": {"anyOf": [{"$ref": "#/$defs/x"}]}}, "properties": {"a": {"$ref": "#/$defs/x"}}},
        {"$defs": {"x": {"not": {"allOf": [{"$ref": "#/$defs/x"}]}}}, "$ref": "#/$defs/x"},
    ):
        found = check(schema, {"a": 1})
        assert (found.violations, found.unchecked) == (
            (),
            "the schema asks for more work than is done for one call",
        )


def test_a_schema_of_a_tree_is_checked_as_deep_as_its_values_go():
    node = {"properties": {"next": {"$ref": "#/$defs/node"}, "n": {"type": "integer"}}}
    schema = {"$ref": "#/$defs/node", "$defs": {"node": node}}
    tree: dict = {"n": "x"}
    for _ in range(30):
        tree = {"next": tree}
    assert [one.pointer for one in check(schema, tree).violations] == ["/next" * 30 + "/n"]
