"""A sub-agent's trajectory, and the call that started it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from replay.cli.show import show
from replay.reports import Selection, render
from replay.runfile import Run
from replay.runfile.trajectory_queries import (
    next_trajectory,
    row_beside,
    stored_trajectory,
    sub_agents,
    trajectory_places,
)
from tests.formats.samples import mcpbench, mcpbench_call
from tests.runs import make_run


@pytest.fixture
def results(tmp_path: Path) -> Path:
    inner = mcpbench_call("s__a", "S", 5)
    outer = mcpbench_call("Specialist", "adk_agent_tool", 1, parameters={"request": "look"}, inner_tool_calls=[inner])
    path = tmp_path / "results.json"
    path.write_text(json.dumps(mcpbench(outer)), "utf-8")
    return path


def test_show_names_the_sub_agent_at_its_call_and_the_call_at_the_sub_agent(results: Path) -> None:
    def shown(identifier: str) -> str:
        return CliRunner().invoke(show, [str(results), identifier]).output

    assert "sub-agent k1/c1" in shown("k1")
    assert "sub-agent of k1 s1c1" in shown("k1/c1")


def test_a_report_of_a_sub_agent_names_the_call_that_started_it(results: Path, tmp_path: Path) -> None:
    with Run.read(make_run(tmp_path / "run.db", [results])) as run:
        text = render(run, "markdown", Selection(trajectory="k1/c1"))
    assert "started by trajectory `k1`, call `s1c1`" in text


def test_the_parent_of_a_sub_agent_is_found_in_the_run(results: Path, tmp_path: Path) -> None:
    with Run.read(make_run(tmp_path / "run.db", [results])) as run:
        parent = next_trajectory(run.connection, 0)
        assert parent is not None
        inner = next_trajectory(run.connection, parent)
        assert inner is not None
        stored = stored_trajectory(run.connection, inner)
        assert stored is not None
        assert stored.record.parent is not None
        assert row_beside(run.connection, stored, stored.record.parent.trajectory) == parent
        assert row_beside(run.connection, stored, "nobody") is None
        assert len(trajectory_places(run)) == 2


def test_a_report_names_the_sub_agents_that_a_trajectory_started(results: Path, tmp_path: Path) -> None:
    with Run.read(make_run(tmp_path / "run.db", [results])) as run:
        text = render(run, "markdown", Selection(trajectory="k1"))
    assert "It started 1 sub-agent: `k1/c1` by call `s1c1`." in text


def test_the_page_keeps_which_call_started_a_sub_agent(results: Path, tmp_path: Path) -> None:
    with Run.read(make_run(tmp_path / "run.db", [results])) as run:
        text = render(run, "html")
    assert '"parent": ["k1", "s1c1"]' in text or '"parent":["k1","s1c1"]' in text


def test_a_sub_agent_in_a_file_of_its_own_is_linked_both_ways(tmp_path: Path) -> None:
    def line(kind: str, content: object, **fields: object) -> str:
        return json.dumps({"type": kind, "sessionId": "s", "message": {"role": kind, "content": content}, **fields})

    def use(name: str, **arguments: object) -> list[dict[str, object]]:
        return [{"type": "tool_use", "id": name, "name": name, "input": arguments}]

    session, agent = tmp_path / "s.jsonl", tmp_path / "agent-a.jsonl"
    session.write_text(line("assistant", use("Task", prompt="look")) + "\n", "utf-8")
    inner = {"isSidechain": True, "agentId": "a"}
    agent.write_text(line("user", "look", **inner) + "\n" + line("assistant", use("Bash"), **inner) + "\n", "utf-8")
    with Run.read(make_run(tmp_path / "run.db", [session, agent])) as run:
        places = {place.trajectory: place.row for place in trajectory_places(run)}
        parent = stored_trajectory(run.connection, places["s"])
        child = stored_trajectory(run.connection, places["agent-a"])
        assert parent is not None
        assert child is not None
        assert [one.row for one in sub_agents(run.connection, parent)] == [places["agent-a"]]
        assert row_beside(run.connection, child, "s") == places["s"]
