"""The names that somebody who wrote another one may have meant."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from rapidfuzz import process

_NEAR: Final = 60.0


def nearest_names(
    wanted: str,
    known: Iterable[str],
    *,
    limit: int = 3,
    min_score: float = 0,
    processor: Callable[[str], str] | None = None,
) -> list[str]:
    """The known names that are most like the wanted one, the nearest first.

    Args:
        wanted: as it was written.
        known: the names that there are.
        limit: how many at the most.
        min_score: how alike they must be at least, from 0 to 100.
        processor: what both are put through before they are compared.
    """
    found = process.extract(
        wanted, list(dict.fromkeys(known)), limit=limit, score_cutoff=min_score, processor=processor
    )
    return [name for name, _, _ in found]


def nearest_name(
    wanted: str, known: Iterable[str], *, min_score: float = _NEAR, processor: Callable[[str], str] | None = None
) -> str | None:
    """The known name that is most like the wanted one; None where none is near enough to have been meant."""
    return next(iter(nearest_names(wanted, known, limit=1, min_score=min_score, processor=processor)), None)
