"""Trajectories recorded from a server of tests/servers, where later arguments are taken from earlier answers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.conftest import SERVERS
from tests.runs import Step, write_trajectory


class Taken(NamedTuple):
    """A value that an earlier answer, which is JSON, has under a key."""

    call: int
    """From 1."""
    key: str


def record(path: Path, script: str, calls: Sequence[tuple[str, dict[str, Any]]], **fields: Any) -> Path:
    """Make the calls one after the other, and write what came; the server's name is that of its script."""
    steps: list[Step] = []
    with subprocess.Popen(
        [sys.executable, str(SERVERS / script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for number, (tool, given) in enumerate(calls, 1):
            arguments = {name: _value(value, steps) for name, value in given.items()}
            request = {"id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
            print(json.dumps({"jsonrpc": "2.0", **request}), file=server.stdin, flush=True)
            result = json.loads(server.stdout.readline())["result"]
            answer = {"kind": "result", "content": result["content"], "is_error": result.get("isError", False)}
            steps.append({"name": f"{Path(script).stem}/{tool}", "arguments": arguments, "answer": answer})
        server.stdin.close()
    return write_trajectory(path, steps, **fields)


def _value(value: Any, steps: Sequence[Step]) -> Any:
    if isinstance(value, Taken):
        return json.loads(steps[value.call - 1]["answer"]["content"][0]["text"])[value.key]
    return [_value(item, steps) for item in value] if isinstance(value, list) else value
