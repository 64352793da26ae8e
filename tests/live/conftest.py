from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session", autouse=True)
def registries() -> None:
    """These tests start published servers with uvx and npx."""
    if shutil.which("npx") is None:
        pytest.skip("npx is not on this machine: published servers cannot be started")


def fleet_of(path: Path, out: Path, workspace: dict[str, Any], **more: Any) -> Path:
    """A fleet file of ours from the servers in `path`, in which every server works in a workspace of its own."""
    servers = json.loads(path.read_text())
    for spec in servers.values():
        spec["args"] = [argument.replace("/ws", "${workspace}") for argument in spec["args"]]
        spec |= {"state": "trajectory", "effects": "sandboxed"}
    document = {
        "version": 1,
        "defaults": {"startup_timeout": 240, "call_timeout": 90},
        "servers": servers,
        "workspace": workspace,
        **more,
    }
    out.write_text(json.dumps(document))
    return out


@pytest.fixture(scope="session")
def labelled_fleet(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    labelled = shared_data / "labelled"
    workspace = {"template": str(labelled / "workspace"), "recorded_as": ["/ws"]}
    return fleet_of(labelled / "fleet.json", tmp_path_factory.mktemp("labelled") / "servers.yaml", workspace)


@pytest.fixture(scope="session")
def toolathlon_fleet(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = shared_data / "toolathlon"
    workspace = {"template": str(runs / "workspaces" / "${task}"), "recorded_as": ["/workspace/dumps/workspace"]}
    out = tmp_path_factory.mktemp("toolathlon") / "servers.yaml"
    return fleet_of(runs / "fleet.json", out, workspace, local_tools=["local-*"])
