"""What was asked and called for one task, on disk as soon as it was answered: a run that is killed goes on from it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from pydantic import TypeAdapter

from replay.chat import ChatReply
from replay.recorder.recording import Journal, entry_of
from replay.records import Answer
from replay.safety.filesystem import open_regular

Kind: TypeAlias = Literal["reply", "answer"]
_KINDS: Final[Mapping[Kind, TypeAdapter[Any]]] = {"reply": TypeAdapter(ChatReply), "answer": TypeAdapter(Answer)}
"""The model's replies to requests, and the answers to its calls; each is counted by itself."""


class ProgressLog:
    """The replies and answers of a task, by their order; those of an earlier process come first.

    Args:
        path: of the file, which `close` removes where the task is finished.
    """

    def __init__(self, path: Path) -> None:
        self._journal = Journal(path)
        self._known: dict[tuple[str, int, str], Any] = {}
        with open_regular(path) as file:
            entries = [entry_of(line) for line in file if line.endswith(b"\n")]
        for entry in filter(None, entries):
            for kind in _KINDS.keys() & entry.keys():
                value = _KINDS[kind].validate_python(entry[kind])
                self._known[kind, int(entry["n"]), str(entry["digest"])] = value

    def known(self, kind: Kind, number: int, digest: str) -> Any:
        """The reply to request `number`, or the answer to call `number`; None where it was not this very one."""
        return self._known.get((kind, number, digest))

    def keep(self, kind: Kind, number: int, digest: str, value: ChatReply | Answer) -> None:
        """Keep a reply or an answer."""
        entry = {"n": number, "digest": digest, kind: _KINDS[kind].dump_python(value, mode="json")}
        self._journal.append(entry)

    def close(self, *, finished: bool) -> None:
        """Let go of the file."""
        self._journal.close(remove=finished)
