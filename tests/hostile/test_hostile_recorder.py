"""The recorder in front of servers that do one thing wrong, and of clients that leave."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from replay.interpreter.processes import STARTED_BY
from tests.hostile.modes import short_modes, stdio_modes
from tests.hostile.recorder_runner import record, recordings
from tests.hostile.runner import batches, over_stdio
from tests.hostile.test_hostile_servers import MAX_PEAK_KB
from tests.recorder.raw_client import REPLAY, RawClient, connect, descendants, recorded

_LESS_THAN_AN_ANSWER_MAY_TAKE = 20
GIGABYTE_LINE = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if request.get("method") != "tools/call":
        result = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
        result = {"tools": [{"name": "work", "inputSchema": {}}]} if request["method"] == "tools/list" else result
        if "id" in request:
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
        continue
    sys.stdout.write('{"jsonrpc": "2.0", "id": %d, "result": {"content": [{"type": "text", "text": "' % request["id"])
    for _ in range(1024):
        sys.stdout.write("x" * (1 << 20))
    print('"}]}}', flush=True)
"""


def test_the_recorder_outlives_some_modes_of_each_kind() -> None:
    for kind, modes in (("proxy", short_modes()[::12]), ("fleet", short_modes()[::4])):
        for name, found in recordings(kind, modes):
            assert found.problems == [], name


@pytest.mark.hostile
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["proxy", "fleet"])
@pytest.mark.parametrize("modes", list(batches(list(stdio_modes()))), ids=lambda modes: modes[0])
def test_the_recorder_outlives_every_mode(kind: str, modes: list[str]) -> None:
    for name, found in recordings(kind, modes):
        assert found.problems == [], name
        assert found.peak_kb < MAX_PEAK_KB, name


@pytest.mark.hostile
@pytest.mark.slow
def test_a_line_of_a_gigabyte_passes_in_bounded_memory(tmp_path: Path) -> None:
    server = tmp_path / "server.py"
    server.write_text(GIGABYTE_LINE)
    found = record(tmp_path, ["--", sys.executable, "-S", "-E", str(server)], ["work"])
    assert (found.code, found.problems) == (0, [])
    assert found.peak_kb < MAX_PEAK_KB
    assert found.trajectory is not None
    [call] = found.trajectory.calls()
    assert call.answer is not None


@pytest.fixture(params=["proxy", "fleet"])
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RawClient]:
    """Connected to a recorder whose server never answers a call."""
    spec = over_stdio("silent")
    arguments = ["--", spec["command"], *spec["args"]]
    if request.param == "fleet":
        (tmp_path / "servers.json").write_text(json.dumps({"version": 1, "servers": {"s": spec}}))
        arguments = ["--servers", str(tmp_path / "servers.json")]
    command = (*REPLAY, "record", "-o", str(tmp_path / "run.trajectory.json"), *arguments)
    with connect(command, stderr=subprocess.DEVNULL) as connected:
        connected.initialize()
        yield connected


def test_a_recorder_ends_with_its_client_whatever_is_still_to_come(client: RawClient, tmp_path: Path) -> None:
    listed = client.request("tools/list", {})["result"]["tools"]
    client.send(("tools/call", {"name": listed[0]["name"], "arguments": {}}))
    started = descendants(client.process)
    assert client.process.stdin is not None
    assert client.process.stdout is not None
    client.process.stdin.close()
    client.process.stdout.close()
    assert client.process.wait(_LESS_THAN_AN_ANSWER_MAY_TAKE) in {0, 1}
    assert psutil.wait_procs(started, timeout=10)[1] == []
    assert len(list(recorded(tmp_path / "run.trajectory.json").calls())) == 1


def test_a_server_of_a_recorder_is_marked_and_what_it_starts_in_a_session_of_its_own_ends_with_it(
    tmp_path: Path,
) -> None:
    if not Path("/proc/self/environ").exists():
        pytest.skip("processes are found by their environment in /proc")
    kept = tmp_path / "pid"
    script = tmp_path / "server.py"
    script.write_text(
        "import os, subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True,\n"
        "                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)\n"
        f"open({str(kept)!r}, 'w').write(str(child.pid) + ' ' + os.environ[{STARTED_BY!r}])\n"
        f"os.execv(sys.executable, [sys.executable, '-S', '-E', {over_stdio('')['args'][2]!r}, 'ordinary'])\n"
    )
    output = tmp_path / "run.trajectory.json"
    with connect((*REPLAY, "record", "-o", str(output), "--", sys.executable, str(script))) as client:
        client.initialize()
        pid, mark = kept.read_text().split()
        assert mark
        assert psutil.pid_exists(int(pid))
        assert client.close() == 0
    assert not psutil.pid_exists(int(pid)) or psutil.Process(int(pid)).status() == psutil.STATUS_ZOMBIE
    assert os.environ.get(STARTED_BY) != mark
