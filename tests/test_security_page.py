"""Each promise of docs/security.md names a test that is there."""

from __future__ import annotations

import ast
import re

from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "security.md").read_text("utf-8")
ROWS = [
    row
    for table in re.findall(r"^\| promise .*\n\| ---.*\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    for row in table.splitlines()
]


def functions_of(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_promise_names_a_test_that_is_there() -> None:
    assert len(ROWS) > 50
    named = [re.search(r"\| `(tests/[\w/]+\.py)::(test_\w+)` \|$", row) for row in ROWS]
    assert [row for row, match in zip(ROWS, named, strict=True) if match is None] == []
    assert [match[0] for match in named if match and match[2] not in functions_of(match[1])] == []
