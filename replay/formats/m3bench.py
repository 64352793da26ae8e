"""M3-Bench results and references.

A list, or an object by id or under data / items / results / predictions, of
`{id, type, question, image, steps: [{step, calls: [{name, arguments, result}]}], dialogue, final_reply}`;
names are `server/tool`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from replay.errors import FormatError
from replay.formats.document import NO_MATCH, Document, Element, Head, Match
from replay.formats.fields import MISSING, objects, to_json
from replay.formats.openai_chat import is_unparsed_call
from replay.formats.record_builders import build_call, number_calls, recorded_answer
from replay.formats.task_facts import labels_of, reported_of, usage_in
from replay.records import Call, JsonObject, Source, Step, Task, Trajectory

_RAN = frozenset({"steps", "dialogue", "final_reply"})
"""What tells a task that ran from one of a data set."""


class M3BenchReader:
    """Reads M3-Bench results files and references."""

    name = "m3bench"
    title = "M3-Bench results and references"
    expected_shape = 'M3-Bench records ({"id", "question", "steps": [{"calls": [...]}]})'

    def sniff(self, head: Head) -> Match:
        """A record has steps, or (a broken one) at least an id and a question."""
        records = [record for record in head.elements if isinstance(record, dict)]
        steps = [record["steps"] for record in records if isinstance(record.get("steps"), list)]
        if any("calls" in step for inner in steps for step in objects(inner)):
            return Match(0.9, 'records with "steps" of "calls"')
        if [] in steps and any({"id", "question"} & record.keys() for record in records):
            return Match(0.7, 'records with "steps"')
        asked = [record for record in records if "id" in record and isinstance(record.get("question"), str)]
        ran = any(_RAN & record.keys() for record in asked)
        return Match(0.4, 'records with "id", "question" and a reply') if ran else NO_MATCH

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """One a record."""
        for element in document.elements():
            foreign = isinstance(element.value, dict) and not {"steps", "question"} & element.value.keys()
            if foreign and document.shape == "lines":
                document.leave(element)
            else:
                yield self._trajectory(element, document)

    def _trajectory(self, element: Element, document: Document) -> Trajectory:
        record = self._record(document, element.value, element.place)
        model = record.get("model")
        return Trajectory(
            id=_id(record, element, document),
            model=model if isinstance(model, str) and model else document.model_beside(element.place),
            task=_task(record),
            source=Source(file=document.path, format=self.name, position=element.place),
            steps=number_calls(_steps(record, document.path, element.place)),
            final_reply=_text(record.get("final_reply")),
            usage=usage_in(record.get("usage")),
            reported=reported_of(record),
        )

    def _record(self, document: Document, record: Any, place: str) -> JsonObject:
        if not isinstance(record, dict):
            raise FormatError(document.path, f"expected a record (an object), found {to_json(record)[:40]}", place)
        if not isinstance(record.get("steps"), list):
            raise FormatError(document.path, 'expected a record with a list "steps"', place)
        return record


def _id(record: JsonObject, element: Element, document: Document) -> str:
    for value in (record.get("id"), element.key):
        if isinstance(value, str | int) and not isinstance(value, bool):
            return str(value)
    return document.task_name if element.place == "$" else element.place


def _task(record: JsonObject) -> Task:
    image = record.get("image")
    images = image if isinstance(image, list) else [image]
    return Task(
        question=_text(record.get("question")),
        type=_text(record.get("type")),
        images=tuple(item for item in images if isinstance(item, str)),
        labels=labels_of(record),
    )


def _steps(record: JsonObject, path: str, place: str) -> list[Step]:
    """The steps, with the rounds whose reply could not be parsed put where they happened.

    The benchmark's runner appends to `dialogue` one entry a round, and to `steps` one a round whose calls it could
    parse; an entry with no calls is a round that has no step.
    """
    steps = [_step(step, path, f"{place}.steps[{index}]") for index, step in enumerate(record["steps"])]
    rounds = record.get("dialogue")
    if not isinstance(rounds, list):
        reply = record.get("final_reply")  # it may be a call that the runner did not take for one
        if isinstance(reply, str) and is_unparsed_call(reply):
            steps.append(_unreadable(reply))
        return steps
    waiting = iter(steps)
    merged = [_illegal_round(entry) or next(waiting, None) for entry in rounds]
    return [*filter(None, merged), *waiting]


def _step(value: Any, path: str, place: str) -> Step:
    calls = value.get("calls") if isinstance(value, dict) else None
    if not isinstance(calls, list):
        raise FormatError(path, 'expected a step with a list "calls"', place)
    return Step(calls=tuple(_call(call) for call in calls))


def _call(value: Any) -> Call:
    if not isinstance(value, dict):
        return Call(position="", unreadable="call", raw=value if isinstance(value, str) else to_json(value))
    answer = recorded_answer(value.get("result"))
    return build_call(value.get("name", MISSING), value.get("arguments", MISSING), answer=answer)


def _illegal_round(entry: Any) -> Step | None:
    work = entry.get("work") if isinstance(entry, dict) else None
    if isinstance(work, str):
        return _unreadable(work)
    if not isinstance(work, dict) or work.get("tool_calls") != []:
        return None
    raw = next((work[key] for key in ("raw", "text", "reply") if isinstance(work.get(key), str)), None)
    return _unreadable(raw, _text(entry.get("prepare")))


def _unreadable(raw: str | None, text: str | None = None) -> Step:
    return Step(calls=(Call(position="", unreadable="call", raw=raw),), text=text)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) or value is None else to_json(value)
