from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from replay.records import Answer, Call, Source, Step, Task, TextAnswer, Trajectory

Build = Callable[..., Trajectory]


@pytest.fixture
def build() -> Build:
    """A trajectory from steps of (name, arguments, answer); a text stands for a text answer."""

    def build_(*steps: Any, question: str = "Do it.") -> Trajectory:
        made = []
        for number, step in enumerate(steps, 1):
            calls = step if isinstance(step, list) else [step]
            made.append(
                Step(
                    calls=tuple(
                        Call(position=f"s{number}c{index}", name=name, arguments=arguments, answer=as_answer(answer))
                        for index, (name, arguments, answer) in enumerate(calls, 1)
                    )
                )
            )
        source = Source(file="memory", format="test")
        return Trajectory(id="t", model="m", task=Task(question=question), source=source, steps=tuple(made))

    return build_


def as_answer(answer: str | Answer | None) -> Answer | None:
    return TextAnswer(text=answer) if isinstance(answer, str) else answer
