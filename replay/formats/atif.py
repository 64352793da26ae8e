"""ATIF, the Agent Trajectory Interchange Format of Harbor, versions 1.x.

One object: `{schema_version: "ATIF-v1.N", session_id, agent, steps}`. Sub-agents are embedded
(`subagent_trajectories`, since 1.7) or files of their own, which are read as what they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from replay.formats.call_log import earliest, iso_time, seconds_after, seconds_of
from replay.formats.document import NO_MATCH, Document, Head, Match
from replay.formats.fields import as_number, first_of, identifier_of, object_in, objects, paragraphs, text_of, to_json
from replay.formats.record_builders import answer_of, number_calls, written_call
from replay.formats.task_facts import details_in, reported_in, tool_definitions, usage_of, with_details
from replay.records import Answer, Call, JsonObject, ParentCall, ReportedResult, Source, Step, Task, Trajectory

_VERSION = re.compile(r"ATIF-v(\d+)\.(\d+)")
_NEWEST = (1, 7)
_OWN_TOOLS: dict[str, frozenset[str] | None] = {
    "terminus": None,
    "claude-code": None,
    "openhands": frozenset({
        "browser", "execute_bash", "execute_ipython_cell", "file_editor", "finish", "str_replace_editor",
        "task_tracker", "terminal", "think",
    }),
    "codex": frozenset({
        "apply_patch", "exec_command", "shell", "update_plan", "view_image", "web_search", "write_stdin",
    }),
    "gemini-cli": frozenset({
        "glob", "google_web_search", "list_directory", "read_file", "read_many_files", "replace", "run_shell_command",
        "save_memory", "search_file_content", "web_fetch", "write_file", "write_todos",
    }),
}  # fmt: skip
"""By the beginning of an agent's name; None: all its tools that name no MCP server are its own."""


class AtifReader:
    """Reads ATIF trajectories."""

    name = "atif"
    title = "ATIF trajectories (Harbor)"
    expected_shape = 'an ATIF trajectory ({"schema_version": "ATIF-v1.N", "agent", "steps"})'

    def sniff(self, head: Head) -> Match:
        """The version stamp says it."""
        version = head.first.get("schema_version")
        if isinstance(version, str) and _VERSION.match(version):
            return Match(1.0, f'"schema_version": "{version}"')
        return NO_MATCH

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """One an object, and behind it its embedded sub-agents."""
        for element in document.objects(lambda record: isinstance(record.get("steps"), list)):
            _note_version(document, element.value, element.place)
            yield from _with_subagents(element.value, document, element.place, None)


def _note_version(document: Document, record: JsonObject, place: str) -> None:
    match = _VERSION.match(str(record.get("schema_version")))
    if match and (int(match[1]), int(match[2])) > _NEWEST:
        document.note(f"{match[0]} is newer than what is known (1.7); read as far as it is understood", place)


def _with_subagents(
    record: JsonObject, document: Document, place: str, parent: ParentCall | None
) -> Iterator[Trajectory]:
    trajectory = _trajectory(record, document, place, parent)
    yield trajectory
    starters = _starters(record, trajectory)
    for index, inner in enumerate(objects(record.get("subagent_trajectories"))):
        if isinstance(inner.get("steps"), list):
            started_by = starters.get(identifier_of(inner.get("trajectory_id")) or "")
            link = ParentCall(trajectory=trajectory.id, call=started_by)
            yield from _with_subagents(inner, document, f"{place}.subagent_trajectories[{index}]", link)


def _starters(record: JsonObject, trajectory: Trajectory) -> dict[str, str]:
    """Position of the call that started each embedded sub-agent, by the sub-agent's `trajectory_id`."""
    positions = {call.id: call.position for call in trajectory.calls() if call.id}
    return {
        identifier: position
        for step in objects(record.get("steps"))
        for result in _results(step)
        if (position := positions.get(identifier_of(result.get("source_call_id")) or ""))
        for reference in objects(result.get("subagent_trajectory_ref"))
        if (identifier := identifier_of(reference.get("trajectory_id")))
    }


def _trajectory(record: JsonObject, document: Document, place: str, parent: ParentCall | None) -> Trajectory:
    agent = object_in(record, "agent")
    written = objects(record.get("steps"))
    own = [step for step in written if step.get("source") == "agent"]
    models = [name for step in own if (name := text_of(step.get("model_name")))]
    model = text_of(agent.get("model_name")) or (models[0] if models else None)
    start = earliest(written)
    name = text_of(agent.get("name")) or ""
    steps = [step for item in own if (step := _step(item, model, start, name)).calls]
    metrics = object_in(record, "final_metrics")
    extra = object_in(record, "extra")
    reward, details = as_number(extra.get("reward")), details_in(extra) or {}
    asked = (_message(step.get("message")) for step in written if step.get("source") == "user")
    last = own[-1] if own else {}
    return Trajectory(
        id=_identifier(record, parent, document, place),
        model=model or document.model_name,
        task=Task(question=paragraphs(asked)),
        source=Source(file=document.path, format=AtifReader.name, position=place),
        steps=number_calls(steps),
        final_reply=None if objects(last.get("tool_calls")) else text_of(_message(last.get("message"))),
        usage=usage_of(metrics.get("total_prompt_tokens"), metrics.get("total_completion_tokens")),
        parent=parent,
        tools=tool_definitions(agent.get("tool_definitions")),
        reported=reported_in(details) if reward is None else ReportedResult(score=reward),
        started_at=iso_time(start) or text_of(details.get("started_at")),
    )


def _identifier(record: JsonObject, parent: ParentCall | None, document: Document, place: str) -> str:
    """The session; of an embedded sub-agent its own id, since it may share the session of its parent."""
    keys = ("trajectory_id", "session_id") if parent else ("session_id", "trajectory_id")
    found = identifier_of(first_of(record, *keys))
    if parent and found in {None, parent.trajectory}:
        return f"{parent.trajectory}/{found or place}"
    return found or (document.task_name if place == "$" else place)


def _step(step: JsonObject, model: str | None, start: float | None, agent: str) -> Step:
    own_model = text_of(step.get("model_name"))
    metrics = object_in(step, "metrics")
    calls = objects(step.get("tool_calls"))
    answers = _answers(calls, _results(step))
    started = seconds_after(start, seconds_of(step.get("timestamp")))
    return Step(
        calls=tuple(_call(call, answer, started, agent) for call, answer in zip(calls, answers, strict=True)),
        text=text_of(_message(step.get("message"))),
        model=own_model if own_model != model else None,
        usage=usage_of(metrics.get("prompt_tokens"), metrics.get("completion_tokens")),
    )


def _call(written: JsonObject, answer: Answer | None, started: float | None, agent: str) -> Call:
    call = written_call(
        written.get("function_name"),
        written.get("arguments"),
        id=identifier_of(written.get("tool_call_id")),
        answer=answer,
        started=started,
    )
    own = details_in(written.get("extra"))
    if own is not None:
        return with_details(call, own)
    redacted = call.unreadable == "arguments"  # the specification wants an object: what is not one, a tool put there
    local = redacted or (call.server is None and _is_own_tool(agent, call.name or ""))
    return call.model_copy(update={"local": local, "unreadable": None if redacted else call.unreadable})


def _is_own_tool(agent: str, tool: str) -> bool:
    """Whether a tool without a server is built into one of the coding agents whose trajectories Harbor writes."""
    name = agent.casefold().replace("_", "-").replace(" ", "-")
    tools = next((tools for prefix, tools in _OWN_TOOLS.items() if name.startswith(prefix)), frozenset())
    return tools is None or tool in tools


def _results(step: JsonObject) -> list[JsonObject]:
    return objects(object_in(step, "observation").get("results"))


def _answers(calls: list[JsonObject], results: list[JsonObject]) -> list[Answer | None]:
    """The answer of each call: by its id, and by order among calls that share one, or where no result has any."""
    if len(results) == len(calls) and all(result.get("source_call_id") is None for result in results):
        return [_answer(result) for result in results]
    waiting = [result for result in results if result.get("source_call_id") is not None]
    answers: list[Answer | None] = []
    for call in calls:
        result = next((item for item in waiting if item["source_call_id"] == call.get("tool_call_id")), None)
        if result is not None:
            waiting.remove(result)
        answers.append(None if result is None else _answer(result))
    return answers


def _answer(result: JsonObject) -> Answer | None:
    content = result.get("content")
    flag = first_of(object_in(result, "extra"), "is_error", "isError", "tool_result_is_error")
    is_error = flag if isinstance(flag, bool) else None
    return answer_of(_message(content) if isinstance(content, list) else content, is_error)


def _message(content: Any) -> str | None:
    """A message: text, or since 1.6 a list of parts."""
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [object_in(part).get("text", part) for part in content]
        return "\n".join(part for part in parts if isinstance(part, str))
    return to_json(content)
