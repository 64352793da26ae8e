"""Files that a neighbour on the same machine, or a stranger's folder, has laid where we read or write."""

from __future__ import annotations

import json
import os
import random
import resource
import socket
import string
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from replay.alignment.judges import read_judges
from replay.analysis.answer_labels import read_labels
from replay.analysis.known_failures import read_known_file
from replay.errors import ReplayError, RunFileError
from replay.formats import open_file
from replay.formats.document import Document
from replay.formats.sources import InputFile
from replay.interpreter import Fleet
from replay.recorder.recording import RecordingInfo
from replay.recorder.recording_store import RecordingStore, recover
from replay.replayer.cassette import read_cassette
from replay.runfile import Run
from replay.safety.filesystem import open_regular, read_small_file, write_atomically
from replay.safety.redaction import Redactor

Replay = Callable[..., subprocess.CompletedProcess[str]]
STEPS = [{"step": 1, "calls": [{"name": "s/x", "arguments": {"q": "a"}, "result": "Error: no such thing"}]}]


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A file that belongs to the user and that nobody named."""
    path = tmp_path / "home" / "precious"
    path.parent.mkdir()
    path.write_text("precious")
    return path


# --- what is written


NAMES = [
    "report.md",
    "out.cassette",
    "x.trajectory.json",
    "chart.svg",
    "replay-known.yaml",
    "é" * 60,
    "a" * 255,
    ".hidden",
]
SUFFIXES = [".tmp", ".part", ".partial", ".0.tmp", "~", ".swp", ".bak", ".new"]


@pytest.mark.parametrize("name", NAMES)
def test_no_name_beside_an_output_is_written_through(tmp_path: Path, victim: Path, name: str) -> None:
    path = tmp_path / name
    for suffix in SUFFIXES:
        for planted in (name + suffix, f".{name}{suffix}"):
            if len(planted.encode()) < 256:
                (tmp_path / planted).symlink_to(victim)
    before = sorted(tmp_path.iterdir())
    write_atomically(path, "text", private=True)
    write_atomically(path, b"bytes")
    assert path.read_bytes() == b"bytes"
    assert victim.read_text() == "precious"
    assert sorted(tmp_path.iterdir()) == sorted([*before, path])


def test_the_temporary_name_is_another_each_time_and_the_mode_is_what_the_umask_gives(tmp_path: Path) -> None:
    names = set()
    mask = os.umask(0o027)
    try:
        for _ in range(20):
            write_atomically(tmp_path / "a", "x")
            names |= {entry.name for entry in tmp_path.iterdir()}
        assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640
        write_atomically(tmp_path / "b", "x", private=True)
        assert (tmp_path / "b").stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(mask)
    assert names == {"a"}


def test_an_output_that_is_a_link_is_replaced_and_not_written_through(tmp_path: Path, victim: Path) -> None:
    (tmp_path / "report.md").symlink_to(victim)
    write_atomically(tmp_path / "report.md", "text")
    assert victim.read_text() == "precious"
    assert not (tmp_path / "report.md").is_symlink()


@pytest.mark.parametrize("name", ["fifo", "socket"])
def test_what_is_not_a_file_is_not_replaced(tmp_path: Path, name: str) -> None:
    path = special(tmp_path, name)
    with pytest.raises(OSError, match="not replaced"):
        write_atomically(path, "text")
    assert not path.is_file()


def test_every_verb_that_writes_leaves_what_its_temporary_name_might_be(
    tmp_path: Path, victim: Path, replay: Replay
) -> None:
    (tmp_path / "a.json").write_text(json.dumps([{"id": "t", "question": "?", "steps": STEPS}]))
    assert replay("classify", "a.json", "--offline").returncode == 0
    outputs = [
        "r.md",
        "r.html",
        "c.csv",
        "o.cassette",
        "f.svg",
        "f.csv",
        "converted/t.trajectory.json",
        "replay-known.yaml",
    ]
    (tmp_path / "converted").mkdir()
    for output in outputs:
        for suffix in SUFFIXES:
            beside = tmp_path / output
            (beside.parent / f"{beside.name}{suffix}").symlink_to(victim)
            (beside.parent / f".{beside.name}{suffix}").symlink_to(victim)
    for words in (
        ["report", "-o", "r.md"],
        ["report", "-o", "r.html"],
        ["report", "--format", "csv", "-o", "c.csv"],
        ["figure", "outcomes", "-o", "f.svg"],
        ["figure", "outcomes", "-o", "f.csv"],
        ["convert", "a.json", "-o", "converted", "--force"],
        ["export", "--format", "openai", "-o", "exported"],
        ["known", "add", "0123456789ab", "--note", "x"],
    ):
        done = replay(*words)
        assert victim.read_text() == "precious", words
        assert "Traceback" not in done.stderr, done.stderr


# --- a run file that is not ours


def plant(path: Path, kind: str, victim: Path) -> None:
    if kind == "link":
        path.symlink_to(victim)
    elif kind == "dangling link":
        path.symlink_to(victim.with_name("nowhere"))
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    else:
        path.touch()
        if kind == "other user":
            if os.geteuid() != 0:
                pytest.skip("only root can make a file another user's")
            os.chown(path, 12345, 12345)
        else:
            path.chmod(int(kind, 8))


KINDS = ["link", "dangling link", "fifo", "directory", "other user", "0o666", "0o660", "0o622", "0o602", "0o777"]


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-lock", "-journal"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_file_that_is_not_ours_alone_is_refused_in_a_sentence(
    tmp_path: Path, victim: Path, kind: str, suffix: str
) -> None:
    path = tmp_path / "replay-run.db"
    plant(Path(f"{path}{suffix}"), kind, victim)
    with pytest.raises(RunFileError) as refused:
        Run.open(path)
    assert "name another" in str(refused.value)
    assert str(path) in str(refused.value)
    assert victim.read_text() == "precious"
    assert not victim.with_name("nowhere").exists()
    if suffix == "":
        assert not Path(f"{path}-lock").exists()


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o640, 0o444])
def test_a_run_file_of_ours_is_opened(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "run.db"
    Run.open(path).close()
    path.chmod(mode)
    with closing(Run.read(path)) as run:
        assert run.servers() == {}
    if mode & 0o200:
        Run.open(path).close()


def test_the_refusal_of_the_verb_says_what_to_do_and_changes_nothing(tmp_path: Path, replay: Replay) -> None:
    (tmp_path / "a.json").write_text(json.dumps([{"id": "t", "question": "?", "steps": STEPS}]))
    run = tmp_path / "replay-run.db"
    run.touch(mode=0o600)
    run.chmod(0o666)
    done = replay("classify", "a.json", "--offline")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "chmod go-w" in done.stderr
    assert run.stat().st_size == 0
    assert replay("classify", "a.json", "--offline", "--run", "mine.db").returncode == 0


@pytest.mark.parametrize("kind", ["link", "dangling link", "other user", "0o666", "fifo", "directory"])
def test_a_recorder_does_not_write_into_a_partial_file_of_another(tmp_path: Path, victim: Path, kind: str) -> None:
    output = tmp_path / "x.trajectory.json"
    plant(Path(f"{output}.partial"), kind, victim)
    with pytest.raises(ReplayError, match="cannot be written"):
        RecordingStore(output, RecordingInfo("", "m", None), Redactor())
    assert victim.read_text() == "precious"
    assert not victim.with_name("nowhere").exists()


# --- what is read


def special(folder: Path, kind: str) -> Path:
    path = folder / f"special-{kind.replace('/', '-')}"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
    elif kind == "sparse":
        with path.open("wb") as file:
            file.write(b'{"format": "')
            file.truncate(1 << 40)
    elif kind.startswith("/"):
        return Path(kind)
    else:
        path.symlink_to(Path(kind.removeprefix("link to ")))
    return path


SPECIAL = [
    "fifo", "socket", "/dev/zero", "/dev/urandom", "/dev/full", "/dev/null", "/dev/ptmx", "link to /dev/zero",
    "link to /proc/self/mem", "sparse", "/proc/self/fd", "/",
]  # fmt: skip
READERS: dict[str, Callable[[Path], Any]] = {
    "cassette": read_cassette,
    "fleet": Fleet.load,
    "known": read_known_file,
    "labels": read_labels,
    "judge": lambda path: read_judges([path], []),
    "recording": recover,
}


@pytest.fixture
def little_memory() -> Iterator[None]:
    """More than a gigabyte beyond what is used now cannot be had."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (2 << 30), hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("kind", SPECIAL)
@pytest.mark.parametrize("reader", [name for name in READERS if name != "recording"])
def test_what_is_not_a_file_of_bounded_size_is_refused_at_once(tmp_path: Path, reader: str, kind: str) -> None:
    with pytest.raises(ReplayError) as refused:
        READERS[reader](special(tmp_path, kind))
    assert str(refused.value).count("\n") == 0


@pytest.mark.parametrize("kind", [kind for kind in SPECIAL if kind != "sparse"])
def test_no_recording_is_recovered_from_what_is_not_a_file(tmp_path: Path, kind: str) -> None:
    with pytest.raises(ReplayError):
        recover(special(tmp_path, kind))


@pytest.mark.parametrize("kind", [kind for kind in SPECIAL if kind.startswith(("socket", "/dev", "link to /dev"))])
def test_no_device_is_read_as_results(tmp_path: Path, kind: str) -> None:
    with pytest.raises(ReplayError):
        open_file(special(tmp_path, kind))


@pytest.mark.parametrize("kind", SPECIAL)
def test_what_lies_beside_a_results_file_is_read_only_where_it_is_a_file(tmp_path: Path, kind: str) -> None:
    assert Document.beside(document_at(tmp_path / "a.json"), special(tmp_path, kind).name) is None


def document_at(path: Path) -> Any:
    document = Document.__new__(Document)
    document.path, document.looked_for = str(path), []
    document._file = InputFile(str(path), partial(open_regular, path), lambda: 0)
    return document


def test_a_small_file_is_read_to_its_limit_and_no_further(tmp_path: Path) -> None:
    path = tmp_path / "small"
    for size in (0, 1, 99, 100):
        path.write_bytes(b"x" * size)
        assert read_small_file(path, 100) == b"x" * size
    path.write_bytes(b"x" * 101)
    with pytest.raises(OSError, match="longer"):
        read_small_file(path, 100)


OPTIONS = {
    "--servers": ["classify", "a.json", "--servers"],
    "--cassette": ["classify", "a.json", "--cassette"],
    "--known": ["classify", "a.json", "--offline", "--known"],
    "--reference": ["align", "a.json", "--reference"],
    "--judge": ["compare", "replay-run.db", "--judge"],
    "--run": ["report", "--run"],
    "recover": ["recover"],
    "record --servers": ["record", "-o", "x.json", "--servers"],
    "servers check": ["servers", "check", "--servers"],
    "show": ["show"],
    "convert": ["convert", "--list"],
}


@pytest.mark.hostile
@pytest.mark.slow
@pytest.mark.parametrize("option", OPTIONS)
def test_no_option_reads_a_device_or_waits_for_a_pipe(tmp_path: Path, replay: Replay, option: str) -> None:
    (tmp_path / "a.json").write_text(json.dumps([{"id": "t", "question": "?", "steps": STEPS}]))
    assert replay("classify", "a.json", "--offline").returncode == 0
    for kind in ("fifo", "/dev/zero", "link to /dev/zero"):
        limited = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({4 << 30}, {4 << 30}))"
        done = subprocess.run(
            [sys.executable, "-P", "-c", f"{limited}; from replay.cli import main; main()", *OPTIONS[option],
             special(tmp_path, kind)],
            cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode not in (0, 70), (kind, done.stderr)
        assert "Traceback" not in done.stderr, (kind, done.stderr)
        (tmp_path / "special-fifo").unlink(missing_ok=True)


def test_a_fleet_and_a_cassette_come_through_stdin_where_that_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps([{"id": "t", "question": "?", "steps": STEPS}]))
    done = subprocess.run(
        [sys.executable, "-P", "-m", "replay", "servers", "check", "--servers", "-"],
        cwd=tmp_path, input=yaml.safe_dump({"version": 1, "servers": {"gone": {"command": "/no/such/program"}}}),
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert "gone" in done.stdout, done.stderr


@pytest.mark.hostile
@pytest.mark.parametrize("seed", range(10))
def test_random_names_beside_random_outputs_stay_as_they_are(tmp_path: Path, victim: Path, seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(100):
        name = "".join(dice.choices(string.ascii_letters + "._-é漢", k=dice.randint(1, 40)))
        planted = tmp_path / f"{dice.choice(['', '.'])}{name}{dice.choice(SUFFIXES)}"
        if not os.path.lexists(planted):
            planted.symlink_to(victim)
        write_atomically(tmp_path / f"out-{name}", "text")
        assert victim.read_text() == "precious"
