"""Calls that are made through a dispatcher are read as the calls that they carry."""

from __future__ import annotations

import json

import pytest

from replay.formats import open_file
from replay.interpreter import Fleet
from replay.outcomes import Registry
from replay.records import Call, Server, Source, Step, Tool, Trajectory
from replay.records.tool_name import as_written, without_dispatcher
from replay.replayer import servers_named, with_fleet_dispatchers


def _call(written, /, **arguments):
    return Call(position="s1c1", name=written, arguments=arguments)


def _trajectory(*calls):
    return Trajectory(id="t", model="m", source=Source(file="f", format="x"), steps=(Step(calls=calls),))


@pytest.mark.parametrize(
    ("name", "arguments", "inner", "carried"),
    [
        ("execute-tool", {"server_name": "shop", "tool_name": "find", "params": {"q": 1}}, "shop/find", {"q": 1}),
        ("use_mcp_tool", {"server_name": "shop", "tool_name": "find", "arguments": '{"q": 1}'}, "shop/find", {"q": 1}),
        ("execute_action", {"action": "click", "parameters": {"x": 4}}, "click", {"x": 4}),
        ("call_tool", {"name": "find", "arguments": {}}, "find", {}),
        ("callTool", {"toolName": "find", "args": {"q": 1}, "server": ""}, "find", {"q": 1}),
        ("mcp__gateway__invoke", {"server": "shop", "tool": "find", "input": {"q": 1}}, "shop/find", {"q": 1}),
        ("gateway/run_tool", {"tool": "find", "input": {"q": 1}, "reasoning": "it is new"}, "find", {"q": 1}),
        ("InvokeFunction", {"function_name": "find", "payload": {"q": 1}, "dry_run": False}, "find", {"q": 1}),
    ],
)
def test_a_dispatcher_is_known_by_its_name_and_its_shape(name, arguments, inner, carried):
    call = _call(name, **arguments)
    read = without_dispatcher(call)
    assert (read.name, read.arguments) == (inner, carried)
    assert read.dispatched_by is not None
    assert read.dispatched_by.name == name
    assert as_written(read) == call


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("execute_command", {"tool": "ls", "args": {}}),
        ("find_tool", {"tool": "x", "arguments": {}}),
        ("execute_tool", {"tool_name": "find"}),
        ("execute_tool", {"tool_name": "find", "params": "all of them"}),
        ("execute_tool", {"tool_name": "find", "params": {}, "body": {"more": 1}}),
        ("execute_tool", {"tool_name": ["find"], "params": {}}),
        ("call_tool", {"name": "find", "arguments": '{"q": '}),
        ("shop/find", {"name": "lamp", "params": {"q": 1}}),
    ],
)
def test_a_call_of_another_shape_stays_as_it_was_written(name, arguments):
    call = _call(name, **arguments)
    assert without_dispatcher(call) is call


def test_a_tool_that_the_fleet_names_is_a_dispatcher_whatever_its_name_says():
    call = _call("gateway/go", tool="find", args={"q": 1})
    assert without_dispatcher(call) is call
    assert without_dispatcher(call, ["gateway/*"]).name == "find"


def test_a_file_gives_the_inner_calls_to_whoever_reads_it(tmp_path):
    call = {"name": "execute-tool", "arguments": {"server_name": "shop", "tool_name": "find", "params": {"q": 1}}}
    path = tmp_path / "results.json"
    path.write_text(json.dumps([{"id": "1", "question": "?", "steps": [{"calls": [{**call, "result": "a lamp"}]}]}]))
    trajectory = next(open_file(path).trajectories())
    read = next(trajectory.calls())
    assert (read.position, read.name, read.arguments) == ("s1c1", "shop/find", {"q": 1})


def _registry(*tools):
    listed = tuple(Tool(name=tool, input_schema={"type": "object"}) for tool in tools)
    server = Server(name="gateway", digest="d", tools=listed)
    return Registry(servers={"gateway": server}, server_names=("gateway", "shop"), complete=True)


def test_a_tool_of_that_name_which_a_server_lists_is_called_as_it_is():
    read = without_dispatcher(_call("gateway/call_tool", name="find", arguments={"q": 1}))
    trajectory = _trajectory(read)
    assert next(with_fleet_dispatchers(trajectory, _registry("call_tool"), ()).calls()).name == "gateway/call_tool"
    assert next(with_fleet_dispatchers(trajectory, _registry("other"), ()).calls()).name == "find"


def test_a_listed_tool_that_the_fleet_names_a_dispatcher_carries_its_call():
    trajectory = _trajectory(_call("gateway/go", server="shop", tool="find", args={"q": 1}))
    read = with_fleet_dispatchers(trajectory, _registry("go"), ("gateway/go",))
    assert next(read.calls()).name == "shop/find"


def test_the_servers_of_the_dispatcher_and_of_the_inner_call_are_both_started():
    read = without_dispatcher(_call("gateway/call_tool", server="shop", tool="find", arguments={}))
    assert servers_named(_trajectory(read), ["gateway", "shop", "other"]) == {"gateway", "shop"}


def test_the_fleet_file_names_dispatchers(tmp_path):
    path = tmp_path / "servers.yaml"
    path.write_text("version: 1\ndispatchers: ['gateway/*']\nservers: {}\n")
    assert Fleet.load(path).dispatchers == ("gateway/*",)
