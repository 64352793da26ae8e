"""The directory that a trajectory works in: everyone knows it, so it tells nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from functools import cache
from typing import Any, Final

from replay.dag.history import History
from replay.dag.uninformative_values import is_random

__all__ = ["roots_of"]

_ANNOUNCED: Final = r"(?:allowed director|working director|workspace|cwd)[^/\n]{0,20}\s*(/[^\s'\"\\]+)"
_ANNOUNCED_IN_LOWER_CASE: Final = re.compile(_ANNOUNCED)
_ANNOUNCED_IN_ANY_CASE: Final = re.compile(_ANNOUNCED, re.IGNORECASE)
_TAKEN_FOR_ASCII: Final = "\u0130\u0131\u017f\u212a"
"""Letters that are some of ours where a pattern ignores case."""
_COMMON_ROOTS: Final = frozenset(
    {"/", "/tmp", "/home", "/root", "/workspace", "/data", "/mnt", "/var", "/usr", ".", "./"}  # noqa: S108
)
_MIN_SHARE: Final = 0.8
_MIN_PATHS: Final = 3


def roots_of(history: History) -> frozenset[str]:
    """The workspace roots, with every directory above them."""
    roots = set(_COMMON_ROOTS)
    for entry in history.entries():
        if entry.place == "answer":
            head = entry.document.text[:4000]
            if _announcing_word().search(head.encode("utf-8", "replace")):
                roots.update(root.rstrip("/.,;:)") for root in _announced_roots(head))
    paths = {
        candidate.text
        for candidates in history.candidates.values()
        for candidate in candidates
        if candidate.path and candidate.text.startswith(("/", "./"))
    }
    roots.update(_shared_directory(paths))
    return frozenset(above for root in roots for above in (root, *ancestors(root)))


def _announced_roots(text: str) -> Iterator[str]:
    if any(letter in text for letter in _TAKEN_FOR_ASCII):
        yield from _ANNOUNCED_IN_ANY_CASE.findall(text)
    else:  # as long in lower case, and read in a third of the time
        for match in _ANNOUNCED_IN_LOWER_CASE.finditer(text.lower()):
            yield text[match.start(1) : match.end(1)]


def ancestors(path: str) -> Iterator[str]:
    """The directories above a path, the nearest first."""
    while "/" in path.strip("/"):
        path = path.rstrip("/").rpartition("/")[0]
        if path:
            yield path


def _shared_directory(paths: Collection[str]) -> Iterator[str]:
    """The deepest directory that most paths lie in, unless its name is one that a tool made up."""
    if len(paths) < _MIN_PATHS:
        return
    counts = Counter(above for path in paths for above in (path, *ancestors(path)))
    shared = [path for path, count in counts.items() if count >= _MIN_SHARE * len(paths) and count >= _MIN_PATHS]
    children: Counter[str] = Counter()
    for path in set(counts):
        children[path.rpartition("/")[0]] += 1
    branching = [
        path for path in shared if (children[path] > 1 or path in paths) and not is_random(path.rpartition("/")[2])
    ]
    if branching:
        yield min(branching, key=len)


@cache
def _announcing_word() -> Any:
    """One of the words that an announcement has, in any case; RE2 needs a tenth of the time for it."""
    import re2  # not at the top: the command's help need not load it

    return re2.compile("(?i)director|workspace|cwd")
