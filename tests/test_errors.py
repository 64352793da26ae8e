"""The tree of errors that the module draws is the tree that stands in the code."""

from __future__ import annotations

import re

from replay import errors
from replay.errors import ReplayError


def subtree(error: type[ReplayError], depth: int = 0) -> list[tuple[int, str, int]]:
    children = [child for child in error.__subclasses__() if child.__module__ == errors.__name__]
    return [(depth, error.__name__, error.exit_code), *(row for child in children for row in subtree(child, depth + 1))]


def test_the_drawn_tree_names_every_error_with_its_parent_and_exit_code() -> None:
    drawn = re.findall(r"^( *)[*x+-] (\w+) +(\d+)", errors.__doc__ or "", re.MULTILINE)

    assert [(len(indent) // 2, name, int(code)) for indent, name, code in drawn] == subtree(ReplayError)
