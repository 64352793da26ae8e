from __future__ import annotations

from replay.suggestions import nearest_name, nearest_names


def test_the_nearest_names_come_first_and_each_once() -> None:
    assert nearest_names("excell", ["word", "excel", "excel", "exec"], limit=2) == ["excel", "exec"]


def test_a_name_that_is_like_none_has_no_nearest_one() -> None:
    assert nearest_name("zzz", ["word", "excel"], min_score=60) is None
    assert nearest_name("word", []) is None


def test_names_are_compared_as_the_processor_makes_them() -> None:
    assert nearest_name("EXCEL", ["excel"], min_score=90) is None
    assert nearest_name("EXCEL", ["excel"], min_score=90, processor=str.lower) == "excel"
