"""`replay servers check` and `replay servers tools`."""

from __future__ import annotations

import json

import pytest
import yaml
from click.testing import CliRunner

from replay.cli.servers import servers as verb
from replay.errors import FleetError, FoundFailuresError, NoServerReachedError
from tests.interpreter.conftest import server


@pytest.fixture
def run(tmp_path):
    def run(servers, *args):
        path = tmp_path / "servers.yaml"
        path.write_text(yaml.safe_dump({"servers": servers}))
        return CliRunner().invoke(verb, [args[0], "--servers", str(path), *args[1:]])

    return run


def test_check_says_a_line_for_each_server_and_why_one_does_not_start(run):
    result = run(
        {
            "good": server("paginated"),
            "dead": server("dies_at_start", env={"API_KEY": "hunter2-hunter2"}),
            "odd": server("lists_twice"),
            "off": {"command": "x", "disabled": True},
        },
        "check",
    )
    lines = result.stdout.splitlines()
    assert lines[0].split("  ")[0] == "dead"
    assert lines[0].endswith("failed: the server exited with status 3 before it answered")
    assert lines[1:3] == ["    | loading", "    | Error: no licence for [REDACTED]"]
    assert lines[3].split()[:7] == ["good", "paginated", "1.0", "MCP", "2025-06-18", "7", "tools"]
    assert lines[4].split()[:7] == ["odd", "lists-twice", "1.0", "MCP", "2025-06-18", "1", "tool"]
    assert lines[5] == "    note: tools/list has echo more than once; the first was taken"
    assert lines[7].split() == ["off", "disabled"]
    assert str(result.exception) == "1 of 3 servers failed: dead"
    assert isinstance(result.exception, FoundFailuresError)


def test_check_exits_with_4_if_no_server_could_be_reached(run):
    result = run({"a": {"command": "no-such-program"}, "b": {"command": "true"}}, "check")
    assert isinstance(result.exception, NoServerReachedError)
    assert result.exception.exit_code == 4
    assert "no-such-program" in result.stdout


def test_check_gives_json(run):
    result = run({"good": server("annotated"), "bad": {"command": "true"}}, "check", "--json")
    document = json.loads(result.stdout)
    assert (document["format"], document["version"]) == ("replay.servers", 1)
    good, bad = sorted(document["servers"], key=lambda entry: entry["name"], reverse=True)
    assert good["tools"] == ["look", "touch", "plain"]
    assert bad["error"] == "the server exited with status 0 before it answered"


def test_tools_lists_what_each_tool_requires_and_which_are_read_only(run):
    result = run({"chain": server("chain"), "other": {"command": "true"}}, "tools", "chain")
    assert result.stdout.splitlines() == [
        "chain: chain 1.2.3",
        "  create  name: string",
        "  get     id: string  read-only",
        "  update  id: string, name: string",
        "  remove  id: string",
    ]
    assert result.exit_code == 0


def test_tools_gives_json_with_the_schemas(run):
    result = run({"u": server("untyped_schema")}, "tools", "--json")
    (entry,) = json.loads(result.stdout)["servers"]
    assert entry["tools"][0]["input_schema"] == {"properties": {"text": {"type": "string"}}}


def test_an_unknown_server_is_a_mistake(run):
    result = run({"a": {"command": "true"}}, "tools", "b")
    assert isinstance(result.exception, FleetError)
    assert 'there is no server "b"; it has: a' in str(result.exception)


def test_an_empty_fleet_is_a_mistake(run):
    assert "it names no servers" in str(run({}, "check").exception)


def test_what_a_server_says_cannot_reach_the_terminal_as_a_control_sequence(run, tmp_path):
    script = tmp_path / "hostile.py"
    script.write_text(
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from raw import serve, text, tool\n"
        "serve([tool('a\\x1b[2Jb', 'x\\u202ey')], None, name='n\\x1b]0;t\\x07', version='1\\n2')\n"
    )
    directory = server("raw")["args"][0].removesuffix("/raw.py")
    spec = {"command": "python", "args": [str(script), directory]}
    for args in (["check"], ["tools"]):
        shown = run({"s": spec}, *args).stdout
        assert "s" in shown
        assert not set(shown) & set("\x1b\x07\u202e")
