"""Results of the Berkeley Function-Calling Leaderboard: a line a test, `{id, result, input_token_count, latency}`.

A call is `{NAME: ARGUMENTS}`, or a call in Python's words where the model was prompted (`[ls(a=False)]`). Only tests of
several turns were executed: what came back stands in their `inference_log`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from replay.formats.call_log import CallLog
from replay.formats.document import NO_MATCH, Document, Head, Match
from replay.formats.fields import identifier_of, joined_text, objects, whole_number
from replay.formats.record_builders import answer_of, build_call, json_text_call
from replay.formats.task_facts import usage_of
from replay.records import Call, JsonObject, Trajectory

_BESIDE = frozenset({"input_token_count", "inference_log", "traceback"})


class BfclReader:
    """Reads results of BFCL."""

    name = "bfcl"
    title = "results of the Berkeley Function-Calling Leaderboard"
    expected_shape = 'BFCL results ({"id", "result", "input_token_count", "latency"})'

    def sniff(self, head: Head) -> Match:
        """A result beside its counts, or its log."""
        return Match(0.95, '"id" and "result" of BFCL') if any(map(_is_result, head.objects)) else NO_MATCH

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """One a test."""
        parts = Path(document.path).parts
        model = parts[parts.index("result") + 1] if "result" in parts[:-2] else None  # the folder under `result/`
        for element in document.objects(_is_result):
            record = element.value
            log = CallLog(element.place, identifier_of(record["id"]))
            log.model = model
            if isinstance(record.get("inference_log"), list):
                _read_turns(record["inference_log"], log)
            else:
                _read_reply(record["result"], log, "")
            usage = usage_of(_total(record.get("input_token_count")), _total(record.get("output_token_count")))
            yield log.trajectory(document, self.name, usage=usage)


def _is_result(value: JsonObject) -> bool:
    return {"id", "result"} <= value.keys() and bool(_BESIDE & value.keys())


def _total(counts: Any) -> int | None:
    """The sum of a count, or of those of turns and steps."""
    if isinstance(counts, list):
        return sum(_total(count) or 0 for count in counts)
    return whole_number(counts)


def _read_turns(turns: Any, log: CallLog) -> None:
    """The turns of a log: the question, and the messages of each step."""
    for number, turn in enumerate(objects(turns)):
        for key, messages in turn.items():
            waiting: list[str] = []
            for message in objects(messages):
                role, content = message.get("role"), message.get("content")
                if key == "begin_of_turn_query":
                    log.ask(joined_text(content) if role == "user" else None)
                elif role == "assistant":
                    waiting = _read_reply(content, log, f"{number}.{key}")
                elif role == "tool" and waiting:
                    log.answer(waiting.pop(0), answer_of(content))


def _read_reply(reply: Any, log: CallLog, step: str) -> list[str]:
    """The ids of the calls in the reply of a step, which are put into the log."""
    if isinstance(reply, str):
        calls = _python_calls(reply)
    else:
        calls = [json_text_call(name, arguments) for each in objects(reply) for name, arguments in each.items()]
    identifiers = [f"{step}.{index}" for index in range(len(calls))]
    for call, identifier in zip(calls, identifiers, strict=True):
        log.add(call.model_copy(update={"id": identifier}), step)
    if not calls and isinstance(reply, str):
        log.say(reply)
    return identifiers


def _python_calls(text: str) -> list[Call]:
    """Calls in Python's words, alone or in a list: `[get_weather(city="Rome"), files.ls()]`."""
    try:
        body = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    items = body.elts if isinstance(body, ast.List | ast.Tuple) else [body]
    calls = [item for item in items if isinstance(item, ast.Call) and isinstance(item.func, ast.Name | ast.Attribute)]
    if not calls or len(calls) < len(items):
        return []
    return [build_call(ast.unparse(call.func), {str(k.arg): _value(k.value) for k in call.keywords}) for call in calls]


def _value(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        return ast.unparse(node)
