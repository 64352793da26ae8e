"""The command grants each call with effects once, whoever asks and however often."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from replay.records import FleetFacts, TextAnswer
from replay.replayer.dask_workers import PACKAGE, described_workers, refusal
from replay.replayer.messages import Claim, LeaseLostError, Settings, WorkerRequests
from replay.replayer.plan import Options
from replay.runfile import Run
from replay.runfile.effects_journal import EffectKey, Origin, SentCall

KEY = EffectKey("book", "put", "a" * 64, 1)
HERE = Origin("/results.json", "t0", "")


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    with Run.open(tmp_path / "run.db") as opened:
        yield opened


@pytest.fixture
def requests(run: Run) -> WorkerRequests:
    settings = Settings(Options(), FleetFacts(), (), "", (), {})
    return WorkerRequests(run, settings, stored=run.stored_answer)


def noted(run: Run) -> int:
    return int(run.connection.execute("SELECT count(*) FROM journal").fetchone()[0])


def test_a_call_is_granted_once_and_is_in_the_run_file_by_then(run: Run, requests: WorkerRequests) -> None:
    requests.give_out(1, 1, HERE)
    assert requests.handle("claim", Claim(1, 1, "first", KEY)) is None
    assert noted(run) == 1
    with pytest.raises(LeaseLostError):
        requests.handle("claim", Claim(1, 1, "first", KEY))
    assert noted(run) == 1


def test_a_second_execution_of_the_same_task_is_granted_nothing(run: Run, requests: WorkerRequests) -> None:
    requests.give_out(1, 1, HERE)
    requests.handle("claim", Claim(1, 1, "first", KEY))
    other = KEY._replace(occurrence=2)
    with pytest.raises(LeaseLostError):
        requests.handle("claim", Claim(1, 1, "second", other))
    assert noted(run) == 1


def test_a_worker_that_was_held_for_lost_is_granted_nothing(run: Run, requests: WorkerRequests) -> None:
    requests.give_out(1, 1, HERE)
    requests.give_out(1, 2, HERE)
    with pytest.raises(LeaseLostError):
        requests.handle("claim", Claim(1, 1, "first", KEY))
    assert noted(run) == 0


def test_a_trajectory_that_is_done_is_granted_nothing(run: Run, requests: WorkerRequests) -> None:
    requests.give_out(1, 1, HERE)
    requests.take_back(1)
    with pytest.raises(LeaseLostError):
        requests.handle("claim", Claim(1, 1, "first", KEY))
    assert noted(run) == 0


def test_an_answer_that_comes_after_its_worker_was_held_for_lost_is_kept(run: Run, requests: WorkerRequests) -> None:
    requests.give_out(1, 1, HERE)
    requests.handle("claim", Claim(1, 1, "first", KEY))
    requests.give_out(1, 2, HERE)
    requests.handle("answer", (1, KEY, SentCall(TextAnswer(text="put"))))
    requests.handle("answer", (1, KEY, SentCall(TextAnswer(text="put"), "a trace")))
    found = run.journal().find(HERE, KEY, lambda path, trajectory, key: True)
    assert found is not None
    assert (found.answer, found.stderr) == (TextAnswer(text="put"), "a trace")


def versions(python: str = "3.11.7.final.0", **packages: str | None) -> dict[str, Any]:
    known: dict[str, str | None] = {PACKAGE: "1.0", "distributed": "2026.8.0", "cloudpickle": "3"}
    return {"host": {"python": python}, "packages": {**known, **{k.replace("_", "-"): v for k, v in packages.items()}}}


@pytest.mark.parametrize(
    ("worker", "why"),
    [
        (versions(), None),
        (versions(python="3.11.2.final.0"), None),
        (versions(python="3.12.1.final.0"), "runs Python 3.12, and the command 3.11"),
        (versions(mcp_replay=None), "has not mcp-replay 1.0: install it there"),
        (versions(mcp_replay="0.9"), "has mcp-replay 0.9, and the command 1.0"),
        (versions(distributed="2024.1.0"), "has distributed 2024.1.0, and the command 2026.8.0"),
        (None, "does not say what it runs"),
    ],
)
def test_a_worker_that_runs_something_else_is_refused_and_told_why(worker: Any, why: str | None) -> None:
    assert refusal(worker, versions()) == why


def test_a_worker_that_is_closing_is_not_counted() -> None:
    identity = {"workers": {"a": {"name": 0, "nthreads": 2, "status": "running"}, "b": {"status": "closing"}}}
    assert [name for name, _ in described_workers(identity).values()] == ["0"]
