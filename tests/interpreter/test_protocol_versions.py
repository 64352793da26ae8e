from __future__ import annotations

import subprocess
import sys

import mcp_types
import mcp_types.version
import pytest

from replay.interpreter.session import handshake as protocol_versions


@pytest.mark.parametrize(
    "name", [name for name in vars(protocol_versions) if name.isupper() and not name.startswith("_")]
)
def test_each_value_is_the_sdks(name: str) -> None:
    where = mcp_types.version if name.endswith(("_VERSIONS", "_VERSION")) and "LATEST" in name else mcp_types
    sdk = getattr(where, name, None) or getattr(mcp_types.version, name)
    assert getattr(protocol_versions, name) == sdk


def test_a_replay_imports_neither_the_sdk_nor_the_graph_library() -> None:
    code = "import sys, replay.replayer.classifier; print(sorted({'mcp', 'mcp_types', 'networkx'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
