from __future__ import annotations

import pytest

from replay.outcomes import Classifier, Registry, judge_registry
from replay.outcomes.registry import REGISTRY_RULES
from replay.records import Call, Server, TextAnswer, Tool

REGISTRY = Registry(
    servers={
        "filesystem": Server(
            name="filesystem", digest="d", tools=(Tool(name="read_file"), Tool(name="list_directory"))
        ),
        "time": Server(name="time", digest="d", tools=(Tool(name="get_current_time"), Tool(name="list_directory"))),
    },
    unavailable={"maps": "command not found: maps-server"},
    local_tools=("local-*",),
    server_names=("filesystem", "time", "maps"),
)


def _judge(name, answer=None, registry=REGISTRY):
    call = Call(
        position="s1c1", name=name, arguments={}, answer=TextAnswer(text=answer) if answer is not None else None
    )
    classifier = Classifier(registry)
    return judge_registry(call, registry, classifier.recorded(call, classifier.target(call)))


def test_a_tool_that_is_listed_is_not_judged():
    assert _judge("filesystem/read_file") is None
    assert _judge("filesystem-read_file") is None
    assert _judge("mcp__time__get_current_time") is None
    assert _judge("functions.time__get_current_time") is None
    assert _judge("functions.mcp__time__get_current_time") is None


def test_a_servers_name_may_be_written_with_other_dashes_but_not_in_another_case():
    server = Server(name="my-notes", digest="d", tools=(Tool(name="add"),))
    registry = Registry(servers={"my-notes": server}, server_names=("my-notes",))
    assert _judge("my_notes/add", registry=registry) is None
    assert _judge("mcp__my_notes__add", registry=registry) is None
    assert _judge("My_Notes/add", registry=registry).nearest == ("my-notes/add",)
    call = Call(position="s1c1", name="add", server="my-notes", tool="add", arguments={})
    assert judge_registry(call, registry) is None


def test_a_recording_that_shows_that_the_tool_ran_lets_a_fleet_name_its_servers_in_another_case():
    assert _judge("TIME/get_current_time", "It is 12:00.") is None
    assert _judge("TIME/get_current_time", "Unknown tool: TIME/get_current_time").rule == "registry.misspelt"


@pytest.mark.parametrize(
    ("name", "rule", "nearest"),
    [
        ("read_file", "registry.bare-name", "filesystem/read_file"),
        ("time/read_file", "registry.other-server", "filesystem/read_file"),
        ("filesystem/raed_file", "registry.misspelt", "filesystem/read_file"),
        ("filesystem/readFile", "registry.misspelt", "filesystem/read_file"),
        ("time/Get_Current_Time", "registry.misspelt", "time/get_current_time"),
        ("TIME/get_current_time", "registry.misspelt", "time/get_current_time"),
        ("TIME__list_directory", "registry.misspelt", "time/list_directory"),
        ("Time/LIST_DIRECTORY", "registry.misspelt", "time/list_directory"),
        ("functions.read_file", "registry.bare-name", "filesystem/read_file"),
        ("functions.time__get_curent_time", "registry.misspelt", "time/get_current_time"),
        ("ocr/perform", "registry.no-such-tool", None),
        ("server/tool", "registry.placeholder", None),
        ("<server>/<tool>", "registry.placeholder", None),
        ("server_name/tool_name", "registry.placeholder", None),
    ],
)
def test_an_unknown_tool_is_told_with_the_nearest_names(name, rule, nearest):
    judged = _judge(name)

    assert judged.outcome == "unknown_tool"
    assert judged.rule == rule
    assert rule in REGISTRY_RULES
    assert judged.nearest[:1] == ((nearest,) if nearest else ())


def test_a_bare_name_that_two_servers_have_offers_both():
    assert set(_judge("list_directory").nearest[:2]) == {"filesystem/list_directory", "time/list_directory"}


def test_a_server_that_did_not_start_makes_its_calls_inconclusive():
    judged = _judge("maps/geocode")
    assert (judged.outcome, judged.reason) == ("inconclusive", "server-unavailable")
    assert "command not found" in judged.message


def test_a_tool_of_the_harness_is_counted_apart():
    judged = _judge("local-python-execute")
    assert (judged.outcome, judged.reason) == ("inconclusive", "local-tool")
    assert judge_registry(
        Call(position="s1c1", name="local-x", arguments={}), Registry(local_tools=("local-*",))
    ).reason


def test_a_recorded_answer_that_shows_that_the_tool_ran_says_that_the_fleet_is_another():
    judged = _judge("pdf-tools/read_pdf", "PDF total pages: 2")
    assert (judged.outcome, judged.reason) == ("inconclusive", "not-in-fleet")
    assert _judge("pdf-tools/read_pdf", "Tool pdf-tools/read_pdf not found in agent").outcome == "unknown_tool"


@pytest.mark.parametrize(
    "answer",
    ["", "Error: unknown server ocr", "MCP server 'ocr' not found", "Unknown tool: ocr/perform", "Error: failed"],
)
def test_a_recording_in_which_the_harness_had_no_such_tool_proves_no_other_fleet(answer):
    assert _judge("ocr/perform", answer).outcome == "unknown_tool"


def test_without_any_list_of_tools_the_registry_is_silent():
    assert _judge("ocr/perform", registry=Registry()) is None
    assert _judge("fs/x", registry=Registry(servers={"fs": Server(name="fs")}, server_names=("fs",))) is None


@pytest.mark.parametrize(
    "name", ["server/tool", "server__tool", "<tool>", "<server>/<tool>", "{tool_name}", "server_name/tool_name"]
)
def test_a_literal_placeholder_needs_no_list_of_tools(name):
    down = Registry(unavailable={"maps": "not found"}, server_names=("maps",))
    for registry in (Registry(), down):
        assert _judge(name, registry=registry).rule == "registry.placeholder"
        assert _judge(name, "Unknown tool", registry=registry).rule == "registry.placeholder"
        assert _judge(name, "It is 12:00.", registry=registry) is None


@pytest.mark.parametrize("name", ["my-server/echo", "example-server/tool", "function", "tool", "tool/server", "a<b>"])
def test_a_name_that_a_server_may_have_is_no_placeholder_by_itself(name):
    assert _judge(name, registry=Registry()) is None


def test_a_tool_of_that_name_that_exists_is_no_placeholder():
    registry = Registry(servers={"server": Server(name="server", digest="d", tools=(Tool(name="tool"),))})
    assert _judge("server/tool", registry=registry) is None
    assert _judge("server/tool", registry=Registry(server_names=("server",), unavailable={"maps": "x"})) is None
