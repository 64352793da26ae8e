"""MCPEval's results, as its evaluator writes them: `[{task_id, success, tool_calls, conversation, model}]`.

The calls are read from `conversation` (OpenAI chat messages): `tool_calls` has neither ids nor answers, and puts `{}`
for arguments that were not JSON. What its judge gave stands beside them, or in files of its own that have no calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from replay.formats.document import NO_MATCH, Document, Head, Match
from replay.formats.fields import first_of, identifier_of, object_in, objects, text_of
from replay.formats.openai_chat import conversation_steps
from replay.formats.record_builders import number_calls, written_call
from replay.records import JsonObject, ReportedResult, Source, Step, Task, Trajectory

_QUESTIONS: Final = ("description", "goal", "name")
_JUDGED: Final = ("trajectory_score", "trajectory_scores", "completion_score", "completion_scores")


class McpEvalReader:
    """Reads MCPEval's results."""

    name = "mcpeval"
    title = "MCPEval results"
    expected_shape = 'MCPEval results ([{"task_id", "success", "conversation", "tool_calls"}])'

    def sniff(self, head: Head) -> Match:
        """A result has a conversation beside its calls and its success."""
        first = next(iter(objects(list(head.elements))), {})
        if "conversation" in first and "task_id" in first and ("tool_calls" in first or "success" in first):
            return Match(0.95, '"task_id" with "conversation" and "tool_calls"')
        if "task_id" in first and not first.keys().isdisjoint(_JUDGED):
            return Match(0.9, '"task_id" with the scores of MCPEval\'s judge')
        return NO_MATCH

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """One a result."""
        for element in document.elements():
            record = element.value
            if not isinstance(record, dict) or record.keys().isdisjoint(("conversation", *_JUDGED)):
                document.leave(element)
                continue
            messages = [message for message in objects(record.get("conversation")) if text_of(message.get("role"))]
            steps, reply = conversation_steps(messages, document.path, element.place)
            if not messages:
                steps = _steps_without_conversation(record)
            task = object_in(record, "task")
            yield Trajectory(
                id=identifier_of(record.get("task_id")) or element.place,
                model=text_of(record.get("model")) or document.model_of_results,
                task=Task(question=next(filter(None, (text_of(task.get(key)) for key in _QUESTIONS)), None)),
                source=Source(file=document.path, format=self.name, position=element.place),
                steps=number_calls(steps),
                final_reply=reply or text_of(record.get("final_response")),
                reported=_reported(record),
            )


def _reported(record: JsonObject) -> ReportedResult | None:
    """Whether the task was done, and what the judge gave it."""
    success = first_of(record, "success", "original_success")
    passed = success if isinstance(success, bool) else None
    details = {name: record[name] for name in _JUDGED if isinstance(record.get(name), dict | float | int)}
    return None if passed is None and not details else ReportedResult(passed=passed, details=details or None)


def _steps_without_conversation(record: JsonObject) -> list[Step]:
    """A task that broke off before it was written down may still have its calls."""
    return [
        Step(calls=(written_call(call.get("tool_name"), call.get("tool_parameters")),))
        for call in objects(record.get("tool_calls"))
    ]
