"""What was written and not read back afterwards: files, sheets, and records that a service keeps under an id."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from replay.diagnosis.phrasing import listed, quoted
from replay.diagnosis.trajectory_context import TrajectoryContext
from replay.outcomes.literals import structure_in
from replay.records import Outcome, texts_of
from replay.records.files import CallRow
from replay.records.finding import Finding

WRITES: Final = re.compile(
    r"(?:^|[/_.-])(?:write|create|update|edit|append|insert|add|save|put|modify|patch|replace|fill|set|generate)"
    r"(?:[_-]|[A-Z]|$)"
)
_CONTAINERS: Final = re.compile(r"director(?:y|ies)|folder|mkdir|collection|database|repositor|branch", re.IGNORECASE)
"""What is made empty: there is nothing in it to read back."""
_FILE: Final = re.compile(r"[^\n]{0,400}?[^\n/\\]\.[A-Za-z][A-Za-z0-9]{0,5}")
_TARGET_KEYS: Final = re.compile(r"(?:^|_)(?:path|file|file_?name|file_?path)$", re.IGNORECASE)
_SHEET_KEYS: Final = re.compile(r"(?:^|_)(?:work)?(?:sheet|tab)_?(?:name|title)?$", re.IGNORECASE)
_PROGRAM_KEYS: Final = re.compile(r"(?:^|[/_])(?:code|command|cmd|script|source|program)s?(?:/\d+)?$", re.IGNORECASE)
_LISTS: Final = re.compile(r"\s*(?:(?:ls|tree|pwd|mkdir|stat|du|file|find [^|;&]*-type d)\b|test -|\[ -)[^|;&]*$")
"""Commands that show names alone, or what a file is like."""
_METADATA: Final = re.compile(
    r"(?:^|[/_.-])(?:list|ls|dir|tree|glob|exists?|stat|info|meta(?:data)?|size|dimensions|properties)(?=[_-]|[A-Z]|$)"
    r"|(?<=[a-z])(?:Exists?|Info|Metadata|Size|Dimensions|Properties)(?=[A-Z]|$)"
)
"""Names of tools that tell whether something is there, or what it is like."""
_MIN_ECHO: Final = 24
"""Characters of what was written that an answer must hold to show it."""


class _File(NamedTuple):
    """A file, or one sheet of it."""

    path: str
    sheet: str = ""

    @property
    def words(self) -> str:
        """For a sentence."""
        return f"{f'sheet {quoted(self.sheet, 30)} of ' if self.sheet else ''}{quoted(self.path, 60)}"


Look: TypeAlias = Literal["content", "existence"]
"""What a later call may have seen of what was written: itself, or merely that it is there and what it is like."""
_KINDS: Final = {
    "pseudo-verification": (
        "only its existence or metadata was looked at after it was written",
        "only their existence or metadata was looked at after they were written",
    ),
    "incomplete-verification": (
        "it was read back after an earlier write, and not after the last one",
        "they were read back after an earlier write, and not after the last one",
    ),
}
"""The kinds beside `written-not-checked`, with their words for one target and for several."""


def unchecked_writes(context: TrajectoryContext) -> Iterator[Finding]:
    """Files, sheets and records that were written, and not read back after the last write.

    Silent where the recording may be cut off.
    """
    trajectory = context.trajectory
    ended = bool((trajectory.final_reply or "").strip()) or trajectory.reported is not None
    if not ended or len(context.rows) != len(context.calls):
        return
    writes: dict[_File | WrittenRecord, list[str]] = defaultdict(list)
    for position in context.rows:
        target = _written(context, position)
        if target is not None:
            writes[target].append(position)
    by_kind: dict[str, list[_File | WrittenRecord]] = defaultdict(list)
    for target, positions in writes.items():
        if kind := _unchecked(context, target, positions):
            by_kind[kind].append(target)
    for kind, targets in by_kind.items():
        yield context.finding_together(
            kind,
            _sentence(kind, [target.words for target in targets]),
            dict.fromkeys(writes[target][-1] for target in targets),
            "Read back what was written, and compare it with what was asked.",
            certainty="likely",
            written=len(writes),
            not_checked=len(targets),
        )


def _unchecked(context: TrajectoryContext, target: _File | WrittenRecord, writes: Sequence[str]) -> str | None:
    """The kind of finding that the writes of a target show; None where it was read back after the last one."""
    last = _looked_at(context, writes[-1], target)
    if last == "content":
        return None
    if len(writes) > 1 and _looked_at(context, writes[0], target, reads_alone=True) == "content":
        return "incomplete-verification"
    return "pseudo-verification" if last == "existence" else "written-not-checked"


def _sentence(kind: str, names: Sequence[str]) -> str:
    one = len(names) == 1
    if kind not in _KINDS:
        return f"{listed(names, most=4)} {'was' if one else 'were'} written and not read back before the end."
    return f"{listed(names, most=4)} {'was' if one else 'were'} written: {_KINDS[kind][not one]}."


def _written(context: TrajectoryContext, position: str) -> _File | WrittenRecord | None:
    """What a call wrote successfully, by the name that a later call would read it by; None where that is not plain."""
    name = context.calls[position].name or ""
    tool = context.tool(position)
    if context.outcome(position) is not Outcome.SUCCESS or (tool is not None and tool.read_only):
        return None
    if (
        not WRITES.search(name)
        or _CONTAINERS.search(name)
        or context.only_reads(position)
        or _echoed(context, position)
    ):
        return None
    strings = [(scalar.pointer, scalar.value) for scalar in context.scalars[position] if isinstance(scalar.value, str)]
    named = [value for pointer, value in strings if _TARGET_KEYS.search(pointer.rpartition("/")[2])]
    path = next((value for value in named if _FILE.fullmatch(value.strip())), None)
    return written_record(context, position) if path is None else _File(path, _sheet(strings))


def _looked_at(
    context: TrajectoryContext, written: str, target: _File | WrittenRecord, *, reads_alone: bool = False
) -> Look | None:
    """What calls after a write may have seen of its target; None where they saw nothing.

    Args:
        context: the trajectory.
        written: the write.
        target: what it wrote.
        reads_alone: calls count only where they do nothing but read.
    """
    if isinstance(target, WrittenRecord):
        return "content" if record_checked(context, written, target) else None
    looks = {
        _look(context, position, written, target)
        for position, _ in _later(context, written)
        if context.only_reads(position) or not (reads_alone or WRITES.search(context.calls[position].name or ""))
    }
    return "content" if "content" in looks else "existence" if "existence" in looks else None


def _sheet(strings: Sequence[tuple[str, str]]) -> str:
    return next((value.strip() for pointer, value in strings if _SHEET_KEYS.search(pointer.rpartition("/")[2])), "")


def _echoed(context: TrajectoryContext, position: str) -> bool:
    """Whether the answer itself shows what was written."""
    answer = context.answer(position)
    text = "\n".join(texts_of(answer)) if answer is not None else ""
    contents = [scalar.value for scalar in context.scalars[position] if isinstance(scalar.value, str)]
    return any(len(value) >= _MIN_ECHO and value.strip()[:_MIN_ECHO] in text for value in contents if "\n" in value)


def _later(context: TrajectoryContext, written: str) -> Iterator[tuple[str, CallRow]]:
    """Calls of later steps that may have succeeded."""
    for position, row in context.rows.items():
        later = context.step_of[position] > context.step_of[written]
        if later and row.outcome in (Outcome.SUCCESS, Outcome.INCONCLUSIVE):
            yield position, row


def _look(context: TrajectoryContext, position: str, written: str, target: _File) -> Look | None:
    """What one call may have seen of a file."""
    call = context.calls[position]
    name = re.split(r"[/\\]", target.path)[-1].casefold()
    texts = [(scalar.pointer, str(scalar.value).casefold()) for scalar in context.scalars[position]]
    texts.append(("/code", (call.raw or "").casefold()))
    programs = [text for pointer, text in texts if _PROGRAM_KEYS.search(pointer) and text]
    lists = all(map(_LISTS.match, programs)) if programs else bool(_METADATA.search(call.name or ""))
    if any(name in text for _, text in texts):
        sheet = _sheet(texts)
        if sheet and target.sheet and sheet != target.sheet.casefold():
            return None
        return "existence" if lists and not _shown(context, position, written) else "content"
    if not lists and any(_walked(target.path).search(program) for program in programs if not _LISTS.match(program)):
        return "content"
    return "existence" if lists and name in context.answer_text(position).casefold() else None


def _shown(context: TrajectoryContext, position: str, written: str) -> bool:
    """Whether an answer has any of what was written."""
    text = context.answer_text(position)
    return any(value in text for value in _contents(context, written))


def _walked(target: str) -> re.Pattern[str]:
    """Finds the directories above a path, but for the root: a program that walks one may read what is below it."""
    parts = target.casefold().split("/")
    directories = ["/".join(parts[:count]) for count in range(2, len(parts))]
    return re.compile(
        "(?:" + "|".join(map(re.escape, directories)) + r")(?:/\*|/?(?![\w./-]))" if directories else "(?!)"
    )


_IDENTITY: Final = re.compile(r"(?:^|_)(?:id|iid|uuid|gid|key|number)$|(?:Id|ID|Key|Number)$")
_OPAQUE: Final = re.compile(r"(?=.*\d).{6,}", re.DOTALL)
"""An identifier that means the same wherever it stands."""
_MIN_CONTENT: Final = 8
"""Characters of a written value that an answer must hold to show it."""
_MAX_CONTENT: Final = 60


class WrittenRecord(NamedTuple):
    """A record by what later calls would ask for it with."""

    server: str | None
    key: str
    value: str

    @property
    def words(self) -> str:
        """For a sentence."""
        return f"{self.key} {self.value}"


def written_record(context: TrajectoryContext, position: str) -> WrittenRecord | None:
    """The record that a writing call made or changed; None where it is not plain, or the answer shows what it holds."""
    server = context.rows[position].server
    if not _readable(context, server):
        return None
    text = context.answer_text(position)
    values = list(_contents(context, position))
    if not values or any(value in text for value in values):
        return None
    arguments = ((_last(scalar.pointer), str(scalar.value)) for scalar in context.scalars[position])
    named = [(key, value) for key, value in arguments if _IDENTITY.search(key)]
    key, value = next(iter(named or _identities(structure_in(text))), ("", ""))
    return WrittenRecord(server, key, value) if value else None


def record_checked(context: TrajectoryContext, written: str, record: WrittenRecord) -> bool:
    """Whether a later call that was no write asked for the record, or was shown it."""
    contents = [*_contents(context, written), *([record.value] if _OPAQUE.fullmatch(record.value) else [])]
    for position, row in _later(context, written):
        if not context.only_reads(position) and row.server == record.server:
            continue
        if any(_asks(record, _last(scalar.pointer), str(scalar.value)) for scalar in context.scalars[position]):
            return True
        text = context.answer_text(position)
        if any(value in text for value in contents):
            return True
    return False


def _readable(context: TrajectoryContext, server: str | None) -> bool:
    """Whether anything was read from this server at all: else there may be no way to read back."""
    return any(row.server == server and context.only_reads(position) for position, row in context.rows.items())


def _contents(context: TrajectoryContext, position: str) -> Iterator[str]:
    """What was written, as an answer would show it."""
    for scalar in context.scalars[position]:
        if isinstance(scalar.value, str) and not _IDENTITY.search(_last(scalar.pointer)):
            value = scalar.value.strip().split("\n")[0][:_MAX_CONTENT]
            if len(value) >= _MIN_CONTENT:
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


def _asks(record: WrittenRecord, key: str, value: str) -> bool:
    if value == record.value and (_OPAQUE.fullmatch(value) or _alike(key, record.key)):
        return True
    return bool(_OPAQUE.fullmatch(record.value)) and record.value in value


def _alike(first: str, second: str) -> bool:
    """`issue_number` and `number`, `pageId` and `page_id`."""
    first, second = (re.sub(r"[^a-z0-9]", "", key.lower()) for key in (first, second))
    return first.endswith(second) or second.endswith(first)


def _last(pointer: str) -> str:
    return pointer.rpartition("/")[2]
