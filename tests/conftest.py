from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.warm_replay import READ_AT_START, WarmReplay

SHARED = Path(os.environ.get("REPLAY_SHARED", Path(__file__).parents[2] / "shared")) / "data"
SERVERS = Path(__file__).parent / "servers"
ROOT = Path(__file__).parents[1]

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

for exported_by_the_shell in ("COLUMNS", "LINES"):
    os.environ.pop(exported_by_the_shell, None)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs the shared data, so that `-m shared_data` runs it alone."""
    for item in items:
        if "shared_data" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.shared_data)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of published data beside the project; where it is absent the test is skipped, and says so."""
    if not SHARED.exists():
        pytest.skip("shared test data is absent")
    return SHARED


@pytest.fixture(scope="session")
def warm_replay() -> Iterator[WarmReplay]:
    warm = WarmReplay()
    yield warm
    warm.close()


@pytest.fixture
def replay(tmp_path: Path, warm_replay: WarmReplay) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the command line in an empty directory of its own, without colour, as in CI."""

    def run(*arguments: str | Path, cwd: Path = tmp_path, **extra: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "NO_COLOR": "1", "CI": "1", "PYTHONWARNINGS": "error", **extra}
        words = list(map(str, arguments))
        if not any(name.startswith(READ_AT_START) for name in extra):
            return warm_replay.run(words, cwd, environment, timeout=300)
        command = [sys.executable, "-m", "replay", *words]
        return subprocess.run(
            command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300, check=False
        )

    return run


@pytest.fixture
def fleet_file(tmp_path: Path) -> Callable[..., Path]:
    """Writes a fleet file whose servers are scripts of tests/servers, by name or as a whole specification."""

    def write(name: str = "servers.yaml", *, workspace: dict[str, Any] | None = None, **servers: Any) -> Path:
        document: dict[str, Any] = {"version": 1, "servers": {key: spec_of(value) for key, value in servers.items()}}
        if workspace is not None:
            document["workspace"] = workspace
        path = tmp_path / name
        path.write_text(json.dumps(document))
        return path

    return write


def spec_of(value: Any) -> dict[str, Any]:
    """`"counter.py"`, or `{"script": "counter.py", "effects": ...}`, as an entry of a fleet file."""
    fields = {"script": value} if isinstance(value, str) else dict(value)
    if "script" not in fields:
        return fields
    script, *arguments = fields.pop("script").split()
    return {"command": sys.executable, "args": [str(SERVERS / script), *arguments], **fields}


@pytest.fixture
def results_file(tmp_path: Path) -> Callable[..., Path]:
    """Writes an M3-Bench results file: ids and their steps, each step a list of (name, arguments[, result])."""

    def write(name: str = "tiny_test_mcp_fuzzy.json", **trajectories: Any) -> Path:
        path = tmp_path / name
        path.write_text(json.dumps([record(key, steps) for key, steps in trajectories.items()]))
        return path

    return write


def record(identifier: str, steps: list[list[tuple[Any, ...]]], question: str = "?") -> dict[str, Any]:
    return {
        "id": identifier,
        "type": "test",
        "question": question,
        "steps": [
            {"step": number, "calls": [dict(zip(("name", "arguments", "result"), call, strict=False)) for call in step]}
            for number, step in enumerate(steps, 1)
        ],
        "final_reply": "",
    }
