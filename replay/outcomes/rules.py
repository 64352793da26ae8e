"""The one ordered table of answer rules: the first that matches decides, and what each is certain of.

The rows stand in `rules.yaml`; what a row asks for beyond a cause is a function of `conditions.py`, or of
`content_conditions.py` where the answer reports no failure.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from replay.outcomes import conditions, content_conditions
from replay.outcomes.codes import read_yaml
from replay.outcomes.conditions import Condition
from replay.outcomes.evidence import ParsedAnswer
from replay.records import Certainty, Outcome, Reason, TransportFault

Kind = Literal["fault", "error", "content"]
"""What came back: none of the rules for one matches another."""


class Example(NamedTuple):
    """An answer that a rule decides, and the call that it answers."""

    answer: str | TransportFault
    arguments: Mapping[str, object] = MappingProxyType({})
    tool: str = "get_item"
    flagged: bool = True
    """Whether the answer has `isError`."""
    output_schema: Mapping[str, object] | None = None


class Rule(NamedTuple):
    """One way in which an answer says how a call went."""

    id: str
    kind: Kind
    outcome: Outcome
    sentence: str
    example: Example
    matches: Condition
    reason: Reason | None = None
    certainty: Certainty = "certain"
    provided: Condition | None = None
    """What must hold besides for that certainty."""
    otherwise: Certainty = "likely"
    """How sure the verdict is where it does not hold."""


@cache
def answer_rules() -> tuple[Rule, ...]:
    """The rules in their order: for faults, for answers that report an error, for all others."""
    return tuple(map(_rule, read_yaml("rules.yaml")))


def deciding_rule(parsed: ParsedAnswer) -> Rule:
    """The first rule that matches."""
    kind: Kind = "fault" if parsed.fault is not None else "error" if parsed.error is not None else "content"
    return next(rule for rule in _rules_for(kind) if rule.matches(parsed))


@cache
def _rules_for(kind: Kind) -> tuple[Rule, ...]:
    return tuple(rule for rule in answer_rules() if rule.kind == kind)


def _rule(row: Mapping[str, Any]) -> Rule:
    return Rule(
        id=row["id"],
        kind=row["for"],
        outcome=Outcome(row["outcome"]),
        sentence=row["sentence"],
        example=_example(dict(row["example"])),
        matches=_one_of([_condition(kind, asked) for kind, asked in row["when"].items()]),
        reason=Reason(row["reason"]) if "reason" in row else None,
        certainty=row.get("certainty", "certain"),
        provided=_condition("test", row["provided"]) if "provided" in row else None,
        otherwise=row.get("otherwise", "likely"),
    )


def _example(row: dict[str, Any]) -> Example:
    fault = row.pop("fault", None)
    return Example(TransportFault(**fault)) if fault else Example(**row)


def _condition(kind: str, asked: Any) -> Condition:
    match kind:
        case "always":
            return lambda _: True
        case "test":
            known = vars(conditions) | vars(content_conditions)
            return _one_of([known[name] for name in asked])
        case "says-and-is-no-program":
            return conditions.says(*asked, program=False)
        case _:
            made: Condition = getattr(conditions, kind.replace("-", "_"))(*asked)
            return made


def _one_of(found: list[Condition]) -> Condition:
    return found[0] if len(found) == 1 else lambda parsed: any(condition(parsed) for condition in found)
