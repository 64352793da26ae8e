"""MCP-Bench results, of the original benchmark and of its fork that runs on ADK.

`{task_run_results: {MODEL: [{task_id, execution_results: [{tool, server, round, parameters, success, response}]}]}}`.
The original writes `round_num` and `result`. Where agents are called as tools, their own calls stand in
`inner_tool_calls` and are trajectories of their own.
"""

from __future__ import annotations

from collections.abc import Iterator

from replay.formats.call_log import CallLog, earliest, iso_time, seconds_after, seconds_of
from replay.formats.document import NO_MATCH, Document, Head, Match
from replay.formats.fields import as_object, first_of, identifier_of, object_in, objects, text_of
from replay.formats.google_adk import ADK
from replay.formats.record_builders import answer_of, error_answer, written_call
from replay.formats.task_facts import labels_of, usage_of
from replay.records import Answer, Call, JsonObject, ParentCall, ReportedResult, Task, Trajectory

_AGENT_SERVER = "adk_agent_tool"


class McpBenchReader:
    """Reads MCP-Bench results."""

    name = "mcp-bench"
    title = "MCP-Bench results"
    expected_shape = 'MCP-Bench results ({"task_run_results": {MODEL: [{"task_id", "execution_results"}]}})'

    def sniff(self, head: Head) -> Match:
        """The results of a run stand under `task_run_results`, those of a task under `execution_results`."""
        first = head.first
        if "task_run_results" in first:
            return Match(1.0, '"task_run_results"')
        if "execution_results" in first and ("task_id" in first or "model_name" in first):
            return Match(0.95, '"execution_results" of a task')
        if "run_metadata" in first and "task_file" in first:
            return Match(0.8, '"task_file" and "run_metadata"')
        listed = next((objects(value) for value in first.values() if objects(value)), [])
        return Match(0.9, "tasks by model") if listed and "execution_results" in listed[0] else NO_MATCH

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """One a task and model, and one for each agent that was called as a tool."""
        for element in document.objects():
            found = list(_tasks(element.value, element.place))
            if not found:
                document.leave(element)
            several = len({model for model, _, _ in found}) > 1
            for model, task, place in found:
                model_name = text_of(task.get("model_name")) or model or document.model_of_results
                task_id = identifier_of(task.get("task_id")) or place
                identifier = f"{task_id}@{model_name}" if several else task_id
                yield from _task_trajectories(task, identifier, model_name, place, document)


def _tasks(value: JsonObject, place: str) -> Iterator[tuple[str | None, JsonObject, str]]:
    """(model, task, place) of each task in a file."""
    if "execution_results" in value:
        yield None, value, place
        return
    by_model = as_object(value.get("task_run_results"))
    if by_model is not None:
        place = f"{place}.task_run_results"
    for model, tasks in (value if by_model is None else by_model).items():
        for index, task in enumerate(objects(tasks)):
            if by_model is not None or "execution_results" in task:
                yield model, task, f"{place}.{model}[{index}]"


def _task_trajectories(
    task: JsonObject, identifier: str, model: str, place: str, document: Document
) -> Iterator[Trajectory]:
    results = objects(task.get("execution_results"))
    log, usage = _log_of(results, "round", CallLog(place, identifier)), object_in(task, "token_usage")
    log.model, log.final_reply = model, text_of(first_of(task, "solution", "final_solution"))
    positions = [position for position, _ in log.calls()]
    question = text_of(first_of(task, "task_description", "fuzzy_description", "description"))
    yield log.trajectory(
        document,
        McpBenchReader.name,
        task=Task(question=question, id=identifier_of(task.get("task_id")), labels=labels_of(task)),
        usage=usage_of(usage.get("prompt_tokens"), usage.get("completion_tokens")),
        reported=_reported(task),
    )
    for result, position in zip(results, positions, strict=True):
        if inner := objects(result.get("inner_tool_calls")):
            name = f"{identifier}/{identifier_of(result.get('call_id')) or position}"
            log = _log_of(inner, "sub_round", CallLog(f"{place} {position}", name))
            log.model, log.parent = model, ParentCall(trajectory=identifier, call=position)
            asked = Task(question=text_of(object_in(result, "parameters").get("request")))
            yield log.trajectory(document, McpBenchReader.name, task=asked)


def _log_of(results: list[JsonObject], key: str, log: CallLog) -> CallLog:
    """The results of each round are one step; one without a round is one of its own."""
    start, last, step = earliest(results), None, 0
    log.started_at = iso_time(start)
    for result in results:
        number = first_of(result, key, "round", "round_num")
        step += number is None or number != last
        last = number
        log.add(_call(result, start), step)
    return log


def _call(result: JsonObject, start: float | None) -> Call:
    name, server = text_of(result.get("tool")), text_of(result.get("server"))
    call = written_call(
        name,
        result.get("parameters"),
        id=identifier_of(result.get("call_id")),
        answer=_answer(result),
        started=seconds_after(start, seconds_of(result.get("timestamp"))),
    )
    local = server == _AGENT_SERVER or name in ADK or bool(result.get("inner_tool_calls"))
    if server is None or local or name is None:
        return call.model_copy(update={"local": local})
    return call.model_copy(update={"server": server, "tool": _tool(name, server)})


def _tool(name: str, server: str) -> str:
    """The tool of `SERVER__TOOL` or `SERVER:TOOL`; the server's name is folded there: `hugging_face`."""
    for mark in ("__", ":", "/"):
        before, found, after = name.partition(mark)
        if found and after and _folded(before) == _folded(server):
            return after
    return name


def _folded(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())


def _answer(result: JsonObject) -> Answer | None:
    success = result.get("success")
    failed = None if not isinstance(success, bool) else not success
    given = first_of(result, "response", "result")
    if given is None and failed:
        return error_answer(result.get("error"))
    return answer_of(given, failed)


def _reported(task: JsonObject) -> ReportedResult | None:
    """What the benchmark found. Its file has no one score, but several of its judge and of its rules."""
    evaluation = as_object(task.get("evaluation"))
    status = text_of(task.get("status"))
    if evaluation is None and status is None:
        return None
    details: JsonObject = {"status": status} if status else {}
    for key, value in (evaluation or {}).items():
        if isinstance(value, int | float) and not key.endswith("timestamp"):
            details[key] = value
    return ReportedResult(details=details)
