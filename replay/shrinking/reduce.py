"""Which of many items a test needs: a search from the end, then delta debugging (Zeller and Hildebrandt, 2002)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

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
