from __future__ import annotations

import pytest

from replay.outcomes import Classifier, Registry
from replay.records import Answer, Call, Judgement, Outcome, Reason, Server, TextAnswer, Tool, ToolResult

FLEET = Registry(
    servers={"files": Server(name="files", digest="d", tools=(Tool(name="read"),))},
    server_names=("files",),
    complete=True,
)


def judged(call: Call, registry: Registry | None = None) -> Judgement:
    classifier = Classifier(registry or Registry())
    target = classifier.target(call)
    recorded = classifier.recorded(call, target)
    return classifier.before_sending(call, recorded) or classifier.not_reissued(target, recorded)


def bash(answer: Answer | None) -> Call:
    return Call(position="s1c1", name="Bash", arguments={"command": "ls report.txt"}, local=True, answer=answer)


def failed(text: str) -> ToolResult:
    return ToolResult(content=({"type": "text", "text": text},), is_error=True)


@pytest.mark.parametrize("registry", [None, FLEET])
@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (TextAnswer(text="report.txt"), Outcome.SUCCESS),
        (failed("Exit code 1\nls: cannot access 'report.txt': No such file or directory"), Outcome.NOT_FOUND),
        (failed("Exit code 1\nTypeError: x is not a function"), Outcome.INVALID_ARGUMENTS),
        (failed("<tool_use_error>Error: No such tool available: Bash</tool_use_error>"), Outcome.UNKNOWN_TOOL),
    ],
)
def test_a_tool_of_the_agent_is_judged_by_its_recorded_answer(
    answer: Answer, outcome: Outcome, registry: Registry | None
) -> None:
    decided = judged(bash(answer), registry)
    assert (decided.outcome, decided.evidence) == (outcome, "recorded")


def test_a_name_that_looks_like_a_server_and_its_tool_is_the_agents_own() -> None:
    call = Call(position="s1c1", name="files-read", arguments={}, local=True, answer=TextAnswer(text="ok"))
    assert Classifier(FLEET).target(call).server is None
    assert judged(call, FLEET).evidence == "recorded"


def test_a_tool_that_the_fleet_file_calls_local_is_put_aside_also_where_it_is_the_agents_own() -> None:
    decided = judged(bash(TextAnswer(text="report.txt")), Registry(local_tools=("Bash",)))
    assert (decided.outcome, decided.reason) == (Outcome.INCONCLUSIVE, Reason.LOCAL_TOOL)


def test_a_tool_of_the_agent_without_an_answer_is_inconclusive() -> None:
    assert judged(bash(None)).outcome is Outcome.INCONCLUSIVE


def test_free_text_for_a_built_in_tool_is_no_illegal_format() -> None:
    call = Call(position="s1c1", name="apply_patch", raw="*** Begin Patch", local=True, answer=TextAnswer(text="Done!"))
    assert judged(call).outcome is Outcome.SUCCESS


def test_free_text_for_any_other_tool_is_an_illegal_format() -> None:
    call = Call(position="s1c1", name="files/patch", raw="*** Begin Patch", unreadable="arguments")
    assert judged(call).outcome is Outcome.ILLEGAL_FORMAT


@pytest.mark.parametrize("local", [True, False])
def test_a_call_that_the_user_refused_is_interrupted(local: bool) -> None:
    answer = TextAnswer(text="The user doesn't want to proceed with this tool use.")
    call = Call(position="s1c1", name="mcp__a__b", arguments={}, local=local, interrupted=True, answer=answer)
    decided = judged(call)
    assert (decided.outcome, decided.reason) == (Outcome.INCONCLUSIVE, Reason.INTERRUPTED)
