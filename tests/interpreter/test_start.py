"""Starting servers: who they are, what they list, and why they do not start."""

from __future__ import annotations

import anyio
import psutil
import pytest

from replay.interpreter import Interpreter
from replay.interpreter.session import handshake
from tests.interpreter.conftest import SERVERS, answer_text, fleet_of, parsed, server

pytestmark = pytest.mark.anyio


async def started(host, servers, **fields):
    async with host(servers, **fields) as interpreter:
        await interpreter.start()
        return interpreter.servers


async def test_a_server_tells_its_name_version_protocol_and_tools(host):
    record = (await started(host, {"c": server("modern")}))["c"]
    assert (record.title, record.version, record.protocol) == ("modern", "2.0", "2026-07-28")
    assert [tool.name for tool in record.tools] == ["echo", "add", "fail"]
    assert record.error is None
    assert record.digest is not None
    assert record.seconds is not None


async def test_a_server_that_knows_only_an_old_protocol_is_initialized(host):
    async with host({"old": server("legacy")}) as interpreter:
        await interpreter.start()
        assert interpreter.servers["old"].protocol == "2024-11-05"
        async with interpreter.sandbox("t") as sandbox:
            assert answer_text(await sandbox.call("old", "echo", {"text": "hi"})) == "hi"


async def test_a_server_that_exits_at_a_question_it_does_not_know_is_initialized_instead(host, events):
    async with host({"rusty": server("disconnects_on_probe", max_restarts=0)}) as interpreter:
        await interpreter.start()
        assert interpreter.servers["rusty"].protocol == "2025-06-18"
        async with interpreter.sandbox("t") as sandbox:
            assert answer_text(await sandbox.call("rusty", "echo", {"text": "hi"})) == "hi"
    assert [event.kind for event in events] == ["starting", "started"]


@pytest.mark.parametrize(("name", "protocol"), [("slow_start", "2025-06-18"), ("modern", "2026-07-28")])
async def test_a_server_that_starts_more_slowly_than_the_probe_waits_is_understood_all_the_same(
    host, monkeypatch, name, protocol
):
    monkeypatch.setattr(handshake, "_PROBE_TIMEOUT", 0.05)
    record = (await started(host, {"s": server(name, env={"START_SECONDS": "0.5"})}))["s"]
    assert (record.error, record.protocol) == (None, protocol)


async def test_all_pages_of_the_tool_list_are_read(host):
    record = (await started(host, {"p": server("paginated")}))["p"]
    assert [tool.name for tool in record.tools] == [f"tool-{number}" for number in range(7)]
    assert record.notes == ()


async def test_a_tool_list_without_end_is_cut_and_noted(host):
    record = (await started(host, {"p": server("paginated", env={"ENDLESS": "1"})}))["p"]
    assert len(record.tools) == 7
    assert "same nextCursor" in record.notes[0]


async def test_a_tool_that_is_listed_twice_is_taken_once_and_noted(host):
    record = (await started(host, {"s": server("lists_twice")}))["s"]
    assert [tool.description for tool in record.tools] == ["first"]
    assert record.notes == (
        "tools/list has echo more than once; the first was taken",
        "tools/list has an entry without a name",
    )


async def test_a_tool_list_that_changes_while_it_is_read_is_read_again(host):
    record = (await started(host, {"s": server("grows_at_start")}))["s"]
    assert [tool.name for tool in record.tools] == ["first", "second"]
    assert record.notes == ()


async def test_a_schema_that_breaks_the_specification_is_kept_and_noted(host):
    record = (await started(host, {"s": server("untyped_schema")}))["s"]
    assert record.tool("untyped").input_schema == {"properties": {"text": {"type": "string"}}}
    assert [tool.name for tool in record.tools] == ["untyped", "null", "string", "absent"]
    assert record.notes == (
        'untyped: inputSchema has no type, and must be of type "object"',
        "null, absent: no inputSchema",
        'string: inputSchema is of type string, and must be of type "object"',
        "absent: annotations are not an object",
    )


async def test_a_server_that_dies_at_start_is_reported_with_the_tail_of_its_stderr_without_secrets(host):
    record = (await started(host, {"s": server("dies_at_start", env={"API_KEY": "hunter2-hunter2"})}))["s"]
    assert record.error == "the server exited with status 3 before it answered"
    assert record.stderr_tail == "loading\nError: no licence for [REDACTED]"


async def test_a_server_that_hangs_at_start_is_given_up_after_its_startup_timeout(host):
    record = (await started(host, {"s": server("hangs_at_start", startup_timeout=0.3)}))["s"]
    assert record.error == "it did not answer within 0.3 s"


async def test_a_command_that_is_not_there_is_reported(host):
    servers = await started(
        host, {"a": {"command": "no-such-program"}, "b": {"command": "./no/such"}, "c": {"command": "echo hi"}}
    )
    assert "was not found; install it" in servers["a"].error
    assert "does not exist or is not executable" in servers["b"].error
    assert 'put its arguments into "args"' in servers["c"].error


async def test_a_program_that_is_no_server_is_reported(host):
    servers = await started(host, {"s": {"command": "true"}})
    assert servers["s"].error == "the server exited with status 0 before it answered"


async def test_an_unset_variable_makes_only_its_own_server_unavailable(host, monkeypatch):
    monkeypatch.delenv("UNSET_FOR_SURE", raising=False)
    servers = await started(
        host, {"bad": server("annotated", env={"A": "${UNSET_FOR_SURE}"}), "good": server("annotated")}
    )
    assert "servers.bad.env.A: environment variable UNSET_FOR_SURE is not set" in servers["bad"].error
    assert servers["good"].error is None


async def test_a_disabled_server_is_not_started(host, events):
    servers = await started(host, {"off": server("annotated", disabled=True)})
    assert servers["off"].error == "it is disabled in the fleet file"
    assert events == []


async def test_a_server_that_failed_is_not_started_again_at_each_call(host, events):
    async with host({"s": server("dies_at_start")}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox:
            answer = await sandbox.call("s", "any", {})
    assert (answer.fault, answer.message) == ("not-started", "the server exited with status 3 before it answered")
    assert [event.kind for event in events] == ["starting", "failed"]


async def test_ten_servers_are_started_before_the_first_is_up(host, events):
    servers = {f"s{n}": server("slow_start", env={"START_SECONDS": "0.5"}) for n in range(10)}
    async with host(servers) as interpreter:
        await interpreter.start()
        assert [record.error for record in interpreter.servers.values()] == [None] * 10
    assert [event.kind for event in events] == ["starting"] * 10 + ["started"] * 10


async def test_only_the_servers_that_are_named_are_started(tmp_path):
    fleet = fleet_of({"wanted": server("annotated"), "other": server("dies_at_start")})
    async with Interpreter(fleet, names=["wanted", "unheard-of"], logs=tmp_path) as interpreter:
        await interpreter.start()
        assert list(interpreter.servers) == ["wanted"]
        async with interpreter.sandbox("t") as sandbox:
            assert (await sandbox.call("other", "x", {})).fault == "not-started"


async def test_a_servers_children_go_with_it_even_if_they_ignore_every_request(host):
    async with host({"s": server("children")}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox:
            pids = parsed(await sandbox.call("s", "pids", {}))
        processes = [psutil.Process(pid) for pid in pids]
    _, alive = psutil.wait_procs(processes, timeout=3)
    assert not [process for process in alive if process.status() != psutil.STATUS_ZOMBIE]


async def test_cancelling_a_start_leaves_no_process(host):
    with anyio.move_on_after(0.5):
        async with host({"s": server("hangs_at_start"), "t": server("slow_start", env={"START_SECONDS": "60"})}) as it:
            await it.start()


async def test_cancelling_a_call_leaves_no_process(host):
    async with host({"s": server("hangs_in_call"), "own": server("hangs_in_call", state="trajectory")}) as interpreter:
        await interpreter.start()
        with anyio.move_on_after(0.5):
            async with interpreter.sandbox("t") as sandbox:
                await sandbox.call("own", "freeze", {})
    assert not [p for p in psutil.Process().children(recursive=True) if "hangs_in_call" in " ".join(p.cmdline())]


async def test_an_error_in_the_body_comes_out_as_it_is(host):
    with pytest.raises(ZeroDivisionError):  # noqa: PT012
        async with host({"s": server("annotated")}) as interpreter:
            await interpreter.start()
            async with interpreter.sandbox("t"):
                raise ZeroDivisionError


async def test_commands_are_looked_up_beside_the_running_python_first(monkeypatch, host):
    monkeypatch.setenv("PATH", "/nonexistent")
    servers = await started(host, {"s": server("annotated")})
    assert servers["s"].error is None


async def test_a_server_gets_no_variable_of_ours_that_the_fleet_does_not_give_it(host, monkeypatch, tmp_path):
    monkeypatch.setenv("SOME_PASSWORD", "swordfish")
    script = tmp_path / "env.py"
    script.write_text(
        f"import os, sys; sys.path.insert(0, {str(SERVERS)!r})\n"
        "from raw import serve, text, tool\n"
        "serve([tool('env')], lambda name, arguments: text(' '.join(sorted(os.environ))))\n"
    )
    async with host({"s": {"command": "python", "args": [str(script)], "env": {"GIVEN": "1"}}}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox:
            names = answer_text(await sandbox.call("s", "env", {})).split()
    assert "GIVEN" in names
    assert "SOME_PASSWORD" not in names
