"""Work that is done while an answer is waited for."""

from __future__ import annotations

from functools import partial

import pytest

from replay.replayer.meanwhile import Meanwhile


def counted(done: list[str]) -> int:
    done.append("once")
    return len(done)


def test_the_work_is_done_once_whoever_asks():
    done: list[str] = []
    meanwhile = Meanwhile(partial(counted, done))
    meanwhile()
    assert (meanwhile.result(), meanwhile.result()) == (1, 1)


def test_work_that_nobody_had_time_for_is_done_when_its_result_is_wanted():
    assert Meanwhile(lambda: 7).result() == 7


def test_what_goes_wrong_is_raised_where_the_result_is_wanted_and_nowhere_else():
    meanwhile = Meanwhile(lambda: 1 // 0)
    meanwhile()
    with pytest.raises(ZeroDivisionError):
        meanwhile.result()
