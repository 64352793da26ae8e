"""What a smaller reproduction may leave out: which of many items a test needs, and shorter arguments.

A search from the end, then delta debugging (Zeller and Hildebrandt, 2002).
"""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, Final, Generic, TypeVar

from replay.dag.documents import join, with_value_at
from replay.records import Call, JsonObject, Tool, Trajectory
from replay.records.tool_name import with_calls

T = TypeVar("T")


class ExhaustedError(Exception):
    """No test is left; the smallest set so far stands."""


class Reduction(Generic[T]):
    """Finds a small part of the items with which a test still holds.

    Args:
        holds: the test; with all the items it holds.
        budget: how many tests may be made. The same question is asked only once.
    """

    def __init__(self, holds: Callable[[Sequence[T]], Awaitable[bool]], budget: int) -> None:
        self._holds, self._left = holds, budget
        self._known: dict[tuple[T, ...], bool] = {}

    async def smallest(self, items: Sequence[T], guess: Sequence[T] = ()) -> list[T]:
        """The part that is needed; of minimal size by one item at a time, where the budget was enough.

        Args:
            items: in their order; with all of them the test is known to hold.
            guess: the part that is likely needed.
        """
        best = list(items)
        try:
            if await self._test([]):
                return []
            if guess and len(guess) < len(items) and await self._test(guess):
                best = list(guess)
            else:
                best = await self._from_the_end(best)
            return await self._ddmin(best)
        except ExhaustedError:
            return min((list(part) for part, held in self._known.items() if held), key=len, default=best)

    async def _from_the_end(self, items: list[T]) -> list[T]:
        """Find the needed items one by one, each with a binary search for the shortest tail that still does.

        Takes about log2 of the items for each one that is needed. It relies on more items never spoiling the test;
        where that is not so, the result does not hold, and all the items go on to delta debugging.
        """
        needed: list[T] = []
        while not await self._test(needed):
            needed_set = set(needed)
            rest = [item for item in items if item not in needed_set]
            low, high = 0, len(rest)
            while high - low > 1:
                middle = (low + high) // 2
                if await self._test(_in_order(items, [*rest[middle:], *needed])):
                    low = middle
                else:
                    high = middle
            if low >= len(rest):
                return items
            needed = _in_order(items, [rest[low], *needed])
            items = _in_order(items, [*rest[low:], *needed])
        return needed

    async def _ddmin(self, items: list[T]) -> list[T]:
        pieces = 2
        while len(items) >= 1:
            size = max(1, len(items) // pieces)
            chunks = [items[start : start + size] for start in range(0, len(items), size)]
            smaller = await self._without_one(items, chunks)
            if smaller is not None:
                items, pieces = smaller, max(pieces - 1, 2)
            elif size == 1:
                break
            else:
                pieces = min(pieces * 2, len(items))
        return items

    async def _without_one(self, items: list[T], chunks: list[list[T]]) -> list[T] | None:
        for chunk in chunks:
            left = [item for item in items if item not in set(chunk)]
            if len(left) < len(items) and await self._test(left):
                return left
        return None

    async def _test(self, items: Sequence[T]) -> bool:
        key = tuple(items)
        if key not in self._known:
            if self._left <= 0:
                raise ExhaustedError
            self._left -= 1
            self._known[key] = await self._holds(items)
        return self._known[key]


def _in_order(items: list[T], chosen: list[T]) -> list[T]:
    wanted = set(chosen)
    return [item for item in items if item in wanted]


_MIN_LONG_TEXT: Final = 40
_MIN_KEPT: Final = 8
"""Characters of a long text that are tried first."""
_MAX_ROUNDS: Final = 3


def shorter(call: Call, tool: Tool | None, bound: frozenset[str]) -> Iterator[JsonObject]:
    """Arguments of a call with one thing less, the most promising first.

    Args:
        call: with arguments.
        tool: its description; fields that it requires stay.
        bound: pointers whose values come from other calls, or go to them; they stay as they are.
    """
    arguments = call.arguments or {}
    schema = tool.input_schema if tool is not None and isinstance(tool.input_schema, dict) else {}
    required = schema.get("required") if isinstance(schema.get("required"), list) else []
    for name in arguments:
        if name not in (required or []) and not _is_bound(join("", name), bound) and len(arguments) > 1:
            yield {key: value for key, value in arguments.items() if key != name}
    for pointer, value in _long_values(arguments):
        if not _is_bound(pointer, bound):
            for less in _less(value):
                yield with_value_at(copy.deepcopy(arguments), pointer, less)


def bound_pointers(trajectory: Trajectory, position: str) -> frozenset[str]:
    """The places in a call's arguments that data edges touch."""
    edges = trajectory.edges or ()
    read = (edge.consumer_pointer for edge in edges if edge.consumer == position)
    written = (
        edge.producer_pointer for edge in edges if edge.producer == position and edge.producer_place == "arguments"
    )
    return frozenset((*read, *written))


def with_arguments(trajectory: Trajectory, position: str, arguments: JsonObject) -> Trajectory:
    """The trajectory with other arguments in one call."""
    changed = {"arguments": arguments}
    return with_calls(trajectory, lambda call: call.model_copy(update=changed) if call.position == position else call)


def _long_values(value: Any, pointer: str = "") -> Iterator[tuple[str, Any]]:
    """Long texts and lists of several items, the outermost first."""
    if isinstance(value, str) and len(value) > _MIN_LONG_TEXT:
        yield pointer, value
    elif isinstance(value, list):
        if len(value) > 1:
            yield pointer, value
        for number, item in enumerate(value):
            yield from _long_values(item, join(pointer, number))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _long_values(item, join(pointer, key))


def _less(value: Any) -> Iterator[Any]:
    """The beginning of a text or a list: very little of it, then ever more."""
    size = _MIN_KEPT if isinstance(value, str) else 1
    for _ in range(_MAX_ROUNDS):
        if size < len(value):
            yield value[:size]
        size *= 8 if isinstance(value, str) else 4


def _is_bound(pointer: str, bound: frozenset[str]) -> bool:
    return any(
        other == pointer or other.startswith(f"{pointer}/") or pointer.startswith(f"{other}/") for other in bound
    )
