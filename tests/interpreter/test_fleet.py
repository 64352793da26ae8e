"""Fleet files: ours, and those of other MCP clients."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replay.errors import FleetError
from replay.interpreter import Fleet
from replay.interpreter.config.fleet import VariableScope

FULL = """\
version: 1
defaults: {call_timeout: 12, effects: sandboxed}
local_tools: ["local-*"]
servers:
  excel:
    command: uvx
    args: [--with, "mcp<2", "excel-mcp-server==0.1.7", 8080, 1.10, true]
    env: {KEY: "${EXCEL_KEY:-}", PORT: 8080, ON: yes, VERSION: 2025-08-21}
    state: trajectory
    effects: all
    rules:
      - {id: quota, pattern: "quota exceeded", outcome: inconclusive, reason: rate-limited}
  off: {command: x}
  remote: {url: "https://example.org/mcp", headers: {Authorization: "Bearer ${TOKEN}"}}
workspace:
  template: "workspaces/${task}"
  recorded_as: ["/workspace/dumps/workspace/"]
"""


@pytest.fixture
def load(tmp_path):
    def load(text, name="servers.yaml"):
        path = tmp_path / name
        path.write_text(text if isinstance(text, str) else json.dumps(text))
        return Fleet.load(path)

    return load


@pytest.fixture
def complaint(load):
    """The message of the FleetError that a text causes, without the path."""

    def complaint(text, name="servers.yaml"):
        with pytest.raises(FleetError) as caught:
            load(text, name)
        assert "\n" not in str(caught.value)
        assert str(caught.value).startswith(caught.value.path)
        return str(caught.value).removeprefix(caught.value.path + ": ")

    return complaint


def test_our_own_yaml_is_read_whole(load):
    fleet = load(FULL)
    excel = fleet.servers["excel"]
    assert excel.args == ("--with", "mcp<2", "excel-mcp-server==0.1.7", "8080", "1.10", "true")
    assert excel.env == {"KEY": "${EXCEL_KEY:-}", "PORT": "8080", "ON": "yes", "VERSION": "2025-08-21"}
    assert (excel.call_timeout, excel.startup_timeout, excel.effects, excel.state) == (12, 60, "all", "trajectory")
    assert excel.rules[0].id == "quota"
    assert fleet.servers["off"].effects == "sandboxed"
    assert fleet.workspace.recorded_as == ("/workspace/dumps/workspace",)
    assert fleet.local_tools == ("local-*",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "servers:\n  a:\n    comand: x\n",
            'line 3: servers.a.comand: there is no field "comand"; did you mean "command"?',
        ),
        (
            "todo:\n  command: python\n",
            'line 1: todo: there is no field "todo": servers stand below "servers:", indented',
        ),
        ("servers: {}\nworkspce: {}\n", 'line 2: workspce: there is no field "workspce"; did you mean "workspace"?'),
        (
            "defaults: {timeout: 3}\n",
            'line 1: defaults.timeout: there is no field "timeout"; did you mean "call_timeout"?',
        ),
        (
            "workspace: {zzzzz: 3}\n",
            'line 1: workspace.zzzzz: there is no field "zzzzz"; it takes template, recorded_as',
        ),
        (
            "servers:\n  a:\n    command: x\n    rules:\n      - {id: r, patern: x, outcome: success}\n",
            'line 5: servers.a.rules[0].patern: there is no field "patern"; did you mean "pattern"?',
        ),
        (
            "servers:\n  a:\n    command: x\n    effects: everything\n",
            "line 4: servers.a.effects: input should be 'read-only', 'sandboxed' or 'all'",
        ),
        ("servers:\n  a: {}\n", 'line 2: servers.a: needs either "command" or "url"'),
        ("servers:\n  a: {command: x, url: y}\n", 'line 2: servers.a: needs either "command" or "url"'),
        (
            "servers:\n  a:\n    command: x\n    call_timeout: soon\n",
            "line 4: servers.a.call_timeout: input should be a valid number, unable to parse string as a number",
        ),
        ("servers:\n  a: {command: x}\n  a: {command: y}\n", "line 3: servers.a: stands twice (first in line 2)"),
        ("servers:\n  a: {command: x, type: sse}\n", 'line 2: servers.a: type sse needs "url"'),
        ("servers:\n  a: {url: x, type: stdio}\n", 'line 2: servers.a: type stdio needs "command"'),
        ("servers:\n  a: {url: x, type: pigeon}\n", "line 2: servers.a.type: input should be 'stdio', 'http' or 'sse'"),
        ("servers:\n  a: {command: x, auth: {}}\n", 'line 2: servers.a: "auth" is for servers with a url'),
        (
            "servers:\n  a: {url: x, auth: {grant: client_credentials}}\n",
            'line 2: servers.a.auth: grant client_credentials needs "client_id" and "client_secret"',
        ),
        (
            "servers:\n  a:\n    url: x\n    auth: {secret: y}\n",
            'line 4: servers.a.auth.secret: there is no field "secret"; did you mean "client_secret"?',
        ),
        ("servers: [\n", "line 2, column 1: is not YAML: expected the node content, but found '<stream end>'"),
        (
            "- 1\n",
            'is not a fleet file: expected "servers" (replay, VS Code, M3-Bench) or "mcpServers" (Claude Desktop)',
        ),
        ("", 'is not a fleet file: expected "servers" (replay, VS Code, M3-Bench) or "mcpServers" (Claude Desktop)'),
        ("version: 2\nservers: {}\n", "line 1: version: only version 1 is known to this replay"),
        (
            "servers: {}\nworkspace: {recorded_as: [relative]}\n",
            "line 2: workspace.recorded_as: must be an absolute path other than /, got 'relative'",
        ),
        ("servers: &a\n  b: *a\n", "is not a fleet file: an anchor contains itself, or values are nested too deeply"),
    ],
)
def test_a_mistake_is_reported_with_its_line_its_field_and_the_nearest_right_one(complaint, text, expected):
    assert complaint(text) == expected


def test_a_missing_file_and_one_that_is_no_text_are_reported(tmp_path):
    with pytest.raises(FleetError, match="no such file; name the fleet file with --servers FILE"):
        Fleet.load(tmp_path / "none.yaml")
    (tmp_path / "x.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FleetError, match="cannot be read"):
        Fleet.load(tmp_path / "x.yaml")
    with pytest.raises(FleetError, match="cannot be read"):
        Fleet.load(tmp_path)


def test_anchors_and_merge_keys_of_yaml_work(load):
    fleet = load("servers:\n  a: &a {command: x, args: [1]}\n  b: {<<: *a, args: [2]}\n")
    assert (fleet.servers["b"].command, fleet.servers["b"].args) == ("x", ("2",))


def test_claude_desktop_json_is_read(load):
    text = {"mcpServers": {"fs": {"command": "npx", "args": ["-y", "x"], "env": {"A": "1"}, "autoApprove": []}}}
    assert load(text, "claude.json").servers["fs"].args == ("-y", "x")


def test_vs_code_json_is_read_with_comments_and_inputs(load, monkeypatch):
    monkeypatch.setenv("API_KEY", "from the environment")
    fleet = load(
        """{
          // comment, and "quotes"
          "inputs": [{"id": "api-key", "type": "promptString", "password": true},
                     {"id": "region", "type": "promptString", "default": "eu"}],
          "servers": {
            "web": {"type": "http", "url": "https://x.example/mcp", "headers": {"X-Key": "${input:api-key}"}},
            "local": {"type": "stdio", "command": "a//b", "args": ["${input:region}", "${env:API_KEY}", "/* no */"],},
          },
        }""",
        "mcp.json",
    )
    assert fleet.resolve("web", VariableScope()).headers == {"X-Key": "from the environment"}
    assert fleet.resolve("local", VariableScope()).args == ("eu", "from the environment", "/* no */")
    assert "from the environment" in fleet.secrets()


def test_the_transport_of_a_url_is_read_under_all_its_names(load, monkeypatch):
    monkeypatch.setenv("MY_SECRET", "s3cret-value")
    fleet = load(
        "servers:\n  a: {url: h, type: sse}\n  b: {url: h, type: streamable-http}\n  c: {url: h}\n  d: {command: x}\n"
        '  e: {url: h, auth: {client_id: me, client_secret: "${MY_SECRET}", scopes: read write, redirect_port: 8123}}\n'
    )
    transports = [fleet.resolve(name, VariableScope()).transport for name in "abcd"]
    assert transports == ["sse", "http", "http", "stdio"]
    auth = fleet.resolve("e", VariableScope()).auth
    assert (auth.grant, auth.client_secret, auth.scopes) == ("authorization_code", "s3cret-value", ("read", "write"))
    assert auth.redirect_port == 8123
    spec = {"type": "sse", "url": "https://h/sse", "auth": {"type": "none"}}
    other = load(
        {"mcpServers": {"old": spec, "new": {"transportType": "streamable-http", "url": "https://h"}}}, "x.json"
    )
    assert [other.resolve(name, VariableScope()).transport for name in ("old", "new")] == ["sse", "http"]
    assert other.servers["old"].auth is None


def test_m3_bench_json_is_read(load):
    spec = {"command": "uvx", "args": [], "_comment": "x", "disabled": False, "timeout": 60, "transportType": "stdio"}
    fleet = load({"_comment": "all", "servers": {"_comment": "inner", "w": {**spec, "autoApprove": ["a"]}}}, "m.json")
    assert list(fleet.servers) == ["w"]
    assert fleet.servers["w"].call_timeout == 30


@pytest.mark.parametrize("where", ["toolathlon", "labelled"])
def test_a_bare_dict_of_servers_is_read(where, shared_data):
    fleet = Fleet.load(shared_data / where / "fleet.json")
    assert "filesystem" in fleet.servers


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"mcpServers": {\n "a": {"command" "x"}}}', "line 2, column 18: is not JSON: "),
        ('{"results": []}', "is not a fleet file: expected"),
        ('{"mcpServers": {"a": {"args": []}}}', 'servers.a: needs either "command" or "url"'),
        ('{"mcpServers": {"a": {"command": ["x"]}}}', "servers.a.command: input should be a valid string"),
    ],
)
def test_broken_json_is_reported_with_its_place(complaint, text, expected):
    assert complaint(text, "x.json").startswith(expected)


def test_variables_are_filled_in_when_a_server_is_needed_and_not_before(load, monkeypatch):
    monkeypatch.setenv("TOKEN", "t0ken-value")
    monkeypatch.delenv("NEEDED", raising=False)
    fleet = load(
        'servers:\n  a: {command: x, args: ["$${A}", "$HOME", "${NEEDED:-d}", "${workspace}/${task}"]}\n'
        '  b: {command: x, env: {K: "${NEEDED}"}}\n'
        '  c: {url: "https://h/${TOKEN}", headers: {A: "${TOKEN}"}}\n'
        '  d: {command: "${task}"}\n'
    )
    resolved = fleet.resolve("a", VariableScope(Path("/w"), "t1"))
    assert resolved.args == ("${A}", "$HOME", "d", "/w/t1")
    assert fleet.resolve("c", VariableScope()).url == "https://h/t0ken-value"
    fleet.require(["a", "c"])
    with pytest.raises(FleetError, match=r"servers\.b\.env\.K: environment variable NEEDED is not set"):
        fleet.require(["b"])
    with pytest.raises(FleetError, match=r"servers\.d\.command: \$\{task\} cannot be part of it"):
        fleet.require(["d"])
    with pytest.raises(FleetError, match='there is no server "e"; it has: a, b, c, d'):
        fleet.require(["e"])
    with pytest.raises(FleetError, match=r"\$\{task\} needs state: trajectory"):
        fleet.resolve("a", VariableScope(Path("/w")))


def test_an_empty_variable_counts_as_unset_where_there_is_a_default(load, monkeypatch):
    monkeypatch.setenv("EMPTY", "")
    fleet = load('servers:\n  a: {command: x, args: ["${EMPTY:-d}", "${EMPTY}"]}\n')
    assert fleet.resolve("a", VariableScope()).args == ("d", "")


def test_secrets_are_what_came_from_the_environment_from_headers_and_from_secret_named_keys(load, monkeypatch):
    monkeypatch.setenv("FROM_OUTSIDE", "value-from-outside")
    monkeypatch.setenv("MY_PORT", "8080")
    monkeypatch.setenv("HOME", "/home/somebody")
    fleet = load(
        "servers:\n"
        '  a: {command: x, args: ["--key=${FROM_OUTSIDE}"], env: {API_KEY: literal-key, MODE: production-mode,'
        ' P: "${MY_PORT}", H: "${HOME}", PASSWORD: ""}}\n'
        '  b: {url: "https://u:pass-word@h/?api_key=in-the-url&x=public", headers: {Authorization: Bearer abc.def}}\n'
        '  c: {command: x, env: {K: "${UNSET_FOR_SURE}", API_TOKEN: still-found}}\n'
    )
    assert set(fleet.secrets()) == {
        "value-from-outside",
        "literal-key",
        "pass-word",
        "in-the-url",
        "Bearer abc.def",
        "abc.def",
        "still-found",
    }


def test_a_digest_depends_on_what_starts_but_on_no_secret(load, monkeypatch):
    text = "servers:\n  a: {{command: x, args: [{}], env: {{API_KEY: {}, MODE: m}}, call_timeout: {}}}\n"
    first = load(text.format("a", "one", 1)).digest("a")
    assert first == load(text.format("a", "two", 2)).digest("a")
    assert first != load(text.format("b", "one", 1)).digest("a")


def test_a_fleet_can_be_made_from_a_dict():
    fleet = Fleet.model_validate({"servers": {"a": {"command": "x"}}, "defaults": {"max_restarts": 0}})
    assert fleet.servers["a"].max_restarts == 0
