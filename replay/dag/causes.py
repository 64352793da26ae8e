"""Who was to make what a call names, also where no value flowed.

A data edge needs a value. A call that was to make a file and lost its path passes none on, and a path that the question
gave is no data edge; yet everything that works on the file fails with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from replay.dag.mentions import is_path
from replay.dag.outputs import is_maker, outputs_of, words_of_tool
from replay.dag.pointers import leaves
from replay.dag.roots import ancestors
from replay.records import Call, Trajectory

__all__ = ["cause_links"]

_CREATES: Final = frozenset(
    ["create", "new", "init", "make", "open", "start", "clone", "download", "mkdir", "add", "load"]
)


def cause_links(trajectory: Trajectory) -> dict[str, tuple[str, ...]]:
    """For each call, the earlier calls that were to make what it works on, in order.

    Only of use between calls that failed: a maker that succeeded explains nothing.
    """
    makers: dict[str, list[str]] = defaultdict(list)
    nameless: dict[str, list[str]] = defaultdict(list)
    links: dict[str, tuple[str, ...]] = {}
    for step in trajectory.steps:
        for call in step.calls:
            named = _names(call)
            found = [position for name in named for place in _with_above(name) for position in makers.get(place, ())]
            starts_anew = is_maker(call) and bool(words_of_tool(call) & _CREATES)
            if not found and not starts_anew and (named or not words_of_tool(call) & _CREATES):
                found = nameless[_family(call)]
            if found:
                links[call.position] = tuple(dict.fromkeys(found))
        for call in step.calls:
            for _, value in outputs_of(call):
                makers[value].append(call.position)
            if words_of_tool(call) & _CREATES and not _names(call):
                nameless[_family(call)].append(call.position)
    return links


def _names(call: Call) -> tuple[str, ...]:
    """The paths and made names in a call's arguments."""
    values = (value.strip() for _, value in leaves(call.arguments or {}, enter_texts=False) if isinstance(value, str))
    made = [value for _, value in outputs_of(call)]
    return tuple(dict.fromkeys([*(value.rstrip("/") for value in values if is_path(value) or len(value) < 100), *made]))


def _with_above(name: str) -> Iterator[str]:
    """A path, and the directories that must be there before it."""
    yield name
    yield from ancestors(name)


def _family(call: Call) -> str:
    """The server, or what stands for it in the name."""
    if call.server:
        return call.server
    name = call.name or ""
    for separator in ("/", "__", "-", ".", ":"):
        if separator in name:
            return name.rsplit(separator, 1)[0]
    return ""
