"""The site's menu, and what its pages show; `make site` builds it and checks its links."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from replay.errors import MissingExtraError
from tests.in_process import replay_here
from tests.scripts import ROOT

RECORDING = ROOT / "docs" / "screenshots" / "demo.svg"


class _Loader(yaml.SafeLoader):
    """Of mkdocs.yml, whose tags only MkDocs knows."""


_Loader.add_multi_constructor("", lambda loader, tag, node: None)


def pages_of(entry: Any) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
    else:
        for part in entry.values() if isinstance(entry, dict) else entry:
            yield from pages_of(part)


def test_the_menu_of_the_site_has_every_page_of_docs() -> None:
    menu = yaml.load((ROOT / "mkdocs.yml").read_text("utf-8"), _Loader)["nav"]
    docs = ROOT / "docs"
    written = {path.relative_to(docs).as_posix() for path in docs.rglob("*") if path.suffix in {".md", ".ipynb"}}
    assert written - set(pages_of(menu)) == set(), "name it under nav in mkdocs.yml"


def test_the_site_is_published_from_the_main_branch_alone_and_built_as_here() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/site.yml").read_text("utf-8"))["jobs"]
    assert "make site" in [step.get("run") for step in jobs["build"]["steps"]]
    assert jobs["publish"]["if"] == "github.event_name == 'push'"
    assert jobs["publish"]["permissions"] == {"pages": "write", "id-token": "write"}


def without_certainty(lines: list[str]) -> list[str]:
    """All that is said, but how many verdicts are not certain."""
    return [line for line in lines if line and not line.startswith("Of 28 verdicts ")]


def test_the_recording_shows_what_the_demo_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "128")
    picture = RECORDING.read_text("utf-8")
    scene = picture.partition(">replay demo<")[0]
    shown = [html.unescape(line) for line in re.findall(r'<text class="said"[^>]*>([^<$][^<]*)</text>', scene)]
    printed = replay_here("demo").stdout.rstrip().splitlines()
    assert without_certainty(shown) == without_certainty(printed), "stale: run docs/terminal_recording.py"
    assert len(picture) < 200_000


def test_the_notebook_holds_the_results_of_each_cell_and_no_path() -> None:
    text = (ROOT / "docs" / "notebook.ipynb").read_text("utf-8")
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    assert [cell["source"] for cell in cells if not cell["outputs"]] == []
    assert "<table>" in text
    assert "site-packages" not in text
    assert "/tmp/" not in text


def test_an_error_is_one_sentence_in_a_notebook() -> None:
    error = MissingExtraError("pip install 'mcp-replay[pandas]'", "Run.to_pandas")
    (line,) = error._render_traceback_()
    assert line == f"MissingExtraError: {error}"
