"""Which calls were issued together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class _StepDraft:
    calls: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    opened_by_text: bool = False
    """Begun by the model's text, and nothing sent in it yet: what follows is still of the same message."""


class StepGrouper:
    """Groups calls into steps by time: calls that overlap are one step, a call after all of them ended begins the next.

    A step marked by hand holds all calls up to the next mark. The model's text goes with the step that follows it.
    """

    def __init__(self) -> None:
        self._steps: list[_StepDraft] = []
        self._calls_in_flight: set[int] = set()
        self._texts: list[str] = []
        self._marked_by_hand = False
        self._starts_new_step = True

    def call_sent(self, number: int) -> None:
        """A call was sent."""
        step = self._step_for_next()
        step.calls.append(number)
        step.opened_by_text = False
        self._calls_in_flight.add(number)

    def call_not_sent(self, number: int) -> None:
        """A call was written that was never sent."""
        self._step_for_next().calls.append(number)

    def call_ended(self, number: int) -> None:
        """A call was answered, or will never be."""
        self._calls_in_flight.discard(number)

    def note(self, text: str) -> None:
        """The model wrote something."""
        if self._marked_by_hand and not self._starts_new_step:
            self._steps[-1].texts.append(text)
        else:
            self._texts.append(text)
            self._starts_new_step = True

    def mark_step(self, begins: bool) -> None:
        """A step is marked by hand; with `begins` false it ends, and from there on the timing decides again."""
        self._marked_by_hand, self._starts_new_step = begins, True

    def steps(self) -> Iterator[tuple[tuple[int, ...], str | None]]:
        """The calls of each step, and its text."""
        for step in self._steps:
            yield tuple(step.calls), _joined(step.texts)

    def trailing_text(self) -> str | None:
        """What the model wrote after its last call."""
        return _joined(self._texts)

    def _step_for_next(self) -> _StepDraft:
        if self._starts_new_step or not self._step_is_open():
            self._steps.append(_StepDraft(texts=self._texts, opened_by_text=bool(self._texts)))
            self._texts, self._starts_new_step = [], False
        return self._steps[-1]

    def _step_is_open(self) -> bool:
        return self._marked_by_hand or bool(self._calls_in_flight) or self._steps[-1].opened_by_text


def _joined(texts: list[str]) -> str | None:
    return "\n".join(texts) if texts else None
