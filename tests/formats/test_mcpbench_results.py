from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from replay.records import ParentCall, ToolResult
from tests.formats.samples import mcpbench, mcpbench_call, mcpeval, read


def test_the_folded_server_is_taken_off_the_tool(tmp_path: Path) -> None:
    (trajectory,) = read(tmp_path, mcpbench(mcpbench_call("hugging_face__search-models", "Hugging Face", 1)))
    (call,) = trajectory.calls()
    assert (call.server, call.tool) == ("Hugging Face", "search-models")


def test_the_calls_of_a_round_are_one_step(tmp_path: Path) -> None:
    calls = [mcpbench_call("s__a", "S", number, round=round_) for number, round_ in ((1, 1), (2, 1), (3, 2))]
    (trajectory,) = read(tmp_path, mcpbench(*calls))
    assert [len(step.calls) for step in trajectory.steps] == [2, 1]


def test_an_agent_called_as_a_tool_has_a_trajectory_of_its_own(tmp_path: Path) -> None:
    inner = mcpbench_call("s__a", "S", 5)
    outer = mcpbench_call("Specialist", "adk_agent_tool", 1, parameters={"request": "look"}, inner_tool_calls=[inner])
    main, agent = read(tmp_path, mcpbench(outer))
    assert [call.local for call in main.calls()] == [True]
    assert (agent.id, agent.parent) == ("k1/c1", ParentCall(trajectory="k1", call="s1c1"))
    assert (agent.task.question, [call.server for call in agent.calls()]) == ("look", ["S"])


def test_a_failed_call_without_a_response_is_answered_by_its_error(tmp_path: Path) -> None:
    failed = mcpbench_call("s__a", "S", 1, success=False, error="refused")
    del failed["response"]
    (trajectory,) = read(tmp_path, mcpbench(failed))
    (call,) = trajectory.calls()
    assert call.answer == ToolResult(content=({"type": "text", "text": "refused"},), is_error=True)


def test_the_original_writer_says_round_num_and_result(tmp_path: Path) -> None:
    calls = [
        {
            "tool": "Time MCP:now",
            "server": "Time MCP",
            "parameters": {},
            "round_num": 1,
            "success": True,
            "result": "noon",
        },
        {"tool": "Time MCP:never", "parameters": {}, "round_num": 1, "success": False, "error": "no such tool"},
    ]
    (trajectory,) = read(tmp_path, mcpbench(*calls))
    (step,) = trajectory.steps
    assert [(call.server, call.tool) for call in step.calls] == [("Time MCP", "now"), (None, None)]


def test_two_models_on_one_task_are_two_trajectories(tmp_path: Path) -> None:
    document = mcpbench(mcpbench_call("s__a", "S", 1))
    (task,) = document["task_run_results"]["m"]
    document["task_run_results"]["other"] = [{**task, "model_name": "other"}]
    assert [trajectory.model for trajectory in read(tmp_path, document)] == ["m", "other"]


def test_mcpeval_results_are_read_from_the_conversation(tmp_path: Path) -> None:
    results = mcpeval()
    results[0]["tool_calls"] = []
    (trajectory,) = read(tmp_path, results)
    (call,) = trajectory.calls()
    assert (call.name, call.arguments, call.id) == ("get_price", {"ticker": "X"}, "c")
    assert trajectory.reported is not None
    assert (trajectory.model, trajectory.reported.passed) == ("m", True)


def test_classify_prints_the_benchmarks_three_rates_with_the_undecided_calls(
    tmp_path: Path, replay: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    open_call = mcpbench_call("s__a", "S", 3)
    del open_call["response"], open_call["success"]
    document = mcpbench(mcpbench_call("s__a", "S", 1), mcpbench_call("s__a", "S", 2), open_call)
    path = tmp_path / "results.json"
    path.write_text(json.dumps(document))
    printed = replay("classify", path, "--offline").stdout
    assert "MCP-Bench's rates" in printed
    assert (
        "valid tool names 100.0%, schema compliance 100.0%, execution success 100.0%; 1 of 3 calls undecided" in printed
    )
    compared = json.loads(replay("compare", "--json").stdout)["models"][0]["figures"]
    assert (compared["valid_tool_names"]["value"], compared["schema_compliance"]["value"]) == (1.0, 1.0)
