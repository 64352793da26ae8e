"""Faithful replay: rebinding, state gaps, effects, trials, stored answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from replay.formats import open_file
from replay.interpreter import Fleet
from replay.records.files import CallRow
from replay.replayer.classifier import classify_live, classify_stored
from replay.replayer.plan import Options, Progress
from replay.runfile import Run, call_rows

Write = Callable[..., Path]
Steps = list[list[tuple[Any, ...]]]


def live(directory: Path, results: Path, fleet: Path, **options: Any) -> list[CallRow]:
    with Run.open(directory / "run.db", fresh=True) as run:
        files = [open_file(results)]
        anyio.run(_live, run, files, Fleet.load(fleet), Options(**options), directory / "logs")
        return list(call_rows(run))


async def _live(run: Run, files: Any, fleet: Fleet, options: Options, logs: Path) -> None:
    await classify_live(run, files, fleet, options, logs=logs, progress=Progress())


def stored(directory: Path, results: Path, fleet: Path | None = None) -> list[CallRow]:
    async def judge(run: Run) -> None:
        known = Fleet.load(fleet) if fleet else None
        await classify_stored(run, [open_file(results)], Options(offline=True), progress=Progress(), fleet=known)

    with Run.open(directory / "run.db") as run:
        anyio.run(judge, run)
        return list(call_rows(run))


def chain(number: int) -> Steps:
    """Five calls; the last four take the id that the first one made when this was recorded."""
    identifier = f"{number:032x}".replace("0", "a")
    made = {"id": identifier, "name": f"thing {number}"}
    steps: Steps = [[("chain/create", {"name": made["name"]}, json.dumps(made))]]
    for turn in range(2):
        renamed = {"id": identifier, "name": f"thing {number} v{turn}"}
        steps.append([("chain/update", renamed, json.dumps(renamed))])
        steps.append([("chain/get", {"id": identifier}, json.dumps(renamed))])
    return steps


def outcomes(rows: list[CallRow]) -> list[str]:
    return [str(row.outcome) for row in rows]


@pytest.fixture
def chains(results_file: Write, fleet_file: Write) -> tuple[Path, Path]:
    fleet = fleet_file(chain={"script": "chain.py", "state": "trajectory", "effects": "sandboxed"})
    return results_file(**{f"chain-{number}": chain(number) for number in range(1, 4)}), fleet


@pytest.mark.slow
def test_a_hundred_chains_over_random_ids_replay_with_rebinding_and_their_dependents_fail_without(
    tmp_path: Path, results_file: Write, fleet_file: Write
) -> None:
    results = results_file(**{f"chain-{number}": chain(number) for number in range(1, 101)})
    fleet = fleet_file(chain={"script": "chain.py", "effects": "all"})
    bound = live(tmp_path, results, fleet)
    assert outcomes(bound) == ["success"] * 500
    naive = live(tmp_path, results, fleet, rebinding=False)
    dependents = [row for row in naive if row.call != "s1c1"]
    assert len(dependents) == 400
    assert {str(row.replayed) for row in dependents} == {"not_found"}


def test_a_rebound_call_says_which_value_came_from_which_producer(tmp_path: Path, chains: tuple[Path, Path]) -> None:
    rows = live(tmp_path, *chains)
    second = rows[1]
    assert second.findings == ("rebound",)
    (rebinding,) = second.rebound
    assert (rebinding.pointer, rebinding.producer, rebinding.recorded) == ("/id", "s1c1", "a" * 31 + "1")
    assert rebinding.replayed != rebinding.recorded


def test_a_rebound_call_is_judged_by_the_arguments_that_were_sent(
    tmp_path: Path, results_file: Write, fleet_file: Write
) -> None:
    made = {"id": "a" * 31 + "1", "name": "thing"}
    only_id = {"id": made["id"]}
    missing = f"Error executing tool remove: '{made['id']}' is locked"
    calls: Steps = [
        [("chain/create", {"name": "thing"}, json.dumps(made))],
        [("chain/remove", only_id, "done")],
        [("chain/remove", only_id, missing)],
    ]
    fleet = fleet_file(chain={"script": "chain.py", "state": "trajectory", "effects": "sandboxed"})
    rows = live(tmp_path, results_file(t=calls), fleet)
    assert [(str(row.recorded), str(row.replayed)) for row in rows][-1] == ("invalid_arguments", "invalid_arguments")


def test_a_call_that_failed_then_and_now_leaves_no_gap_though_its_message_is_another(
    tmp_path: Path, results_file: Write, fleet_file: Write
) -> None:
    renamed = [("chain/update", {"id": key, "name": "x"}, "Error executing tool update: E7") for key in ("no1", "no2")]
    fleet = fleet_file(chain={"script": "chain.py", "state": "trajectory", "effects": "sandboxed"})
    rows = live(tmp_path, results_file(t=[[call] for call in renamed]), fleet)
    assert [(str(row.outcome), row.evidence, row.gap) for row in rows] == [("not_found", "replay", None)] * 2


def test_words_that_the_server_flags_now_were_a_failure_when_they_were_recorded_without_the_flag(
    tmp_path: Path, results_file: Write, fleet_file: Write
) -> None:
    audit = [("bank/audit", {"account": "a"}, "E7")]
    opened = [("bank/open", {"account": "a"}, "opened")]
    fleet = fleet_file(bank={"script": "bank.py", "state": "trajectory", "effects": "sandboxed"})
    rows = live(tmp_path, results_file(t=[opened, audit, audit]), fleet)
    assert [(str(row.recorded), str(row.outcome), row.gap) for row in rows[1:]] == [
        ("inconclusive", "inconclusive", None)
    ] * 2


def test_jobs_do_not_change_verdicts(tmp_path: Path, chains: tuple[Path, Path]) -> None:
    one, eight = live(tmp_path, *chains, jobs=1), live(tmp_path, *chains, jobs=8)
    volatile = {"seconds": None, "rebound": (), "difference": None}
    assert [row.model_copy(update=volatile) for row in one] == [row.model_copy(update=volatile) for row in eight]


def notes_run(path: str) -> Steps:
    return [
        [("local-python", {"code": f"open({path!r}, 'w').write('x')"}, "done")],
        [("notes/read", {"path": path}, "x")],
        [("notes/read", {"path": "/ws/never.txt"}, "[Errno 2] No such file or directory: '/ws/never.txt'")],
    ]


@pytest.fixture
def notes_fleet(fleet_file: Write) -> Path:
    path = fleet_file(
        workspace={"recorded_as": ["/ws"]},
        notes={"script": "notes.py ${workspace}", "state": "trajectory", "effects": "sandboxed"},
    )
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "local_tools": ["local-*"]}))
    return path


def test_a_file_that_the_harness_wrote_is_a_state_gap_and_not_the_models_fault(
    tmp_path: Path, results_file: Write, notes_fleet: Path
) -> None:
    local, read, never = live(tmp_path, results_file(run=notes_run("/ws/made.txt")), notes_fleet)
    assert (local.outcome, local.reason, local.recorded) == ("inconclusive", "local-tool", "success")
    assert (read.outcome, read.recorded, read.replayed) == ("success", "success", "not_found")
    assert (read.reason, read.gap, read.divergence, read.evidence) == ("state-gap", "s1c1", "state-gap", "recorded")
    assert "s1c1 before it did not happen again as recorded" in read.message
    assert (never.outcome, never.divergence) == ("not_found", None)


def test_without_a_recorded_answer_a_failure_after_a_gap_is_inconclusive(
    tmp_path: Path, results_file: Write, notes_fleet: Path
) -> None:
    steps = [[call[:2] for call in step] for step in notes_run("/ws/made.txt")]
    _, read, _ = live(tmp_path, results_file(run=steps), notes_fleet)
    assert (read.outcome, read.reason, read.gap) == ("inconclusive", "state-gap", "s1c1")


def test_a_read_only_call_that_is_not_replayed_makes_no_gap(
    tmp_path: Path, results_file: Write, fleet_file: Write
) -> None:
    fleet = fleet_file(annotated="annotated.py", notes={"script": "annotated.py", "effects": "read-only"})
    steps: Steps = [[("annotated/plain", {}, "done")], [("annotated/look", {}, "no such thing: look was not found")]]
    held, look = live(tmp_path, results_file(run=steps), fleet)
    assert (held.outcome, held.reason, held.replayed) == ("success", None, None)
    assert (look.outcome, look.gap) == ("not_found", "s1c1")
    steps = [[("annotated/look", {}, "look")], [("annotated/look", {}, "no such thing: look was not found")]]
    assert live(tmp_path, results_file(run=steps), fleet)[1].gap is None


def test_effects_are_withheld_until_they_are_allowed(tmp_path: Path, results_file: Write, fleet_file: Write) -> None:
    results = results_file(run=[[("book/put", {"n": "1"})], [("book/look", {"n": "2"})], [("book/put", {})]])
    log = tmp_path / "log"
    fleet = fleet_file(book={"script": "logbook.py", "env": {"LOGBOOK": str(log)}})
    rows = live(tmp_path, results, fleet)
    assert [(row.outcome, row.reason) for row in rows] == [
        ("inconclusive", "withheld"),
        ("success", None),
        ("invalid_arguments", None),
    ]
    assert rows[2].evidence == "schema"
    assert [row.findings for row in rows] == [("withheld",), (), ("withheld",)]
    assert log.read_text().splitlines() == ["look 2"]
    allowed = live(tmp_path, results, fleet, allow_effects=frozenset({"book"}))
    assert allowed[0].outcome == "success"
    assert "put 1" in log.read_text().splitlines()


def test_trials_count_what_each_replay_said_and_show_what_moves(tmp_path: Path, chains: tuple[Path, Path]) -> None:
    rows = live(tmp_path, *chains, trials=3)
    assert rows[0].trials == {"success": 3}
    assert any("id" in pointer for pointer in rows[0].volatile)
    assert "flaky" not in rows[0].findings


def test_a_flaky_outcome_is_counted_and_never_outvoted(tmp_path: Path, results_file: Write, fleet_file: Write) -> None:
    fleet = fleet_file(flaky={"script": "flaky.py", "env": {"STATE": str(tmp_path / "state")}})
    (row,) = live(tmp_path, results_file(run=[[("flaky/look", {})]]), fleet, trials=4)
    assert row.trials == {"success": 2, "not_found": 2}
    assert "flaky" in row.findings


def test_stored_answers_give_the_same_verdicts_without_a_server(tmp_path: Path, chains: tuple[Path, Path]) -> None:
    results, fleet = chains
    alive = live(tmp_path, results, fleet)
    again = stored(tmp_path, results)
    assert {row.evidence for row in again} == {"stored"}
    kept = [(row.call, row.outcome, row.rule, row.replayed, row.drift, row.rebound) for row in alive]
    assert [(row.call, row.outcome, row.rule, row.replayed, row.drift, row.rebound) for row in again] == kept


def test_a_rule_of_the_users_changes_verdicts_offline(tmp_path: Path, chains: tuple[Path, Path]) -> None:
    results, fleet = chains
    live(tmp_path, results, fleet)
    document = json.loads(fleet.read_text())
    document["servers"]["chain"]["rules"] = [{"id": "mine", "pattern": "v1", "outcome": "not_found"}]
    fleet.write_text(json.dumps(document))
    assert [row.rule for row in stored(tmp_path, results, fleet) if row.outcome == "not_found"] == ["mine"] * 6


def test_dependents_of_a_failed_call_name_their_root_cause(
    tmp_path: Path, results_file: Write, notes_fleet: Path
) -> None:
    steps: Steps = [
        [("notes/write", {"path": "/ws/no/report.txt", "text": "x"})],
        [("notes/read", {"path": "/ws/no/report.txt"})],
        [("notes/read", {"path": "/ws/no/report.txt"}), ("notes/where", {})],
    ]
    first, second, third, free = live(tmp_path, results_file(run=steps), notes_fleet)
    assert first.outcome == "not_found"
    assert [row.caused_by for row in (first, second, third, free)] == [None, "s1c1", "s1c1", None]
    assert free.outcome == "success"


def test_only_what_matches_is_judged_but_state_is_built_up(
    tmp_path: Path, results_file: Write, notes_fleet: Path
) -> None:
    steps: Steps = [[("notes/write", {"path": "/ws/a.txt", "text": "hello"})], [("notes/read", {"path": "/ws/a.txt"})]]
    (row,) = live(tmp_path, results_file(run=steps), notes_fleet, only="notes/read")
    assert (row.tool, row.outcome) == ("notes/read", "success")


def test_a_limit_takes_the_first_trajectories(tmp_path: Path, chains: tuple[Path, Path]) -> None:
    assert {row.trajectory for row in live(tmp_path, *chains, limit=2)} == {"chain-1", "chain-2"}


def test_a_recording_that_names_its_server_otherwise_is_replayed_on_the_same_one(
    tmp_path: Path, fleet_file: Write
) -> None:
    from replay.records import Call, Server, Source, Step, ToolResult
    from replay.records.files import TrajectoryFile
    from replay.safety.filesystem import write_json

    answer = ToolResult(content=({"type": "text", "text": "look"},))
    call = Call(position="s1c1", name="look", server="my-laptop", tool="look", arguments={}, answer=answer)
    recorded = TrajectoryFile(
        id="r",
        model="m",
        source=Source(file="r", format="recorder"),
        steps=(Step(calls=(call,)),),
        servers=(Server(name="my-laptop", title="annotated"),),
    )
    path = tmp_path / "r.trajectory.json"
    write_json(recorded, path)
    (row,) = live(tmp_path, path, fleet_file(plain="annotated.py", other="chain.py"))
    assert (row.tool, row.outcome, row.replayed, row.drift) == ("plain/look", "success", "success", "same")


@pytest.mark.parametrize(
    ("calls", "tools"),
    [
        ([("look", {}, "look")], ["plain/look"]),
        ([("look", {}, "look"), ("gaze", {}, "Unknown tool: gaze")], ["plain/look", None]),
        ([("look", {}, "Error: no such tool")], [None]),
        ([("look", {}, "look"), ("plain/look", {}, "look")], [None, "plain/look"]),
        ([("get", {"id": "a"}, "{}")], [None]),
    ],
    ids=["bare", "bare-and-unknown", "never-ran", "one-names-its-server", "of-two-servers"],
)
def test_a_recording_that_names_no_server_means_the_one_that_has_the_tool(
    tmp_path: Path, results_file: Write, fleet_file: Write, calls: list[Any], tools: list[str | None]
) -> None:
    fleet = fleet_file(plain="annotated.py", one="chain.py", two="chain.py")
    rows = live(tmp_path, results_file(t=[[call] for call in calls]), fleet)
    assert [row.tool if row.evidence == "replay" else None for row in rows] == tools


def test_trials_send_a_call_with_effects_in_shared_state_once(
    tmp_path: Path, results_file: Write, fleet_file: Write
) -> None:
    log = tmp_path / "log"
    fleet = fleet_file(book={"script": "logbook.py", "env": {"LOGBOOK": str(log)}, "effects": "all"})
    live(tmp_path, results_file(run=[[("book/put", {"n": "1"})], [("book/look", {"n": "2"})]]), fleet, trials=3)
    assert sorted(log.read_text().splitlines()) == ["look 2", "look 2", "look 2", "put 1"]


def test_what_an_earlier_call_stored_is_content_when_it_is_read_back(
    tmp_path: Path, results_file: Write, notes_fleet: Path
) -> None:
    text = "Error: document not found"
    steps: Steps = [
        [("notes/write", {"path": "/ws/a.txt", "text": text})],
        [("notes/read", {"path": "/ws/a.txt"}, text)],
    ]
    _, read = live(tmp_path, results_file(run=steps), notes_fleet)
    assert (read.outcome, read.recorded, read.replayed) == ("success", "success", "success")
