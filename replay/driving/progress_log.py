"""What was asked and called for one task, on disk as soon as it was answered: a run that is killed goes on from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter

from replay.chat import ChatReply
from replay.recorder.journal import Journal, entry_of
from replay.records import Answer
from replay.safety.filesystem import open_regular

_ANSWER: Final[TypeAdapter[Answer]] = TypeAdapter(Answer)


class ProgressLog:
    """The replies and answers of a task, by their order; those of an earlier process come first.

    Args:
        path: of the file, which `close` removes where the task is finished.
    """

    def __init__(self, path: Path) -> None:
        self._journal = Journal(path)
        self._replies: dict[int, tuple[str, ChatReply]] = {}
        self._answers: dict[int, tuple[str, Answer]] = {}
        with open_regular(path) as file:
            for line in file:
                entry = entry_of(line) if line.endswith(b"\n") else None
                if entry is not None:
                    self._take(entry)

    def _take(self, entry: dict[str, Any]) -> None:
        number, digest = int(entry["n"]), str(entry["digest"])
        if "reply" in entry:
            self._replies[number] = digest, ChatReply.model_validate(entry["reply"])
        else:
            self._answers[number] = digest, _ANSWER.validate_python(entry["answer"])

    def reply(self, number: int, digest: str) -> ChatReply | None:
        """The reply to request `number`, where it was this very request."""
        known = self._replies.get(number)
        return known[1] if known is not None and known[0] == digest else None

    def keep_reply(self, number: int, digest: str, reply: ChatReply) -> None:
        """Keep a reply."""
        self._append({"n": number, "digest": digest, "reply": reply.model_dump(mode="json")})

    def answer(self, number: int, digest: str) -> Answer | None:
        """The answer to call `number`, where it was this very call."""
        known = self._answers.get(number)
        return known[1] if known is not None and known[0] == digest else None

    def keep_answer(self, number: int, digest: str, answer: Answer) -> None:
        """Keep an answer."""
        self._append({"n": number, "digest": digest, "answer": _ANSWER.dump_python(answer, mode="json")})

    def close(self, *, finished: bool) -> None:
        """Let go of the file."""
        self._journal.close(remove=finished)

    def _append(self, entry: dict[str, Any]) -> None:
        self._journal.append(entry)
