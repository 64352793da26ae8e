"""Twenty generated sessions, recorded and replayed: the classes agree, and the steps are those that were made."""

from __future__ import annotations

import json
import random
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from replay.records import Outcome
from tests.recorder.raw_client import LEDGER, REPLAY, connect, proxy_command, recorded

SESSIONS = 20


@dataclass(frozen=True)
class Planned:
    """A call that the generator made, and what it must be called."""

    outcome: Outcome
    params: Any = None
    raw: bytes | None = None


def tool(outcome: Outcome, name: str, **arguments: Any) -> Planned:
    return Planned(outcome, {"name": name, "arguments": arguments})


CHOICES = (
    *(tool(Outcome.SUCCESS, "lookup", key=key) for key in ("alpha", "beta", "gamma")),
    tool(Outcome.SUCCESS, "echo", text="404 not found"),
    *(tool(Outcome.NOT_FOUND, "lookup", key=key) for key in ("omega", "psi")),
    tool(Outcome.INVALID_ARGUMENTS, "lookup"),
    tool(Outcome.INVALID_ARGUMENTS, "lookup", key=7),
    tool(Outcome.UNKNOWN_TOOL, "look_up", key="alpha"),
    tool(Outcome.INCONCLUSIVE, "limited", key="alpha"),
    Planned(Outcome.ILLEGAL_FORMAT, {"name": "lookup", "arguments": "alpha"}),
    Planned(Outcome.ILLEGAL_FORMAT, {"name": "lookup", "arguments": ["alpha"]}),
    Planned(Outcome.ILLEGAL_FORMAT, {"arguments": {"key": "alpha"}}),
    Planned(
        Outcome.ILLEGAL_FORMAT,
        raw=b'{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"lookup","arguments":{"key":"alp\n',
    ),
)


def plan(seed: int) -> list[list[Planned]]:
    chance = random.Random(seed)
    return [[chance.choice(CHOICES) for _ in range(chance.choice((1, 1, 2, 4)))] for _ in range(chance.randint(1, 5))]


def play(steps: list[list[Planned]], output: Path) -> None:
    with connect(
        proxy_command(output, "--name", "ledger", "--model", "generator"), stderr=subprocess.DEVNULL
    ) as client:
        client.initialize()
        client.request("tools/list", {})
        for number, step in enumerate(steps):
            lines = [
                call.raw
                or json.dumps(
                    {"jsonrpc": "2.0", "id": f"{number}.{place}", "method": "tools/call", "params": call.params}
                ).encode()
                + b"\n"
                for place, call in enumerate(step)
            ]
            client.write(b"".join(lines))
            for _ in step:
                client.line()
        assert client.close() == 0


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, list[list[Planned]]]:
    directory = tmp_path_factory.mktemp("sessions")
    plans = {directory / f"{seed}.trajectory.json": plan(seed) for seed in range(SESSIONS)}
    for path, steps in plans.items():
        play(steps, path)
    return plans


@pytest.mark.slow
def test_the_steps_are_those_that_the_generator_made(sessions: dict[Path, list[list[Planned]]]) -> None:
    for path, steps in sessions.items():
        assert [len(step.calls) for step in recorded(path).steps] == [len(step) for step in steps], path
        for made, planned in zip(recorded(path).steps, steps, strict=True):
            for call, wanted in zip(made.calls, planned, strict=True):
                assert (call.unreadable is not None) == (wanted.outcome == Outcome.ILLEGAL_FORMAT)
                if call.unreadable is None:
                    assert {"name": call.name, "arguments": call.arguments} == wanted.params


@pytest.mark.slow
def test_recorded_and_replayed_outcomes_agree_on_every_call(
    sessions: dict[Path, list[list[Planned]]], tmp_path: Path
) -> None:
    fleet = tmp_path / "servers.json"
    fleet.write_text(json.dumps({"mcpServers": {"ledger": {"command": LEDGER[0], "args": [LEDGER[1]]}}}))
    command = (*REPLAY, "classify", "--json", "--servers", str(fleet), "--run", str(tmp_path / "run.db"))

    done = subprocess.run((*command, *map(str, sessions)), capture_output=True, text=True, timeout=300, check=False)

    assert done.returncode == 0, done.stderr
    rows = {(row["trajectory"], row["call"]): row for row in json.loads(done.stdout)["calls"]}
    planned = {
        (path.name.removesuffix(".trajectory.json"), f"s{number}c{place}"): call
        for path, steps in sessions.items()
        for number, step in enumerate(steps, 1)
        for place, call in enumerate(step, 1)
    }
    assert rows.keys() == planned.keys()
    assert {call.outcome for call in planned.values()} == set(Outcome)
    wrong = {
        where: (call.params, row["outcome"], row["recorded"], row["replayed"])
        for where, call in planned.items()
        if (row := rows[where])["outcome"] != call.outcome or not agree(row)
    }
    assert wrong == {}


def agree(row: dict[str, Any]) -> bool:
    """Both outcomes are there and the same; but what is not a call, or not a tool, is not sent again."""
    if row["outcome"] in {Outcome.ILLEGAL_FORMAT, Outcome.UNKNOWN_TOOL}:
        return row["replayed"] is None
    return row["recorded"] is not None and row["recorded"] == row["replayed"]
