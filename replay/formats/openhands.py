"""OpenHands: a trajectory's events as a list, a line each or a file each, and the `output.jsonl` of its benchmarks.

An event of before 1.0 is `{id, source, action | observation, args, cause, tool_call_metadata}`, one of 1.0 is
`{kind: ActionEvent | ObservationEvent, tool_name, tool_call_id, tool_call}`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from replay.formats.call_log import CallLog, seconds_between
from replay.formats.document import NO_MATCH, Document, Element, Head, Match
from replay.formats.fields import first_of, identifier_of, joined_text, object_in, objects, text_of
from replay.formats.record_builders import answer_of, error_answer, function_call, json_text_call, result_with_flag
from replay.formats.task_facts import tool_definitions, total_usage, usage_in
from replay.records import Answer, Call, JsonObject, ReportedResult, Tool, Trajectory, Usage

_NO_CALLS = frozenset(
    {"message", "system", "recall", "change_agent_state", "condensation", "condensation_request", "null"}
)
_MCP_ACTION = "call_tool_mcp"
_KINDS = frozenset({"ActionEvent", "ObservationEvent", "AgentErrorEvent", "UserRejectObservation"})
_ABOUT_THE_CALL = frozenset({"thought", "hidden", "confirmation_state", "security_risk", "blocking", "kind"})
"""What stands among an action's arguments and is none."""


class OpenHandsReader:
    """Reads OpenHands trajectories."""

    name = "openhands"
    title = "OpenHands trajectories"
    expected_shape = 'OpenHands ([{"id", "source", "action" or "observation"}], {"kind": "ActionEvent"}, or "history")'

    def sniff(self, head: Head) -> Match:
        """Events of either version, at the top or in a history."""
        events = [event for record in head.objects for event in (_history(record) or [record]) if _is_event(event)]
        if any(text_of(event.get("kind")) in _KINDS for event in events):
            return Match(0.96, 'events of the "kind" ActionEvent or ObservationEvent')
        return Match(0.94, 'events with "source" and "action" or "observation"') if events else NO_MATCH

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """One an instance of a benchmark; bare events are one."""
        bare: _Events | None = None
        for element in document.objects():
            if history := _history(element.value):
                yield _of_instance(element, history, document)
            elif bare is not None or _is_event(element.value):
                bare = bare or _Events(element.place)
                bare.read(element.value)
            else:
                document.leave(element)
        if bare is not None:
            folder = Path(document.path)
            if folder.name == "events":  # in files of their own, beside the state of the conversation
                state, bare.identifier = document.beside("base_state.json"), folder.parent.name
                bare.model = bare.model or text_of(object_in(state, "agent", "llm").get("model"))
                counts = object_in(state, "stats", "usage_to_metrics").values()
                told = (usage_in(object_in(each, "accumulated_token_usage")) for each in counts)
                bare.usage = bare.usage or total_usage(told)
            yield bare.trajectory(document, self.name, usage=bare.usage, tools=bare.tools)


def _history(record: JsonObject) -> list[JsonObject]:
    """The events of an instance; early versions kept pairs of an action and its observation."""
    history = record.get("history", record.get("trajectory"))
    items = history if isinstance(history, list) else []
    flat = objects([event for item in items for event in (item if isinstance(item, list) else [item])])
    return flat if any(map(_is_event, flat)) else []


def _is_event(value: JsonObject) -> bool:
    if text_of(value.get("kind")) in _KINDS:
        return bool({"tool_name", "tool_call_id"} & value.keys())
    if str(value.get("kind")).endswith("Event"):
        return {"id", "timestamp", "source"} <= value.keys() or isinstance(value.get("llm_message"), dict)
    told = isinstance(value.get("action"), str) or isinstance(value.get("observation"), str)
    return told and "source" in value and ("args" in value or "content" in value)


def _of_instance(element: Element, history: list[JsonObject], document: Document) -> Trajectory:
    record = element.value
    events = _Events(element.place, identifier_of(record.get("instance_id")))
    for event in history:
        events.read(event)
    events.model = events.model or text_of(object_in(record, "metadata", "llm_config").get("model"))
    passed = object_in(record, "report").get("resolved")
    reported = ReportedResult(passed=passed) if isinstance(passed, bool) else None
    return events.trajectory(document, OpenHandsReader.name, usage=events.usage, reported=reported)


class _Events(CallLog):
    def __init__(self, place: str, identifier: str | None = None) -> None:
        super().__init__(place, identifier)
        self.usage: Usage | None = None
        self.tools: tuple[Tool, ...] = ()
        self._calls: dict[str | None, str] = {}
        """By the id of the event that made it: the id of the call."""
        self._last: str | None = None

    def read(self, event: JsonObject) -> None:
        self.started_at = self.started_at or text_of(event.get("timestamp"))
        metrics = object_in(event, "llm_metrics")
        self.usage = usage_in(metrics.get("accumulated_token_usage")) or self.usage
        if event.get("kind") == "SystemPromptEvent":
            self.tools = tool_definitions(event.get("tools"))
        elif event.get("kind") == "ActionEvent":
            self._add(event, event.get("tool_call_id"), event.get("llm_response_id"), _written_call(event))
        elif text_of(event.get("kind")) in _KINDS:
            self._answer(event, event.get("tool_call_id"), event.get("action_id"), _answer_of_kind(event))
        elif (
            isinstance(event.get("action"), str) and event.get("source") == "agent" and event["action"] not in _NO_CALLS
        ):
            about = object_in(event, "tool_call_metadata")
            response = object_in(about, "model_response")
            self.model = self.model or text_of(response.get("model"))
            self._add(event, about.get("tool_call_id"), response.get("id"), _call_of_action(event, about, response))
        elif isinstance(event.get("observation"), str):
            about = object_in(event, "tool_call_metadata")
            self._answer(event, about.get("tool_call_id"), event.get("cause"), _answer_of_observation(event))
        else:
            self._read_message(event)

    def _add(self, event: JsonObject, given: Any, reply: Any, call: Call) -> None:
        thought = first_of(event, "thought") or object_in(event, "args").get("thought")
        self.say(joined_text(thought))
        identifier = text_of(given) or f"event {event.get('id', len(self._calls))}"
        self._calls[identifier_of(event.get("id"))] = self._last = identifier
        started = seconds_between(self.started_at, event.get("timestamp"))
        self.add(call.model_copy(update={"id": identifier, "started": started}), text_of(reply), model=self.model)

    def _answer(self, event: JsonObject, given: Any, cause: Any, answer: Answer | None) -> None:
        identifier = text_of(given) or (self._last if cause is None else self._calls.get(identifier_of(cause)))
        if identifier is not None:
            self.answer(identifier, answer, interrupted=event.get("kind") == "UserRejectObservation")

    def _read_message(self, event: JsonObject) -> None:
        message = object_in(event, "llm_message") or object_in(event, "args")
        text = joined_text(message.get("content"))
        if event.get("source") == "user":
            self.ask(text)
        elif event.get("source") == "agent" and event.get("action") in (None, "message"):
            self.say(text)


def _written_call(event: JsonObject) -> Call:
    """The call of an action of 1.0, as the model wrote it; where that was not kept, as it was understood."""
    written = object_in(event, "tool_call")
    function = object_in(written, "function") or written
    action = object_in(event, "action")
    arguments = first_of(function, "arguments")
    if arguments is None:
        arguments = {key: value for key, value in action.items() if key not in _ABOUT_THE_CALL}
    return json_text_call(event.get("tool_name"), arguments, local="MCP" not in str(action.get("kind")))


def _call_of_action(event: JsonObject, about: JsonObject, response: JsonObject) -> Call:
    """The call of an action of before 1.0: out of the model's reply, of an MCP action, or of the action's arguments."""
    args, local = object_in(event, "args"), event["action"] != _MCP_ACTION
    choices = objects(response.get("choices"))
    for written in objects(object_in(choices[0], "message").get("tool_calls")) if choices else []:
        if written.get("id") == about.get("tool_call_id"):
            return function_call(written, local=local)
    if not local:
        return json_text_call(args.get("name"), args.get("arguments") or {})
    kept = {key: value for key, value in args.items() if key not in _ABOUT_THE_CALL}
    return json_text_call(text_of(about.get("function_name")) or event["action"], kept, local=True)


def _answer_of_observation(event: JsonObject) -> Answer | None:
    content = event.get("content")
    if event["observation"] == "error":
        return error_answer(content)
    text = (
        content.removeprefix("MCP result:") if isinstance(content, str) and event["observation"] == "mcp" else content
    )
    return answer_of(text) if event["observation"] == "mcp" else result_with_flag(content, None)


def _answer_of_kind(event: JsonObject) -> Answer | None:
    reason = first_of(event, "error", "rejection_reason")
    if reason is not None:
        return error_answer(reason)
    observation = object_in(event, "observation")
    return result_with_flag(first_of(observation, "content", "output"), observation.get("is_error"))
