"""`--fail-on` of `replay classify`: outcomes, and shares of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from replay.errors import UsageError
from replay.records import FAILURES, Outcome
from replay.suggestions import nearest_name

FAILED: Final = "failed"
"""Stands for the four outcomes that are failures."""
NEW: Final = "new"
"""Stands for failures that `replay-known.yaml` does not have."""
_CONDITION: Final = re.compile(r"(?P<name>[^>]*?)\s*(?:>\s*(?P<share>\d+(?:\.\d+)?)\s*%)?")


class FailCondition(NamedTuple):
    """One part of `--fail-on`."""

    name: str
    outcomes: tuple[Outcome, ...]
    share: float = 0.0
    """In per cent of what it is a share of: of the judged calls, or of all for `inconclusive`."""


def fail_conditions(text: str | None) -> list[FailCondition]:
    """Read `--fail-on`.

    Raises:
        UsageError: a name that is no outcome; the nearest is named.
    """
    return [_condition(part.strip()) for part in (text or "").split(",") if part.strip()]


def found_by(conditions: Sequence[FailCondition], outcomes: Mapping[Outcome, int], new: int = 0) -> list[str]:
    """What was found of that, in words; nothing where all is well.

    Args:
        conditions: what was asked for.
        outcomes: how many calls of each.
        new: how many failed calls nobody noted.
    """
    total = sum(outcomes.values())
    found = []
    for condition in conditions:
        count = sum(outcomes.get(outcome, 0) for outcome in condition.outcomes) if condition.name != NEW else new
        of = total if Outcome.INCONCLUSIVE in condition.outcomes else total - outcomes.get(Outcome.INCONCLUSIVE, 0)
        if count and 100 * count > condition.share * of:
            share = f" ({100 * count / of:.1f} % of {of:,}, more than {condition.share:g} %)" if condition.share else ""
            name = "new failures" if condition.name == NEW else condition.name
            found.append(f"{count} {name}{share}")
    return found


def _condition(part: str) -> FailCondition:
    match = _CONDITION.fullmatch(part)
    if match is None:
        raise UsageError(f"--fail-on: {part!r} is not understood; write an outcome, or a share such as 'not_found>5%'")
    name = match["name"].strip()
    if name == NEW:
        return FailCondition(name, (), float(match["share"] or 0))
    known = [FAILED, NEW, *(str(outcome) for outcome in Outcome)]
    if name not in known:
        nearest = nearest_name(name, known)
        raise UsageError(f"--fail-on: there is no outcome {name!r}; did you mean {nearest or FAILED}?")
    outcomes = FAILURES if name == FAILED else (Outcome(name),)
    return FailCondition(name, outcomes, float(match["share"] or 0))
