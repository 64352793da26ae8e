"""However we end, no server stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from replay.interpreter.owned_directory import remove_abandoned
from tests.interpreter.conftest import SERVERS

PROGRAM = """
import sys
from pathlib import Path
import anyio
from replay.interpreter import Fleet, Interpreter

servers = {
    name: {"command": "python", "args": [str(Path(sys.argv[1]) / "hangs_in_call.py")], "state": state}
    for name, state in (("shared", "none"), ("own", "trajectory"))
}

async def main():
    fleet = Fleet.model_validate({"servers": servers})
    async with Interpreter(fleet, names=servers, logs=Path(sys.argv[2])) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox, anyio.create_task_group() as tasks:
            await sandbox.call("own", "echo", {"text": ""})
            print(sandbox.workspace, flush=True)
            for server in servers:
                tasks.start_soon(sandbox.call, server, sys.argv[3], {})

try:
    anyio.run(main)
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.parametrize(
    ("number", "tool"), [(signal.SIGINT, "hang"), (signal.SIGINT, "freeze"), (signal.SIGKILL, "hang")]
)
def test_no_server_outlives_a_program_that_is_interrupted_or_killed(tmp_path, monkeypatch, number, tool):
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(SERVERS), str(tmp_path), tool],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
    ) as program:
        assert program.stdout is not None
        workspace = program.stdout.readline().strip()
        servers = psutil.Process(program.pid).children(recursive=True)
        assert len(servers) == 3  # the watchdog is one of them
        program.send_signal(number)
        program.wait(20)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    _, alive = psutil.wait_procs(servers, timeout=10)
    assert not [process for process in alive if process.status() != psutil.STATUS_ZOMBIE]
    if number == signal.SIGINT:
        assert program.returncode == 130
        assert not Path(workspace).exists()
    else:
        assert Path(workspace).exists()
        remove_abandoned()
        assert not Path(workspace).exists()
