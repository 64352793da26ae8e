"""What a server may do wrong in a call, and what becomes of it."""

from __future__ import annotations

import anyio
import pytest

from replay.interpreter import Exchange
from replay.interpreter.session import stdio
from replay.records import RpcError, ToolResult, TransportFault
from tests.interpreter.conftest import answer_text, server

pytestmark = pytest.mark.anyio


async def test_a_call_gives_the_result_as_the_server_sent_it(host):
    async with host({"odd": server("odd_answers")}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox:
            answer = await sandbox.call("odd", "unknown-type", {})
    assert answer == ToolResult(content=({"type": "hologram", "data": 1, "extra": {"a": None}},))


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("text-content", ToolResult(content=({"type": "text", "text": "just text"},))),
        ("object-content", ToolResult(content=({"type": "text", "text": "alone"},))),
        ("strings", ToolResult(content=({"type": "text", "text": "one"}, {"type": "text", "text": "2"}))),
        ("no-content", ToolResult(structured={"rows": [1, 2]})),
        ("wrong-structure", ToolResult(structured={"n": "no number"})),
        ("surrogate", ToolResult(content=({"type": "text", "text": "half \ufffd"},))),
        ("infinite", ToolResult(structured={"n": float("inf")})),
        ("not-an-object", TransportFault(fault="unreadable", message="the result is not a JSON object")),
        ("refuses", RpcError(code=-32000, message="Connection closed", data={"really": "no"})),
        ("odd-error", RpcError(code=-32603, message='{"text": "odd"}')),
    ],
)
async def test_an_answer_that_breaks_the_specification_is_kept_as_far_as_it_can_be(host, tool, expected):
    async with host({"odd": server("odd_answers")}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox:
            assert await sandbox.call("odd", tool, {}) == expected


async def test_a_call_without_an_answer_times_out_and_the_session_goes_on(host, events):
    async with host({"s": server("hangs_in_call", call_timeout=0.3)}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox:
            assert await sandbox.call("s", "hang", {}) == TransportFault(
                fault="timeout", message="no answer within 0.3 s"
            )
            assert answer_text(await sandbox.call("s", "echo", {"text": "on"})) == "on"
    assert [event.kind for event in events] == ["starting", "started"]


async def test_a_trace_that_comes_in_pieces_is_read_to_its_end(host, tmp_path):
    async with host({"s": server("hangs_in_call")}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox, anyio.create_task_group() as tasks:
            log = tmp_path / "logs" / "s.log"

            async def write_the_rest() -> None:
                for line in ("  File x\n", "KeyError: 'text'\n"):
                    await anyio.sleep(0.004)
                    with log.open("a") as file:
                        file.write(line)

            log.write_text("Traceback (most recent call last):\n")
            tasks.start_soon(write_the_rest)
            assert (await sandbox.stderr_since("s", Exchange())).endswith("KeyError: 'text'")


async def test_an_answer_that_comes_too_late_is_not_taken_for_another(host):
    async with host({"s": server("late", call_timeout=0.3)}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox:
            assert (await sandbox.call("s", "slow", {})).fault == "timeout"
            assert answer_text(await sandbox.call("s", "echo", {"text": "mine"})) == "mine"


async def test_a_server_that_has_stopped_answering_is_restarted(host, events):
    async with host({"s": server("hangs_in_call", call_timeout=0.3)}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox:
            assert (await sandbox.call("s", "freeze", {})).fault == "timeout"
            assert answer_text(await sandbox.call("s", "echo", {"text": "on"})) == "on"
    assert [event.kind for event in events] == ["starting", "started", "restarted", "started"]


async def test_a_call_during_which_the_server_dies_is_closed_and_the_next_finds_it_restarted(host, events):
    async with host({"s": server("dies_in_call")}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox:
            answer = await sandbox.call("s", "die", {})
            assert answer == TransportFault(
                fault="closed", message="the server exited with status 7 before the answer came"
            )
            assert answer_text(await sandbox.call("s", "echo", {"text": "on"})) == "on"
    assert [event.kind for event in events] == ["starting", "started", "restarted", "started"]


async def test_a_server_that_keeps_dying_is_given_up_after_max_restarts(host):
    async with host({"s": server("dies_in_call", max_restarts=2)}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox:
            faults = [(await sandbox.call("s", "die", {})).fault for _ in range(5)]
            last = await sandbox.call("s", "echo", {"text": "gone"})
    assert faults == ["closed", "closed", "closed", "not-started", "not-started"]
    assert "it was restarted 2 times already" in last.message


async def test_all_calls_in_flight_are_closed_when_the_server_dies(host):
    answers = []
    async with host({"s": server("hangs_in_call", call_timeout=20)}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox, anyio.create_task_group() as tasks:

            async def call(tool):
                answers.append(await sandbox.call("s", tool, {"text": ""}))

            tasks.start_soon(call, "hang")
            tasks.start_soon(call, "hang")
            await sandbox.call("s", "echo", {"text": ""})
            ((supervisor, _),) = interpreter.shared["s"]
            await supervisor.stop()
    assert [answer.fault for answer in answers] == ["closed", "closed"]


async def test_garbage_between_the_messages_is_passed_over_and_noted_once(host):
    async with host({"s": server("garbage_on_stdout")}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox:
            assert answer_text(await sandbox.call("s", "echo", {"text": "clear"})) == "clear"
        notes = interpreter.servers["s"].notes
    assert notes[0] == "printed text on stdout that is not a JSON-RPC message"
    assert len(notes) == 2  # and JSON that is not JSON-RPC


async def test_a_banner_that_does_not_end_its_line_hides_no_answer(host):
    async with host({"s": server("banner")}) as interpreter:
        await interpreter.start()
        assert interpreter.servers["s"].error is None


async def test_an_answer_of_fifty_megabytes_arrives_whole(host):
    async with host({"s": server("big_answer")}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox:
            with anyio.fail_after(20):
                assert len(answer_text(await sandbox.call("s", "big", {"megabytes": "50"}))) == 50 * 2**20


async def test_an_answer_beyond_the_limit_is_unreadable_and_the_session_goes_on(host, monkeypatch):
    monkeypatch.setattr(stdio, "MAX_ANSWER_BYTES", 2**20)
    async with host({"s": server("big_answer")}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox:
            answer = await sandbox.call("s", "big", {"megabytes": "3"})
            assert answer == TransportFault(
                fault="unreadable", message="the answer of 3 MB is longer than the limit of 1 MB"
            )
            assert answer_text(await sandbox.call("s", "echo", {"text": "on"})) == "on"


@pytest.mark.parametrize("method", ["sampling/createMessage", "elicitation/create", "roots/list"])
async def test_what_a_server_asks_of_its_client_is_refused(host, method):
    async with host({"s": server("asks_back")}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox:
            reply = answer_text(await sandbox.call("s", "ask", {"method": method}))
        assert '"code":-32601' in reply
        assert interpreter.servers["s"].notes == (f"asked for {method}, which a replay refuses",)


async def test_a_ping_from_the_server_is_answered(host):
    async with host({"s": server("asks_back")}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox:
            reply = answer_text(await sandbox.call("s", "ask", {"method": "ping"}))
    assert reply == '{"jsonrpc":"2.0","id":"mine","result":{}}'


async def test_a_changed_tool_list_is_noted(host):
    async with host({"s": server("asks_back")}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox:
            await sandbox.call("s", "grow", {})
        assert interpreter.servers["s"].notes == ("changed its tools/list while it ran; the first list was kept",)


async def test_a_server_that_floods_its_stderr_does_not_stop(host):
    async with host({"s": server("floods_stderr")}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox:
            assert answer_text(await sandbox.call("s", "echo", {"text": "on"})) == "on"


async def test_many_calls_at_once_get_each_its_own_answer(host):
    answers = {}
    async with host({"s": server("dies_in_call")}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox, anyio.create_task_group() as tasks:

            async def call(number):
                answers[number] = answer_text(await sandbox.call("s", "echo", {"text": str(number)}))

            for number in range(200):
                tasks.start_soon(call, number)
    assert answers == {number: str(number) for number in range(200)}


async def test_nothing_of_it_reaches_our_own_stderr(host, capfd):
    async with host({"s": server("garbage_on_stdout"), "d": server("dies_at_start")}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox:
            await sandbox.call("s", "echo", {"text": ""})
    assert capfd.readouterr() == ("", "")
