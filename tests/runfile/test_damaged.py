"""Run files with zeroed blocks, cut short, or of another program: what is said of them, and what can be saved."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from replay.cli import cli
from replay.errors import ReplayError, RunFileError
from replay.runfile import Run
from replay.runfile.salvage import damage_of, salvage_run
from replay.runfile.schema import APPLICATION_ID
from tests.runs import call, failed, make_run, server, write_trajectory

Replay = Callable[..., subprocess.CompletedProcess[str]]
BLOCK = 4096
TASKS = 30


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of thirty trajectories, its log written back."""
    directory = tmp_path_factory.mktemp("sound")
    files = []
    for number in range(TASKS):
        calls = [call("files/read", {"path": f"/ws/{number}/{n}.txt"}, f"text {n} " * 200) for n in range(4)]
        calls.append(failed("files/read", {"path": "/ws/none"}, "[Errno 2] No such file or directory: '/ws/none'"))
        files.append(write_trajectory(directory / f"task-{number}.trajectory.json", calls))
    path = make_run(directory / "run.db", files, server("files", read={"type": "object"}))
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


def zeroed(source: Path, target: Path, *blocks: int) -> Path:
    shutil.copyfile(source, target)
    with target.open("r+b") as file:
        for block in blocks:
            file.seek(block * BLOCK)
            file.write(bytes(BLOCK))
    return target


def verbs(run: Path, directory: Path) -> list[list[str]]:
    """Every verb that opens a run file."""
    results = directory / "one.trajectory.json"
    write_trajectory(results, [call("files/read", {"path": "x"})])
    return [
        ["classify", str(results), "--offline", "--run", str(run)],
        *(["report", str(run), "--format", form] for form in ("markdown", "html", "json", "csv", "junit", "svg")),
        ["report", str(run), "--call", "task-3:s5c1"],
        ["diff", str(run), str(run)],
        ["align", str(results), "--reference", str(results), "--run", str(run)],
        ["shrink", "task-3:s5c1", "--run", str(run), "-o", str(directory / "shrunk.json")],
        ["cassette", "export", str(run), str(directory / "cassette.jsonl"), "--force"],
    ]


def exit_code(arguments: list[str]) -> tuple[int, str]:
    """What `replay.cli.main` makes of it; in this process, since there are hundreds."""
    from replay.cli import _report_error

    done = CliRunner().invoke(cli, arguments, standalone_mode=False)
    return (0 if done.exception is None else _report_error(done.exception)), repr(done.exception)


@pytest.mark.parametrize("seed", range(12))
def test_no_verb_takes_damage_for_an_error_of_its_own(sound: Path, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    blocks = sound.stat().st_size // BLOCK
    damaged = zeroed(sound, tmp_path / "run.db", *chance.sample(range(blocks), chance.randint(1, 4)))
    if seed % 4 == 0:
        with damaged.open("r+b") as file:
            file.truncate(chance.randrange(100, blocks * BLOCK))
    for arguments in verbs(damaged, tmp_path):
        shutil.copyfile(damaged, copy := tmp_path / "copy.db")
        code, error = exit_code([str(copy) if argument == str(damaged) else argument for argument in arguments])
        assert code != 70, (arguments, error)
        for suffix in ("-wal", "-shm", "-lock"):
            Path(f"{copy}{suffix}").unlink(missing_ok=True)


@pytest.mark.parametrize("seed", range(12))
def test_what_is_left_of_a_damaged_run_is_saved(sound: Path, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    blocks = sound.stat().st_size // BLOCK
    damaged = zeroed(sound, tmp_path / "run.db", chance.randrange(blocks))
    before = damaged.read_bytes()
    try:
        found = salvage_run(damaged, tmp_path / "saved.db")
    except RunFileError:  # the root of the trajectories is what was lost
        assert not (tmp_path / "saved.db").exists()
        return
    assert damaged.read_bytes() == before
    assert damage_of(found.path) is None
    with Run.read(found.path) as run:
        saved = {name for (name,) in run.connection.execute("SELECT name FROM trajectories")}
        (calls,) = run.connection.execute("SELECT count(*) FROM calls").fetchone()
    assert len(saved) == found.saved["trajectories"]
    assert calls == found.saved["calls"]
    assert exit_code(["report", str(found.path)])[0] == (0 if calls else 2)


def test_a_run_whose_first_block_is_lost_is_saved_whole(sound: Path, tmp_path: Path) -> None:
    damaged = zeroed(sound, tmp_path / "run.db", 0)
    found = salvage_run(damaged, tmp_path / "saved.db")
    assert (found.saved["trajectories"], found.saved["calls"]) == (TASKS, TASKS * 5)
    assert damage_of(found.path) is None


def test_recover_says_what_was_saved_and_what_was_lost(sound: Path, tmp_path: Path, replay: Replay) -> None:
    with closing(sqlite3.connect(sound)) as db:
        query = "SELECT pageno FROM dbstat WHERE name = 'calls' AND pagetype = 'leaf'"
        try:
            pages = [page for (page,) in db.execute(query)]
        except sqlite3.OperationalError:
            pytest.skip("this SQLite has no dbstat")
    damaged = zeroed(sound, tmp_path / "run.db", pages[1] - 1)
    assert exit_code(["report", str(damaged)])[0] == 2
    done = replay("recover", damaged)
    assert done.returncode == 0
    assert f"saved {TASKS} trajectories" in done.stderr
    assert "lost, as far as it is known:" in done.stderr
    again = replay("recover", damaged)
    assert again.returncode == 2
    assert "is there already" in again.stderr
    assert "nothing is damaged" in replay("recover", tmp_path / "run.recovered.db").stderr


def test_a_damaged_run_is_said_to_be_so_and_how_it_is_saved(sound: Path, tmp_path: Path, replay: Replay) -> None:
    damaged = zeroed(sound, tmp_path / "run.db", 0)
    done = replay("report", damaged)
    assert done.returncode == 2
    assert f"replay recover {damaged}" in done.stderr


@pytest.mark.parametrize("application", [0, 0x12345678])
@pytest.mark.parametrize("mode", ["delete", "wal"])
@pytest.mark.parametrize("verb", ["classify", "fresh", "report", "recover"])
def test_another_programs_file_stays_as_it_is(tmp_path: Path, application: int, mode: str, verb: str) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA journal_mode = {mode}")
        db.execute(f"PRAGMA application_id = {application}")
        db.executescript("CREATE TABLE meta (key TEXT, value TEXT); INSERT INTO meta VALUES ('x', 'y')")
    before = path.read_bytes()
    results = tmp_path / "results" / "one.trajectory.json"
    results.parent.mkdir()
    write_trajectory(results, [call("files/read", {"path": "x"})])
    arguments = {
        "classify": ["classify", str(results), "--offline", "--run", str(path)],
        "fresh": ["classify", str(results), "--offline", "--fresh", "--run", str(path)],
        "report": ["report", str(path)],
        "recover": ["recover", str(path)],
    }[verb]
    assert exit_code(arguments)[0] == 2
    assert path.read_bytes() == before
    assert {found.name for found in tmp_path.iterdir()} == {"other.db", "results"}


def test_a_run_file_says_in_its_header_whose_it_is(sound: Path, tmp_path: Path) -> None:
    Run.open(tmp_path / "new.db").close()
    for path in (sound, tmp_path / "new.db"):
        assert int.from_bytes(path.read_bytes()[68:72], "big") == APPLICATION_ID


def recording(path: Path) -> Path:
    """A recording that was cut off, in more than one block."""
    lines = [{"format": "replay.recording", "version": 1, "id": "r", "model": "m", "task": "What is there?"}]
    for number in range(1, 41):
        params = {"name": "read", "arguments": {"path": f"{number}.txt"}}
        result = {"content": [{"type": "text", "text": f"text {number} " * 40}]}
        lines += [
            {"event": "call", "t": number, "n": number, "server": "files", "message": {"id": number, "params": params}},
            {"event": "answer", "t": number + 0.5, "n": number, "message": {"result": result}},
        ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize("block", [0, 1, 2])
def test_a_recording_with_a_zeroed_block_is_saved_without_it(tmp_path: Path, replay: Replay, block: int) -> None:
    partial = zeroed(recording(tmp_path / "whole"), tmp_path / "run.trajectory.json.partial", block)
    done = replay("recover", partial)
    assert done.returncode == 0, done.stderr
    assert "could not be read" in done.stderr
    assert not partial.exists()
    assert Path(f"{partial}.damaged").exists()
    document = json.loads((tmp_path / "run.trajectory.json").read_text())
    assert sum(len(step["calls"]) for step in document["steps"]) >= 25
    assert document["model"] == ("unknown" if block == 0 else "m")


@pytest.mark.parametrize("seed", range(20))
def test_a_damaged_recording_is_never_an_internal_error(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    whole = bytearray(recording(tmp_path / "whole").read_bytes())
    for _ in range(chance.randint(1, 20)):
        start = chance.randrange(len(whole))
        whole[start : start + chance.choice((1, 8, 600))] = chance.choice(
            (b"", bytes(8), b'"', b"\xff\n", b"{}\n", b"1")
        )
    for name, arguments in (("a", ["recover"]), ("b", ["record", "--recover"])):
        partial = tmp_path / f"{name}.trajectory.json.partial"
        partial.write_bytes(whole)
        code, error = exit_code([*arguments, str(partial)])
        assert code in {0, 2}, error


def test_recover_of_nothing_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("nothing of the kind")
    (tmp_path / "zeros.db").write_bytes(bytes(3 * BLOCK))
    for name in ("text.txt", "zeros.db", "absent.db"):
        code, error = exit_code(["recover", str(tmp_path / name)])
        assert code == 2
        assert "replay recover" not in error
    assert issubclass(RunFileError, ReplayError)
    assert not list(tmp_path.glob("*.recovered*"))
