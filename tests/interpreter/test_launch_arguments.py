"""A server that is named as it is typed beside its fleet file, `python server.py`, starts in a workspace too."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from replay.interpreter.config.fleet import ResolvedServer
from replay.interpreter.session.launch import launch_of


def started_with(args: tuple[str, ...], fleet: Path, workspace: Path, cwd: Path | None = None) -> tuple[str, ...]:
    resolved = ResolvedServer(
        command=sys.executable, args=args, env={}, cwd=cwd, url=None, headers={}, auth=None, transport="stdio"
    )
    return launch_of("todo", resolved, fleet, workspace).command[1:]


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    fleet, workspace = tmp_path / "fleet", tmp_path / "workspace"
    for directory in (fleet / "data", workspace):
        directory.mkdir(parents=True)
    for file in (fleet / "server.py", fleet / "notes.txt", workspace / "notes.txt"):
        file.touch()
    return fleet, workspace


def test_a_script_beside_the_fleet_file_is_started_by_its_whole_path(places: tuple[Path, Path]) -> None:
    fleet, workspace = places
    assert started_with(("server.py", "--fast", "data", "", "x" * 5000), fleet, workspace) == (
        str(fleet / "server.py"), "--fast", "data", "", "x" * 5000,
    )  # fmt: skip


def test_what_the_workspace_has_itself_stays_relative_to_it(places: tuple[Path, Path]) -> None:
    assert started_with(("notes.txt", "/etc/hosts"), *places) == ("notes.txt", "/etc/hosts")


def test_a_server_with_a_directory_of_its_own_gets_its_arguments_as_written(places: tuple[Path, Path]) -> None:
    fleet, workspace = places
    assert started_with(("server.py",), fleet, workspace, cwd=workspace) == ("server.py",)
    assert started_with(("server.py",), fleet, fleet) == ("server.py",)
