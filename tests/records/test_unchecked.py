"""Records that are made without a check."""

from __future__ import annotations

from replay.records import DataEdge
from replay.records.base import unchecked


def test_an_unchecked_record_is_as_good_as_a_checked_one() -> None:
    fields = {
        "producer": "s1c1",
        "producer_pointer": "/content/0/text",
        "consumer": "s2c1",
        "consumer_pointer": "/id",
        "value": {"a": [1, 2.5, None]},
    }
    quick, checked = unchecked(DataEdge, **fields), DataEdge.model_validate(fields)

    assert quick == checked
    assert quick.model_dump_json(exclude_none=True) == checked.model_dump_json(exclude_none=True)
    assert quick.model_copy(update={"certainty": "likely"}).certainty == "likely"
