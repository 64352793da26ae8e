"""From the spans of one trace to steps of calls; what span exports and Langfuse have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from replay.formats.fields import identifier_of, opened, to_json
from replay.formats.record_builders import answer_of, error_answer, written_call
from replay.formats.times import seconds_after
from replay.records import Answer, Call, JsonObject, Step, Usage, texts_of


@dataclass(frozen=True)
class Timed:
    """A call and when it ran, or (without a call) the moment at which a model began to reply, and its tokens."""

    start: float | None
    end: float | None
    call: Call | None
    usage: Usage | None = None
    own_times: bool = False
    """The call has its times, or none were kept: those of the span only give the order."""


def in_order(events: Iterable[Timed]) -> list[Timed]:
    """By their start; what has none stays where it is in the file, at the end."""
    return sorted(events, key=lambda event: float("inf") if event.start is None else event.start)


def steps_of(events: Sequence[Timed]) -> list[Step]:
    """Calls with no reply of a model between them were issued together.

    Where the trace has no replies at all, those that ran at the same time.
    """
    ordered = in_order(events)
    replies = any(event.call is None for event in ordered)
    origin = next((event.start for event in ordered if event.start is not None), None)
    steps: list[tuple[list[Call], Usage | None]] = []
    usage: Usage | None = None
    opens_step, busy_until = True, float("-inf")
    for event in ordered:
        if event.call is None:
            opens_step, usage = True, event.usage
            continue
        if not replies:
            opens_step = event.start is None or event.start >= busy_until
        if opens_step or not steps:
            steps.append(([], usage))
            opens_step = False
        busy_until = max(busy_until, event.end if event.end is not None else float("-inf"))
        times = {"started": seconds_after(origin, event.start), "seconds": seconds_after(event.start, event.end)}
        steps[-1][0].append(event.call if event.own_times else event.call.model_copy(update=times))
    return [Step(calls=tuple(calls), usage=of_reply) for calls, of_reply in steps]


def is_final_answer(call: Call, reply: Any) -> bool:
    """Whether a call is an agent's structured reply: nothing came back, and its arguments are what the agent said."""
    said = [reply, *reply.values()] if isinstance(reply, dict) else [reply]
    nothing = call.answer is None or set(texts_of(call.answer)) <= {"", "null", "None"}
    return nothing and bool(call.arguments) and call.arguments in said


def recorded(result: object, failure: str | None) -> Answer | None:
    """The answer of a tool's span, with the error that its status tells."""
    if failure is None:
        return answer_of(result)
    return error_answer(failure) if result is None or result == "" else answer_of(result, is_error=True)


@dataclass(frozen=True)
class Written:
    """A call as a model wrote it."""

    moment: float | None
    """When the reply began."""
    id: str | None
    name: Any
    arguments: Any

    @property
    def key(self) -> str:
        """Its id; where there is none, what was called."""
        return self.id or to_json([self.name, self.arguments])


def pair_with_spans(
    tools: Sequence[tuple[str | None, str | None, Any]], written: Iterable[Written]
) -> tuple[list[Written | None], list[Written]]:
    """Which written call each span of a tool ran: by id, else by name and arguments, else by name, in order.

    Args:
        tools: (call id, name, arguments) of each span, in the order of their start.
        written: what the models wrote, in order.

    Returns:
        For each span its written call, and the calls that no span ran.
    """
    left = list({item.key: item for item in reversed(list(written))}.values())[::-1]
    pairs: list[Written | None] = [None] * len(tools)

    def same_id(tool: tuple[str | None, str | None, Any], item: Written) -> bool:
        return item.id is not None and tool[0] == item.id

    def same_name(tool: tuple[str | None, str | None, Any], item: Written) -> bool:
        return isinstance(item.name, str) and tool[1] == item.name

    def same_arguments(tool: tuple[str | None, str | None, Any], item: Written) -> bool:
        return same_name(tool, item) and bool(opened(tool[2]) == opened(item.arguments))

    for same in (same_id, same_arguments, same_name):
        for number, tool in enumerate(tools):
            if pairs[number] is None and (item := next((item for item in left if same(tool, item)), None)):
                left.remove(item)
                pairs[number] = item
    return pairs, left


def calls_without_spans(
    replies: Iterable[tuple[Sequence[JsonObject], Usage | None]], answers: dict[str, object]
) -> list[Step]:
    """Steps out of what models wrote, for traces in which nobody recorded the tools themselves.

    Args:
        replies: the calls of each reply, as `{id, name, arguments}`, and its tokens.
        answers: what later requests say that came back, by call id.
    """
    seen: set[str] = set()
    steps: list[Step] = []
    for written, usage in replies:
        calls = []
        for item in written:
            identifier = identifier_of(item.get("id")) or to_json([item.get("name"), item.get("arguments")])
            if identifier not in seen:
                seen.add(identifier)
                fields = {"id": identifier_of(item.get("id")), "answer": answer_of(answers.get(identifier))}
                calls.append(written_call(item.get("name"), item.get("arguments"), **fields))
        if calls:
            steps.append(Step(calls=tuple(calls), usage=usage))
    return steps
