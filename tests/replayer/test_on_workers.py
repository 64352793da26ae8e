"""Several workers give what one process gives; what is killed loses nothing and sends nothing twice."""

from __future__ import annotations

import json
import logging
import os
import signal
import sqlite3
import subprocess
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest

from replay.cli.options import worker_location
from replay.errors import UsageError, install_command

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

Replay = Callable[..., subprocess.CompletedProcess[str]]
Write = Callable[..., Path]
WORKERS = 2
pytestmark = [
    pytest.mark.slow,
    # Dask's sockets are closed when they are collected
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module", params=["processes", "cluster"])
def workers(request: pytest.FixtureRequest) -> tuple[str, str]:
    """The option that names two workers: processes of this machine, or those of a scheduler."""
    if request.param == "processes":
        return "--workers", str(WORKERS)
    return "--cluster", request.getfixturevalue("scheduler")


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """A scheduler with two workers, for all tests of this file."""
    patience = {"distributed.comm.timeouts.connect": "120s", "distributed.deploy.lost-worker-timeout": "120s"}
    with (
        dask.config.set(patience),
        distributed.LocalCluster(
            n_workers=WORKERS,
            threads_per_worker=2,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
    ):
        yield cluster.scheduler_address


def task(number: int, calls: int = 4) -> list[list[tuple[str, dict[str, str], str]]]:
    names = ("put", "look")
    return [[(f"book/{names[call % 2]}", {"n": f"{number}.{call}"}, "done")] for call in range(calls)]


@pytest.fixture
def book(tmp_path: Path, fleet_file: Write, results_file: Write) -> Callable[..., list[str]]:
    """A server that writes down what it gets, and results that call it; gives the words of the command line."""

    def make(trajectories: int = 6, **spec: Any) -> list[str]:
        environment = {"LOGBOOK": str(tmp_path / "log"), "PAUSE": "0.01", **spec.pop("env", {})}
        fleet = fleet_file(book={"script": "logbook.py", "env": environment, "effects": "all", **spec})
        results = results_file(**{f"t{number}": task(number) for number in range(trajectories)})
        return ["classify", str(results), "--servers", str(fleet), "--json"]

    return make


def sent(directory: Path) -> Counter[str]:
    log = directory / "log"
    return Counter(log.read_text().splitlines()) if log.exists() else Counter()


def without_times(text: str) -> Any:
    """The run document without how long things took."""

    def pruned(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: pruned(item) for name, item in value.items() if name != "seconds"}
        return [pruned(item) for item in value] if isinstance(value, list) else value

    return pruned(json.loads(text))


def outcomes(document: Any) -> dict[tuple[str, str], tuple[str, str | None]]:
    return {(call["trajectory"], call["call"]): (call["outcome"], call["reason"]) for call in document["calls"]}


def test_offline_the_workers_give_the_same_bytes(
    replay: Replay, workers: tuple[str, str], results_file: Write, tmp_path: Path
) -> None:
    secret = "ghp_" + "a1B2" * 9
    gone = [("fs/read", {"path": f"/x/a-{secret}.txt"}, "Error: no such file or directory")]
    steps = [[("fs/list", {"path": "/x"}, f"/x/a-{secret}.txt")], gone, gone, gone]
    many = results_file("gpt_test_mcp_fuzzy.json", **{f"t{number}": steps for number in range(120)})
    packed = tmp_path / "packed.zip"
    with zipfile.ZipFile(packed, "w") as archive:  # the workers cannot open what is in it by its path
        archive.write(results_file("claude.json", a=steps, b=steps), "claude.json")
    words = ("classify", many, packed, "--offline", "--json")
    alone = replay(*words, "--run", "alone.db")
    together = replay(*words, "--run", "together.db", *workers)
    assert together.returncode == 0, together.stderr
    assert together.stdout == alone.stdout
    assert secret not in together.stdout
    assert secret.encode() not in (tmp_path / "together.db").read_bytes()
    assert findings_in(tmp_path / "together.db") == findings_in(tmp_path / "alone.db") != []


def findings_in(run: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(run)) as db:
        assert db.execute("SELECT min(diagnosed) FROM task_runs").fetchone() == (1,)
        return db.execute("SELECT * FROM findings ORDER BY 1, 2, 3").fetchall()


def test_the_workers_import_what_one_process_imports(
    replay: Replay, workers: tuple[str, str], results_file: Write, tmp_path: Path
) -> None:
    steps = [[("fs/list", {"path": "/x"}, "/x/a-1234.txt")], [("fs/read", {"path": "/x/a-1234.txt"}, "text")]]
    many = results_file("gpt_test_mcp_fuzzy.json", **{f"t{number}": steps for number in range(40)})
    alone, together = (
        replay("convert", many, "-o", directory, *options)
        for directory, options in (("alone", ()), ("together", workers))
    )
    assert together.returncode == 0, together.stderr
    assert alone.stderr == together.stderr
    written = {path.name: path.read_bytes() for path in (tmp_path / "together").iterdir()}
    assert written == {path.name: path.read_bytes() for path in (tmp_path / "alone").iterdir()}
    assert len(written) == 40


def test_the_workers_align_as_one_process_does(replay: Replay, results_file: Write) -> None:
    pytest.importorskip("torch")

    def steps(word: str) -> list[list[tuple[str, dict[str, str]]]]:
        return [[("fs/read", {"path": f"/x/{word} {number}.txt"})] for number in range(3)]

    reference = results_file("reference.json", a=steps("accounts"), b=steps("budget"))
    models = [
        results_file(f"{name}.json", a=steps(word), b=steps("budgets"))
        for name, word in (("m", "an account"), ("n", "x"))
    ]
    command = ("align", *models, "--reference", reference, "--json", "--no-cache")
    alone, together = json.loads(replay(*command).stdout), replay(*command, "--workers", "2")
    assert together.returncode == 0, together.stderr
    assert rounded(json.loads(together.stdout)) == rounded(alone)


def rounded(value: Any) -> Any:
    """The document with similarities to five digits: the last bits of a vector hang on which texts it was made with."""
    if isinstance(value, float):
        return round(value, 5)
    if isinstance(value, dict):
        return {name: rounded(item) for name, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else value


def test_live_the_workers_give_the_same_and_send_each_call_once(
    replay: Replay, workers: tuple[str, str], book: Callable[..., list[str]], tmp_path: Path
) -> None:
    words = book()
    alone = replay(*words, "--run", "alone.db")
    (tmp_path / "log").unlink()
    together = replay(*words, "--run", "together.db", *workers)
    assert together.returncode == 0, together.stderr
    assert without_times(together.stdout) == without_times(alone.stdout)
    assert set(sent(tmp_path).values()) == {1}
    again = replay(*words, "--run", "together.db", *workers)
    assert without_times(again.stdout) == without_times(alone.stdout)
    assert set(sent(tmp_path).values()) == {1}


def test_the_calls_of_a_killed_worker_are_interrupted_or_judged_elsewhere_and_never_sent_twice(
    replay: Replay, workers: tuple[str, str], book: Callable[..., list[str]], tmp_path: Path
) -> None:
    words = book(8, env={"PAUSE": "0.3"})
    command = [sys.executable, "-m", "replay", *words, *workers]
    environment = {**os.environ, "NO_COLOR": "1", "CI": "1"}
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while not sent(tmp_path) and process.poll() is None:
        time.sleep(0.02)
    server = next(one for one in psutil.process_iter() if environment_of(one, str(tmp_path / "log")))
    os.kill(server.ppid(), signal.SIGKILL)  # the worker that started it
    out, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert "is gone; its work is given to another" in said
    found = outcomes(json.loads(out))
    assert len(found) == 8 * 4
    assert {found[key] for key in found} <= {("success", None), ("not_found", None), ("inconclusive", "interrupted")}
    puts = {call: count for call, count in sent(tmp_path).items() if call.startswith("put")}
    assert set(puts.values()) == {1}


def environment_of(process: psutil.Process, log: str) -> dict[str, str]:
    try:
        found = process.environ()
    except psutil.Error:
        return {}
    return found if found.get("LOGBOOK") == log and "logbook.py" in " ".join(process.cmdline()) else {}


def test_without_the_extra_workers_say_what_to_install(tmp_path: Path, results_file: Write) -> None:
    probe = "import sys; sys.modules['distributed'] = None; from replay.cli import main; main()"
    results = results_file(run=[[("files/read", {"path": "x"}, "text")]])
    words = [sys.executable, "-c", probe, "classify", str(results), "--offline", "--cluster", "tcp://127.0.0.1:1"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"install them with: {install_command('cluster')}" in done.stderr


def test_both_ways_to_name_workers_at_once_are_refused() -> None:
    with pytest.raises(UsageError, match="give one of them"):
        worker_location(2, "tcp://127.0.0.1:1")


def test_answers_that_the_run_stored_judge_on_workers_too(
    replay: Replay, workers: tuple[str, str], book: Callable[..., list[str]]
) -> None:
    words = book()
    replay(*words, "--run", "live.db")
    alone = replay(*words, "--run", "live.db", "--offline")
    together = replay(*words, "--run", "live.db", "--offline", *workers)
    assert together.returncode == 0, together.stderr
    assert without_times(together.stdout) == without_times(alone.stdout)
    assert {call["evidence"] for call in json.loads(alone.stdout)["calls"]} == {"stored"}


def test_calls_have_the_type_of_their_own_task(replay: Replay, results_file: Write, tmp_path: Path) -> None:
    results = results_file(a=[[("fs/read", {"path": "/x"}, "text")]], b=[[("fs/read", {"path": "/y"}, "text")]])
    document = json.loads(results.read_text())
    for task, kind in zip(document, ("single", "multi"), strict=True):
        task["type"] = kind
    results.write_text(json.dumps(document))
    alone = replay("classify", results, "--offline", "--json", "--run", "alone.db")
    together = replay("classify", results, "--offline", "--json", "--run", "together.db", "--workers", "1")
    assert together.stdout == alone.stdout
    assert {call["task_type"] for call in json.loads(together.stdout)["calls"]} == {"single", "multi"}
