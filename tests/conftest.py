from __future__ import annotations

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("REPLAY_SHARED", Path(__file__).parents[2] / "shared")) / "data"


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


def shared(*parts: str) -> Path:
    """A path in the shared test data; skips the test, and says so, where the data is absent."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"shared test data is absent: {'/'.join(parts)}")
    return path


@pytest.fixture(scope="session")
def shared_data() -> Path:
    return shared()
