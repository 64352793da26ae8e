"""What the replay's own environment, and no model, is to blame for; and what a state gap cannot have caused."""

from __future__ import annotations

from replay.records import Judgement, Outcome, SchemaViolation
from replay.replayer.verdict import VerdictInputs, verdict_of_answer

PATH = "/no-such-root/workspace/a.txt"
VIOLATION = SchemaViolation(pointer="/n", keyword="type", message="'x' is not of type 'integer'")


def _judged(outcome, rule="success.answered", **fields):
    return Judgement(outcome=outcome, rule=rule, evidence="replay", message="Said.", **fields)


def test_a_file_of_the_recordings_machine_is_not_the_models_not_found():
    replayed = _judged(Outcome.NOT_FOUND, "answer.not-found")
    inputs = VerdictInputs(recorded=_judged(Outcome.SUCCESS), replayed=replayed, absent_path=PATH)
    verdict = verdict_of_answer(inputs)
    assert (verdict.outcome, verdict.replayed, verdict.divergence) == ("success", "not_found", "environment")
    assert PATH in verdict.message


def test_a_file_that_was_missing_when_it_was_recorded_stays_not_found():
    replayed = _judged(Outcome.NOT_FOUND, "answer.not-found")
    inputs = VerdictInputs(recorded=_judged(Outcome.INVALID_ARGUMENTS), replayed=replayed, absent_path=PATH)
    assert verdict_of_answer(inputs).outcome == "not_found"


def test_a_schema_violation_after_a_state_gap_is_still_invalid_arguments():
    replayed = _judged(Outcome.INVALID_ARGUMENTS, "answer.arguments-invalid", violations=(VIOLATION,))
    for recorded in (None, _judged(Outcome.NOT_FOUND, "answer.not-found")):
        verdict = verdict_of_answer(VerdictInputs(recorded=recorded, replayed=replayed, gap="s1c1"))
        assert (verdict.outcome, verdict.reason, verdict.gap) == ("invalid_arguments", None, None)


def test_a_refusal_without_a_violation_after_a_state_gap_may_be_the_gaps_doing():
    replayed = _judged(Outcome.INVALID_ARGUMENTS, "answer.refused")
    verdict = verdict_of_answer(VerdictInputs(replayed=replayed, gap="s1c1"))
    assert (verdict.outcome, verdict.reason) == ("inconclusive", "state-gap")
