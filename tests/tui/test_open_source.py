"""`o` opens a stranger's file in the user's editor: its name is a name there, and nothing else."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from replay.records import Call, Outcome, Source
from replay.runfile import Run
from replay.runfile.trajectory_queries import stored_trajectory
from replay_tui.terminal import open_in_editor, source_line
from tests.pseudo_terminal import terminal_of
from tests.tui.conftest import Browsing, press
from tests.tui.sample import judged, trajectory_of

VIM = shutil.which("vim")
NAMES = [
    "+call system('touch owned')",
    "+3",
    "+",
    "-c quit",
    "-",
    "--",
    "--cmd=call system('touch owned')",
    "-Sevil.vim",
    "|!touch owned",
    "`touch owned`.json",
    "$(touch owned)",
    "a 'quoted' \"name\"\n+call system('touch owned')",
]


@pytest.fixture
def argv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which a planted editor leaves its arguments."""
    kept, editor = tmp_path / "argv.json", tmp_path / "bin" / "vim"
    editor.parent.mkdir()
    editor.write_text(f"#!{sys.executable}\nimport json, sys\njson.dump(sys.argv[1:], open({str(kept)!r}, 'w'))\n")
    editor.chmod(0o755)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", str(editor))
    return kept


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("line", [None, 3])
def test_the_name_of_a_file_is_neither_an_option_nor_a_command(
    name: str, line: int | None, argv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text("{}")
    assert open_in_editor(Path(name), line) is None
    given = json.loads(argv.read_text())
    assert given == [*(["+3"] if line else []), "--", f"{tmp_path}/{name}"]


def test_an_editor_that_may_not_know_two_dashes_gets_the_path_alone(
    argv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin" / "vim").rename(tmp_path / "bin" / "ed it")
    monkeypatch.setenv("EDITOR", f"'{tmp_path}/bin/ed it' --wait")
    (tmp_path / "x.json").write_text("{}")
    assert open_in_editor(tmp_path / "x.json", 7) is None
    assert json.loads(argv.read_text()) == ["--wait", "+7", f"{tmp_path}/x.json"]


@pytest.mark.skipif(VIM is None, reason="vim is not installed")
@pytest.mark.parametrize("name", NAMES)
def test_vim_runs_nothing_of_a_name(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EDITOR", f"{VIM} -u NONE -es --cmd 'autocmd VimEnter * w! opened | qa!'")
    monkeypatch.delenv("VISUAL", raising=False)
    Path(name).write_text("as it is\n")
    assert open_in_editor(Path(name), 1) is None
    assert Path("opened").read_text() == "as it is\n"
    assert not Path("owned").exists()


@pytest.mark.parametrize("editor", ["'unclosed", " ", "/nowhere/editor", "\\"])
def test_an_editor_that_cannot_be_run_is_a_sentence(
    editor: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISUAL", editor)
    (tmp_path / "x.json").write_text("{}")
    assert open_in_editor(tmp_path / "x.json", 1)


@pytest.mark.anyio
@pytest.mark.parametrize(
    "position",
    ["line", "line x", "line -1", f"line {'9' * 5000}", "line 3.5.7", "lines 3", ""],
    ids=lambda position: position[:10],
)
async def test_a_broken_position_is_told_as_it_is(
    position: str, browse: Browsing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    one = Call(position="s1c1", name="files/read", arguments={})
    source = Source(file="results/one.json", format="m3bench", position=position)
    trajectory = trajectory_of([[one]], source=source)
    with Run.open(tmp_path / "run.db") as run:
        state = run.begin(trajectory, file="results/one.json", format="m3bench", policy="")
        run.finish(state.row, trajectory, [judged(one, Outcome.NOT_FOUND)])
    async with browse(tmp_path / "run.db") as pilot:
        await press(pilot, "2", "o")
        told = [str(note.message) for note in pilot.app._notifications]
        assert len(told) == 1
        assert told[0].startswith("results/one.json")
        assert position[:100] in told[0]


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_only_a_regular_file_is_looked_through_for_the_line(kind: str, tmp_path: Path) -> None:
    path = Path("/dev/zero") if kind == "device" else tmp_path / kind
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    one = Call(position="s1c1", name="files/read", arguments={})
    trajectory = trajectory_of([[one]])
    with Run.open(tmp_path / "run.db") as run:
        state = run.begin(trajectory, file=str(path), format="m3bench", policy="")
        run.finish(state.row, trajectory, [judged(one, Outcome.SUCCESS)])
        stored = stored_trajectory(run.connection, state.row)
    assert stored is not None
    assert source_line(stored) is None


def test_a_browser_that_breaks_ends_with_an_exit_code(sample: Path, tmp_path: Path) -> None:
    broken = (
        "from replay_tui.screens.overview_screen import OverviewScreen; OverviewScreen.reload = lambda self: 1 / 0; "
        "from replay.cli import main; main()"
    )
    with terminal_of(["-c", broken, "browse", str(sample)], tmp_path) as terminal:
        assert b"ZeroDivisionError" in terminal.read_to_end()
        assert terminal.process.wait() == 1
