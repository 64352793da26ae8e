"""Several processes of a server without state."""

from __future__ import annotations

import pytest

from replay.interpreter import Exchange
from replay.records import FleetFacts, Source, Trajectory
from replay.replayer import LiveBackend
from replay.replayer.backends import ToolRequest
from tests.interpreter.conftest import answer_text, server

pytestmark = pytest.mark.anyio


async def test_trajectories_side_by_side_get_processes_of_their_own_and_keep_them(host):
    asked = ToolRequest("s", "pid", {}, "key")
    async with host({"s": server("dies_in_call")}, instances=2) as interpreter:
        await interpreter.start()
        async with LiveBackend(interpreter, FleetFacts(), frozenset()) as backend:
            source = Source(file="f", format="x")
            trajectory = Trajectory(id="t", model="m", source=source, steps=())
            async with backend.session(trajectory, frozenset()) as one, backend.session(trajectory, frozenset()) as two:
                pids = [answer_text(await session.send(asked, Exchange())) for session in (one, two, one, two)]
    assert pids[0] != pids[1]
    assert pids[:2] == pids[2:]


async def test_a_server_that_starts_once_only_is_used_as_often_as_it_started(host, tmp_path):
    lock = tmp_path / "lock"
    alone = {"command": "sh", "args": ["-c", f"mkdir {lock} && exec python {server('dies_in_call')['args'][0]}"]}
    async with host({"s": alone}, instances=3) as interpreter:
        await interpreter.start()
        assert interpreter.servers["s"].error is None
        for number in range(3):
            async with interpreter.sandbox(str(number)) as sandbox:
                assert (await sandbox.call("s", "pid", {})).kind == "result"
