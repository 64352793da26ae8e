"""The directories that answers announce."""

from __future__ import annotations

import pytest

from replay.dag.graph import roots_of
from replay.dag.history import History
from replay.records import Call, Source, Step, TextAnswer, Trajectory


@pytest.mark.parametrize(
    "answer",
    [
        "Allowed directories:\n/srv/Shop",
        "é: the WORKSPACE is /srv/Shop.",
        "the wor\u212a\u017fpace is /srv/Shop",
        "İ\nCWD = /srv/Shop",
    ],
)
def test_an_announced_directory_is_a_root_in_whatever_case_it_is_announced(answer: str) -> None:
    call = Call(position="s1c1", name="files/list", arguments={}, answer=TextAnswer(text=answer))
    source = Source(file="a.json", format="test")

    roots = roots_of(History(Trajectory(id="a", model="m", source=source, steps=(Step(calls=(call,)),))))

    assert {"/srv/Shop", "/srv"} <= roots
