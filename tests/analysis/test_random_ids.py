"""Failures over a server that draws new ids each time: the same in each run, in each recording, and when shrunk."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from replay.diagnosis.failure_words import drawn_values, failure_words
from replay.records import Call, DataEdge, Source, Step, TextAnswer, Trajectory
from replay.reports import render
from replay.runfile import Run, call_rows
from replay.safety.text import one_line
from tests.recordings import Taken, record
from tests.runs import call, failed, make_run, write_trajectory

Replay = Callable[..., subprocess.CompletedProcess[str]]
CUSTOMER, ORDER = Taken(1, "customer"), Taken(3, "order")
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("register", {"name": "Ann"}),
    ("register", {"name": "Bob"}),
    ("order", {"customer": CUSTOMER}),
    ("ship", {"order": ORDER}),
    ("ship", {"order": ORDER}),
    ("cancel", {"order": ORDER}),
    ("order", {"customer": "nobody"}),
    ("look", {"order": "ord_000000"}),
    ("batch", {"orders": [ORDER, "ord_x"]}),
]
FAILING = ("s5c1", "s6c1", "s7c1", "s8c1")


@pytest.fixture
def runs(tmp_path: Path, replay: Replay, fleet_file: Callable[..., Path]) -> Callable[..., list[Path]]:
    """Runs, each over a recording of its own or all over the same one.

    Of an id of letters alone that no call uses, only a replay shows that it is drawn: there is none offline.
    """
    fleet_file(orders={"script": "orders.py", "effects": "sandboxed", "state": "trajectory"})

    def make(count: int, *options: str, recordings: int = 1) -> list[Path]:
        paths = []
        for number in range(count):
            folder = tmp_path / f"recorded-{number % recordings}"
            folder.mkdir(exist_ok=True)
            file = folder / "task.trajectory.json"
            if not file.exists():
                record(file, "orders.py", [CALLS[0], ("browse", {}), *CALLS[2:]] if "--offline" in options else CALLS)
            paths.append(tmp_path / f"{number}.db")
            done = replay("classify", file, "--run", paths[-1], *options)
            assert done.returncode == 0, done.stderr
        return paths

    return make


def failures(replay: Replay, *runs: Path) -> dict[str, list[int]]:
    document = json.loads(replay("diff", *runs, "--json").stdout)
    return {failure["fingerprint"]: failure["counts"] for failure in document["failures"]}


@pytest.mark.parametrize(("options", "recordings"), [((), 1), ((), 3), (("--offline",), 3)])
def test_equal_runs_have_the_same_failures(
    replay: Replay, runs: Callable[..., list[Path]], options: tuple[str, ...], recordings: int
) -> None:
    made = runs(3, *options, recordings=recordings)
    assert list(failures(replay, *made).values()) == [[1, 1, 1]] * 5
    first, second = made[:2]
    done = replay("diff", first, second, "--fail-on", "new,worse")
    assert done.returncode == 0, done.stdout
    assert "0 new, 0 known, 0 gone" in done.stdout


def test_a_failure_that_is_known_is_known_in_the_next_run(replay: Replay, runs: Callable[..., list[Path]]) -> None:
    first, second = runs(2)
    for mark in failures(replay, first, first):
        assert replay("known", "add", mark, "--note", "seen", "--run", first).returncode == 0
    document = json.loads(replay("diff", second, second, "--json").stdout)
    assert all(failure["known"]["note"] == "seen" for failure in document["failures"])


def test_the_error_of_a_call_with_a_rebound_id_is_traced_to_its_argument(
    replay: Replay, runs: Callable[..., list[Path]]
) -> None:
    (run,) = runs(1)
    said = replay("report", run, "--call", "task:s6c1").stdout
    assert 'its error speaks of "order"' in said


def test_answers_in_which_only_a_drawn_id_differs_have_not_drifted(
    replay: Replay, runs: Callable[..., list[Path]]
) -> None:
    (run,) = runs(1)
    with Run.read(run) as opened:
        drift = {row.call: row.drift for row in call_rows(opened)}
    assert {drift[position] for position in ("s1c1", "s3c1", "s4c1")} == {"volatile"}


@pytest.mark.parametrize("position", FAILING)
def test_a_failure_whose_error_repeats_a_rebound_id_is_shrunk(
    replay: Replay, runs: Callable[..., list[Path]], position: str
) -> None:
    (run,) = runs(1)
    done = replay("shrink", run, "--call", f"task:{position}")
    assert done.returncode == 0, done.stderr
    assert f"{position} is " in done.stderr


def test_codes_stay_apart_and_ids_do_not() -> None:
    made = Call(position="s1c1", name="t", arguments={})
    alike = ["no ord_k7f2q9 here", "no ord_123456 here", "no ord_ab1234 here", "no ord_a1b2c3 here"]
    assert len({failure_words(said, made) for said in alike}) == 1
    assert failure_words("failed with E1042", made) != failure_words("failed with W1042", made)
    bare = "Error executing tool t: {}"
    assert failure_words(bare.format("E1042"), made) != failure_words(bare.format("E1007"), made)


def test_an_error_has_the_same_words_whether_it_was_replayed_or_only_recorded() -> None:
    then, now = (
        TextAnswer(text=json.dumps({"permit": permit, "state": "review"})) for permit in ("J123456", "J654321")
    )
    first = Call(position="s1c1", name="open", arguments={}, answer=then)
    second = Call(position="s2c1", name="close", arguments={"state": "review"}, answer=then)
    edge = DataEdge(
        producer="s1c1", producer_pointer="/text", consumer="s2c1", consumer_pointer="/state", value="review"
    )
    steps = tuple(Step(calls=(made,)) for made in (first, second))
    trajectory = Trajectory(id="t", model="m", source=Source(file="f", format="x"), steps=steps, edges=(edge,))
    recorded = failure_words("J123456 is in review", first, drawn_values(trajectory, {}, ()))
    assert recorded == failure_words("J654321 is in review", first, drawn_values(trajectory, {"s1c1": now}, ()))


def said_of_failures(folder: Path, seed: int, filler: int) -> str:
    """The report of a run, as Markdown and as JSON, with its ids masked where they stand whole."""
    chance = Random(seed)
    request = "-".join("".join(chance.choices("0123456789abcdef", k=k)) for k in (8, 4, 4, 4, 12))
    trace = "".join(chance.choices("0123456789abcdef", k=32))
    order = "ord_" + "".join(chance.choices("abcdefghijkmnp23456789", k=10))
    long = "so it is " * filler
    calls = [
        failed("shop/get", {"order": order}, f"Error: order {order} not found (request {request})"),
        failed("shop/get", {"order": order}, f"{long}Error: order {order} does not exist {trace} {request}"),
        call("shop/ship", {"order": order}, f"Order {order} cannot be shipped: {long} it was cancelled by {request}"),
        call("shop/ship", {"order": order}, f"Order {order} cannot be shipped: it was cancelled by {request}"),
        call("shop/track", {"order": order}, json.dumps({"error": f"{long}no way to {trace}", "request_id": request})),
        failed("shop/count", {"order": 1}, f"{long}something odd {trace} {request}"),
        failed("shop/count", {"order": 1}, f"500 Internal Server Error {long} {trace}"),
        call("shop/book", {"a": request}, f"trace {trace}: {long} booking of {order} refused {request} {trace}"),
    ]
    folder.mkdir()
    with Run.read(make_run(folder / "run.db", [write_trajectory(folder / "t.trajectory.json", calls)])) as run:
        said = f"{render(run, 'markdown')}\n{render(run, 'json')}".replace("\\_", "_").replace(str(folder), "")
    return said.replace(request, "REQUEST").replace(trace, "TRACE").replace(order, "ORDER")


@pytest.mark.parametrize("filler", [0, 1, 4, 7, 14, 15, 19, 21])
def test_answers_that_differ_in_random_ids_give_the_same_findings_fingerprints_and_sentences(
    tmp_path: Path, filler: int
) -> None:
    assert said_of_failures(tmp_path / "0.0", 1, filler) == said_of_failures(tmp_path / "0.1", 2, filler)


@pytest.mark.parametrize(
    ("text", "limit", "left"),
    [
        ("order ord_7f3a is gone", 40, "order ord_7f3a is gone"),
        ("the order with the id ord_7f3a is gone", 27, "the order with the id…"),
        ("the order with the id abcdef7 is gone", 27, "the order with the id…"),
        ("the order with the identification is gone", 27, "the order with the identif…"),
        ("ord_7f3a9c51e2d84b06", 10, "ord_7f3a9…"),
        ("id 0a1b2c3d4e5f60718293a4b5", 10, "id 0a1b2c…"),
    ],
)
def test_no_part_of_an_id_stands_where_a_text_is_cut_but_where_little_else_would(
    text: str, limit: int, left: str
) -> None:
    assert one_line(text, limit) == left
