"""Results of BFCL and promptfoo, and what smolagents and AutoGen keep of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.formats.samples import opened, read
from tests.formats.test_coding_agents import lines, summary


def test_a_test_of_bfcl_has_the_calls_of_its_one_reply(tmp_path: Path) -> None:
    folder = tmp_path / "result" / "some-model" / "live"
    folder.mkdir(parents=True)
    counts = {"input_token_count": 7, "output_token_count": 5, "latency": 1.5}
    records = [
        {"id": "live_0", "result": [{"weather": '{"city": "Rome"}'}, {"weather": '{"city": "Oslo"}'}], **counts},
        {"id": "live_1", "result": '[files.ls(a=False, b=[1]), weather(city="Rome")]', **counts},
        {"id": "live_2", "result": "I cannot do this.", **counts},
        {"id": "live_3", "result": [], **counts},
    ]
    file = opened(folder, lines(*records), "BFCL_v4_live_result.json")
    first, prompted, refused, none = file.trajectories()
    assert (file.format, first.id, first.model) == ("bfcl", "live_0", "some-model")
    assert summary(first) == [
        ("s1c1", "weather", {"city": "Rome"}, None, None),
        ("s1c2", "weather", {"city": "Oslo"}, None, None),
    ]
    assert [(call.name, call.arguments) for call in prompted.calls()] == [
        ("files.ls", {"a": False, "b": [1]}),
        ("weather", {"city": "Rome"}),
    ]
    assert (list(refused.calls()), refused.final_reply) == ([], "I cannot do this.")
    assert list(none.calls()) == []


def test_a_test_of_bfcl_with_several_turns_has_its_answers_from_the_log(tmp_path: Path) -> None:
    turn = {
        "begin_of_turn_query": [{"role": "user", "content": "List them."}],
        "step_0": [
            {"role": "assistant", "content": [{"ls": "{}"}, {"cd": '{"folder": "a"}'}]},
            {"role": "handler_log", "content": "decoded"},
            {"role": "tool", "content": "a"},
            {"role": "tool", "content": '{"error": "no such folder"}'},
        ],
        "step_1": [{"role": "assistant", "content": "There is a."}, {"role": "handler_log", "content": "empty"}],
    }
    record = {
        "id": "multi_turn_0",
        "result": [[[{"ls": "{}"}, {"cd": '{"folder": "a"}'}], []]],
        "inference_log": [[{"role": "state_info"}], turn],
        "input_token_count": [[3, 4]],
        "output_token_count": [[1, 1]],
        "latency": [[1, 1]],
    }
    (trajectory,) = read(tmp_path, lines(record))
    assert (trajectory.task.question, trajectory.final_reply) == ("List them.", "There is a.")
    assert summary(trajectory) == [
        ("s1c1", "ls", {}, "a", None),
        ("s1c2", "cd", {"folder": "a"}, '{"error": "no such folder"}', None),
    ]
    assert trajectory.usage is not None
    assert (trajectory.usage.input_tokens, trajectory.usage.output_tokens) == (7, 2)


OPENAI = {"id": "c1", "type": "function", "function": {"name": "list", "arguments": '{"of": "a"}'}}
ANTHROPIC = '{"type":"tool_use","id":"c1","name":"list","input":{"of":"a"}}'


@pytest.mark.parametrize(
    "output",
    [
        [OPENAI],
        {"tool_calls": [OPENAI]},
        f"I look it up.\n\n{ANTHROPIC}",
        [{"functionCall": {"name": "list", "args": {"of": "a"}}, "thoughtSignature": "x"}],
    ],
)
def test_a_test_of_promptfoo_has_the_calls_as_each_provider_writes_them(output: Any, tmp_path: Path) -> None:
    test = {
        "id": "t1",
        "provider": {"id": "maker:m", "label": ""},
        "prompt": {"raw": "List a."},
        "response": {"output": output, "tokenUsage": {"prompt": 7, "completion": 5}},
        "success": False,
        "score": 0,
        "testCase": {"description": "list"},
        "testIdx": 0,
        "promptIdx": 0,
    }
    file = opened(tmp_path, {"evalId": "e", "results": {"version": 3, "results": [test]}})
    (trajectory,) = file.trajectories()
    assert (file.format, trajectory.id, trajectory.model, trajectory.task.question) == (
        "promptfoo",
        "t1",
        "maker:m",
        "List a.",
    )
    assert summary(trajectory) == [("s1c1", "list", {"of": "a"}, None, None)]
    assert trajectory.reported is not None
    assert trajectory.reported.passed is False


def test_an_agent_that_promptfoo_ran_has_answers_and_a_text_is_the_reply(tmp_path: Path) -> None:
    ran = [{"id": "c1", "name": "Bash", "input": {"command": "ls"}, "output": "no", "is_error": True}]
    tests: list[dict[str, Any]] = [
        {"testCase": {}, "testIdx": 0, "response": {"output": "Done.", "metadata": {"toolCalls": ran}}},
        {"testCase": {}, "testIdx": 1, "response": {"output": "Hello."}},
    ]
    agent, text = read(tmp_path, {"evalId": "e", "results": {"results": tests}})
    assert summary(agent) == [("s1c1", "Bash", {"command": "ls"}, "no", True)]
    assert (agent.final_reply, text.final_reply) == ("Done.", "Hello.")


def message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text}]}


def test_messages_of_smolagents_have_calls_as_python_prints_them(tmp_path: Path) -> None:
    first = "Calling tools:\n[{'id': 'c1', 'function': {'name': 'look_up', 'arguments': {'q': \"it's\"}}}]"
    code = "Calling tools:\n[{'id': 'c2', 'function': {'name': 'python_interpreter', 'arguments': 'print(1)'}}]"
    failed = "Error executing tool 'look_up' with arguments {'q': {'a': 1}}: ValueError: bad\nPlease try again"
    run = {
        "model_id": "m",
        "question": "What?",
        "token_counts": {"input_tokens": 7, "output_tokens": 5},
        "intermediate_steps": [
            message("system", "..."),
            message("user", "New task:\nWhat?"),
            message("tool-call", first),
            message("tool-response", "Call id: c1\nObservation:\nthis"),
            message("assistant", "print(1)</code>"),
            message("tool-response", "Error:\nError in code parsing:\nnot found in it"),
            message("tool-call", code),
            message("tool-response", "Observation:\n1"),
            message("tool-response", f"Error:\n{failed}"),
        ],
    }
    file = opened(tmp_path, lines(run))
    (trajectory,) = file.trajectories()
    assert (file.format, trajectory.model, trajectory.task.question) == ("smolagents", "m", "New task:\nWhat?")
    calls = [(call.name, call.arguments or call.raw, answer) for call, (_, _, _, answer, _) in zip(
        trajectory.calls(), summary(trajectory), strict=True
    )]  # fmt: skip
    assert calls == [
        ("look_up", {"q": "it's"}, "this"),
        (None, "print(1)</code>", "Error in code parsing:\nnot found in it"),
        ("python_interpreter", "print(1)", "1"),
        ("look_up", {"q": {"a": 1}}, failed),
    ]
    assert [call.unreadable for call in trajectory.calls()] == [None, "call", None, None]


def test_steps_of_smolagents_are_calls_with_times_tokens_and_errors(tmp_path: Path) -> None:
    steps: list[dict[str, Any]] = [
        {"system_prompt": "..."},
        {"task": "What?"},
        {
            "step_number": 1,
            "timing": {"start_time": 1.7e9, "duration": 2.0},
            "tool_calls": [{"id": "c1", "function": {"name": "look_up", "arguments": {"q": 1}}}],
            "observations": "this",
            "token_usage": {"input_tokens": 7, "output_tokens": 5},
        },
        {
            "step_number": 2,
            "tool_calls": [{"id": "c2", "function": {"name": "final_answer", "arguments": {"answer": 2}}}],
            "error": {"type": "AgentExecutionError", "message": "no"},
            "observations": None,
        },
    ]
    (trajectory,) = read(tmp_path, steps)
    assert trajectory.task.question == "What?"
    assert summary(trajectory) == [
        ("s1c1", "look_up", {"q": 1}, "this", None),
        ("s2c1", "final_answer", {"answer": 2}, "no", True),
    ]
    assert [(call.seconds, call.local) for call in trajectory.calls()] == [(2.0, False), (None, True)]


ASK = {"source": "user", "type": "TextMessage", "content": "What?"}
CALLED = [{"id": "c1", "name": "look_up", "arguments": '{"q": 1}'}]
CAME = [{"call_id": "c1", "name": "look_up", "content": "no", "is_error": True}]
AUTOGEN = [
    ASK,
    {"source": "a", "type": "ToolCallRequestEvent", "content": CALLED, "models_usage": {"prompt_tokens": 7}},
    {"source": "a", "type": "ToolCallExecutionEvent", "content": CAME},
    {"source": "a", "type": "TextMessage", "content": "It is not known."},
]


@pytest.mark.parametrize("content", [AUTOGEN, lines(*AUTOGEN), {"task_result": {"messages": AUTOGEN}, "duration": 1}])
def test_events_of_autogen_are_calls_with_error_flags(content: Any, tmp_path: Path) -> None:
    file = opened(tmp_path, content)
    (trajectory,) = file.trajectories()
    assert (file.format, trajectory.task.question, trajectory.final_reply) == ("autogen", "What?", "It is not known.")
    assert summary(trajectory) == [("s1c1", "look_up", {"q": 1}, "no", True)]


def test_each_agent_of_a_saved_state_of_autogen_is_a_trajectory(tmp_path: Path) -> None:
    messages = [
        {"type": "UserMessage", "source": "user", "content": "What?"},
        {"type": "AssistantMessage", "source": "a", "content": CALLED, "thought": "I look."},
        {"type": "FunctionExecutionResultMessage", "content": CAME},
    ]
    states = {
        "manager/1": {"type": "RoundRobinManagerState", "message_thread": [ASK]},
        "a/1": {"agent_state": {"llm_context": {"messages": messages}}},
    }
    (trajectory,) = read(tmp_path, {"type": "TeamState", "agent_states": states})
    assert (trajectory.id, trajectory.steps[0].text) == ("a", "I look.")
    assert summary(trajectory) == [("s1c1", "look_up", {"q": 1}, "no", True)]


def test_code_that_a_chat_of_autogen_executed_is_a_call(tmp_path: Path) -> None:
    history = [
        {"role": "user", "name": "expert", "content": "Run this:\n```python\nprint(1)\n```"},
        {"role": "user", "name": "Computer_terminal", "content": "exitcode: 1 (execution failed)\nCode output: no"},
        {"role": "user", "name": "expert", "content": "It failed."},
    ]
    (trajectory,) = read(tmp_path, {"question": "What?", "question_ID": "q1", "level": "2", "history": history})
    assert (trajectory.id, trajectory.task.question, trajectory.final_reply) == ("q1", "What?", "It failed.")
    assert summary(trajectory) == [("s1c1", "python", {"code": "print(1)"}, "no", True)]
