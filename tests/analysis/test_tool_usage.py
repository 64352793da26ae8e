"""What the calls of a run say of each tool, and which line of its schema they advise to rewrite."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from replay.analysis.tool_usage import ToolSelection, tool_report
from replay.diagnosis.schema_violations import field_location, keyword_location
from replay.errors import UsageError
from replay.records import Outcome, Server, Tool
from replay.records.tool_usage import ToolReport, ToolUsage
from replay.reports.tools import headline, tools_text
from replay.runfile import Run
from tests.runs import call, failed, make_run, schema, server, write_trajectory

FILES = server(
    "files",
    read=schema("path", lines={"type": "integer", "description": "how many"}),
    list=schema("path"),
    mode=schema(kind={"enum": ["fast", "slow"]}),
)
REFUSED = "Input validation error: 'path' is a required property"


def report_of(
    directory: Path, models: dict[str, list[dict[str, Any]]], *servers: Server, selection: ToolSelection | None = None
) -> ToolReport:
    files = []
    for model, calls in models.items():
        (directory / model).mkdir()
        files.append(write_trajectory(directory / model / "t.trajectory.json", calls, model=model))
    with Run.read(make_run(directory / "run.db", files, *servers or (FILES,))) as run:
        return tool_report(run, selection)


def tool_of(report: ToolReport, name: str) -> ToolUsage:
    return next(tool for tool in report.tools if tool.name == name)


def test_calls_and_outcomes_are_counted_by_model(tmp_path: Path) -> None:
    good = call("files/read", {"path": "/a"})
    lost = failed("files/read", {"path": "/b"}, "ENOENT: no such file or directory, open '/b'")
    found = report_of(tmp_path, {"a": [good, lost], "b": [good, good, good]})
    read = tool_of(found, "files/read")
    assert (read.calls, read.judged, read.succeeded, read.failed) == (5, 5, 4, 1)
    assert [(one.model, one.calls, one.outcomes[Outcome.NOT_FOUND]) for one in read.models] == [
        ("b", 3, 0),
        ("a", 2, 1),
    ]
    assert found.models == ("a", "b")
    assert [(idle.server, idle.tools) for idle in found.uncalled] == [("files", ("list", "mode"))]


def test_a_misnamed_field_is_named_with_the_line_of_the_schema(tmp_path: Path) -> None:
    wrong = failed("files/read", {"file_path": "/a"}, REFUSED)
    read = tool_of(report_of(tmp_path, {"a": [wrong, wrong], "b": [wrong]}), "files/read")
    (problem,) = read.fields
    assert (problem.fault, problem.field, problem.written, problem.calls) == ("misnamed", "path", "file_path", 3)
    assert problem.models == ("a", "b")
    advice = read.advice[0]
    assert (advice.target, advice.pointer, advice.calls) == ("inputSchema", "/properties/path", 3)
    assert '"file_path"' in advice.rewrite
    assert advice.why == '3 calls of 2 models wrote "file_path" for "path".'


def test_a_missing_field_without_a_description_is_to_be_described(tmp_path: Path) -> None:
    read = tool_of(report_of(tmp_path, {"a": [failed("files/read", {}, REFUSED)]}), "files/read")
    assert [(one.fault, one.field) for one in read.fields] == [("missing", "path")]
    assert read.advice[0].pointer == "/properties/path/description"
    assert read.advice[0].rewrite.startswith('Describe "path"')


def test_a_required_field_with_a_default_is_to_leave_the_required_ones(tmp_path: Path) -> None:
    tool = server("files", read=schema("path", path={"type": "string", "default": "."}))
    read = tool_of(report_of(tmp_path, {"a": [failed("files/read", {}, REFUSED)]}, tool), "files/read")
    assert (read.advice[0].pointer, read.advice[0].current) == ("/required", ["path"])


def test_refused_values_are_gathered_with_the_choices_of_the_field(tmp_path: Path) -> None:
    wrong = failed("files/mode", {"kind": "medium"}, "Input validation error: 'medium' is not one of the choices")
    mode = tool_of(report_of(tmp_path, {"a": [wrong]}), "files/mode")
    (value,) = mode.values
    assert (value.pointer, value.kind, value.values, value.by_server) == ("/kind", "not-a-choice", ('"medium"',), False)
    assert mode.advice[0].rewrite == 'Name the choices of "kind" in its description: "fast" or "slow".'


def test_a_schema_that_the_server_does_not_hold_to_is_too_strict_at_its_keyword(tmp_path: Path) -> None:
    taken = call("files/read", {"path": "/a", "lines": "5"}, "text")
    read = tool_of(report_of(tmp_path, {"a": [taken, taken]}), "files/read")
    (fault,) = read.schema_faults
    assert (fault.fault, fault.pointer, fault.keyword, fault.calls) == (
        "too-strict",
        "/properties/lines/type",
        "type",
        2,
    )
    assert (read.advice[0].pointer, read.advice[0].current) == ("/properties/lines/type", "integer")
    assert read.advice[0].why.startswith("2 calls of 1 model broke it, and the server took it: ")
    assert read.values == ()


def test_a_schema_that_allows_what_the_server_refuses_is_too_lax(tmp_path: Path) -> None:
    loose = server("files", read={"type": "object", "properties": {"lines": {}}})
    wrong = failed(
        "files/read",
        {"lines": "five"},
        "1 validation error for readArguments\nlines\n  Input should be a valid integer [type=int_type]",
    )
    read = tool_of(report_of(tmp_path, {"a": [wrong]}, loose), "files/read")
    assert [(fault.fault, fault.pointer) for fault in read.schema_faults] == [("too-lax", "/properties/lines")]
    assert read.advice[0].rewrite == 'Write what the server demands: "type": "integer".'


def test_a_name_called_in_its_place_is_told_by_the_nearest_name_or_by_a_later_call(tmp_path: Path) -> None:
    misspelt, good = call("files/raed", {"path": "/a"}, None), call("files/read", {"path": "/a"})
    found = report_of(tmp_path, {"near": [misspelt], "later": [misspelt, good]})
    names = tool_of(found, "files/read").names_instead
    assert {(one.name, one.shown_by) for one in names} == {("files/raed", "nearest-name"), ("files/raed", "later-call")}
    assert found.stray_names == ()


def test_a_name_that_is_like_no_tool_is_laid_at_no_tool_s_door(tmp_path: Path) -> None:
    found = report_of(tmp_path, {"a": [call("files/translate_poem", {}, None)]})
    assert found.tools == ()
    assert [stray.name for stray in found.stray_names] == ["files/translate_poem"]


def test_the_headline_counts_the_failed_calls_that_are_of_no_tool(tmp_path: Path) -> None:
    stray, misspelt = call("files/translate_poem", {}, None), call("files/raed", {"path": "/a"}, None)
    lost = failed("files/read", {"path": "/b"}, "ENOENT: no such file or directory, open '/b'")
    found = report_of(tmp_path, {"a": [stray, misspelt, lost, call(None, {}, None)]})
    assert [stray.name for stray in found.stray_names] == ["", "files/translate_poem"]
    assert (
        headline(found)
        == "1 tool, 1 call of 1 model: 1 failed; 3 more calls name no tool that there is, and failed too"
    )


def test_two_calls_that_name_what_is_not_there_ask_for_a_source_and_one_does_not(tmp_path: Path) -> None:
    lost = failed("files/read", {"path": "/b"}, "ENOENT: no such file or directory, open '/b'")
    once = tool_of(report_of(tmp_path, {"a": [lost]}), "files/read")
    assert once.advice == ()
    (tmp_path / "twice").mkdir()
    twice = tool_of(report_of(tmp_path / "twice", {"a": [lost], "b": [lost]}), "files/read")
    assert [advice.pointer for advice in twice.advice] == ["/properties/path/description"]


def test_a_schema_that_breaks_the_specification_is_told_without_any_failed_call(tmp_path: Path) -> None:
    untyped = server("files", read={"properties": {"path": {"type": "string"}}}, list=[1])
    found = report_of(tmp_path, {"a": [call("files/read", {"path": "/a"}), call("files/list", {})]}, untyped)
    assert tool_of(found, "files/read").advice[0].pointer == "/type"
    assert "not a JSON object" in tool_of(found, "files/list").advice[0].why


def test_of_a_tool_that_no_list_has_nothing_is_said_of_its_schema(tmp_path: Path) -> None:
    files = [write_trajectory(tmp_path / "t.trajectory.json", [failed("files/read", {}, REFUSED)])]
    with Run.read(make_run(tmp_path / "run.db", files)) as run:
        (tool,) = tool_report(run).tools
    assert not tool.listed
    assert tool.fields[0].field == "path"
    assert all(advice.current is None for advice in tool.advice)


def test_the_selection_narrows_to_servers_tools_and_models(tmp_path: Path) -> None:
    other = server("web", get=schema("url"))
    calls = {
        "a": [call("files/read", {"path": "/a"}), call("web/get", {"url": "x"})],
        "b": [call("files/list", {"path": "."})],
    }
    files = []
    for model, made in calls.items():
        (tmp_path / model).mkdir()
        files.append(write_trajectory(tmp_path / model / "t.trajectory.json", made, model=model))
    with Run.read(make_run(tmp_path / "run.db", files, FILES, other)) as run:

        def names(**wanted: tuple[str, ...]) -> list[str]:
            return sorted(tool.name for tool in tool_report(run, ToolSelection(**wanted)).tools)

        assert names(servers=("files",)) == ["files/list", "files/read"]
        assert names(tools=("re*", "web/get")) == ["files/read", "web/get"]
        assert names(models=("b",)) == ["files/list"]
        assert names(tools=("mode",)) == []
        with pytest.raises(UsageError, match="no server 'fils'; nearest: files"):
            names(servers=("fils",))


def test_an_error_that_tells_a_model_nothing_gets_advice(tmp_path: Path) -> None:
    report = report_of(tmp_path, {"a": [failed("files/read", {"path": "x"}, "E1042")]})
    (advice,) = tool_of(report, "files/read").advice
    assert advice.rewrite.startswith("Let the error say which argument is wrong and what was expected")
    assert "E1042" in advice.why


def test_failures_of_a_tool_are_grouped_by_their_cause(tmp_path: Path) -> None:
    refused = ["Access denied: /etc/a", "Access denied: /etc/b", "Invalid path: no device named x"]
    calls = [failed("files/read", {"path": said.split()[-1]}, said) for said in refused]
    causes = tool_of(report_of(tmp_path, {"a": calls}), "files/read").causes
    assert [cause.calls for cause in causes] == [2, 1]


def test_no_tool_is_to_be_renamed_to_what_does_another_thing(tmp_path: Path) -> None:
    shop = server("shop", delete_order=schema("id"))
    calls = [
        failed("shop/delete_note", {"id": "n-17"}, "Error: no such tool"),
        call("shop/delete_order", {"id": "n-17"}),
        failed("shop/remove_order", {"id": "n-18"}, "Error: no such tool"),
        call("shop/delete_order", {"id": "n-18"}),
    ]
    advice = tool_of(report_of(tmp_path, {"a": calls}, shop), "shop/delete_order").advice
    assert [each.target for each in advice] == ["name"]
    assert "remove_order" in advice[0].rewrite


def test_a_place_in_a_schema_is_found_through_references_lists_and_variants() -> None:
    document = {
        "type": "object",
        "properties": {
            "items": {"type": "array", "items": {"$ref": "#/$defs/item"}},
            "either": {"anyOf": [{"type": "null"}, {"properties": {"x": {"type": "string"}}}]},
            "loop": {"$ref": "#/properties/loop"},
            "lost": {"$ref": "#/nowhere"},
        },
        "$defs": {"item": {"properties": {"a/b": {"type": "integer"}}}},
    }
    assert field_location(document, "/items/3/a~1b").pointer == "/$defs/item/properties/a~1b"
    assert field_location(document, "/either/x").pointer == "/properties/either/anyOf/1/properties/x"
    mapping = {"properties": {"tags": {"anyOf": [{"additionalProperties": {"type": "integer"}}, {"type": "null"}]}}}
    assert field_location(mapping, "/tags/x").pointer == "/properties/tags/anyOf/0/additionalProperties"
    assert field_location(document, "/new") == ("/properties/new", {})
    assert field_location(document, "/loop/x").pointer.startswith("/properties/loop")
    assert field_location(document, "/lost").pointer == "/properties/lost"
    assert field_location([1], "/x/0").pointer == "/properties/x/items"
    assert field_location({"anyOf": 3, "properties": [1]}, "/x").pointer == "/properties/x"
    assert (
        keyword_location(document, "/properties/items/items/$ref/properties/a~1b/type")
        == "/$defs/item/properties/a~1b/type"
    )


def test_failures_of_several_tools_are_grouped_by_their_cause(tmp_path: Path) -> None:
    shop = server("shop", get_order=schema("order_id"), cancel_order=schema("order_id"), search=schema("query"))
    calls = [
        failed("shop/get_order", {"order_id": "ORD-17"}, "Order ORD-17 does not exist"),
        failed("shop/cancel_order", {"order_id": "ORD-23"}, "Order ORD-23 does not exist"),
        failed("shop/cancel_order", {"order_id": "ORD-24"}, "Order ORD-24 does not exist"),
        failed("shop/search", {"query": ""}, "query must not be empty"),
    ]
    report = report_of(tmp_path, {"a": calls}, shop)
    assert [(cause.calls, cause.tools) for cause in report.causes] == [
        (3, ("shop/cancel_order", "shop/get_order")),
        (1, ("shop/search",)),
    ]
    text = " ".join(tools_text(report).split())
    assert text.index("Why calls failed, whatever the tool") < text.index("shop/cancel_order: 2 of 2")
    assert "shop/cancel_order and shop/get_order" in text


def test_the_same_call_again_is_told_of_its_tool(tmp_path: Path) -> None:
    tool = Tool(name="read", input_schema=schema("path"), annotations={"readOnlyHint": True})
    files = FILES.model_copy(update={"tools": (tool,)})
    read = call("files/read", {"path": "/a"}, "text")
    lost = failed("files/read", {"path": "/b"}, "ENOENT: no such file or directory, open '/b'")
    found = tool_of(report_of(tmp_path, {"a": [read, lost, read, lost], "b": [read, read]}, files), "files/read")
    assert [(one.kind, one.calls, one.trajectories) for one in found.repeats] == [
        ("repeated-call", 4, 2),
        ("repeated-failure", 2, 1),
    ]
    assert any("Let the answer say that it is whole" in advice.rewrite for advice in found.advice)
    assert not any("make the same call again" in advice.rewrite for advice in found.advice)


@pytest.mark.parametrize(
    ("said", "keywords"),
    [
        ("lines must be between 1 and 365 (got 900)", '"minimum": 1, "maximum": 365'),
        ("lines must be one of 10, 20 or 30, got 900", '"enum": [10, 20, 30]'),
    ],
)
def test_what_only_the_error_says_of_a_value_is_to_be_declared(tmp_path: Path, said: str, keywords: str) -> None:
    wrong = failed("files/read", {"path": "/a", "lines": 900}, f"Error: {said}")
    read = tool_of(report_of(tmp_path, {"a": [wrong]}), "files/read")
    (advice,) = read.advice
    assert (advice.target, advice.pointer) == ("inputSchema", "/properties/lines")
    assert advice.rewrite.startswith(f"Declare it: {keywords}.")


def test_a_crash_of_the_tool_is_a_cause_and_asks_for_an_error_that_says_why(tmp_path: Path) -> None:
    crash = failed("files/read", {"path": "/a"}, "TypeError: Cannot read properties of undefined (reading 'map')")
    read = tool_of(report_of(tmp_path, {"a": [crash]}), "files/read")
    assert [cause.kind for cause in read.causes] == ["server-fault"]
    assert [(advice.target, advice.rewrite[:8]) for advice in read.advice] == [("error", "Catch it")]


def test_two_bare_codes_are_two_causes(tmp_path: Path) -> None:
    codes = [failed("files/read", {"path": "/a"}, code) for code in ("E1042", "E1007", "E1042")]
    read = tool_of(report_of(tmp_path, {"a": codes}), "files/read")
    assert [(cause.kind, cause.calls) for cause in read.causes] == [("unexplained", 2), ("unexplained", 1)]


@pytest.mark.parametrize("separator", ["/", "__", "-"])
def test_a_name_is_told_without_the_prefix_of_its_client(tmp_path: Path, separator: str) -> None:
    misspelt = call(f"files{separator}raed", {"path": "/a"}, None)
    read = tool_of(report_of(tmp_path, {"a": [misspelt]}), "files/read")
    assert [name.name for name in read.names_instead] == ["files/raed"]
    assert 'not taken for "raed"' in read.advice[0].rewrite
