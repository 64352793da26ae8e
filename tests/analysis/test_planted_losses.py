"""Whether an audit tells thirty planted losses apart, recorded over a real server."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from replay.analysis.audit import audit
from replay.interpreter import Fleet, Interpreter, Sandbox
from replay.records.audit import Audit
from replay.runfile import Run
from tests.analysis.planted_losses import PLANTED, Planted
from tests.conftest import SERVERS
from tests.runs import make_run, write_trajectory


def fleet_of(directory: Path) -> Fleet:
    environment = {"FAULTS": str(directory / "faults.json")}
    office = {"command": sys.executable, "args": [str(SERVERS / "office.py")], "env": environment, "call_timeout": 0.3}
    path = directory / "servers.yaml"
    path.write_text(json.dumps({"version": 1, "servers": {"office": office}}))
    return Fleet.load(path)


async def recorded(directory: Path, planted: Sequence[Planted]) -> list[Path]:
    """What one server answers to the calls of each run, as a DAG file."""
    files = []
    async with Interpreter(fleet_of(directory), names=["office"], logs=directory / "logs") as interpreter:
        await interpreter.start()
        for task in planted:
            (directory / "faults.json").write_text(json.dumps(list(task.faults)))
            async with interpreter.sandbox(task.name) as sandbox:
                steps = [await _answered(sandbox, number, step) for number, step in enumerate(task.calls, 1)]
            files.append(
                write_trajectory(
                    directory / f"{task.name}.trajectory.json",
                    [],
                    model=task.name,
                    question=task.question,
                    final_reply=task.reply,
                    reported={"passed": False},
                    steps=steps,
                )
            )
    return files


async def _answered(sandbox: Sandbox, number: int, step: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    calls = []
    for place, (name, arguments) in enumerate(step, 1):
        answer = await sandbox.call("office", name.rpartition("/")[2], arguments)
        call = {"position": f"s{number}c{place}", "name": name, "arguments": arguments}
        calls.append({**call, "answer": answer.model_dump(mode="json")})
    return {"calls": calls}


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    directory = tmp_path_factory.mktemp("planted")
    (directory / "faults.json").write_text("[]")
    files = anyio.run(recorded, directory, PLANTED)
    with Run.read(make_run(directory / "run.db", files)) as run:
        return audit(run)


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_a_planted_loss_is_told_for_what_it_is(audited: Audit, planted: Planted) -> None:
    [model] = [model for model in audited.models if model.model == planted.name]
    told = "on-path" if model.undecided_lost else "not-on-path" if sum(model.faults.values()) else "model"
    assert told == planted.truth, planted.why


def test_of_thirty_planted_losses_ten_are_undecided(audited: Audit) -> None:
    whole = audited.benchmark
    assert (whole.runs, whole.passed, whole.undecided_lost, whole.lost_by_model) == (30, 0, 10, 20)
