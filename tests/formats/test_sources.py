from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from replay.errors import FormatError
from replay.formats import open_file, open_files, sources
from replay.formats.results_file import ResultsFile

CHAT = [
    {"role": "user", "content": "?"},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "files/read", "arguments": "{}"}}
    ]},
    {"role": "tool", "tool_call_id": "c1", "content": "text"},
]  # fmt: skip
CODEX = [
    {"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": {"id": "s", "cli_version": "1"}},
    {
        "timestamp": "2026-01-01T00:00:01Z",
        "type": "response_item",
        "payload": {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "a"},
    },
]

Replay = Callable[..., subprocess.CompletedProcess[str]]


def chat(**fields: object) -> str:
    return json.dumps({"messages": CHAT, **fields})


def opened(*paths: Path | str) -> tuple[list[ResultsFile], list[str], list[str]]:
    errors: list[str] = []
    notes: list[str] = []
    files = list(open_files(paths, None, lambda error: errors.append(str(error)), notes.append))
    return files, errors, notes


def test_a_folder_is_read_with_all_that_is_in_it_and_formats_may_be_mixed(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "one.json").write_text(chat())
    (tmp_path / "deep" / "er" / "two.jsonl").write_text("\n".join(map(json.dumps, CODEX)))
    (tmp_path / "package.json").write_text('{"name": "x", "version": "1"}')
    (tmp_path / "notes.txt").write_text("hello")
    files, errors, notes = opened(tmp_path)
    assert [file.format for file in files] == ["openai-chat", "codex"]
    assert errors == []
    assert any("1 file of another kind was not read: " in note and "package.json" in note for note in notes)
    assert any("1 file of another kind was not looked at: notes.txt" in note for note in notes)


def test_a_pattern_that_the_shell_did_not_expand_is_expanded(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one.json").write_text(chat())
    files, _, _ = opened(str(tmp_path / "**" / "*.json"))
    assert len(files) == 1
    assert opened(str(tmp_path / "*.none"))[1] == [f"{tmp_path}/*.none: no file matches this pattern"]


def test_compressed_files_and_archives_are_read_and_nothing_is_written_by_name(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    data = chat().encode()
    (folder / "one.json.gz").write_bytes(gzip.compress(data))
    with zipfile.ZipFile(folder / "two.zip", "w") as packed:
        packed.writestr("../../evil.json", data)
        packed.writestr("inner/three.json.gz", gzip.compress(data))
        packed.writestr("readme.md", "hello")
    with tarfile.open(folder / "four.tar.gz", "w:gz") as tar:
        entry = tarfile.TarInfo("/etc/five.json")
        entry.size = len(data)
        tar.addfile(entry, io.BytesIO(data))
    before = sorted(tmp_path.rglob("*"))
    files, errors, _ = opened(folder)
    assert sorted(Path(file.path).name for file in files) == ["evil.json", "five.json", "one.json.gz", "three.json.gz"]
    assert [len(list(file.trajectories())) for file in files] == [1, 1, 1, 1]
    assert errors == []
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_that_loops_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(chat())
    (tmp_path / "again").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "self.json").symlink_to("self.json")
    files, errors, _ = opened(tmp_path)
    assert [file.path for file in files] == [str(tmp_path / "one.json")]
    assert errors == []


def test_an_archive_inside_an_archive_is_told_as_not_read(tmp_path: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("two.json", chat())
    with zipfile.ZipFile(tmp_path / "outer.zip", "w") as archive:
        archive.writestr("one.json", chat())
        archive.writestr("inner.zip", inner.getvalue())
    files, [error], _ = opened(tmp_path / "outer.zip")
    assert [file.path for file in files] == [f"{tmp_path}/outer.zip/one.json"]
    assert "inner.zip: an archive inside an archive, or compressed twice, is not opened; unpack it" in error
    (tmp_path / "a.zip.gz").write_bytes(gzip.compress(inner.getvalue()))
    (tmp_path / "b.json.gz").write_bytes(gzip.compress(gzip.compress(chat().encode())))
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as archive:
        archive.writestr("not told by its name.json.gz", gzip.compress(inner.getvalue()))
    for name in ("a.zip.gz", "b.json.gz", "c.zip"):
        _, [error], _ = opened(tmp_path / name)
        assert "an archive inside an archive, or compressed twice, is not opened; unpack it" in error


def test_a_zip_bomb_is_refused_and_the_other_files_go_on(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        with packed.open("zeros.json", "w") as member:
            for _ in range(100):
                member.write(bytes(1024 * 1024))
        packed.writestr("good.json", chat())
    (tmp_path / "bomb.json.gz").write_bytes(gzip.compress(bytes(100 * 1024 * 1024)))
    files, errors, _ = opened(tmp_path / "bomb.zip", tmp_path / "bomb.json.gz")
    assert [Path(file.path).name for file in files] == ["good.json"]
    assert len(errors) == 2
    assert all("expands to more than" in error for error in errors)


@pytest.mark.parametrize("name", ["a.zip", "a.json.gz", "a.tar.gz"])
def test_a_cut_off_archive_is_refused_in_a_sentence(tmp_path: Path, name: str) -> None:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as packed:
        packed.writestr("a.json", chat())
    data = whole.getvalue() if name == "a.zip" else gzip.compress(os.urandom(5000))
    (tmp_path / name).write_bytes(data[: len(data) // 2])
    with pytest.raises(FormatError, match="broken"):
        open_file(tmp_path / name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_named_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(chat()))
    keeper = os.open(pipe, os.O_RDWR)
    writer.start()
    writer.join()
    reader = threading.Timer(0.2, os.close, [keeper])
    reader.start()
    assert open_file(pipe).calls == 1
    reader.join()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_named_pipe_that_nobody_writes_to_does_not_hang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "PIPE_SECONDS", 0.1)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FormatError, match="a pipe to which nobody wrote"):
        open_file(tmp_path / "pipe")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no /dev/zero here")
def test_a_device_is_refused() -> None:
    with pytest.raises(FormatError, match="a device or a socket"):
        open_file("/dev/zero")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_a_file_name_that_is_not_utf_8_is_shown_escaped(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/caf\xe9.json"
    Path(os.fsdecode(name)).write_text(chat())
    file = open_file(os.fsdecode(name))
    assert file.path.endswith("caf\\xe9.json")
    assert next(file.trajectories()).source.file == file.path


def test_stdin_is_read_and_listed(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "replay", "convert", "--list", "-"],
        input=chat(), capture_output=True, text=True, cwd=tmp_path, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == '-: openai-chat (messages with "role" and "tool_calls"), 1 trajectory, 1 call\n'


def test_no_call_in_any_file_is_an_error_and_in_one_of_several_a_note(tmp_path: Path, replay: Replay) -> None:
    (tmp_path / "empty.json").write_text(json.dumps({"messages": CHAT[:1]}))
    (tmp_path / "good.json").write_text(chat())
    nothing = replay("classify", "--offline", "empty.json")
    assert nothing.returncode == 2
    assert "no call was found in any file" in nothing.stderr
    some = replay("classify", "--offline", "empty.json", "good.json")
    assert some.returncode == 0, some.stderr
    assert "empty.json: no call in it" in some.stderr
