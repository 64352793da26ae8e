"""Sessions of Google's Agent Development Kit: events with google-genai contents.

`{id, app_name, user_id, state, events, last_update_time}`; older files have `context` and `past_events`. The names of
the fields are snake_case, or camelCase where ADK's web server wrote them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from replay.formats.document import Document, Head
from replay.formats.file_names import FileNames
from replay.formats.google_adk_eval import is_eval_set, sessions_of
from replay.formats.harness_tools import ADK
from replay.formats.loose_json import (
    answer_of,
    error_answer,
    first_of,
    identifier_of,
    iso_time,
    objects,
    seconds_of,
    summed_usage,
    text_of,
    written_call,
)
from replay.formats.reader import NO_MATCH, Match
from replay.formats.record_builders import as_object, number_calls
from replay.records import Answer, Call, JsonObject, Source, Step, Task, Trajectory

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
            sure = any(_is_event(event) for event in events)
            return Match(0.95 if sure else 0.7, '"events" of an ADK session')
        if is_eval_set(first):
            return Match(0.9, "an eval set of ADK")
        if _is_event(first):
            return Match(0.9, 'events with "author" and "invocation_id"')
        return NO_MATCH

    def trajectories(self, document: Document, names: FileNames) -> Iterator[Trajectory]:
        """One a session; a bare list of events is one session."""
        bare: list[JsonObject] = []
        turns: list[JsonObject] = []
        for element in document.records():
            record = element.value
            if is_eval_set(record):
                for name, case in sessions_of(record):
                    if name is None:
                        turns += case["events"]
                    else:
                        yield self._trajectory(case, name, element.place, document, names)
            elif isinstance(record, dict) and isinstance(record.get("events"), list):
                identifier = identifier_of(record.get("id"))
                identifier = identifier or (names.task(document.path) if element.place == "$" else element.place)
                yield self._trajectory(record, identifier, element.place, document, names)
            elif isinstance(record, dict) and _is_event(record):
                bare.append(record)
            else:
                document.leave(element)
        if turns:
            yield self._trajectory({"events": turns}, names.task(document.path), "$", document, names)
        if bare:
            yield self._trajectory({"events": bare}, names.task(document.path), "$", document, names)

    def _trajectory(
        self, record: JsonObject, identifier: str, place: str, document: Document, names: FileNames
    ) -> Trajectory:
        past = objects(first_of(record, "past_events", "pastEvents"))
        events = [*past, *objects(record.get("events"))]
        session = _Session(events)
        return Trajectory(
            id=identifier,
            model=session.model or names.model(document.path),
            task=Task(question="\n\n".join(session.questions) or None),
            source=Source(file=document.path, format=self.name, position=place),
            steps=number_calls(session.steps),
            final_reply=session.reply,
            usage=summed_usage(map(_tokens, events)),
            started_at=iso_time(session.start),
        )


def _is_event(value: JsonObject) -> bool:
    return "author" in value and ("invocation_id" in value or "invocationId" in value)


def _tokens(event: JsonObject) -> tuple[Any, Any]:
    usage = as_object(first_of(event, "usage_metadata", "usageMetadata")) or {}
    return (
        first_of(usage, "prompt_token_count", "promptTokenCount"),
        first_of(usage, "candidates_token_count", "candidatesTokenCount"),
    )


class _Session:
    """The events of a session, put together into steps: the calls of one event are one step."""

    def __init__(self, events: list[JsonObject]) -> None:
        times = [moment for event in events if (moment := seconds_of(event.get("timestamp"))) is not None]
        self.start = min(times, default=None)
        self.model = next((name for event in events if (name := _model_of(event))), None)
        self.steps: list[Step] = []
        self.questions: list[str] = []
        self.reply: str | None = None
        self._responses = _Responses(events)
        for index, event in enumerate(events):
            self._add(event, index)

    def _add(self, event: JsonObject, index: int) -> None:
        if event.get("partial") is True:  # a piece of a streamed reply, which comes again whole
            return
        parts = _parts(event)
        text = (
            "\n".join(part["text"] for part in parts if text_of(part.get("text")) and not part.get("thought")) or None
        )
        written = [call for part in parts if (call := as_object(first_of(part, "function_call", "functionCall")))]
        if written:
            moment = seconds_of(event.get("timestamp"))
            started = None if moment is None or self.start is None else max(0.0, moment - self.start)
            calls = tuple(_call(call, self._responses.take(call, index), started) for call in written)
            self.steps.append(Step(calls=calls, text=text, model=_other(_model_of(event), self.model)))
            self.reply = None
        elif event.get("author") == "user" and text:
            self.questions.append(text)
        elif text:
            self.reply = text


def _other(model: str | None, usual: str | None) -> str | None:
    return model if model != usual else None


def _parts(event: JsonObject) -> list[JsonObject]:
    return objects((as_object(event.get("content")) or {}).get("parts"))


def _model_of(event: JsonObject) -> str | None:
    return text_of(first_of(event, "model_version", "modelVersion"))


def _call(written: JsonObject, answer: Answer | None, started: float | None) -> Call:
    call = written_call(
        written.get("name"), written.get("args"), id=identifier_of(written.get("id")), answer=answer, started=started
    )
    return call.model_copy(update={"local": call.name in ADK})


class _Responses:
    """The function responses of a session, given out to the calls: by id, and by name and order where there is none."""

    def __init__(self, events: list[JsonObject]) -> None:
        self._waiting = [
            (index, response)
            for index, event in enumerate(events)
            for part in _parts(event)
            if (response := as_object(first_of(part, "function_response", "functionResponse")))
        ]

    def take(self, call: JsonObject, index: int) -> Answer | None:
        """The answer of a call made in the event at `index`."""
        identifier = identifier_of(call.get("id"))
        for place, (at, response) in enumerate(self._waiting):
            answered = identifier_of(response.get("id"))
            same = answered == identifier if identifier and answered else response.get("name") == call.get("name")
            if at > index and same:
                del self._waiting[place]
                return _answer(response.get("response"))
        return None


def _answer(response: Any) -> Answer | None:
    """What a tool gave. A null is an answer too; ADK puts what a tool raised under `error`."""
    if isinstance(response, dict) and set(response) == {"error"} and isinstance(response["error"], str):
        return error_answer(response["error"])
    return answer_of("null" if response is None else response)
