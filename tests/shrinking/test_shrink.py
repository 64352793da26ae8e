"""The smallest reproduction: against a real server with state, in fresh sandboxes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
import yaml
from click.testing import CliRunner

from replay.analysis.answer_labels import AnswerLabel
from replay.cli.shrink import shrink as shrink_verb
from replay.errors import UsageError
from replay.formats import open_file
from replay.interpreter import Fleet
from replay.records import Outcome
from replay.replayer.classifier import classify_live
from replay.replayer.plan import Options, Progress
from replay.runfile import Run, call_rows
from replay.shrinking import Reduction, Shrunk, shrink, write_repro
from tests.runs import failed, write_trajectory

SERVERS = Path(__file__).parents[1] / "servers"
Calls = list[tuple[str, dict[str, Any]]]


def results_of(calls: Calls) -> dict[str, Any]:
    steps = [{"step": n, "calls": [{"name": name, "arguments": given}]} for n, (name, given) in enumerate(calls, 1)]
    return {"id": "long", "question": "Look after the accounts.", "steps": steps}


def long_trajectory(memo: str = "") -> Calls:
    """245 calls; the last fails as frozen, which takes the open, the deposit and the freeze of its own account."""
    calls: Calls = [("bank/remark", {"n": str(number)}) for number in range(1, 245)]
    calls[16] = ("bank/open", {"account": "A"})
    calls[40] = ("bank/open", {"account": "B"})
    calls[90] = ("bank/deposit", {"account": "A"})
    calls[130] = ("bank/freeze", {"account": "B"})
    calls[201] = ("bank/freeze", {"account": "A"})
    last = {"account": "A", "memo": memo} if memo else {"account": "A"}
    return [*calls, ("bank/withdraw", last)]


@pytest.fixture
def fleet_file(tmp_path: Path) -> Path:
    bank = {"command": sys.executable, "args": [str(SERVERS / "bank.py")], "effects": "sandboxed"}
    path = tmp_path / "servers.yaml"
    unused = {"command": "no-such-program", "args": []}
    path.write_text(yaml.safe_dump({"version": 1, "servers": {"bank": bank, "unused": unused}}))
    return path


@pytest.fixture
def shrunk_from(tmp_path: Path, fleet_file: Path) -> Callable[..., Shrunk]:
    def make(calls: Calls, **options: Any) -> Shrunk:
        (tmp_path / "m_test.json").write_text(json.dumps([results_of(calls)]))
        trajectory = next(open_file(tmp_path / "m_test.json").trajectories())
        last = list(trajectory.calls())[-1].position

        async def find() -> Shrunk:
            return await shrink(trajectory, last, Fleet.load(fleet_file), logs=tmp_path / "logs", **options)

        return anyio.run(find)

    return make


def classified(results: Path, fleet: Path, run_path: Path) -> list[str]:
    async def live(run: Run) -> None:
        await classify_live(
            run,
            [open_file(results)],
            Fleet.load(fleet),
            Options(),
            logs=run_path.with_suffix(".logs"),
            progress=Progress(),
        )

    with Run.open(run_path, fresh=True) as run:
        anyio.run(live, run)
        return [str(row.outcome) for row in call_rows(run)]


def test_of_245_calls_the_four_that_the_failure_needs_are_left_after_less_than_60_replays(
    shrunk_from: Callable[..., Shrunk],
) -> None:
    shrunk = shrunk_from(long_trajectory())
    assert [(call.position, call.name) for call in shrunk.trajectory.calls()] == [
        ("s17c1", "bank/open"),
        ("s91c1", "bank/deposit"),
        ("s202c1", "bank/freeze"),
        ("s245c1", "bank/withdraw"),
    ]
    assert shrunk.replays < 60
    assert shrunk.result.verdict.outcome == "invalid_arguments"


def test_a_failure_that_needs_no_other_call_is_left_alone_at_once(shrunk_from: Callable[..., Shrunk]) -> None:
    shrunk = shrunk_from([("bank/remark", {}), ("bank/deposit", {"account": "nobody"})])
    assert [call.name for call in shrunk.trajectory.calls()] == ["bank/deposit"]
    assert shrunk.replays <= 4


def test_arguments_that_do_not_matter_are_dropped_or_shortened(shrunk_from: Callable[..., Shrunk]) -> None:
    calls = long_trajectory(memo="why I need it " * 40)[-45:]
    calls = [("bank/open", {"account": "A"}), ("bank/deposit", {"account": "A"}), *calls]
    *_, last = shrunk_from(calls).trajectory.calls()
    assert last.arguments == {"account": "A"}


def test_a_call_that_succeeds_on_replay_cannot_be_shrunk(shrunk_from: Callable[..., Shrunk]) -> None:
    with pytest.raises(UsageError, match="replayed, it is judged success"):
        shrunk_from([("bank/open", {"account": "A"})])


def test_a_call_that_may_not_be_sent_cannot_be_shrunk(tmp_path: Path, fleet_file: Path) -> None:
    fleet_file.write_text(fleet_file.read_text().replace("effects: sandboxed", "effects: read-only"))
    file = write_trajectory(tmp_path / "t.trajectory.json", [failed("bank/open", {"account": "A"}, "A does not exist")])
    (trajectory,) = open_file(file).trajectories()
    with pytest.raises(UsageError, match=r"s1c1 cannot be shrunk: .*--allow-effects bank sends it"):
        anyio.run(lambda: shrink(trajectory, "s1c1", Fleet.load(fleet_file), logs=tmp_path))


@pytest.mark.parametrize(
    ("calls", "needed", "said"),
    [
        (("open", "deposit", "freeze", "audit"), ["bank/open", "bank/freeze", "bank/audit"], "RuntimeError: no rows"),
        (("open", "deposit", "audit"), ["bank/open", "bank/audit"], "E7"),
    ],
)
def test_a_crash_and_an_error_that_nothing_explains_are_shrunk_as_failures_are(
    shrunk_from: Callable[..., Shrunk], calls: Sequence[str], needed: list[str], said: str
) -> None:
    shrunk = shrunk_from([(f"bank/{name}", {"account": "A"}) for name in calls])
    assert [call.name for call in shrunk.trajectory.calls()] == needed
    assert said in shrunk.result.verdict.message


def test_a_failure_that_only_a_label_tells_is_shrunk_too(shrunk_from: Callable[..., Shrunk]) -> None:
    said = AnswerLabel(tool="bank/remark", template="*", outcome=Outcome.NOT_FOUND)
    calls: Calls = [("bank/open", {"account": "A"}), ("bank/remark", {"n": "1"})]
    shrunk = shrunk_from(calls, labels=(said.rule(),))
    assert [call.name for call in shrunk.trajectory.calls()] == ["bank/remark"]
    assert shrunk.result.verdict.rule.startswith("label.")


def test_what_is_written_shows_the_failure_with_the_command_that_is_printed(
    tmp_path: Path, fleet_file: Path, shrunk_from: Callable[..., Shrunk]
) -> None:
    calls = [("bank/open", {"account": "A"}), ("bank/deposit", {"account": "A"}), ("bank/freeze", {"account": "A"})]
    shrunk = shrunk_from([*calls, ("bank/remark", {}), ("bank/withdraw", {"account": "A"})])
    repro = write_repro(shrunk, Fleet.load(fleet_file), tmp_path / "out")
    fleet = yaml.safe_load(repro.fleet.read_text())
    assert list(fleet["servers"]) == ["bank"]
    assert "# bank: bank 4.2" in repro.fleet.read_text()
    assert repro.command.startswith("replay classify ")
    outcomes = classified(repro.trajectory, repro.fleet, tmp_path / "again.db")
    assert outcomes == ["success", "success", "success", "invalid_arguments"]


def test_secrets_are_taken_out_and_it_says_where_the_failure_needs_one(
    tmp_path: Path, fleet_file: Path, shrunk_from: Callable[..., Shrunk], monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "sk-live-0123456789abcdefghij"
    monkeypatch.setenv("BANK_API_KEY", secret)
    fleet = yaml.safe_load(fleet_file.read_text())
    fleet["servers"]["bank"]["env"] = {"BANK_API_KEY": "${BANK_API_KEY}", "OTHER_TOKEN": "tok-literal-4711"}
    fleet_file.write_text(yaml.safe_dump(fleet))
    shrunk = shrunk_from([("bank/deposit", {"account": f"Bearer {secret}"})])
    repro = write_repro(shrunk, Fleet.load(fleet_file), tmp_path / "out")
    written = repro.trajectory.read_text() + repro.fleet.read_text()
    assert secret not in written
    assert "tok-literal-4711" not in written
    assert yaml.safe_load(repro.fleet.read_text())["servers"]["bank"]["env"] == {
        "BANK_API_KEY": "${BANK_API_KEY}",
        "OTHER_TOKEN": "${OTHER_TOKEN}",
    }
    assert not shrunk.redaction_matters


def test_the_secret_of_a_login_becomes_a_variable(tmp_path: Path, shrunk_from: Callable[..., Shrunk]) -> None:
    auth = {"grant": "client_credentials", "client_id": "robot", "client_secret": "open-sesame-4711"}
    remote = Fleet.model_validate({"servers": {"bank": {"url": "https://bank.example/mcp", "auth": auth}}})
    shrunk = shrunk_from([("bank/deposit", {"account": "nobody"})])
    written = write_repro(shrunk, remote, tmp_path / "out").fleet.read_text()
    assert "open-sesame-4711" not in written
    assert yaml.safe_load(written)["servers"]["bank"]["auth"] == {**auth, "client_secret": "${BANK_CLIENT_SECRET}"}


def test_a_failure_that_depends_on_a_secret_is_written_without_it_and_marked(
    shrunk_from: Callable[..., Shrunk],
) -> None:
    shrunk = shrunk_from([("bank/remark", {}), ("bank/unlock", {"code": "sk-live-0123456789abcdefghij"})])
    assert shrunk.redaction_matters
    assert shrunk.result.verdict.outcome == "success"
    assert "sk-live" not in shrunk.trajectory.model_dump_json()


def test_the_verb_writes_two_files_and_prints_one_command(tmp_path: Path, fleet_file: Path) -> None:
    calls: Calls = [("bank/open", {"account": "A"}), ("bank/remark", {}), ("bank/withdraw", {"account": "A"})]
    results = tmp_path / "m_test.json"
    results.write_text(json.dumps([results_of(calls)]))
    run_path = tmp_path / "run.db"
    classified(results, fleet_file, run_path)
    words = [str(run_path), "--call", "long:s3c1", "--servers", str(fleet_file), "-o", str(tmp_path / "out")]
    done = CliRunner().invoke(shrink_verb, words, catch_exceptions=False)
    assert done.stdout.strip().startswith(f"replay classify {tmp_path / 'out' / 'repro.trajectory.json'}")
    assert "2 of 3 calls" in done.stderr
    with pytest.raises(UsageError, match="exists; overwrite it with --force"):
        CliRunner().invoke(shrink_verb, words, catch_exceptions=False)


def test_an_unknown_call_names_the_nearest_ones(tmp_path: Path, fleet_file: Path) -> None:
    results = tmp_path / "m_test.json"
    results.write_text(json.dumps([results_of([("bank/open", {"account": "A"})])]))
    classified(results, fleet_file, tmp_path / "run.db")
    with pytest.raises(UsageError, match=r"there is no call long:s9c1 in this run; nearest: long:s1c1"):
        CliRunner().invoke(shrink_verb, [str(tmp_path / "run.db"), "--call", "long:s9c1"], catch_exceptions=False)


@pytest.mark.parametrize("needed", [[], [0], [243], [0, 243], [5, 6, 7], [17, 90, 201], list(range(0, 244, 60))])
def test_the_reduction_finds_exactly_what_a_test_needs(needed: list[int]) -> None:
    asked: list[Sequence[int]] = []

    async def holds(items: Sequence[int]) -> bool:
        asked.append(items)
        return set(needed) <= set(items)

    assert anyio.run(Reduction(holds, 1000).smallest, list(range(244))) == needed
    assert len(asked) < 12 * (len(needed) + 1)


def test_where_more_calls_spoil_the_failure_the_reduction_still_ends_with_a_part_that_fails() -> None:
    async def holds(items: Sequence[int]) -> bool:
        return len(items) == 40 or (3 in items and 30 not in items)

    found = anyio.run(Reduction(holds, 1000).smallest, list(range(40)))
    assert found == [3]


def test_without_replays_left_the_smallest_part_so_far_stands() -> None:
    async def holds(items: Sequence[int]) -> bool:
        return {7, 300} <= set(items)

    found = anyio.run(Reduction(holds, 16).smallest, list(range(1000)))
    assert {7, 300} <= set(found)
    assert len(found) < 1000
