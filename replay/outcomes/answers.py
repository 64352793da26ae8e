"""Rung 4: what does the answer say? And what of a call that is not sent."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache

from replay.outcomes.failure import peel
from replay.outcomes.reading import Reading
from replay.outcomes.rule import Rule
from replay.outcomes.rules import RULES
from replay.records import (
    Answer,
    Call,
    Certainty,
    Evidence,
    Judgement,
    Outcome,
    Reason,
    RuleSpec,
    SchemaViolation,
    Tool,
    texts_of,
)

ARGUMENT_RULES: dict[str, tuple[str, str]] = {
    "arguments.schema": (
        "The arguments break the tool's inputSchema, and no recorded answer shows that the server took them.",
        '{"query": 5} for a query of type string',
    ),
    "arguments.withheld": ("The call was not re-issued, and nothing else tells how it went.", '{"path": "a.txt"}'),
}
"""Rule id -> what it says, and an example."""

_LONGEST_EXCERPT = 240
_ORDER: tuple[Certainty, ...] = ("certain", "likely", "fallback")


def judge_answer(
    call: Call,
    answer: Answer,
    *,
    evidence: Evidence,
    tool: Tool | None = None,
    violations: Sequence[SchemaViolation] = (),
    rules: Sequence[RuleSpec] = (),
    stored: Collection[str] = (),
) -> Judgement:
    """Judge a call by its answer, live, stored or recorded.

    Args:
        call: the call that was answered; what it asked for tells errors from content.
        answer: any of the four kinds.
        evidence: where the answer comes from.
        tool: the tool's description where its tools/list is known: then the tool cannot be unknown.
        violations: how the arguments break the tool's inputSchema.
        rules: the user's own rules for the call's server; they are tried first.
        stored: whole texts that earlier calls of the trajectory stored. One that comes back is content, whatever it
            says.
    """
    own = _judged_by_user(answer, evidence, rules)
    if own is not None:
        return own
    reading = Reading(call, answer, tool, violations, stored)
    rule = next(rule for rule in RULES if rule.match(reading))
    invalid = rule.outcome is Outcome.INVALID_ARGUMENTS and bool(violations)
    return Judgement(
        outcome=rule.outcome,
        reason=rule.reason,
        rule=rule.id,
        evidence=evidence,
        certainty="certain" if invalid else _certainty(rule, reading),
        message=_message(rule, reading, explained=invalid),
        violations=tuple(violations),
        findings=_findings(rule, reading),
    )


def judge_unsent(
    call: Call,
    tool: Tool | None,
    violations: Sequence[SchemaViolation],
    recorded_answer: Answer | None,
    rules: Sequence[RuleSpec] = (),
    stored: Collection[str] = (),
) -> Judgement:
    """Judge a call that is not re-issued.

    A schema violation decides, unless the recording shows that the server took it; else the recorded answer does.
    """
    recorded = None
    if recorded_answer is not None:
        recorded = judge_answer(
            call,
            recorded_answer,
            evidence="recorded",
            tool=tool,
            violations=violations,
            rules=rules,
            stored=stored,
        )
    if violations and (recorded is None or recorded.outcome is not Outcome.SUCCESS):
        return Judgement(
            outcome=Outcome.INVALID_ARGUMENTS,
            rule="arguments.schema",
            evidence="schema",
            certainty="certain" if recorded is not None else "likely",
            message=f"The arguments break the tool's inputSchema: {describe(violations[0])}.",
            violations=tuple(violations),
        )
    if recorded is not None:
        return recorded
    return Judgement(
        outcome=Outcome.INCONCLUSIVE,
        reason=Reason.WITHHELD,
        rule="arguments.withheld",
        evidence="schema" if tool is not None else "registry",
        message="The call was not re-issued, and the recording holds no answer.",
    )


def describe(violation: SchemaViolation) -> str:
    """A violation with its place, in words."""
    return f"{violation.message} (at {violation.pointer})" if violation.pointer else violation.message


def excerpt(text: str) -> str:
    """The beginning of a text on one line."""
    flat = " ".join(text[: _LONGEST_EXCERPT * 4].split())
    return flat if len(flat) <= _LONGEST_EXCERPT else flat[: _LONGEST_EXCERPT - 1].rstrip() + "…"


def _judged_by_user(answer: Answer, evidence: Evidence, rules: Sequence[RuleSpec]) -> Judgement | None:
    if not rules:
        return None
    text = "\n".join(texts_of(answer))
    for rule in rules:
        pattern = _compiled(rule.pattern)
        found = pattern.search(text) if pattern else None
        if found:
            sentence = rule.sentence or excerpt(found[0])
            return Judgement(
                outcome=rule.outcome, reason=rule.reason, rule=rule.id, evidence=evidence, message=sentence
            )
    return None


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    try:
        return re.compile(pattern)
    except re.error:
        return None


def _certainty(rule: Rule, reading: Reading) -> Certainty:
    if reading.failure is None:
        return rule.certainty
    return max(rule.certainty, reading.failure.certainty, key=_ORDER.index)


def _message(rule: Rule, reading: Reading, *, explained: bool) -> str:
    said = reading.fault.message if reading.fault else peel(reading.failure.text) if reading.failure else ""
    words = f"{rule.sentence.rstrip('.')}: {excerpt(said)}" if said.strip() else rule.sentence
    return f"{words} [{describe(reading.violations[0])}]" if explained else words


def _findings(rule: Rule, reading: Reading) -> tuple[str, ...]:
    found = []
    if rule.id == "success.empty" or (
        rule.outcome is Outcome.SUCCESS and rule.id == "success.program" and not _printed(reading)
    ):
        found.append("empty")
    if rule.outcome is Outcome.SUCCESS and reading.violations:
        found.append("accepted-though-invalid")
    if (
        rule.id in ("answer.arguments-invalid", "answer.explained-by-schema")
        and reading.tool is not None
        and not reading.violations
    ):
        found.append("refused-though-valid")
    return tuple(found)


def _printed(reading: Reading) -> bool:
    return reading.exit is not None and bool(reading.exit.output.strip())
