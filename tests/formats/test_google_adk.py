from __future__ import annotations

from pathlib import Path

from replay.records import TextAnswer, ToolResult
from tests.formats.samples import adk_event, adk_session, opened, read


def test_answers_without_ids_go_to_the_first_open_call_of_their_name(tmp_path: Path) -> None:
    session = adk_session()
    ask = [{"function_call": {"name": name, "args": {"n": n}}} for name, n in (("a", 1), ("b", 2), ("a", 3))]
    say = [{"function_response": {"name": name, "response": {"r": r}}} for name, r in (("b", 20), ("a", 10), ("a", 30))]
    session["events"] = [adk_event("agent", *ask), adk_event("agent", *say)]
    (trajectory,) = read(tmp_path, session)
    (step,) = trajectory.steps
    answers = [call.answer for call in step.calls]
    assert answers == [TextAnswer(text='{"r": 10}'), TextAnswer(text='{"r": 20}'), TextAnswer(text='{"r": 30}')]


def test_an_answer_whose_name_is_not_text_is_given_to_no_call(tmp_path: Path) -> None:
    session = adk_session()
    session["events"] = [
        adk_event("agent", {"function_call": {"name": "a", "args": {}}}),
        adk_event("agent", {"function_response": {"name": ["a"], "response": {"r": 1}}}),
    ]
    [trajectory] = read(tmp_path, session)
    assert [call.answer for call in trajectory.calls()] == [None]


def test_handing_over_to_another_agent_is_a_call_of_the_harness(tmp_path: Path) -> None:
    session = adk_session()
    handover = {"function_call": {"id": "1", "name": "transfer_to_agent", "args": {"agent_name": "b"}}}
    done = {"function_response": {"id": "1", "name": "transfer_to_agent", "response": None}}
    session["events"] = [adk_event("agent", handover), adk_event("agent", done)]
    (trajectory,) = read(tmp_path, session)
    (call,) = trajectory.calls()
    assert call.local
    assert call.answer == TextAnswer(text="null")


def test_what_a_tool_raised_is_an_error(tmp_path: Path) -> None:
    session = adk_session()
    session["events"][2]["content"]["parts"][0]["function_response"]["response"] = {"error": "no such hat"}
    (trajectory,) = read(tmp_path, session)
    (call,) = trajectory.calls()
    assert call.answer == ToolResult(content=({"type": "text", "text": "no such hat"},), is_error=True)


def test_camel_case_of_the_web_server_reads_the_same(tmp_path: Path) -> None:
    call = {"functionCall": {"id": "c", "name": "search", "args": {}}}
    answer = {"functionResponse": {"id": "c", "name": "search", "response": {"r": 1}}}
    events = [
        {"author": "agent", "invocationId": "i", "content": {"parts": [call]}, "modelVersion": "gemini"},
        {"author": "agent", "invocationId": "i", "content": {"parts": [answer]}},
    ]
    results = opened(tmp_path, {"id": "s", "appName": "a", "userId": "u", "events": events})
    (trajectory,) = results.trajectories()
    assert (trajectory.model, [found.name for found in trajectory.calls()]) == ("gemini", ["search"])
    assert results.unanswered == 0


def test_a_streamed_piece_of_a_reply_is_not_a_second_call(tmp_path: Path) -> None:
    session = adk_session()
    session["events"].insert(1, {**session["events"][1], "partial": True})
    (trajectory,) = read(tmp_path, session)
    assert len(list(trajectory.calls())) == 1
