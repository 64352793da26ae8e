"""Memories of smolagents: the steps (`agent.memory.get_full_steps()`), or the messages written from them.

A step is `{step_number, tool_calls, observations, error, timing, token_usage}`. Of messages, those of the role
`tool-call` have the calls as Python prints them, those of `tool-response` the answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from replay.formats.call_log import CallLog, iso_time, seconds_of
from replay.formats.document import NO_MATCH, Document, Element, Head, Match
from replay.formats.fields import (
    as_number,
    first_of,
    identifier_of,
    joined_text,
    object_in,
    objects,
    opened,
    python_value,
    text_of,
)
from replay.formats.record_builders import answer_of, build_call, error_answer, text_call
from replay.records import Answer, Call, JsonObject, Trajectory

_OWN_TOOLS = frozenset({
    "final_answer", "python_interpreter", "transcriber", "user_input", "visit_webpage", "web_search",
    "wikipedia_search",
})  # fmt: skip
_MEMORY_KEYS = ("intermediate_steps", "full_steps", "steps", "memory", "agent_memory")
_FAILED_CALL = re.compile(r"Error executing tool '([^']+)' with arguments (\{.*)", re.DOTALL)
_CALL_ROLE, _ANSWER_ROLE = "tool-call", "tool-response"


class SmolagentsReader:
    """Reads what smolagents remembers of a run."""

    name = "smolagents"
    title = "smolagents memories"
    expected_shape = 'smolagents memories ([{"step_number", "tool_calls", "observations"}], or roles "tool-call")'

    def sniff(self, head: Head) -> Match:
        """Steps, or messages with the roles that only smolagents has."""
        items = [item for record in head.objects for item in objects(_memory(record) or [record])]
        if any(map(_is_action, items)):
            return Match(0.96, 'steps with "step_number" and "observations"')
        return Match(0.96, f'messages of the role "{_CALL_ROLE}"') if any(map(_is_call_message, items)) else NO_MATCH

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """One a run of a benchmark, or one for a file of bare steps."""
        bare: list[Any] = []
        for element in document.objects():
            memory = _memory(element.value)
            if memory is not None:
                yield _of_run(element, memory, document)
            elif bare or not document.left:
                bare.append(element.value)
            else:
                document.leave(element)
        if bare:
            log = CallLog()
            _read(bare, log)
            yield log.trajectory(document, self.name)


def _memory(record: JsonObject) -> list[Any] | None:
    return next((value for key in _MEMORY_KEYS if isinstance(value := opened(record.get(key)), list)), None)


def _is_action(value: JsonObject) -> bool:
    return "step_number" in value and bool({"observations", "model_output"} & value.keys())


def _is_call_message(value: JsonObject) -> bool:
    return value.get("role") in (_CALL_ROLE, _ANSWER_ROLE)


def _of_run(element: Element, memory: list[Any], document: Document) -> Trajectory:
    record, place = element.value, element.place.removeprefix("line ").strip("$[]")
    name = identifier_of(first_of(record, "task_id", "id")) or f"{document.task_name}_{place}".rstrip("_")
    log = CallLog(element.place, name)
    log.model = text_of(first_of(record, "model_id", "model"))
    log.started_at = iso_time(seconds_of(record.get("start_time")))
    _read(memory, log)
    tokens = object_in(record, "token_counts")
    log.count_tokens(first_of(tokens, "input_tokens", "input"), first_of(tokens, "output_tokens", "output"))
    log.title = text_of(record.get("question"))
    return log.trajectory(document, SmolagentsReader.name)


def _read(memory: list[Any], log: CallLog) -> None:
    said = ""
    for number, item in enumerate(objects(memory)):
        if "role" not in item:
            _read_step(item, log, number)
            continue
        role, text = item.get("role"), joined_text(item.get("content")) or ""
        if role == "user":
            log.ask(text)
        elif role == "assistant":
            said = text
            log.say(text)
        elif role == _CALL_ROLE:
            printed = text.partition("\n")[2].strip()
            for written in objects(python_value(printed) or opened(printed)):
                log.add(_call(written), number)
        elif role == _ANSWER_ROLE:
            _read_answer(text, said, log, number)


def _read_answer(text: str, said: str, log: CallLog, number: int) -> None:
    """An answer as message, which is that of all calls of the message before it."""
    head, _, rest = text.partition("\n")
    identifier = head.removeprefix("Call id:").strip() if head.startswith("Call id:") else None
    if identifier:
        head, _, rest = rest.partition("\n")
    failed = head.startswith("Error")
    answer = error_answer(rest.strip()) if failed else answer_of(rest)
    told = _FAILED_CALL.match(rest) if failed else None
    if told:  # a call that failed is told in its error alone
        log.add(_call({"id": f"message {number}", "name": told[1], "arguments": _arguments(told[2])}), number)
    for each in [identifier] if identifier else [call.id for call in log.last_step()]:
        if each:
            log.answer(each, answer)
    if failed and "parsing" in rest[:200]:
        _add_unread(said, answer, log, number)


def _arguments(text: str) -> Any:
    """The arguments at the beginning of a text, as Python prints them; None where they are not whole."""
    begun = (python_value(text[: end.start() + 1]) for end in islice(re.finditer("}: ", text), 20))
    return next((value for value in begun if value is not None), None)


def _add_unread(reply: str, answer: Answer | None, log: CallLog, number: int) -> None:
    """A reply in which no call could be read, which the agent was told."""
    identifier = f"message {number}"
    log.add(Call(position="", id=identifier, unreadable="call", raw=reply, local=True), number)
    log.answer(identifier, answer)


def _read_step(step: JsonObject, log: CallLog, number: int) -> None:
    if "task" in step:
        log.ask(text_of(step["task"]))
    if not _is_action(step):
        return
    usage, timing = object_in(step, "token_usage"), object_in(step, "timing") or step
    log.count_tokens(usage.get("input_tokens"), usage.get("output_tokens"))
    log.started_at = log.started_at or iso_time(seconds_of(timing.get("start_time")))
    said = joined_text(step.get("model_output")) or ""
    log.say(said)
    calls = [_call(written) for written in objects(step.get("tool_calls"))]
    for call in calls:
        log.add(call.model_copy(update={"seconds": as_number(timing.get("duration"))}), number)
    error = object_in(step, "error")
    answer = error_answer(error.get("message")) if error else answer_of(step.get("observations"))
    for call in calls:
        if call.id:
            log.answer(call.id, answer)
    if error and not calls and "pars" in str(error.get("message"))[:200].lower():
        _add_unread(said, answer, log, number)


def _call(written: JsonObject) -> Call:
    """A call; the argument of the interpreter is code."""
    body = object_in(written, "function") or written
    name, arguments, identifier = body.get("name"), opened(body.get("arguments")), text_of(written.get("id"))
    if isinstance(arguments, str) and isinstance(name, str):
        return text_call(name, arguments, id=identifier)
    return build_call(name, {} if arguments is None else arguments, id=identifier, local=text_of(name) in _OWN_TOOLS)
