"""Records that were written and never looked at again: issues, rows, pages, whatever a service keeps under an id."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from replay.diagnosis.trajectory_context import TrajectoryContext
from replay.outcomes.residue import parse_json
from replay.records import Outcome

_IDENTITY: Final = re.compile(r"(?:^|_)(?:id|iid|uuid|gid|key|number)$|(?:Id|ID|Key|Number)$")
_OPAQUE: Final = re.compile(r"(?=.*\d).{6,}", re.DOTALL)
"""An identifier that means the same wherever it stands."""
_MIN_TOLD: Final = 8
"""Characters of a written value that an answer must hold to show it."""
_MAX_TOLD: Final = 60


class Record(NamedTuple):
    """A record by what later calls would ask for it with."""

    server: str | None
    key: str
    value: str

    @property
    def words(self) -> str:
        """For a sentence."""
        return f"{self.key} {self.value}"


def written_record(context: TrajectoryContext, position: str) -> Record | None:
    """The record that a writing call made or changed; None where it is not plain, or the answer shows what it holds."""
    server = context.rows[position].server
    if not _readable(context, server):
        return None
    text = context.answer_text(position)
    values = list(_told(context, position))
    if not values or any(value in text for value in values):
        return None
    arguments = ((_last(one.pointer), str(one.value)) for one in context.scalars(position))
    named = [(key, value) for key, value in arguments if _IDENTITY.search(key)]
    key, value = next(iter(named or _identities(parse_json(text))), ("", ""))
    return Record(server, key, value) if value else None


def record_checked(context: TrajectoryContext, written: str, record: Record) -> bool:
    """Whether a later call that was no write asked for the record, or was shown it."""
    told = [*_told(context, written), *([record.value] if _OPAQUE.fullmatch(record.value) else [])]
    for position, row in context.rows.items():
        if context.step_of[position] <= context.step_of[written] or context.outcome(position) not in (
            Outcome.SUCCESS,
            Outcome.INCONCLUSIVE,
        ):
            continue
        if not context.only_reads(position) and row.server == record.server:
            continue
        if any(_asks(record, _last(one.pointer), str(one.value)) for one in context.scalars(position)):
            return True
        text = context.answer_text(position)
        if any(value in text for value in told):
            return True
    return False


def _readable(context: TrajectoryContext, server: str | None) -> bool:
    """Whether anything was read from this server at all: else there may be no way to read back."""
    return any(row.server == server and context.only_reads(position) for position, row in context.rows.items())


def _told(context: TrajectoryContext, position: str) -> Iterator[str]:
    """What was written, as an answer would show it."""
    for one in context.scalars(position):
        if isinstance(one.value, str) and not _IDENTITY.search(_last(one.pointer)):
            value = one.value.strip().split("\n")[0][:_MAX_TOLD]
            if len(value) >= _MIN_TOLD:
                yield value


def _identities(answer: Any) -> Iterator[tuple[str, str]]:
    """What the answer to a call that makes something calls it."""
    if not isinstance(answer, Mapping):
        return
    for key, value in answer.items():
        if _IDENTITY.search(str(key)) and isinstance(value, str | int) and not isinstance(value, bool):
            yield str(key), str(value)
    for value in answer.values():
        if isinstance(value, Mapping):
            yield from _identities(value)


def _asks(record: Record, key: str, value: str) -> bool:
    if value == record.value and (_OPAQUE.fullmatch(value) or _alike(key, record.key)):
        return True
    return bool(_OPAQUE.fullmatch(record.value)) and record.value in value


def _alike(first: str, second: str) -> bool:
    """`issue_number` and `number`, `pageId` and `page_id`."""
    first, second = (re.sub(r"[^a-z0-9]", "", key.lower()) for key in (first, second))
    return first.endswith(second) or second.endswith(first)


def _last(pointer: str) -> str:
    return pointer.rpartition("/")[2]
