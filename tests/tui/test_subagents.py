from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest

from replay_tui.screens.trajectory_screen import TrajectoryScreen
from tests.formats.samples import mcpbench, mcpbench_call
from tests.runs import make_run
from tests.tui.conftest import Browsing, press

pytestmark = pytest.mark.anyio


async def test_u_goes_from_a_sub_agent_to_the_call_that_started_it_and_shift_u_back(
    browse: Browsing, tmp_path: Path
) -> None:
    calls = [mcpbench_call("s__z", "S", 1), mcpbench_call("Specialist", "adk_agent_tool", 2)]
    calls[1]["inner_tool_calls"] = [mcpbench_call("s__a", "S", 5)]
    path = tmp_path / "results.json"
    path.write_text(json.dumps(mcpbench(*calls)), "utf-8")
    async with browse(make_run(tmp_path / "run.db", [path])) as pilot:
        await press(pilot, "3", ">")
        screen = cast("TrajectoryScreen", pilot.app.screen)
        assert screen.stored is not None
        assert screen.stored.record.id == "k1/c2"
        await press(pilot, "u")
        assert screen.stored.record.id == "k1"
        assert screen.dag.selected == "s2c1"
        await press(pilot, "U")
        assert screen.stored.record.id == "k1/c2"
        await press(pilot, "u")
        screen.dag.select("s1c1")
        assert screen.dag.selected == "s1c1"
        await press(pilot, "U")
        assert screen.stored.record.id == "k1", "s1c1 started no sub-agent"
