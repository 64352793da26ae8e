"""promptfoo results: a test's answer is text, or calls as the provider wrote them; only agents have answers to them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from replay.formats.call_log import CallLog
from replay.formats.document import NO_MATCH, Document, Head, Match
from replay.formats.fields import as_number, first_of, joined_text, object_in, objects, opened, text_of, to_json
from replay.formats.record_builders import result_with_flag, written_call
from replay.formats.task_facts import usage_of
from replay.records import Call, JsonObject, ReportedResult, Task, Trajectory


class PromptfooReader:
    """Reads promptfoo's results."""

    name = "promptfoo"
    title = "promptfoo results"
    expected_shape = 'promptfoo results ({"evalId", "results": {"results": [{"response", "testCase"}]}})'

    def sniff(self, head: Head) -> Match:
        """The stamp of an evaluation, or a test with its response."""
        if any({"evalId", "results"} <= record.keys() for record in head.objects):
            return Match(0.96, '"evalId" and "results"')
        return Match(0.95, 'tests with "testCase" and "response"') if any(map(_is_test, head.objects)) else NO_MATCH

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """One a test and provider."""
        for element in document.objects(lambda record: bool(_tests(record))):
            for number, test in enumerate(_tests(element.value)):
                yield _trajectory(test, f"{element.place}.results[{number}]", document)


def _is_test(value: JsonObject) -> bool:
    return "response" in value and bool({"testCase", "promptIdx"} & value.keys())


def _tests(record: JsonObject) -> list[JsonObject]:
    if _is_test(record):
        return [record]
    results = record.get("results")
    inner = results.get("results") if isinstance(results, dict) else results
    return list(filter(_is_test, objects(inner)))


def _trajectory(test: JsonObject, place: str, document: Document) -> Trajectory:
    response, provider = object_in(test, "response"), object_in(test, "provider")
    name = f"{test.get('testIdx', place)}_{test.get('promptIdx', 0)}"
    log = CallLog(place, text_of(test.get("id")) or name)
    log.model = text_of(provider.get("label")) or text_of(provider.get("id")) or text_of(test.get("provider"))
    output, metadata = opened(response.get("output")), object_in(response, "metadata")
    run = objects(metadata.get("toolCalls"))
    for written in run or _calls_in(output):
        log.add(_call(written))
        if "output" in written:
            log.answer(text_of(written.get("id")), result_with_flag(written["output"], written.get("is_error") is True))
    if run or not log.last_step():
        log.say(output if isinstance(output, str) else joined_text(output))
    counts, prompt = object_in(response, "tokenUsage"), opened(object_in(test, "prompt").get("raw"))
    question = text_of(prompt) or (None if prompt in (None, "") else to_json(prompt))
    passed, case = test.get("success"), object_in(test, "testCase")
    reported = ReportedResult(passed=passed, score=as_number(test.get("score"))) if isinstance(passed, bool) else None
    return log.trajectory(
        document,
        PromptfooReader.name,
        task=Task(question=question, id=text_of(case.get("description"))),
        usage=usage_of(counts.get("prompt"), counts.get("completion")),
        reported=reported,
    )


def _calls_in(output: Any) -> list[JsonObject]:
    """The calls of an answer: a list of them or one, also after text, as providers that join blocks write it."""
    if isinstance(output, dict):
        inner = objects(first_of(output, "tool_calls", "toolCalls"))
        return inner or ([output] if _is_call(output) else [])
    if isinstance(output, str):
        parts = [object_in(_decoded(part)) for part in output.split("\n\n") if part.lstrip().startswith("{")]
        return list(filter(_is_call, parts))
    return list(filter(_is_call, objects(output)))


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _is_call(value: JsonObject) -> bool:
    return (
        bool({"functionCall", "function_call", "toolUse"} & value.keys())
        or value.get("type") in ("tool_use", "function_call")
        or (isinstance(value.get("function"), dict) and "name" in value["function"])
    )


def _call(written: JsonObject) -> Call:
    """A call as OpenAI, Anthropic, Google or Bedrock writes it."""
    body = object_in(first_of(written, "function", "functionCall", "function_call", "toolUse")) or written
    identifier = text_of(first_of(written, "id", "call_id"))
    return written_call(body.get("name"), first_of(body, "arguments", "args", "input"), id=identifier)
