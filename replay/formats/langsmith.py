"""LangSmith runs: `{id, run_type: tool | llm | chain, inputs, outputs, child_runs}`, as a list, as lines or a tree."""

from __future__ import annotations

from collections.abc import Iterator

from replay.formats.call_log import iso_time, seconds_of
from replay.formats.document import NO_MATCH, Document, Head, Match
from replay.formats.fields import (
    first_of,
    identifier_of,
    joined_text,
    object_in,
    objects,
    opened,
    opened_repr,
    text_of,
    to_json,
)
from replay.formats.langfuse import answers_in, calls_in
from replay.formats.record_builders import number_calls, tool_message, written_call
from replay.formats.spans import Timed, calls_without_spans, recorded, steps_of
from replay.formats.task_facts import total_usage, usage_in
from replay.records import Call, JsonObject, Source, Step, Task, Trajectory, Usage

RUN_TYPES = frozenset({"chain", "llm", "tool", "retriever", "prompt", "parser", "embedding"})


class LangSmithReader:
    """Reads exports of LangSmith."""

    name = "langsmith"
    title = "LangSmith runs"
    expected_shape = 'LangSmith runs ([{"id", "run_type", "inputs", "outputs"}] or a tree with "child_runs")'

    def sniff(self, head: Head) -> Match:
        """A run type beside inputs and outputs."""
        return Match(0.95, '"run_type" with "inputs"') if any(map(_runs_in, head.objects)) else NO_MATCH

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """One a trace: the runs of one root."""
        traces: dict[str, list[JsonObject]] = {}
        for element in document.objects(lambda record: bool(_runs_in(record))):
            for run in _runs_in(element.value):
                for each in _flat(run):
                    root = identifier_of(each.get("trace_id")) or identifier_of(run.get("id")) or document.task_name
                    traces.setdefault(root, []).append(each)
        for identifier, runs in traces.items():
            yield _trajectory(runs, identifier, document)


def _runs_in(value: JsonObject) -> list[JsonObject]:
    """A run by itself, or the runs under a key of an object."""
    listed = ([value], *(objects(value.get(key)) for key in ("runs", "traces", "data")))
    return next(filter(None, (list(filter(_is_run, runs)) for runs in listed)), [])


def _is_run(value: JsonObject) -> bool:
    return text_of(value.get("run_type")) in RUN_TYPES and bool({"inputs", "outputs", "dotted_order"} & value.keys())


def _flat(run: JsonObject) -> Iterator[JsonObject]:
    waiting = [run]
    while waiting:
        current = waiting.pop()
        yield current
        waiting += reversed(objects(current.get("child_runs")))


def _trajectory(runs: list[JsonObject], identifier: str, document: Document) -> Trajectory:
    runs = sorted(runs, key=lambda run: _start(run) or 0.0)
    replies = [run for run in runs if run.get("run_type") == "llm"]
    model = next((name for run in replies if (name := _model(run))), None)
    root = next((run for run in runs if first_of(run, "parent_run_id") is None), runs[0])
    return Trajectory(
        id=identifier,
        model=model or document.model_name,
        task=Task(question=_question(root)),
        source=Source(file=document.path, format=LangSmithReader.name, position=f"trace {identifier}"),
        steps=number_calls(_steps(runs, replies)),
        usage=total_usage(map(_usage, replies)),
        started_at=iso_time(_start(root)),
    )


def _start(run: JsonObject) -> float | None:
    return seconds_of(run.get("start_time"))


def _steps(runs: list[JsonObject], replies: list[JsonObject]) -> list[Step]:
    tools = [run for run in runs if run.get("run_type") == "tool"]
    answers = answers_in(side for run in runs for side in (run.get("inputs"), run.get("outputs")))
    if not tools:
        written = ([call for message in _messages_out(run) for call in calls_in(message)] for run in replies)
        return calls_without_spans(zip(written, map(_usage, replies), strict=True), answers)
    begun = [Timed(_start(run), None, None, _usage(run)) for run in replies]
    return steps_of([*begun, *(Timed(_start(run), seconds_of(run.get("end_time")), _call(run)) for run in tools)])


def _call(run: JsonObject) -> Call:
    inputs, outputs = opened_repr(run.get("inputs")), opened(run.get("outputs"))
    if isinstance(inputs, dict) and inputs.keys() <= {"input", "tool_call_id"}:
        inner = opened_repr(inputs.get("input"))
        inputs = inner if isinstance(inner, dict) else inputs
    result = outputs["output"] if isinstance(outputs, dict) and set(outputs) == {"output"} else outputs
    message = tool_message(result) or {}
    return written_call(
        run.get("name"),
        inputs,
        id=text_of(message.get("tool_call_id")),
        answer=recorded(message or result, text_of(run.get("error"))),
    )


def _messages_out(run: JsonObject) -> list[JsonObject]:
    """The messages that a model replied with: LangChain's generations, or OpenAI's choices."""
    outputs = object_in(opened(run.get("outputs")))
    generations = outputs.get("generations")
    groups = generations if isinstance(generations, list) else []
    flat = [each for group in groups for each in (group if isinstance(group, list) else [group])]
    messages = [object_in(each, "message") or each for each in objects(flat) or objects(outputs.get("choices"))]
    return messages or objects(outputs.get("messages")) or [object_in(outputs, "output") or outputs]


def _model(run: JsonObject) -> str | None:
    extra = object_in(opened(run.get("extra")))
    about, given = object_in(extra, "metadata"), object_in(extra, "invocation_params")
    return text_of(about.get("ls_model_name")) or text_of(first_of(given, "model", "model_name"))


def _usage(run: JsonObject) -> Usage | None:
    outputs = object_in(opened(run.get("outputs")))
    return usage_in(run if run.get("prompt_tokens") is not None else first_of(outputs, "usage_metadata", "usage"))


def _question(root: JsonObject) -> str | None:
    inputs = opened(root.get("inputs"))
    if not isinstance(inputs, dict):
        return text_of(inputs)
    for message in objects(inputs.get("messages")):
        inner = object_in(message, "kwargs") or message
        if "tool_calls" not in inner and (text := joined_text(inner.get("content"))):
            return text
    given = first_of(inputs, "input", "question", "query")
    return given if isinstance(given, str) or given is None else to_json(given)
