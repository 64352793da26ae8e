from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.scripts import ROOT, script

generate = script("generate")


@pytest.mark.parametrize("name", generate.PAGES)
def test_a_generated_page_says_what_the_code_says(name: str) -> None:
    assert (ROOT / "docs" / name).read_text("utf-8") == generate.PAGES[name](), "stale: run make docs"


@pytest.mark.parametrize(
    "page", sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("traces/*.md")]), ids=lambda path: path.name
)
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text("utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_page_can_be_reached_from_the_readme() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert [path.name for path in sorted(ROOT.glob("docs/*.md")) if f"docs/{path.name}" not in readme] == []
