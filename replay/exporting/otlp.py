"""OTLP JSON with the GenAI conventions: a trace a trajectory, a span a call.

Verdicts are attributes `replay.*` of a call's span, and an event `replay.verdict` with the sentence. Recordings that
kept no times get a span a millisecond, in order; what reads an export of ours goes by `replay.seconds` alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from replay import __version__
from replay.exporting.judged_call import JudgedCall, judged_steps
from replay.formats.fields import to_json
from replay.formats.task_facts import TASK_ATTRIBUTE as TASK
from replay.formats.task_facts import task_details
from replay.records import JsonObject
from replay.runfile.trajectory_queries import StoredTrajectory

_MILLISECOND = 1_000_000
_SPAN_KIND_INTERNAL, _SPAN_KIND_CLIENT = 1, 3
_STATUS_ERROR = 2


def documents(trajectories: Iterable[StoredTrajectory]) -> Iterator[tuple[str, JsonObject]]:
    """One a trajectory."""
    for stored in trajectories:
        spans = _Spans(stored).all()
        scope = {"scope": {"name": "mcp-replay", "version": __version__}, "spans": spans}
        resource = {"attributes": attribute_list({"service.name": stored.record.source.format})}
        yield stored.record.id, {"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}


class _Spans:
    """The spans of one trajectory."""

    def __init__(self, stored: StoredTrajectory) -> None:
        self._stored = stored
        self._trace = _hexadecimal(32, stored.path, stored.record.id)
        self._clock = _nanoseconds(stored.record.started_at)
        self._origin = self._clock

    def all(self) -> list[JsonObject]:
        """The agent's span, and under it the replies and the calls."""
        record = self._stored.record
        root = self._id("agent")
        start = self._clock
        spans: list[JsonObject] = []
        for number, (text, calls) in enumerate(judged_steps(self._stored), 1):
            spans.append(self._reply(f"reply {number}", text, calls, root, first=number == 1))
            spans += [self._call(item, root) for item in calls]
        if record.final_reply:
            spans.append(self._reply("final", record.final_reply, [], root, first=not spans))
        agent = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.request.model": record.model,
            "gen_ai.conversation.id": record.id,
            "gen_ai.usage.input_tokens": record.usage.input_tokens if record.usage else None,
            "gen_ai.usage.output_tokens": record.usage.output_tokens if record.usage else None,
            TASK: {"id": record.id, **task_details(record)},
            "replay.parent.trajectory": record.parent.trajectory if record.parent else None,
            "replay.parent.call": record.parent.call if record.parent else None,
        }
        name = f"invoke_agent {record.source.format}"
        return [
            self._span(root, None, name, start, self._clock + _MILLISECOND, agent, kind=_SPAN_KIND_INTERNAL),
            *spans,
        ]

    def _reply(self, key: str, text: str | None, calls: list[JudgedCall], root: str, *, first: bool) -> JsonObject:
        record = self._stored.record
        start = self._next()
        parts: list[JsonObject] = [{"type": "text", "content": text}] if text else []
        parts += [
            {"type": "tool_call", "id": item.id, "name": item.call.name or "", "arguments": item.arguments}
            for item in calls
        ]
        asked = [{"role": "user", "parts": [{"type": "text", "content": record.task.question}]}]
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": record.model,
            "gen_ai.input.messages": to_json(asked) if first and record.task.question else None,
            "gen_ai.output.messages": to_json([{"role": "assistant", "parts": parts}]),
            "gen_ai.tool.definitions": _definitions(self._stored) if first else None,
        }
        return self._span(self._id(key), root, f"chat {record.model}", start, start, attributes)

    def _call(self, item: JudgedCall, root: str) -> JsonObject:
        call = item.call
        start = self._next() if call.started is None else self._at(call.started)
        end = start + int((call.seconds or 0.0) * 1e9)
        details = item.details()
        verdict = details.pop("verdict", {})
        unread = call.arguments is None and call.raw is not None
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name or "",
            "gen_ai.tool.call.id": item.id,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.arguments": call.raw if unread else to_json(item.arguments),
            "gen_ai.tool.call.result": item.answer_text,
            "error.type": "tool_error" if item.is_error else None,
            **{f"replay.{key}": value for key, value in {**details, **verdict}.items()},
        }
        span = self._span(self._id(call.position), root, f"execute_tool {call.name or ''}", start, end, attributes)
        if item.is_error:
            span["status"] = {"code": _STATUS_ERROR, "message": "the tool answered with an error"}
        if verdict:
            said = {"replay.outcome": verdict.get("outcome"), "replay.message": verdict.get("message")}
            span["events"] = [{"timeUnixNano": str(end), "name": "replay.verdict", "attributes": attribute_list(said)}]
        return span

    def _span(
        self,
        identifier: str,
        parent: str | None,
        name: str,
        start: int,
        end: int,
        attributes: JsonObject,
        *,
        kind: int = _SPAN_KIND_CLIENT,
    ) -> JsonObject:
        return {
            "traceId": self._trace,
            "spanId": identifier,
            **({"parentSpanId": parent} if parent else {}),
            "name": name.strip(),
            "kind": kind,
            "startTimeUnixNano": str(start),
            "endTimeUnixNano": str(end),
            "attributes": attribute_list(attributes),
            "status": {},
        }

    def _id(self, key: str) -> str:
        return _hexadecimal(16, self._trace, key)

    def _next(self) -> int:
        self._clock += _MILLISECOND
        return self._clock

    def _at(self, seconds: float) -> int:
        """The time of a call that kept it; never before the reply that issued it."""
        self._clock = max(self._clock + 1, self._origin + int(seconds * 1e9))
        return self._clock


def attribute_list(attributes: JsonObject) -> list[JsonObject]:
    """Attributes as OTLP writes them; those without a value are left out."""
    return [{"key": key, "value": _value(value)} for key, value in attributes.items() if value is not None]


def _value(value: Any) -> JsonObject:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case str():
            return {"stringValue": value}
    return {"stringValue": to_json(value)}


def _definitions(stored: StoredTrajectory) -> str | None:
    tools = [
        {"type": "function", "name": tool.name, "description": tool.description, "parameters": tool.input_schema}
        for tool in stored.record.tools
    ]
    return to_json(tools) if tools else None


def _nanoseconds(moment: str | None) -> int:
    try:
        return int(datetime.fromisoformat(moment or "").timestamp() * 1e6) * 1000
    except ValueError:
        return 1_000_000_000_000_000_000


def _hexadecimal(digits: int, *parts: str) -> str:
    text = "\x00".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()[:digits]
