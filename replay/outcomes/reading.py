"""An answer, prepared once for all rules."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from typing import Any

from replay.outcomes.bodies import is_empty, parse_body
from replay.outcomes.content import returns_content
from replay.outcomes.failure import (
    Exit,
    Failure,
    exit_failure,
    exit_of,
    flagged_by_server,
    protocol_failure,
    text_failure,
    traceback_of,
)
from replay.outcomes.mentions import Mentions
from replay.outcomes.shapes import EMPTY
from replay.records import (
    Answer,
    Call,
    RpcError,
    SchemaViolation,
    TextAnswer,
    Tool,
    ToolResult,
    TransportFault,
    blocks_of,
)

HEAD, TAIL = 24_000, 4_000
_ANSWERS_BY_STATUS = re.compile(
    r"(?:^|[|;&(\n]\s*)(?:grep|egrep|fgrep|rg|diff|cmp|test|\[|pgrep|which|type|pytest|git diff|git grep|expr)\b"
)
_TROUBLE = re.compile(
    r"traceback|no such file|usage:|\berror:|command not found|not recognized|permission denied|invalid option",
    re.IGNORECASE,
)


class Reading:
    """What the rules look at: an answer beside the call that it answers."""

    def __init__(
        self,
        call: Call,
        answer: Answer,
        tool: Tool | None,
        violations: Sequence[SchemaViolation],
        stored: Collection[str] = (),
    ) -> None:
        self.call, self.answer, self.tool, self.violations = call, answer, tool, tuple(violations)
        self.mentions = Mentions(call, tool)
        self.flagged = isinstance(answer, RpcError)
        self.text = self.tail = ""
        self.has_media = False
        self.body: Any = None
        self.exit: Exit | None = None
        self.failure: Failure | None = None
        if isinstance(answer, RpcError):
            self.failure = protocol_failure(answer)
        elif isinstance(answer, ToolResult | TextAnswer):
            self._read_result(answer)
            if self.failure is not None and not self.flagged and self._reads_back(stored):
                self.failure = None

    @property
    def fault(self) -> TransportFault | None:
        """The transport fault that came instead of an answer."""
        return self.answer if isinstance(self.answer, TransportFault) else None

    @property
    def is_empty(self) -> bool:
        """Whether a successful answer brought nothing."""
        if self.has_media:
            return False
        stripped = self.text.strip()
        if stripped in ("", "[]", "{}", "null", "None", "()", '""', "undefined"):
            return not (isinstance(self.answer, ToolResult) and self.answer.structured) or is_empty(
                self.answer.structured
            )
        if self.body is not None:
            return is_empty(self.body)
        content = returns_content(self.mentions, self.tool)
        return len(stripped) < 300 and not content and EMPTY.match(stripped) is not None

    def _read_result(self, answer: ToolResult | TextAnswer) -> None:
        blocks = blocks_of(answer)
        pieces = [str(block["text"]) for block in blocks if block.get("type") == "text" and "text" in block]
        self.text, self.tail = _ends(pieces)
        self.has_media = any(block.get("type") != "text" for block in blocks)
        self.body = parse_body(self.text)
        if not pieces and isinstance(answer, ToolResult) and answer.structured is not None:
            self.body = answer.structured
            self.text = json.dumps(answer.structured, ensure_ascii=False, default=str)[:HEAD]
        self.exit = exit_of(self.text, self.tail, self.body, self.mentions)
        self.flagged = isinstance(answer, ToolResult) and answer.is_error
        self.failure = self._find_failure(flagged_by_server(answer, blocks))

    def _reads_back(self, stored: Collection[str]) -> bool:
        """Whether the answer is, as a whole, a text that an earlier call of the trajectory stored."""
        text = self.text.strip()
        return self.exit is None and any(text == earlier.strip() for earlier in stored)

    def _find_failure(self, marked: bool) -> Failure | None:
        if self.exit is not None:
            if self.exit.code == 0 and not self.flagged:
                return None
            if self.exit.code != 0:
                return None if self._answers_by_status(self.exit) else exit_failure(self.exit)
        if self.has_media and not marked:
            return None
        crashed = traceback_of(self.tail, self.mentions, self.tool) if self.exit is None else None
        return crashed or text_failure(
            self.text, flagged=marked, mentions=self.mentions, tool=self.tool, body=self.body
        )

    def _answers_by_status(self, ended: Exit) -> bool:
        """Whether exit status 1 is the program's way to say no: `grep` without a match, `diff` with a difference."""
        commands = " ".join(self.mentions.texts)
        return (
            ended.code == 1 and bool(_ANSWERS_BY_STATUS.search(commands[:4000])) and not _TROUBLE.search(ended.output)
        )


def _ends(pieces: list[str]) -> tuple[str, str]:
    """Head and tail of the joined text, without joining more than they hold."""
    head: list[str] = []
    room = HEAD
    for piece in pieces:
        head.append(piece[:room])
        room -= len(piece) + 1
        if room <= 0:
            break
    tail: list[str] = []
    room = TAIL
    for piece in reversed(pieces):
        tail.append(piece[-room:])
        room -= len(piece) + 1
        if room <= 0:
            break
    cut = sum(map(len, pieces)) > HEAD
    return "\n".join(head) + ("\n" if cut else ""), "\n".join(reversed(tail))
