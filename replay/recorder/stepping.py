"""Which calls were issued together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class _Draft:
    calls: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    noted: bool = False
    """Begun by the model's text, and nothing sent in it yet: what follows is still of the same message."""


class Stepping:
    """Tells steps by time: calls that overlap are one step, a call after all of them ended begins the next.

    A step marked by hand holds all calls up to the next mark. The model's text goes with the step that follows it.
    """

    def __init__(self) -> None:
        self._steps: list[_Draft] = []
        self._under_way: set[int] = set()
        self._texts: list[str] = []
        self._by_hand = False
        self._fresh = True

    def begin(self, number: int) -> None:
        """A call was sent."""
        step = self._step_for_next()
        step.calls.append(number)
        step.noted = False
        self._under_way.add(number)

    def instant(self, number: int) -> None:
        """A call was noted that was never sent."""
        self._step_for_next().calls.append(number)

    def end(self, number: int) -> None:
        """A call was answered, or will never be."""
        self._under_way.discard(number)

    def note(self, text: str) -> None:
        """The model wrote something."""
        if self._by_hand and not self._fresh:
            self._steps[-1].texts.append(text)
        else:
            self._texts.append(text)
            self._fresh = True

    def mark(self, begins: bool) -> None:
        """A step begins by hand, or the timing tells again."""
        self._by_hand, self._fresh = begins, True

    def steps(self) -> Iterator[tuple[tuple[int, ...], str | None]]:
        """The calls of each step, and its text."""
        for step in self._steps:
            yield tuple(step.calls), _joined(step.texts)

    def last_words(self) -> str | None:
        """What the model wrote after its last call."""
        return _joined(self._texts)

    def _step_for_next(self) -> _Draft:
        if self._fresh or not self._goes_on():
            self._steps.append(_Draft(texts=self._texts, noted=bool(self._texts)))
            self._texts, self._fresh = [], False
        return self._steps[-1]

    def _goes_on(self) -> bool:
        return self._by_hand or bool(self._under_way) or self._steps[-1].noted


def _joined(texts: list[str]) -> str | None:
    return "\n".join(texts) if texts else None
