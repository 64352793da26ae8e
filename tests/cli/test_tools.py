"""`replay tools`: one report in four renderings."""

from __future__ import annotations

import json
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import jsonschema
import pytest

from replay.analysis.tool_usage import tool_report
from replay.reports.tools import render
from replay.runfile import Run
from tests.in_process import Done, replay_here
from tests.reports.test_hostile_text import HOSTILE, outside_code
from tests.runs import call, failed, make_run, schema, server, write_trajectory
from tests.scripts import schema_of

Replay = Callable[..., Done]
FILES = server("files", read=schema("path"), list=schema("path"))
TOKEN = "ghp_" + "a1B2" * 9


@pytest.fixture
def replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Replay:
    monkeypatch.chdir(tmp_path)
    return replay_here


@pytest.fixture
def run(tmp_path: Path) -> Path:
    calls = [
        failed("files/read", {"file_path": TOKEN}, "Input validation error: 'path' is a required property"),
        call("files/list", {"path": "/a"}),
    ]
    return make_run(tmp_path / "replay-run.db", [write_trajectory(tmp_path / "t.trajectory.json", calls)], FILES)


def test_the_text_names_the_line_to_rewrite_and_the_call_that_shows_it(replay: Replay, run: Path) -> None:
    done = replay("tools")
    assert (done.returncode, done.stderr) == (0, "")
    assert "files/read: 1 of 1 judged call failed" in done.stdout
    assert "inputSchema /properties/path" in done.stdout
    assert "gpt:t:s1c1" in done.stdout
    assert TOKEN not in done.stdout
    assert run.exists()


def test_the_json_is_what_its_schema_says(replay: Replay, run: Path) -> None:
    document = json.loads(replay("tools", run, "--format", "json").stdout)
    jsonschema.validate(document, schema_of("tools"))
    assert (document["format"], document["version"]) == ("replay.tools", 1)
    assert [tool["tool"] for tool in document["tools"]] == ["read", "list"]
    assert document["tools"][0]["advice"][0]["pointer"] == "/properties/path"


def test_the_name_of_the_output_tells_the_format_and_a_file_is_not_overwritten(
    replay: Replay, run: Path, tmp_path: Path
) -> None:
    for name, start in (("t.html", "<!doctype html>"), ("t.md", "# Tools"), ("t.json", "{"), ("t.txt", "2 tools")):
        assert replay("tools", run, "-o", name).returncode == 0
        assert (tmp_path / name).read_text("utf-8").startswith(start)
    assert replay("tools", run, "-o", "t.md").stderr == "replay: t.md exists; overwrite it with --force\n"
    unknown = replay("tools", run, "-o", "t.pdf")
    assert (unknown.returncode, unknown.stderr.count("\n")) == (2, 1)


def test_what_is_not_there_is_one_clear_line(replay: Replay, run: Path, tmp_path: Path) -> None:
    Run.open(tmp_path / "empty.db").close()
    for words, said in (
        ([run, "--server", "fils"], "no server 'fils'; nearest: files"),
        ([run, "--tool", "raed"], "no tool 'raed'; nearest"),
        (["empty.db"], "this run has no verdicts yet"),
        (["none.db"], "there is no run yet"),
    ):
        done = replay("tools", *words)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert said in done.stderr


def test_a_tool_that_nobody_called_is_said_so(replay: Replay, tmp_path: Path) -> None:
    file = write_trajectory(tmp_path / "t.trajectory.json", [call("files/list", {"path": "/a"})])
    run = make_run(tmp_path / "one.db", [file], FILES)
    assert "no call of these tools" in replay("tools", run, "--tool", "read").stdout


class Elements(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self.tags.add(tag)


def test_hostile_names_are_shown_literally_in_every_rendering(tmp_path: Path) -> None:
    tool = server("evil", get=schema("name"), **{"<b>x</b>|@bob": schema("name")})
    calls = [
        failed("evil/get", {"name": HOSTILE}, f"Error: '{HOSTILE}' not found"),
        call("evil/<b>x</b>|@bob", {HOSTILE: "y"}, HOSTILE),
        call(f"evil/{HOSTILE}", {"name": "z"}, None),
        failed("evil/get", {HOSTILE: 1}, "Input validation error"),
    ]
    file = write_trajectory(tmp_path / "t.trajectory.json", calls, model=f"<i>m</i>|{HOSTILE}")
    with Run.read(make_run(tmp_path / "run.db", [file], tool)) as run:
        report = tool_report(run)
    for form in ("text", "markdown", "html", "json"):
        shown = render(report, form)
        assert "\x1b" not in shown
        assert "\u202e" not in shown
    assert not Elements(render(report, "html")).tags & {"script", "img", "b", "i", "textarea"}
    outside = outside_code(render(report, "markdown"))
    assert "@octocat" not in outside
    assert "<script" not in outside
