"""`show` and `align` take what `classify` takes: folders, patterns, archives and stdin."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from replay.cli import align as align_verb
from replay.cli.input_files import InputFiles
from replay.cli.show import show
from replay.errors import InputError, UsageError
from replay.formats import open_files
from replay.formats.file_names import FileNames


def session(identifier: str, tool: str) -> dict[str, Any]:
    call = {"name": f"x/{tool}", "arguments": {}, "result": "fine"}
    return {"id": identifier, "type": "t", "question": "q", "steps": [{"step": 1, "calls": [call]}], "final_reply": ""}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "results"
    (place / "inner").mkdir(parents=True)
    (place / "a_test_mcp.json").write_text(json.dumps([session("one", "create")]), "utf-8")
    (place / "inner" / "b_test_mcp.json").write_text(json.dumps([session("two", "list")]), "utf-8")
    return place


def shown(*arguments: str | Path) -> Result:
    return CliRunner().invoke(show, [str(argument) for argument in arguments])


def archive(folder: Path) -> Path:
    path = folder.parent / "results.zip"
    with zipfile.ZipFile(path, "w") as packed:
        for file in sorted(folder.rglob("*.json")):
            packed.write(file, str(file.relative_to(folder)))
    return path


def test_show_lists_the_trajectories_of_a_folder_by_file(folder: Path) -> None:
    lines = shown(folder).stdout.splitlines()
    assert lines[0] == f"{folder}/a_test_mcp.json:"
    assert [line.split()[0] for line in (lines[1], lines[3])] == ["one", "two"]


def test_show_finds_a_trajectory_in_a_folder_an_archive_and_a_pattern(folder: Path) -> None:
    for source in (folder, archive(folder), f"{folder}/**/*.json"):
        done = shown(source, "two")
        assert done.exit_code == 0
        assert "x/list" in done.stdout


def test_show_says_what_the_ids_of_a_folder_are_like(folder: Path) -> None:
    done = shown(folder, "tow")
    assert isinstance(done.exception, UsageError)
    assert "these files: no trajectory 'tow'; nearest: two" in str(done.exception)


def test_show_asks_which_file_is_meant_where_two_hold_the_id(folder: Path) -> None:
    (folder / "c_test_mcp.json").write_text(json.dumps([session("two", "list")]), "utf-8")
    done = shown(folder, "two")
    assert isinstance(done.exception, UsageError)
    assert "2 files hold a trajectory 'two'" in str(done.exception)


def test_show_goes_on_where_a_file_of_a_folder_is_broken(folder: Path) -> None:
    (folder / "broken.json").write_text('{"messages": [', "utf-8")
    done = shown(folder, "two")
    assert done.exit_code == 0
    assert "broken.json" in done.stderr


def test_align_reads_a_folder_and_says_what_is_wrong_in_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from replay.alignment.tasks import read_reference

    (reference_file,) = open_files([folder / "a_test_mcp.json"], FileNames())
    reference = read_reference(reference_file, {})
    results, strangers = align_verb._results(InputFiles((folder,), None), reference, None)
    assert [one.model for one in results] == ["a"]
    assert strangers
    assert "b_test_mcp.json" in capsys.readouterr().err


def test_align_refuses_a_folder_without_results(tmp_path: Path, folder: Path) -> None:
    from replay.alignment.tasks import read_reference

    (reference_file,) = open_files([folder / "a_test_mcp.json"], FileNames())
    reference = read_reference(reference_file, {})
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "package.json").write_text(json.dumps({"name": "x", "version": "1"}), "utf-8")
    with pytest.raises(InputError, match="no file could be read"):
        align_verb._results(InputFiles((tmp_path / "empty",), None), reference, None)


def test_show_reads_what_comes_through_a_pipe(folder: Path) -> None:
    command = [sys.executable, "-c", "from replay.cli import main; main()", "show", "-", "one"]
    with (folder / "a_test_mcp.json").open("rb") as stream:
        done = subprocess.run(command, stdin=stream, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "x/create" in done.stdout
