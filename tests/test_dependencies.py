"""What `pyproject.toml` declares is what the packages of the wheel import, no more and no less."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = (ROOT / "replay", ROOT / "tui" / "replay_tui")
OWN = {package.name for package in PACKAGES}
TOOLS = {"dev", "docs"}
"""The extras for work on the project itself; the wheel need not import them."""


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def declared() -> tuple[set[str], set[str]]:
    """The distributions of the base install, and those of the extras for users."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = [line for extra, lines in project["optional-dependencies"].items() if extra not in TOOLS for line in lines]
    return names_of(project["dependencies"]), names_of(extras)


def names_of(requirements: Iterable[str]) -> set[str]:
    found = (re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", requirement) for requirement in requirements)
    return {normalized(match[0]) for match in found if match}


def imports_of(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The top-level names of imported modules."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def trees() -> Iterator[ast.Module]:
    for package in PACKAGES:
        for path in package.rglob("*.py"):
            yield ast.parse(path.read_text("utf-8"), str(path))


def distributions_of(modules: Iterable[str]) -> dict[str, set[str]]:
    """Which distributions bring each module that is neither ours nor the standard library's.

    A module that is not installed here (that of an extra) counts as the distribution of the same name.
    """
    installed = packages_distributions()
    foreign = set(modules) - OWN - set(sys.stdlib_module_names)
    return {module: set(map(normalized, installed.get(module, [module]))) for module in foreign}


def test_everything_imported_is_declared() -> None:
    base, extras = declared()
    imported = distributions_of(name for tree in trees() for name in imports_of(ast.walk(tree)))

    assert "mcp" in imported
    assert {module for module, names in imported.items() if not names & (base | extras)} == set()


def test_everything_declared_is_imported() -> None:
    base, extras = declared()
    imported = distributions_of(name for tree in trees() for name in imports_of(ast.walk(tree)))

    assert (base | extras) - set().union(*imported.values()) == set()


def test_what_a_module_imports_when_it_loads_is_in_the_base_install() -> None:
    base, _ = declared()
    base.add("pytest")  # nothing but pytest loads the plugin for it
    imported = distributions_of(name for tree in trees() for name in imports_of(tree.body))

    assert {module for module, names in imported.items() if not names & base} == set()
