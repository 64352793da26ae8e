from __future__ import annotations

import pytest

from replay.outcomes import Classifier, Registry
from replay.records import Call, Judgement, Outcome, Reason, TextAnswer


def judged(call: Call) -> tuple[Judgement | None, Judgement | None]:
    classifier = Classifier(Registry())
    recorded = classifier.recorded(call, classifier.target(call))
    return classifier.before_sending(call, recorded), recorded


def test_a_built_in_tool_is_counted_apart_and_its_recorded_answer_is_judged() -> None:
    call = Call(position="s1c1", name="Bash", arguments={"command": "ls"}, local=True, answer=TextAnswer(text="a.txt"))
    decided, recorded = judged(call)
    assert (decided.outcome, decided.reason) == (Outcome.INCONCLUSIVE, Reason.LOCAL_TOOL)
    assert recorded.outcome is Outcome.SUCCESS


def test_free_text_for_a_built_in_tool_is_no_illegal_format() -> None:
    decided, _ = judged(Call(position="s1c1", name="apply_patch", raw="*** Begin Patch", local=True))
    assert (decided.outcome, decided.reason) == (Outcome.INCONCLUSIVE, Reason.LOCAL_TOOL)


def test_free_text_for_any_other_tool_is_an_illegal_format() -> None:
    decided, _ = judged(Call(position="s1c1", name="files/patch", raw="*** Begin Patch", unreadable="arguments"))
    assert decided.outcome is Outcome.ILLEGAL_FORMAT


@pytest.mark.parametrize("local", [True, False])
def test_a_call_that_the_user_refused_is_interrupted(local: bool) -> None:
    answer = TextAnswer(text="The user doesn't want to proceed with this tool use.")
    call = Call(position="s1c1", name="mcp__a__b", arguments={}, local=local, interrupted=True, answer=answer)
    decided, _ = judged(call)
    assert (decided.outcome, decided.reason) == (Outcome.INCONCLUSIVE, Reason.INTERRUPTED)
