"""Rung 4: what does the answer say?"""

from __future__ import annotations

from collections.abc import Sequence

from replay.records import (
    Answer,
    Call,
    Evidence,
    Judgement,
    Outcome,
    Reason,
    RuleSpec,
    SchemaViolation,
    Tool,
    ToolResult,
    TransportFault,
    TextAnswer,
)


def judge_answer(
    call: Call,
    answer: Answer,
    *,
    evidence: Evidence,
    tool: Tool | None = None,
    violations: Sequence[SchemaViolation] = (),
    rules: Sequence[RuleSpec] = (),
    registry_known: bool = False,
) -> Judgement:
    """Judge one answer."""
    if isinstance(answer, TransportFault):
        return Judgement(
            outcome=Outcome.INCONCLUSIVE,
            reason=Reason.TIMEOUT,
            rule="answer.timeout",
            evidence=evidence,
            message=answer.message,
        )
    failed = not isinstance(answer, (ToolResult, TextAnswer)) or (isinstance(answer, ToolResult) and answer.is_error)
    return Judgement(
        outcome=Outcome.INVALID_ARGUMENTS if failed else Outcome.SUCCESS,
        rule="answer.success",
        evidence=evidence,
        message="The tool answered.",
    )


def judge_unsent(
    call: Call, tool: Tool | None, violations: Sequence[SchemaViolation], recorded_answer: Answer | None
) -> Judgement:
    """Judge a call that is not re-issued."""
    if recorded_answer is not None:
        return judge_answer(call, recorded_answer, evidence="recorded", tool=tool, violations=violations)
    return Judgement(
        outcome=Outcome.INCONCLUSIVE,
        reason=Reason.WITHHELD,
        rule="unsent.withheld",
        evidence="schema",
        message="The call was not re-issued.",
    )
