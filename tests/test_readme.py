"""What the README and the samples' page show of the samples is what their commands print."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.in_process import replay_here
from tests.scripts import ROOT

PAGE = (ROOT / "traces" / "README.md").read_text("utf-8")


@pytest.fixture(autouse=True)
def _in_the_clone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "128")


def block(start: str) -> list[str]:
    """The lines of the block of the samples' page that begins so."""
    text = next(part for part in re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL) if part.lstrip().startswith(start))
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def samples() -> Sequence[Path]:
    return sorted(path.relative_to(ROOT) for path in (ROOT / "traces").glob("*.json"))


def cells(lines: Sequence[str], *, width: int) -> list[list[str]]:
    """The first columns; how a call was judged may be told otherwise where there are no servers."""
    return [re.split(r"\s{2,}", line.strip())[:width] for line in lines]


def without_certainty(lines: Sequence[str]) -> list[str]:
    """Without what live servers know better than recordings: how many verdicts are not certain, and whose fault."""
    start, end = (
        lines.index(next(line for line in lines if line.startswith("Of 28 verdicts "))),
        lines.index("What went wrong most"),
    )
    assert lines[start + 1].startswith("Whose fault the 10 calls without success are: the model's 9, ")
    return [*lines[:start], *lines[end:]]


def test_the_readme_has_a_way_in_for_those_who_have_sessions_and_no_servers() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert "You have sessions, and no servers?" in text
    assert "five outcomes (or says that it is inconclusive" in text


def test_the_readme_shows_the_table_of_the_samples_page() -> None:
    (table,) = re.findall(r"```text\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert table.rstrip() in PAGE


def test_the_outcomes_of_the_samples_are_those_of_their_page(tmp_path: Path) -> None:
    """Their recorded answers came from the servers that `make demo` starts, and give the same figures without them."""
    done = replay_here("classify", *samples(), "--offline", "--run", tmp_path / "run.db")
    assert done.returncode == 0, done.stderr
    printed = [line.rstrip() for line in done.stdout.partition("\nNext:")[0].splitlines() if line.strip()]
    printed, shown = without_certainty(printed), without_certainty(block("illegal"))
    table, groups = shown.index("What went wrong most"), shown.index("Root causes")
    end = shown.index("Inconclusive: these count in no category")
    assert printed[:table] == shown[:table]
    assert cells(printed[table:groups], width=4) == cells(shown[table:groups], width=4)
    assert printed[groups : end + 1] == shown[groups : end + 1]
    assert [row[2:4] for row in cells(printed[end + 1 :], width=4)] == [
        row[2:4] for row in cells(shown[end + 1 :], width=4)
    ]


def test_the_alignment_of_the_samples_is_that_of_their_page() -> None:
    done = replay_here("align", *samples(), "--reference", "traces/reference/reference.json")
    assert done.returncode == 0, done.stderr
    shown = block("model             tasks  recall")
    assert [line for line in shown if line not in done.stdout.splitlines()] == []
