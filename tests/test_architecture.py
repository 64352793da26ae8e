"""The page of the architecture shows the packages that there are, and the imports between them."""

from __future__ import annotations

import re

import pytest
import yaml

from tests.scripts import ROOT, script

drawing = script("architecture")
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
PICTURE, WAY = re.findall(r"```mermaid\n(.*?)```", PAGE, re.DOTALL)
NEWCOMER = (ROOT / "CONTRIBUTING.md").read_text("utf-8")


def pairs(arrow: str, text: str) -> set[tuple[str, str]]:
    return set(re.findall(rf"^\s*(\w+){re.escape(arrow)}(\w+)", text, re.MULTILINE))


def test_the_picture_has_every_package_and_no_other() -> None:
    drawn = set(re.findall(r"^\s*(\w+)\[", PICTURE, re.MULTILINE))
    there = set(drawing.packages())
    assert there - drawn == set(), "not in the picture: run make docs"
    assert drawn - there == set(), "in the picture, and gone: run make docs"


def test_every_package_has_its_place_in_the_import_contract() -> None:
    placed = {name for layer in drawing.layers() for name in layer}
    assert set(drawing.packages()) - placed == set(), "add a layer in [tool.importlinter] of pyproject.toml"


def test_the_arrows_are_the_imports_of_the_code() -> None:
    drawn = pairs(" --> ", PICTURE)
    assert drawing.arrows() - drawn == set(), "not in the picture: run make docs"
    assert drawn - drawing.arrows() == set(), "in the picture, and no such import: run make docs"
    assert pairs(" -.-> ", PICTURE) == drawing.excepted_imports(), "stale: run make docs"


def test_every_arrow_goes_down_the_layers_of_the_import_contract() -> None:
    layer_of = {name: number for number, layer in enumerate(drawing.layers()) for name in layer}
    drawn = pairs(" --> ", PICTURE)
    assert drawn
    assert [arrow for arrow in drawn if layer_of[arrow[0]] >= layer_of[arrow[1]]] == []


def test_the_page_is_what_the_generator_writes() -> None:
    assert drawing.page() == PAGE, "stale: run make docs"


def test_on_the_way_of_a_call_who_asks_imports_who_is_asked() -> None:
    outside = set(re.findall(r"^\s*actor (\w+)", WAY, re.MULTILINE))
    asks = pairs("->>", WAY) | {(asker, asked) for asked, asker in pairs("-->>", WAY)}
    inside = {arrow for arrow in asks if not outside.intersection(arrow)}
    assert inside
    assert inside - drawing.imports() == set(), "on the page, and no such import: change the page by hand"


@pytest.mark.parametrize("what", ["format", "rule", "metric", "report", "screen"])
def test_a_newcomer_is_told_one_folder_and_one_file_to_imitate(what: str) -> None:
    row = rf"^\| an? [^|]*{what}[^|]* \| `([^`|]+/)` \| `([^`|]+)` \| `([^`|]+/)` \|$"
    [(folder, example, tests)] = re.findall(row, NEWCOMER, re.MULTILINE)
    assert (ROOT / folder / example).is_file()
    assert (ROOT / tests).is_dir()


def test_pre_commit_runs_the_commands_of_make_check() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"][0]["hooks"]
    makefile = (ROOT / "Makefile").read_text("utf-8")
    check = makefile.split("\ncheck:")[1].split("\n\n")[0]
    tools = re.findall(r"^\t\$\(BIN\)/(.+)$", check, re.MULTILINE)
    run = [hook["entry"].removeprefix(".venv/bin/").removesuffix(" --fix") for hook in hooks]
    assert run == [tool.replace(" --check", "").removesuffix(" .") for tool in tools]


@pytest.mark.parametrize("page", [PAGE, NEWCOMER], ids=["architecture", "contributing"])
def test_every_path_that_a_page_names_is_there(page: str) -> None:
    paths = set(re.findall(r"`((?:[\w.-]+/)+[\w.-]*)`", page))
    assert paths
    below = (ROOT, ROOT / "replay")  # the picture leaves the package's own name out
    assert {path for path in paths if not any((base / path).exists() for base in below)} == set()
