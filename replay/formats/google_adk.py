"""Sessions of Google's Agent Development Kit: events with google-genai contents.

`{id, app_name, user_id, state, events, last_update_time}`; older files have `context` and `past_events`. The names of
the fields are snake_case, or camelCase where ADK's web server wrote them. Eval sets are read too: the conversations
that an agent is held against, made into the events of sessions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from replay.formats.call_log import CallLog, earliest, iso_time, seconds_after, seconds_of
from replay.formats.document import NO_MATCH, Document, Head, Match
from replay.formats.fields import first_of, identifier_of, object_in, objects, text_of
from replay.formats.record_builders import answer_of, error_answer, written_call
from replay.records import Answer, JsonObject, Trajectory

ADK = frozenset({
    "adk_request_confirmation", "adk_request_credential", "adk_request_input", "exit_loop", "get_user_choice",
    "google_search", "load_artifacts", "load_memory", "set_model_response", "transfer_to_agent",
    "transfer_to_other_agent", "url_context", "vertex_ai_search",
})  # fmt: skip
"""The tools that ADK brings: no MCP server is asked for them."""
_OLD_TURN = frozenset({"query", "expected_tool_use"})
_MARKS = ("app_name", "appName", "user_id", "userId", "past_events", "pastEvents", "last_update_time", "lastUpdateTime")


class GoogleAdkReader:
    """Reads ADK sessions."""

    name = "google-adk"
    title = "Google ADK sessions and eval sets"
    expected_shape = 'a Google ADK session ({"id", "app_name", "events": [{"author", "invocation_id", "content"}]})'

    def sniff(self, head: Head) -> Match:
        """A session has events and the names of app and user; an event has an author and an invocation."""
        first = head.first
        events = objects(first.get("events"))
        if any(mark in first for mark in _MARKS) and isinstance(first.get("events"), list):
            return Match(0.95 if any(map(_is_event, events)) else 0.7, '"events" of an ADK session')
        if is_eval_set(first):
            return Match(0.9, "an eval set of ADK")
        if _is_event(first):
            return Match(0.9, 'events with "author" and "invocation_id"')
        return NO_MATCH

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """One a session; a bare list of events is one session."""
        bare: list[JsonObject] = []
        turns: list[JsonObject] = []
        for element in document.objects():
            record = element.value
            if is_eval_set(record):
                for name, case in sessions_of(record):
                    if name is None:
                        turns += case
                    else:
                        yield _log_of(case, element.place, name).trajectory(document, self.name)
            elif isinstance(record.get("events"), list):
                events = [*objects(first_of(record, "past_events", "pastEvents")), *objects(record["events"])]
                identifier = identifier_of(record.get("id")) or (None if element.place == "$" else element.place)
                yield _log_of(events, element.place, identifier).trajectory(document, self.name)
            elif _is_event(record):
                bare.append(record)
            else:
                document.leave(element)
        for events in filter(None, (turns, bare)):
            yield _log_of(events).trajectory(document, self.name)


def _log_of(events: list[JsonObject], place: str = "$", identifier: str | None = None) -> CallLog:
    log, start = CallLog(place, identifier), earliest(events)
    models = (text_of(first_of(event, "model_version", "modelVersion")) for event in events)
    log.model, log.started_at = next(filter(None, models), None), iso_time(start)
    for number, event in enumerate(events):
        _read(event, number, start, log)
    return log


def _is_event(value: JsonObject) -> bool:
    return "author" in value and ("invocation_id" in value or "invocationId" in value)


def _read(event: JsonObject, number: int, start: float | None, log: CallLog) -> None:
    usage = object_in(first_of(event, "usage_metadata", "usageMetadata"))
    log.count_tokens(
        first_of(usage, "prompt_token_count", "promptTokenCount"),
        first_of(usage, "candidates_token_count", "candidatesTokenCount"),
    )
    parts = objects(object_in(event, "content").get("parts"))
    for part in parts:
        if response := object_in(first_of(part, "function_response", "functionResponse")):
            answer, name = _answer(response.get("response")), text_of(response.get("name"))
            log.answer(identifier_of(response.get("id")), answer, name=name)
    if event.get("partial") is True:  # a piece of a streamed reply, which comes again whole
        return
    text = "\n".join(part["text"] for part in parts if text_of(part.get("text")) and not part.get("thought")) or None
    written = [item for part in parts if (item := object_in(first_of(part, "function_call", "functionCall")))]
    if not written:
        if event.get("author") == "user":
            log.ask(text)
        else:
            log.final_reply = text or log.final_reply
        return
    log.say(text)
    started = seconds_after(start, seconds_of(event.get("timestamp")))
    for item in written:
        call = written_call(item.get("name"), item.get("args"), id=identifier_of(item.get("id")), started=started)
        model = text_of(first_of(event, "model_version", "modelVersion"))
        log.add(call.model_copy(update={"local": call.name in ADK}), number, model=model)


def _answer(response: Any) -> Answer | None:
    """What a tool gave. A null is an answer too; ADK puts what a tool raised under `error`."""
    if isinstance(response, dict) and set(response) == {"error"} and isinstance(response["error"], str):
        return error_answer(response["error"])
    return answer_of("null" if response is None else response)


def is_eval_set(value: JsonObject) -> bool:
    """Whether a record is an eval set, or an entry of one of the older forms: a turn, or a case with turns."""
    cases = objects(first_of(value, "eval_cases", "evalCases"))
    old = _is_old_turn(value) or any(map(_is_old_turn, objects(value.get("data"))))
    return old or any("conversation" in case for case in cases)


def _is_old_turn(value: JsonObject) -> bool:
    return value.keys() >= _OLD_TURN


def sessions_of(value: JsonObject) -> Iterator[tuple[str | None, list[JsonObject]]]:
    """(name, events) of each case."""
    if _is_old_turn(value):
        yield None, list(_old_events([value]))
        return
    turns = objects(value.get("data"))
    if turns:
        yield identifier_of(value.get("name")), list(_old_events(turns))
        return
    for case in objects(first_of(value, "eval_cases", "evalCases")):
        events = [event for turn in objects(case.get("conversation")) for event in _events(turn)]
        yield identifier_of(first_of(case, "eval_id", "evalId")), events


def _events(turn: JsonObject) -> Iterator[JsonObject]:
    """The events of one turn; the tools of `tool_uses` are in order, and nothing says which were asked together."""
    moment = first_of(turn, "creation_timestamp", "creationTimestamp")
    yield {"author": "user", "content": first_of(turn, "user_content", "userContent"), "timestamp": moment}
    between = object_in(first_of(turn, "intermediate_data", "intermediateData"))
    events = objects(first_of(between, "invocation_events", "invocationEvents"))
    yield from events
    if not events:
        for use in objects(first_of(between, "tool_uses", "toolUses")):
            yield _event({"function_call": use})
        for response in objects(first_of(between, "tool_responses", "toolResponses")):
            yield _event({"function_response": response})
    yield {"author": "agent", "content": first_of(turn, "final_response", "finalResponse")}


def _old_events(turns: list[JsonObject]) -> Iterator[JsonObject]:
    for turn in turns:
        yield {"author": "user", "content": {"parts": [{"text": turn.get("query")}]}}
        for use in objects(turn.get("expected_tool_use")):
            yield _event({"function_call": {"name": use.get("tool_name"), "args": use.get("tool_input")}})
        yield _event({"text": turn.get("reference")})


def _event(part: JsonObject) -> JsonObject:
    return {"author": "agent", "content": {"parts": [part]}}
