from __future__ import annotations

import re
from pathlib import Path

import pytest

from replay.errors import UsageError
from replay.runfile import Run, summarize
from replay.runfile.trajectory_queries import (
    Addresses,
    TrajectoryPlace,
    find_call,
    find_trajectory,
    trajectory_places,
)
from tests.in_process import replay_here
from tests.runs import failed, make_run, write_trajectory

DRAWN = (
    "0cf3db51-7c1e-4a2b-9d80-1f2e3d4c5b6a",
    "0cf3dbaa-7c1e-4a2b-9d80-1f2e3d4c5b6a",
    "ses_31407b296ffexbZDjR30zSTXZX",
)


def addresses(*places: tuple[str, str, str]) -> list[str]:
    rows = [TrajectoryPlace(number, *place) for number, place in enumerate(places)]
    known = Addresses(rows)
    return [known.trajectory(row.file, row.trajectory) for row in rows]


def test_an_id_that_others_have_is_printed_with_its_model() -> None:
    assert addresses(("a.json", "gpt", "task012"), ("b.json", "opus", "task012"), ("b.json", "opus", "x")) == [
        "gpt:task012", "opus:task012", "x",
    ]  # fmt: skip


def test_of_one_model_as_much_of_the_path_is_printed_as_tells_them_apart() -> None:
    assert addresses(("/w/one/t.json", "gpt", "t"), ("/w/two/t.json", "gpt", "t")) == ["one:t", "two:t"]
    assert addresses(("/w/one.json", "gpt", "t"), ("/w/two.json", "gpt", "t")) == ["one:t", "two:t"]


def test_no_long_path_is_printed_where_a_task_was_run_several_times() -> None:
    name = "company_in_a_box__goals_restructure"
    runs = [(f"published/{group}/run-{number}/{name}/messages.json", "m", name) for group in "ab" for number in (1, 2)]
    assert addresses(*runs[:2]) == [f"run-1:{name}", f"run-2:{name}"]
    assert addresses(*runs) == [f"{group}/run-{number}:{name}" for group in "ab" for number in (1, 2)]


def test_an_id_drawn_at_random_is_printed_by_its_first_characters() -> None:
    assert addresses(*((f"{number}.jsonl", "m", name) for number, name in enumerate(DRAWN))) == [
        "0cf3db51", "0cf3dbaa", "ses_31407b29",
    ]  # fmt: skip


def test_ids_drawn_at_random_that_begin_alike_are_printed_as_far_as_they_differ() -> None:
    first, second = DRAWN[0], DRAWN[0].replace("9d80", "9d81")
    assert addresses(("a", "m", first), ("b", "m", second)) == [first[:23], second[:23]]


@pytest.mark.parametrize("name", ["task012", "excel-market-research-2025-report", "00060000", "$[3]", "agent-a1b2c3d4"])
def test_an_id_that_somebody_gave_is_printed_whole(name: str) -> None:
    assert addresses(("a", "m", name)) == [name]


@pytest.fixture
def run_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    paths = []
    for folder, model, name in (
        ("a", "gpt", "task012"), ("b", "opus", "task012"), ("c", "opus", "task012"), ("a", "gpt", "task1"),
        *(("d", "gpt", drawn) for drawn in DRAWN),
    ):  # fmt: skip
        Path(folder).mkdir(exist_ok=True)
        calls = [failed("files/read", {"path": "/w/x"}, "/w/x: no such file")]
        paths.append(write_trajectory(Path(folder, f"{name}.trajectory.json"), calls, model=model))
    return make_run(tmp_path / "run.db", paths)


def test_every_printed_address_finds_its_trajectory(run_path: Path) -> None:
    with Run.read(run_path) as run:
        places = trajectory_places(run)
        known = Addresses.of(run)
        for place in places:
            assert find_trajectory(run, known.trajectory(place.file, place.trajectory)) == place
            assert find_call(run, known.call(place.file, place.trajectory, "s1c1"))[0].row == place.row


@pytest.mark.parametrize("ref", ["0cf3db51", "0cf3db5", "gpt:0cf3db51", "a/task012.trajectory.json:task012", "ses_"])
def test_as_much_of_an_id_as_only_one_has_is_enough(run_path: Path, ref: str) -> None:
    with Run.read(run_path) as run:
        assert find_call(run, f"{ref}:s1c1")[0].row == find_trajectory(run, ref).row


@pytest.mark.parametrize(("ref", "count"), [("0cf3db", 2), ("task012", 3), ("opus:task012", 2)])
def test_what_several_have_is_refused_with_addresses_that_are_accepted(run_path: Path, ref: str, count: int) -> None:
    with Run.read(run_path) as run, pytest.raises(UsageError, match=f"the id of {count} calls") as refusal:
        find_call(run, f"{ref}:s1c1")
    offered = str(refusal.value).partition("say which: ")[2].split(", ")
    with Run.read(run_path) as run:
        assert len({find_call(run, address)[0].row for address in offered}) == count


def test_an_id_is_not_taken_for_the_beginning_of_another(run_path: Path) -> None:
    with Run.read(run_path) as run:
        assert find_trajectory(run, "task1").trajectory == "task1"
        with pytest.raises(UsageError, match="there is no trajectory tas "):
            find_trajectory(run, "tas")


def test_what_the_summary_and_the_reports_print_is_accepted(run_path: Path) -> None:
    with Run.read(run_path) as run:
        summary = summarize(run)
        (group,) = summary.failures
        assert group.example == "gpt:task012:s1c1"
        assert find_call(run, group.example)[0].model == "gpt"
    report = replay_here("report", "--run", run_path).stdout
    (printed,) = set(re.findall(r"as in (\S+):", report))
    assert replay_here("report", "--run", run_path, "--call", printed.replace("\\", "")).returncode == 0
