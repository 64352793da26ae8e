"""A call of a run with all that an exporter writes of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from replay.formats.fields import to_json
from replay.records import Answer, Call, JsonObject, RpcError, TextAnswer, ToolResult, Verdict
from replay.records.trajectory import texts_of
from replay.runfile.trajectory_queries import StoredTrajectory


@dataclass(frozen=True)
class JudgedCall:
    """One call and its verdict."""

    call: Call
    id: str
    """The call's own id, or its position where it has none or shares it with another."""
    verdict: Verdict | None
    """None where it has none yet."""

    @property
    def arguments(self) -> JsonObject:
        """The arguments; empty where they could not be read (`raw` has them then)."""
        return self.call.arguments or {}

    @property
    def answer_text(self) -> str | None:
        """The recorded answer as text; None without one."""
        return None if self.call.answer is None else plain_answer(self.call.answer)

    @property
    def is_error(self) -> bool | None:
        """Whether the recorded answer is an error; None where the recording does not say."""
        answer = self.call.answer
        if isinstance(answer, ToolResult):
            return answer.is_error
        return None if answer is None or isinstance(answer, TextAnswer) else True

    def details(self) -> JsonObject:
        """What other formats have no field for: server and tool, unreadable text, and the verdict."""
        call, verdict = self.call, self.verdict
        told = {} if verdict is None else verdict.model_dump(mode="json", exclude_defaults=True)
        known = {
            "position": call.position,
            "server": call.server,
            "tool": call.tool,
            "unreadable": call.unreadable,
            "raw": call.raw,
            "local": call.local or None,
            "interrupted": call.interrupted or None,
            "is_error": self.is_error,
            "started": call.started,
            "seconds": call.seconds,
            "verdict": None if verdict is None else {**told, "certainty": verdict.certainty},
        }
        return {name: value for name, value in known.items() if value is not None}


def plain_answer(answer: Answer) -> str:
    """An answer as one text."""
    if isinstance(answer, RpcError):
        return f"error {answer.code}: {answer.message}"
    texts = texts_of(answer)
    if not texts and isinstance(answer, ToolResult) and (answer.content or answer.structured is not None):
        return to_json(answer.structured if answer.structured is not None else list(answer.content))
    return "\n".join(texts)


def judged_steps(stored: StoredTrajectory) -> Iterator[tuple[str | None, list[JudgedCall]]]:
    """(text, calls) of each step; ids are unique in the trajectory."""
    verdicts = {call.position: call.verdict for call in stored.calls}
    seen: set[str] = set()
    for step in stored.record.steps:
        calls = []
        for call in step.calls:
            identifier = call.id if call.id and call.id not in seen else call.position
            seen.add(identifier)
            calls.append(JudgedCall(call, identifier, verdicts.get(call.position)))
        yield step.text, calls


def outcome_counts(stored: StoredTrajectory) -> dict[str, int]:
    """How many calls have each outcome."""
    return dict(Counter(str(call.verdict.outcome) for call in stored.calls))
