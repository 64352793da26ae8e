"""A call with effects outside a sandbox is sent once, whatever is killed, edited or renamed between the runs."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from replay.runfile import Run
from replay.runfile.schema import VERSION

Replay = Callable[..., subprocess.CompletedProcess[str]]
Write = Callable[..., Path]
CALLS = 4
SYNC_LOG = Path(__file__).parents[1] / "servers" / "sync_log.c"


class Book:
    """A logbook server, the results that it is to be called with, and what it got."""

    def __init__(self, directory: Path, fleet_file: Write, replay: Replay, **spec: Any) -> None:
        self.directory, self._replay = directory, replay
        self.log = directory / "log"
        self.environment = {"LOGBOOK": str(self.log)}
        self.spec = {"script": "logbook.py", "env": self.environment, "effects": "all", **spec}
        self.fleet = fleet_file(book=self.spec)
        self.results = directory / "gpt.json"

    def write(self, path: Path | None = None, count: int = 2, **changes: Any) -> Path:
        """Results in M3-Bench's format, whose model comes from the file's name."""
        path = path or self.results
        path.write_text(json.dumps([task(number, **changes) for number in range(count)]))
        return path

    def classify(self, *files: Path, options: tuple[str, ...] = (), **environment: str) -> str:
        done = self._replay("classify", *(files or (self.results,)), "--servers", self.fleet, *options, **environment)
        assert done.returncode == 0, done.stderr
        return done.stderr

    def sent(self) -> Counter[str]:
        """How often each call reached the server."""
        return Counter(self.log.read_text().splitlines()) if self.log.exists() else Counter()

    def verdicts(self) -> dict[tuple[str, str], str]:
        with Run.read(self.directory / "replay-run.db") as run:
            query = "SELECT t.name, c.position, c.outcome FROM calls c JOIN trajectories t ON t.id = c.trajectory"
            return {(name, position): outcome for name, position, outcome in run.connection.execute(query)}


def task(number: int, *, calls: int = CALLS, reply: str = "", first: int = 0, question: str = "") -> dict[str, Any]:
    steps = [
        {"step": turn, "calls": [{"name": "book/put", "arguments": {"n": f"{number}.{call}"}}]}
        for turn, call in enumerate(range(first, calls), 1)
    ]
    question = question or f"Put down task {number}."
    return {"id": f"t{number}", "type": "x", "question": question, "steps": steps, "final_reply": reply}


@pytest.fixture
def book(tmp_path: Path, fleet_file: Write, replay: Replay) -> Book:
    return Book(tmp_path, fleet_file, replay)


def once(count: int = 2, calls: int = CALLS) -> dict[str, int]:
    return {f"put {number}.{call}": 1 for number in range(count) for call in range(calls)}


@pytest.mark.parametrize(
    "changes",
    [{"reply": "Done."}, {"calls": CALLS + 1}, {"first": 1}, {"question": "Another?"}],
    ids=["reply", "appended", "removed", "question"],
)
def test_an_edited_file_sends_no_call_again(book: Book, changes: dict[str, Any]) -> None:
    book.write()
    book.classify()
    book.write(**changes)
    said = book.classify()
    assert book.sent() == once(calls=changes.get("calls", CALLS))
    assert "were sent by an earlier run and are not sent again" in said
    assert set(book.verdicts().values()) == {"success"}


def test_a_call_that_is_put_before_the_others_is_the_only_one_that_is_sent(book: Book) -> None:
    book.write(first=1)
    book.classify()
    book.write()
    book.classify()
    assert book.sent() == once()


def test_a_renamed_file_whose_model_is_its_name_sends_no_call_again(book: Book) -> None:
    book.write()
    book.classify()
    book.results.rename(renamed := book.directory / "claude.json")
    book.classify(renamed)
    assert book.sent() == once()
    renamed.rename(book.results)
    book.write(reply="Edited and renamed.")
    book.classify()
    assert book.sent() == once()


def test_two_files_that_trade_names_send_no_call_again(book: Book) -> None:
    other = book.write(book.directory / "claude.json", first=2, calls=CALLS + 2)
    book.write()
    book.classify(book.results, other)
    before = book.sent()
    book.results.rename(third := book.directory / "third.json")
    other.rename(book.results)
    third.rename(other)
    book.classify(book.results, other)
    assert book.sent() == before


def test_the_same_call_of_another_model_is_sent(book: Book) -> None:
    book.write()
    book.classify()
    other = book.write(book.directory / "claude.json")
    book.classify(book.results, other)
    assert set(book.sent().values()) == {2}
    book.classify(other)
    assert set(book.sent().values()) == {2}


def test_an_equal_call_of_the_same_trajectory_is_sent_as_often_as_it_stands_there(book: Book) -> None:
    document = [task(0)]
    document[0]["steps"] *= 2
    book.results.write_text(json.dumps(document))
    book.classify()
    document[0]["final_reply"] = "Edited."
    book.results.write_text(json.dumps(document))
    book.classify()
    assert set(book.sent().values()) == {2}


def test_another_policy_sends_no_call_again(book: Book) -> None:
    book.write()
    book.classify()
    book.classify(options=("--no-rebinding",))
    assert book.sent() == once()


@pytest.mark.parametrize("state", ["none", "trajectory"])
@pytest.mark.parametrize("effects", ["all", "read-only"])
def test_trials_send_a_call_with_effects_once(
    tmp_path: Path, fleet_file: Write, replay: Replay, state: str, effects: str
) -> None:
    book = Book(tmp_path, fleet_file, replay, state=state, effects=effects)
    book.write()
    book.classify(options=("--trials", "3", "--allow-effects", "book"))
    assert book.sent() == once()
    assert set(book.verdicts().values()) == {"success"}


def test_trials_repeat_what_stays_in_a_sandbox(tmp_path: Path, fleet_file: Write, replay: Replay) -> None:
    (tmp_path / "log").touch()
    book = Book(tmp_path, fleet_file, replay, state="trajectory", effects="sandboxed", writable=["log"])
    book.write()
    book.classify(options=("--trials", "3"))
    assert set(book.sent().values()) == {3}


def test_what_a_call_of_an_earlier_run_did_is_not_missed_in_a_fresh_process(
    tmp_path: Path, fleet_file: Write, replay: Replay
) -> None:
    """The process of a trajectory is new and has not got what was put into the last one: that is nobody's fault."""
    fleet = fleet_file(chain={"script": "chain.py", "state": "trajectory", "effects": "all"})
    made = {"id": "a" * 32, "name": "x"}
    calls = [("chain/create", {"name": "x"}), ("chain/get", {"id": made["id"]})]
    steps = [
        {"step": n, "calls": [{"name": name, "arguments": arguments, "result": json.dumps(made)}]}
        for n, (name, arguments) in enumerate(calls, 1)
    ]
    document = {"id": "t", "type": "x", "question": "?", "steps": steps, "final_reply": ""}
    results = tmp_path / "gpt.json"
    for reply in ("", "Edited."):
        results.write_text(json.dumps([{**document, "final_reply": reply}]))
        done = replay("classify", results, "--servers", fleet, "--json")
        outcomes = [call["outcome"] for call in json.loads(done.stdout)["calls"]]
        assert outcomes == ["success", "success"]


def start(book: Book, file: Path, *options: str, **environment: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "replay", "classify", str(file), "--servers", str(book.fleet), *options],
        cwd=book.directory,
        env={**os.environ, "CI": "1", **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize("state", ["none", "trajectory"])
def test_kills_with_edits_and_renames_between_send_no_call_twice(
    tmp_path: Path, fleet_file: Write, replay: Replay, state: str
) -> None:
    book = Book(tmp_path, fleet_file, replay, state=state, env={"LOGBOOK": str(tmp_path / "log"), "PAUSE": "0.02"})
    moments = random.Random(11)
    file, calls, kills = book.write(count=12), CALLS, 0
    for turn in range(10):
        process = start(book, file)
        try:
            process.wait(timeout=moments.uniform(0.6, 2.0))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1
        if turn % 2:
            calls += 1
            book.write(file, count=12, calls=calls, reply=f"Edited {turn}.")
        else:
            file = file.rename(tmp_path / f"model-{turn}.json")
    assert kills > 0
    book.classify(file)
    assert set(book.sent().values()) == {1}
    found = book.verdicts()
    assert {key for key in found if key[0] == "t0"} >= {("t0", f"s{step}c1") for step in range(1, calls + 1)}


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_a_power_cut_after_a_call_was_sent_does_not_send_it_again(book: Book, tmp_path: Path) -> None:
    """All that was not synced is cut off the write-ahead log, as a power cut would."""
    shim, synced = tmp_path / "sync_log.so", tmp_path / "synced"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", shim, SYNC_LOG, "-ldl"], check=True)
    book.spec["env"] = {**book.environment, "PAUSE": "60"}
    book.fleet.write_text(book.fleet.read_text().replace('"LOGBOOK"', '"PAUSE": "60", "LOGBOOK"'))
    book.write(count=1)
    process = start(book, book.results, LD_PRELOAD=str(shim), SYNC_LOG=str(synced))
    try:
        while not book.sent():
            assert process.poll() is None
            os.sched_yield()
    finally:
        process.kill()
        process.wait()
    wal = tmp_path / "replay-run.db-wal"
    os.truncate(wal, int(synced.read_text().split()[-1]) if synced.exists() else 0)
    book.fleet.write_text(book.fleet.read_text().replace('"PAUSE": "60", ', ""))
    book.classify()
    assert book.sent() == once(count=1)
    assert book.verdicts()["t0", "s1c1"] == "inconclusive"


def test_the_journal_of_an_older_run_file_counts(book: Book) -> None:
    book.write()
    book.classify()
    path = book.directory / "replay-run.db"
    with Run.open(path) as run:
        run.connection.executescript(
            """
            CREATE TABLE old (trajectory INTEGER NOT NULL, position TEXT NOT NULL, PRIMARY KEY (trajectory, position));
            INSERT INTO old SELECT trajectory, position FROM calls;
            DELETE FROM calls WHERE position = 's2c1';
            DROP TABLE journal;
            ALTER TABLE old RENAME TO journal;
            DROP TRIGGER trajectories_deleted;
            DROP TRIGGER calls_deleted;
            CREATE TRIGGER calls_deleted AFTER DELETE ON calls BEGIN SELECT 1; END;
            DROP TABLE task_runs;
            DROP TABLE task_scores;
            DROP TABLE findings;
            DROP TABLE ratings;
            UPDATE meta SET value = '2' WHERE key = 'version';
            """
        )
    book.write(reply="Edited.")
    book.classify()
    assert book.sent() == once()
    assert {key[1] for key, outcome in book.verdicts().items() if outcome == "inconclusive"} == {"s2c1"}
    with Run.read(path) as run:
        assert run.connection.execute("SELECT value FROM meta WHERE key = 'version'").fetchone() == (str(VERSION),)


RENAMED = {
    "another name": lambda file: "claude.json",
    "another folder": lambda file: "moved/claude.json",
    "another suffix": lambda file: "claude.jsonl",
    "an unlike name": lambda file: "Ünlike näme (2).json",
}
EDITED: dict[str, dict[str, Any]] = {
    "the question": {"question": "Another?"},
    "question and reply": {"question": "Another?", "reply": "Done."},
    "question and more calls": {"question": "Another?", "calls": CALLS + 2},
    "question and fewer calls": {"question": "Another?", "first": 2},
    "no question": {"question": " "},
}


def named_task(path: Path, **changes: Any) -> dict[str, Any]:
    """A task whose id is the file's name."""
    return {**task(0, **changes), "id": path.stem}


@pytest.mark.parametrize("edit", EDITED)
@pytest.mark.parametrize("rename", RENAMED)
def test_a_file_that_was_renamed_and_edited_sends_no_call_again_and_says_so_first(
    book: Book, rename: str, edit: str
) -> None:
    book.results.write_text(json.dumps([named_task(book.results)]))
    book.classify()
    renamed = book.directory / RENAMED[rename](book.results)
    renamed.parent.mkdir(exist_ok=True)
    book.results.unlink()
    renamed.write_text(json.dumps([named_task(renamed, **EDITED[edit])]))
    for _ in range(2):
        said = book.classify(renamed)
        assert set(book.sent().values()) == {1}
        assert "are not sent (another run file, or --fresh, sends them)" in said
        assert said.index("are not sent (another") < said.index("Next:") if "Next:" in said else True
    new = {f"put 0.{call}" for call in range(CALLS, EDITED[edit].get("calls", CALLS))}
    assert set(book.sent()) == {*once(count=1), *new}
    fresh = book.classify(renamed, options=("--run", "other.db"))
    assert "are not sent" not in fresh
    assert max(book.sent().values()) == 2


@pytest.mark.parametrize("workers", [(), ("--workers", "2")], ids=["here", "workers"])
def test_an_id_and_a_question_that_are_edited_in_place_send_no_call_again(book: Book, workers: tuple[str, ...]) -> None:
    book.write()
    book.classify(options=workers)
    tasks = [{**task(number, question=f"New {number}."), "id": f"new{number}"} for number in range(2)]
    book.results.write_text(json.dumps(tasks))
    said = book.classify(options=workers)
    assert book.sent() == once()
    assert "8 calls with effects are like those that an earlier run sent for 2 trajectories" in said


def test_tasks_that_trade_ids_and_get_other_questions_send_no_call_again(book: Book) -> None:
    book.write()
    book.classify()
    tasks = [{**task(number, question=f"New {number}."), "id": f"t{1 - number}"} for number in range(2)]
    book.results.write_text(json.dumps(tasks))
    book.classify()
    assert book.sent() == once()


def test_equal_calls_of_other_tasks_are_sent_while_the_first_file_is_there(book: Book) -> None:
    book.write()
    book.classify()
    other = book.directory / "claude.json"
    other.write_text(
        json.dumps([{**task(number, question=f"New {number}."), "id": f"new{number}"} for number in range(2)])
    )
    said = book.classify(other)
    assert set(book.sent().values()) == {2}
    assert "are not sent" not in said


def test_what_cannot_be_placed_withholds_no_other_call(book: Book) -> None:
    book.write(count=1)
    book.classify()
    book.results.unlink()
    other = book.directory / "claude.json"
    other.write_text(json.dumps([{**task(1), "id": "other"}]))
    said = book.classify(other)
    assert "are not sent" not in said
    assert book.sent() == {**once(count=1), **{f"put 1.{call}": 1 for call in range(CALLS)}}
