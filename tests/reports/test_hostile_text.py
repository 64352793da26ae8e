"""What servers and models write is shown literally in every format, and is never markup."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from replay.reports import FORMATS, Selection, render
from replay.reports.markdown_syntax import block, code
from replay.reports.tables import Column, Table
from replay.runfile import Run
from tests.runs import call, failed, make_run, schema, server, write_trajectory

HOSTILE = (
    "</script><script>alert(1)</script> <img src=x onerror=alert(2)> `tick` ``two`` | pipe | @octocat #12 "
    "```\nend of fence\n````\n\x1b[31mred\x1b[0m \u202eright to left\u202c </textarea> &amp; {{7*7}} {% raw %} :smile:"
)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    tool = server("evil", get=schema("name"), **{"<b>x</b>|@bob": schema("name")})
    missing = f"Error: '{HOSTILE}' not found"
    calls = [
        failed("evil/get", {"name": HOSTILE}, missing),
        call("evil/<b>x</b>|@bob", {"name": "y"}, HOSTILE),
        call(f"evil/{HOSTILE}", {"name": "z"}, None),
        {"name": None, "unreadable": "call", "raw": HOSTILE},
        failed("evil/get", {HOSTILE: 1}, "Input validation error"),
    ]
    file = write_trajectory(
        tmp_path / "hostile.trajectory.json", calls, question=HOSTILE, model=f"<i>m</i>|{HOSTILE}", final_reply=HOSTILE
    )
    return Run.read(make_run(tmp_path / "run.db", [file], tool))


def test_every_format_can_be_made_and_holds_no_control_or_bidirectional_character(run: Run) -> None:
    for form in FORMATS:
        text = render(run, form)
        unsafe = {character for character in text if ord(character) < 32 and character not in "\n\t\r"}
        assert not unsafe & {"\x1b"}, form
        assert "\u202e" not in text, form


def test_markdown_of_a_call_opens_no_html_and_mentions_nobody(run: Run) -> None:
    for position in ("s1c1", "s2c1", "s3c1", "s4c1", "s5c1"):
        outside = outside_code(render(run, "markdown", Selection(call=f"hostile:{position}")))
        assert "<script" not in outside
        assert "<img" not in outside
        assert "@octocat" not in outside
        assert "#12" not in outside


def test_markdown_of_a_run_and_a_trajectory_mentions_nobody(run: Run) -> None:
    for text in (render(run, "markdown"), render(run, "markdown", Selection(trajectory="hostile"))):
        outside = outside_code(text)
        assert "@octocat" not in outside
        assert "@bob" not in outside
        assert "<script" not in outside


class Rendered(HTMLParser):
    """The elements of a page, and its text outside of code."""

    def __init__(self, markdown: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.open: list[str] = []
        self.prose: list[str] = []
        self.code: list[str] = []
        self.feed(MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            self.open.remove(tag)

    def handle_data(self, data: str) -> None:
        (self.code if "code" in self.open else self.prose).append(data)


@pytest.mark.parametrize(
    "selection",
    [{}, {"trajectory": "hostile"}, *({"call": f"hostile:s{number}c1"} for number in range(1, 6))],
    ids=str,
)
def test_a_markdown_parser_finds_only_our_own_elements_and_links_nothing(run: Run, selection: dict[str, Any]) -> None:
    page = Rendered(render(run, "markdown", Selection(**selection)))
    ours = {"h1", "h2", "h3", "p", "pre", "code", "strong", "em", "ul", "li", "details", "summary"}
    assert page.tags <= ours | {"table", "thead", "tbody", "tr", "th", "td"}
    prose = "".join(page.prose)
    assert "@octocat" not in prose
    assert "#12" not in prose
    assert "<img src=x onerror=alert(2)>" in "".join(page.code) + prose


def outside_code(markdown: str) -> str:
    """What a renderer takes as prose: without fenced blocks and code spans, as CommonMark finds them."""
    lines, fence = [], ""
    for line in markdown.splitlines():
        ticks = len(line) - len(line.lstrip("`"))
        if fence:
            fence = "" if ticks >= len(fence) and not line.strip("`").strip() else fence
        elif ticks >= 3 and "`" not in line[ticks:]:
            fence = "`" * ticks
        else:
            lines.append(without_spans(line))
    assert not fence, "a fence was left open"
    return "\n".join(lines)


def without_spans(line: str) -> str:
    kept, at = [], 0
    while at < len(line):
        if line[at] == "\\" and at + 1 < len(line):
            kept.append("\0")
            at += 2
        elif line[at] == "`":
            run_end = at
            while run_end < len(line) and line[run_end] == "`":
                run_end += 1
            ticks = line[at:run_end]
            close = next(
                (
                    place
                    for place in range(run_end, len(line) - len(ticks) + 1)
                    if line.startswith(ticks, place)
                    and not line.startswith("`", place + len(ticks))
                    and line[place - 1] != "`"
                ),
                None,
            )
            assert close is not None, f"a code span was left open: {line[:200]}"
            at = close + len(ticks)
        else:
            kept.append(line[at])
            at += 1
    return "".join(kept)


@pytest.mark.parametrize("text", ["`", "``", "a ` b", "`a`", "a``b`c", "| a |", "", " ", "```\n```"])
def test_a_code_span_and_a_block_outlast_the_backticks_inside(text: str) -> None:
    assert without_spans(code(text)).strip() == ""
    assert outside_code(block(text)).strip() == ""


def test_a_pipe_inside_a_cell_does_not_end_it() -> None:
    row = Table([Column("a", "name"), Column("b")], [["x | y", "p | q"]]).markdown().splitlines()[2]
    assert row.replace("\\|", "").count("|") == 3


def test_a_fence_inside_an_answer_does_not_end_the_block() -> None:
    assert outside_code(block("```\n@octocat\n````\n<b>")) == ""


def test_xml_is_well_formed_and_holds_the_text_literally(run: Run) -> None:
    root = ET.fromstring(render(run, "junit"))
    failure = root.find(".//testcase/failure")
    assert failure is not None
    assert "<img src=x onerror=alert(2)>" in str(failure.text)
    assert "\\x1b[31mred" in str(failure.text)
    assert root.get("tests") == "5"


def test_svg_is_well_formed_and_holds_no_element_of_the_model_name(run: Run) -> None:
    root = ET.fromstring(render(run, "svg"))
    assert not [element for element in root.iter() if element.tag.rpartition("}")[2] in {"script", "img", "i"}]
    assert "<i>m</i>" in "".join(root.itertext())


def test_csv_cells_are_never_formulas_and_json_holds_the_text_as_it_was(run: Run, tmp_path: Path) -> None:
    rows = list(csv.reader(io.StringIO(render(run, "csv"))))
    assert {len(row) for row in rows} == {len(rows[0])}
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "@"))]
    document = json.loads(render(run, "json"))
    assert document["trajectories"][0]["question"] == HOSTILE
