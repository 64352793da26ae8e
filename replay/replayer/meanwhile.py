"""Work that is done while an answer is waited for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

_Made = TypeVar("_Made")


class Meanwhile(Generic[_Made]):
    """Runs a piece of work once, whoever asks for it first; what goes wrong with it is the business of `result`.

    Args:
        work: quick enough for the event loop.
    """

    def __init__(self, work: Callable[[], _Made]) -> None:
        self._work: Callable[[], _Made] | None = work
        self._made: _Made | None = None
        self._problem: Exception | None = None

    def __call__(self) -> None:
        """Do the work, unless it was done before; nothing is raised."""
        work, self._work = self._work, None
        if work is None:
            return
        try:
            self._made = work()
        except Exception as problem:  # noqa: BLE001 - it is raised where the result is asked for
            self._problem = problem

    def result(self) -> _Made:
        """What came of the work, which is done now if nobody waited for anything. Raises what the work raised."""
        self()
        if self._problem is not None:
            raise self._problem
        return self._made  # type: ignore[return-value]
