from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from replay.interpreter import Fleet, Interpreter, ServerEvent

SERVERS = Path(__file__).parents[1] / "servers"


def server(name: str, *args: str, **fields: Any) -> dict[str, Any]:
    """The specification of one of tests/servers."""
    return {"command": "python", "args": [str(SERVERS / f"{name}.py"), *args], **fields}


def fleet_of(servers: dict[str, Any], **fields: Any) -> Fleet:
    return Fleet.model_validate({"servers": servers, **fields})


@pytest.fixture
def events() -> list[ServerEvent]:
    return []


@pytest.fixture
def host(tmp_path: Path, events: list[ServerEvent]) -> Callable[..., Interpreter]:
    """Makes an interpreter of the given servers: `host({"name": server("file")}, workspace=...)`."""

    def make(servers: dict[str, Any] | Fleet, *, instances: int = 1, **fields: Any) -> Interpreter:
        fleet = servers if isinstance(servers, Fleet) else fleet_of(servers, path=tmp_path / "servers.yaml", **fields)
        return Interpreter(
            fleet, names=fleet.servers, logs=tmp_path / "logs", on_event=events.append, instances=instances
        )

    return make


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    """Every test: what started under it is gone when it is over."""
    me = psutil.Process()
    before = {child.pid for child in me.children(recursive=True)}
    yield
    left = [child.cmdline() for child in me.children(recursive=True) if child.pid not in before]
    left = [command for command in left if not any(word.endswith("warm_replay.py") for word in command)]
    assert not left, f"left behind: {left}"  # the warm process serves the whole session


@contextmanager
def serving(name: str, *args: str) -> Iterator[str]:
    """One of tests/servers that listens on a port and prints it; gives its address."""
    with subprocess.Popen(
        [sys.executable, str(SERVERS / f"{name}.py"), *args], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


@pytest.fixture
def http_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a running `over_http` server; parametrize indirectly with its arguments."""
    with serving("over_http", *getattr(request, "param", ())) as address:
        yield f"{address}/mcp"


@pytest.fixture
def sse_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a running `over_sse` server; parametrize indirectly with its arguments."""
    with serving("over_sse", *getattr(request, "param", ())) as address:
        yield f"{address}/sse"


def answer_text(answer: Any) -> str:
    """The text of the only block of a result."""
    (block,) = answer.content
    return str(block["text"])


def parsed(answer: Any) -> Any:
    return json.loads(answer_text(answer))
