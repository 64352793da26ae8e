"""The calls of two sessions side by side: which of them do the same, although ids and positions differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

Deed = tuple[str, str]
"""What a call does: its tool, and its arguments as text."""


def paired_calls(first: Sequence[Deed], second: Sequence[Deed]) -> Iterator[tuple[int, int]]:
    """The numbers of calls that go together, one of each session.

    In the order of both: calls of the same tool with the same arguments; and between two of those, where both sessions
    did something else, calls of the same tool.
    """
    for tag, start, end, other_start, other_end in SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from zip(range(start, end), range(other_start, other_end), strict=True)
        elif tag == "replace":
            tools = [tool for tool, _ in first[start:end]], [tool for tool, _ in second[other_start:other_end]]
            for block in SequenceMatcher(None, *tools, autojunk=False).get_matching_blocks():
                yield from ((start + block.a + at, other_start + block.b + at) for at in range(block.size))
