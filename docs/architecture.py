"""Draws the packages and the imports between them into docs/architecture.md, from the code and the import contract.

Run by `make docs`; a test fails when the picture is stale. Only the arrows are drawn that do not follow from others.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import grimp
import networkx as nx

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"
BLOCK = re.compile(r"(?<=<!-- packages: written by make docs -->\n).*?(?=<!-- end of packages -->)", re.DOTALL)
Arrow = tuple[str, str]


def packages() -> dict[str, Path]:
    """Every package and module right under `replay/`, and the browser: its name, and where it stands."""
    found = {"replay_tui": ROOT / "tui" / "replay_tui"}
    for path in sorted((ROOT / "replay").iterdir()):
        if (path / "__init__.py").exists() or (path.suffix == ".py" and not path.stem.startswith("__")):
            found[path.stem] = path
    return found


def import_contracts() -> list[dict[str, list[str]]]:
    """The contracts that say which package stands above which, the one within `replay` last."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    layered = [contract for contract in contracts if contract["type"] == "layers"]
    of_packages = [contract for contract in layered if contract.get("containers", ["replay"]) == ["replay"]]
    return sorted(of_packages, key=lambda contract: "containers" in contract)


def layers() -> list[list[str]]:
    """The packages from top to bottom; those of one layer do not know each other."""
    rows = [re.split(r"[|:]", layer) for contract in import_contracts() for layer in contract["layers"]]
    named = ([package_of(name.strip(" ()")) for name in row] for row in rows)
    return [known for row in named if (known := [name for name in row if name in packages()])]


def package_of(module: str) -> str:
    """`replay.dag.graph`, or `dag` as a contract within `replay` has it, -> `dag`."""
    return module.removeprefix("replay.").split(".")[0]


@cache
def imports() -> frozenset[Arrow]:
    """Which package imports which, lazily or for types only as well; without those that the contract excepts."""
    graph = grimp.build_graph("replay", "replay_tui", cache_dir=None)
    known = packages()
    found = {
        (package_of(module), package_of(imported))
        for module in graph.modules
        for imported in graph.find_modules_directly_imported_by(module)
    }
    inside = {(a, b) for a, b in found if a != b and a in known and b in known}
    return frozenset(inside - excepted_imports())


def excepted_imports() -> frozenset[Arrow]:
    """The imports that go against the direction, each named in the contract."""
    lines = [line for contract in import_contracts() for line in contract.get("ignore_imports", [])]
    pairs = (line.split(" -> ") for line in lines if not line.startswith("replay -> "))  # the surface names its parts
    return frozenset((package_of(importer), package_of(imported)) for importer, imported in pairs)


def arrows() -> frozenset[Arrow]:
    """The imports that do not follow from others.

    Raises:
        ValueError: packages import each other in a circle.
    """
    graph = nx.DiGraph(imports())
    if not nx.is_directed_acyclic_graph(graph):
        circle = " -> ".join(importer for importer, _ in nx.find_cycle(graph))
        raise ValueError(f"packages import each other in a circle: {circle}")
    return frozenset(nx.transitive_reduction(graph).edges)


def in_order() -> list[str]:
    """The packages from top to bottom, those that the contract does not name last."""
    named = [name for layer in layers() for name in layer]
    return named + [name for name in packages() if name not in named]


def picture() -> str:
    """The packages, and arrows from who imports to what is imported."""
    order = in_order()
    lines = ["```mermaid", "flowchart TD"]
    lines += [f'    {name}["{shown(name)}"]' for name in order]
    lines += [f"    {a} --> {b}" for a, b in _sorted(arrows(), order)]
    lines += [f"    {a} -.-> {b}" for a, b in _sorted(excepted_imports(), order)]
    return "\n".join([*lines, "```"])


def table() -> str:
    """What each package is for: the first line of its docstring."""
    rows = [f"| `{shown(name)}` | {_purpose(packages()[name])} |" for name in in_order()]
    return "\n".join(["| package | what it is |", "| --- | --- |", *rows])


def shown(name: str) -> str:
    """A package as it stands in the tree: `dag/`, `errors.py`."""
    path = packages()[name]
    if path.is_dir():
        return f"{path.relative_to(ROOT).as_posix().removeprefix('replay/')}/"
    return path.name


def page() -> str:
    """The page as it stands, with the picture and the table of the code as it is."""
    return BLOCK.sub(lambda _: f"\n{picture()}\n\n{table()}\n\n", PAGE.read_text("utf-8"))


def _purpose(path: Path) -> str:
    source = path / "__init__.py" if path.is_dir() else path
    docstring = ast.get_docstring(ast.parse(source.read_text("utf-8"))) or ""
    return docstring.split("\n")[0].replace("|", "\\|")


def _sorted(pairs: frozenset[Arrow], order: list[str]) -> Iterator[Arrow]:
    return iter(sorted(pairs, key=lambda pair: (order.index(pair[0]), order.index(pair[1]))))


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
