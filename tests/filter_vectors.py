"""The run and the filters of `filter_vectors.json`: one meaning for Python's filter and for the HTML page's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.runs import call, make_run, schema, server, write_trajectory

_VECTORS: dict[str, Any] = json.loads(Path(__file__).with_name("filter_vectors.json").read_text("utf-8"))
VECTORS: list[dict[str, Any]] = _VECTORS["filters"]
"""Each with its `filter`, and the `calls` that it matches or a part of the `error`."""
SERVERS = (
    server("excel", create_sheet=schema("file"), read_sheet=schema("sheet")),
    server("web", fetch=schema("url")),
)


def vectors_run(directory: Path) -> Path:
    """The run that the vectors are about."""
    files = [
        write_trajectory(
            directory / f"{trajectory['id']}.trajectory.json",
            [call(**one) for one in trajectory["calls"]],
            model=trajectory["model"],
            task={"question": "What is there?", "type": trajectory.get("type")},
            reported={"passed": trajectory.get("passed")},
            started_at=trajectory.get("started_at"),
        )
        for trajectory in _VECTORS["trajectories"]
    ]
    return make_run(directory / "run.db", files, *SERVERS)
