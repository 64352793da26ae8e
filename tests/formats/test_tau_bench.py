"""tau2-bench runs: with each simulation in a file of its own, of several domains, and with several trials of a task."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest

from replay import classify, compare
from replay.errors import NoTrajectoryError
from replay.formats import look_through, open_file, open_files
from replay.replayer.messages import sendable

CALL = {"id": "c1", "name": "find_order", "arguments": {"order": "7"}}
ANSWER = {"id": "c1", "role": "tool", "content": "shipped", "requestor": "assistant", "error": False}
CHAT = [
    {"role": "user", "content": "Where is it?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    ANSWER,
]
TICKS = [
    {"tick_id": 0, "agent_chunk": {"role": "assistant", "content": "One moment."}, "agent_tool_calls": []},
    {"tick_id": 1, "agent_chunk": None, "agent_tool_calls": [CALL], "agent_tool_results": []},
    {"tick_id": 2, "agent_chunk": None, "agent_tool_calls": [], "agent_tool_results": [ANSWER]},
]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    info = {"agent_info": {"llm": "m"}, "user_info": {"llm": "u"}}
    (tmp_path / "results.json").write_text(json.dumps({"timestamp": "2026-01-01", "info": info, "tasks": []}))
    (tmp_path / "simulations").mkdir()
    chats: list[dict[str, Any]] = [{"messages": CHAT}, {"messages": None, "ticks": TICKS}]
    for number, messages in enumerate(chats):
        simulation: dict[str, Any] = {"id": "x", "task_id": f"t{number}", "termination_reason": "user_stop", **messages}
        (tmp_path / "simulations" / f"{number}.json").write_text(json.dumps(simulation))
    return tmp_path


def test_simulations_in_a_folder_have_the_model_of_the_run_beside_it(run: Path) -> None:
    notes: list[str] = []
    trajectories = [each for file in open_files([run], on_note=notes.append) for each in file.trajectories()]
    assert [(each.id, each.model) for each in trajectories] == [("t0", "m"), ("t1", "m")]
    assert [call.name for each in trajectories for call in each.calls() if call.answer] == ["find_order"] * 2
    [note] = notes
    assert note.endswith("its simulations stand in the folder simulations/ beside it; skipped")


@pytest.mark.parametrize("kind", ["zip", "gztar"])
def test_simulations_in_an_archive_have_the_model_of_the_run_too_also_on_a_worker(
    kind: str, run: Path, tmp_path: Path
) -> None:
    archive = shutil.make_archive(str(tmp_path.parent / f"{tmp_path.name}-run"), kind, run.parent, run.name)
    files = list(open_files([archive], on_error=print))
    sent = [pickle.loads(pickle.dumps(sendable(file.source))) for file in files]
    for opened in (files, [look_through(*source) for source in sent]):
        trajectories = [each for file in opened for each in file.trajectories()]
        assert [(each.id, each.model) for each in trajectories] == [("t0", "m"), ("t1", "m")]


def test_the_file_that_says_what_was_run_says_where_the_simulations_are(run: Path) -> None:
    with pytest.raises(NoTrajectoryError, match="simulations stand in the folder simulations/"):
        open_file(run / "results.json")


def test_a_task_is_told_by_its_domain_and_its_trials_are_runs_of_it(tmp_path: Path) -> None:
    for domain in ("airline", "retail"):
        info = {"agent_info": {"llm": "m"}, "environment_info": {"domain_name": domain}}
        trials = [{"task_id": "0", "trial": trial, "messages": CHAT, "reward_info": {"reward": 1}} for trial in (0, 1)]
        content = {"info": info, "tasks": [], "simulations": trials}
        (tmp_path / f"m_{domain}.json").write_text(json.dumps(content))
    [model] = compare(classify(tmp_path)).models
    assert (model.tasks, model.runs, model.trajectories) == (2, 2, 4)


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ("{'order': '7', 'gift': None, 'note': \"Ann's\"}", {"order": "7", "gift": None, "note": "Ann's"}),
        ('{"order": "7"}', {"order": "7"}),
        ("{'order': __import__('os').getcwd()}", None),
        ("{'order': " * 5000, None),
    ],
)
def test_arguments_that_the_agent_kept_as_python_are_those_that_it_had_parsed(
    tmp_path: Path, written: str, arguments: dict[str, Any] | None
) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "find_order", "arguments": written}}
    said = [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c1", "content": "shipped"}]
    path = tmp_path / "runs.json"
    path.write_text(json.dumps([{"task_id": 3, "reward": 1.0, "info": {}, "traj": said, "trial": 0}]))
    (read,) = open_file(path).trajectories()
    (found,) = read.calls()
    assert found.arguments == arguments
    assert (found.unreadable is None) is (arguments is not None)
