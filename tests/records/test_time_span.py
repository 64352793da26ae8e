from __future__ import annotations

import pytest

from replay.records.time_span import Span, utc


@pytest.mark.parametrize(
    ("moment", "written"),
    [
        ("2026-11-20T23:30:00-02:00", "2026-11-21T01:30:00"),
        ("2026-11-20T23:30:00.250Z", "2026-11-20T23:30:00"),
        ("2026-11-20T23:30:00", "2026-11-20T23:30:00"),
        ("2026-11-20", "2026-11-20T00:00:00"),
        (0.0, "1970-01-01T00:00:00"),
        ("yesterday", None),
        ("9999-12-31T23:59:59-23:00", None),
        (None, None),
    ],
)
def test_times_are_kept_in_utc_so_that_they_sort_as_text(moment: str | float | None, written: str | None) -> None:
    assert utc(moment) == written


def test_seconds_are_added_to_a_time() -> None:
    assert utc("2026-11-20T23:59:59Z", 2) == "2026-11-21T00:00:01"


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2026-11", "2026-11", "2026-11"),
        ("2026-11-20..", "2026-11-20", ""),
        ("..2026-11-20", "", "2026-11-20"),
        ("2026-11-01..2026-11-20t10:30", "2026-11-01", "2026-11-20T10:30"),
    ],
)
def test_a_span_is_read_as_it_is_typed(text: str, first: str, last: str) -> None:
    assert Span.read(text) == (first, last)


@pytest.mark.parametrize("text", ["7d", "12h", "2w", "1m", "1y", "7d.."])
def test_a_span_up_to_now_has_no_end(text: str) -> None:
    span = Span.read(text)
    assert (len(span.first), span.last) == (19, "")


@pytest.mark.parametrize("text", ["lately", "", "..", "7", "7 parsecs", "2026-1", "20261120"])
def test_what_is_not_a_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time"):
        Span.read(text)
