"""Google ADK's eval sets: the conversations that an agent is held against, made into the events of sessions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from replay.formats.loose_json import first_of, identifier_of, objects
from replay.formats.record_builders import as_object
from replay.records import JsonObject

_OLD_TURN = frozenset({"query", "expected_tool_use"})


def is_eval_set(value: Any) -> bool:
    """Whether a record is an eval set, or an entry of one of the older forms: a turn, or a case with turns."""
    if not isinstance(value, dict):
        return False
    cases = objects(first_of(value, "eval_cases", "evalCases"))
    if any("conversation" in case for case in cases):
        return True
    return _is_old_turn(value) or any(map(_is_old_turn, objects(value.get("data"))))


def _is_old_turn(value: JsonObject) -> bool:
    return value.keys() >= _OLD_TURN


def sessions_of(value: JsonObject) -> Iterator[tuple[str | None, JsonObject]]:
    """(name, session) of each case."""
    if _is_old_turn(value):
        yield None, {"events": list(_old_events([value]))}
        return
    turns = objects(value.get("data"))
    if turns:
        yield identifier_of(value.get("name")), {"events": list(_old_events(turns))}
        return
    for case in objects(first_of(value, "eval_cases", "evalCases")):
        events = [event for turn in objects(case.get("conversation")) for event in _events(turn)]
        yield identifier_of(first_of(case, "eval_id", "evalId")), {"events": events}


def _events(turn: JsonObject) -> Iterator[JsonObject]:
    """The events of one turn; the tools of `tool_uses` are in order, and nothing says which were asked together."""
    moment = first_of(turn, "creation_timestamp", "creationTimestamp")
    yield {"author": "user", "content": first_of(turn, "user_content", "userContent"), "timestamp": moment}
    between = as_object(first_of(turn, "intermediate_data", "intermediateData")) or {}
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
