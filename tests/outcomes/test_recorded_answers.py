from __future__ import annotations

import json

from replay.outcomes import judge_answer, judge_format
from replay.records import Call, TextAnswer


def _arguments(text):
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def test_recorded_answers_of_published_runs_get_an_accepted_outcome(shared_data):
    labels = json.loads((shared_data / "recorded" / "labels.json").read_text("utf-8"))
    wrong, failures_called_success, successes_called_failure = [], 0, 0
    for line in (shared_data / "recorded" / "recorded.jsonl").read_text("utf-8").splitlines():
        entry = json.loads(line)
        function, text = entry["messages"][1]["tool_calls"][0]["function"], entry["messages"][2]["content"]
        arguments, answer = _arguments(function["arguments"]), TextAnswer(text=text)
        unreadable = {"unreadable": "arguments", "raw": function["arguments"]} if arguments is None else {}
        call = Call(position="s1c1", name=function["name"], arguments=arguments, answer=answer, **unreadable)
        judged = judge_format(call) or judge_answer(call, answer, evidence="recorded")
        accepted = labels[entry["id"]]
        if judged.outcome not in accepted:
            wrong.append((entry["id"], accepted, judged.outcome, judged.rule, text[:200]))
            failures_called_success += judged.outcome == "success"
            successes_called_failure += accepted == ["success"]
    assert len(wrong) <= 0.02 * len(labels), wrong
    assert failures_called_success <= 0.01 * len(labels), wrong
    assert successes_called_failure <= 0.01 * len(labels), wrong
