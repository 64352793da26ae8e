"""Arguments and answers made searchable: as JSON values that pointers refer to, and as text.

A recording that a harness cut for length, in the middle of a text or of the JSON around it, is read as far as it goes.
"""

from __future__ import annotations

import json
import re
from functools import cached_property, lru_cache
from typing import Any, Final

from replay.dag.pointers import leaf_paths, pointer_of
from replay.dag.value_matching import first_occurrence
from replay.records import Answer, Call, RpcError, TextAnswer, ToolResult, TransportFault, blocks_of

_MARKER: Final = re.compile(
    r"""\s*+(?:\.{3}|…)?+\s*+[(\[<*-]*+\s*+[^\n]{0,120}?
    (?:too\ long|truncat|only\ the\ first\ \d|characters?\ (?:omitted|remaining)|cut\ (?:off|short|for\ length)
    |more\ (?:characters|lines|bytes|tokens)\b|output\ omitted)
    [\s\S]{0,700}\Z""",
    re.IGNORECASE | re.VERBOSE,
)
_MARKER_WORD: Final = re.compile("too long|truncat|only the first |character|cut |more |output omitted", re.IGNORECASE)
"""One of them is in every marker."""
_MAX_BEFORE_WORD: Final = 120
_OPENING_MARKS: Final = frozenset(".…([<*-")
"""What a marker may begin with before that, besides blanks."""
_ELLIPSIS: Final = re.compile(r"\s*+(?:\.{3}|…)\s*\Z")
_BLOCK_START: Final = re.compile(r'\s*+\[?+\s*+\{\s*+"type"\s*+:\s*+"text"\s*+,\s*+"text"\s*+:\s*+"')
_MAX_MARKER_LENGTH: Final = 900
"""A marker stands at the very end."""
_WORD: Final = re.compile(r"[^\W_]+")
_SEPARATOR: Final = "\n\x00\n"
_BLOCK_METADATA: Final = frozenset({"type", "mimeType", "data", "annotations", "_meta"})
"""Members of a content block that name its kind or carry bytes, not something to pass on."""


def answer_tree(answer: Answer | None) -> Any:
    """An answer as the JSON value that pointers in it refer to."""
    if isinstance(answer, ToolResult | TextAnswer):
        blocks = [_without_bytes(block) for block in blocks_of(answer)]
        if isinstance(answer, TextAnswer) and len(blocks) == 1 and blocks[0].get("text") == answer.text:
            blocks = [{"text": text} for text in truncated_block_text(answer.text) if text]
        tree: dict[str, Any] = {"content": blocks}
        if isinstance(answer, ToolResult) and answer.structured is not None:
            tree["structured"] = answer.structured
        return tree
    if isinstance(answer, RpcError):
        return {"message": answer.message, "data": answer.data}
    return {"message": answer.message} if isinstance(answer, TransportFault) else {}


def _without_bytes(block: dict[str, Any]) -> dict[str, Any]:
    resource = block.get("resource")
    kept = {key: part for key, part in block.items() if key not in _BLOCK_METADATA}
    if isinstance(resource, dict):
        kept["resource"] = {key: part for key, part in resource.items() if key not in {"blob", "mimeType"}}
    return kept


def document_of(answer: Answer | None) -> Document:
    """An answer, searchable."""
    return Document(answer_tree(answer))


def arguments_document(call: Call) -> Document:
    """A call's arguments, searchable."""
    return Document(call.arguments or {}, enter_texts=False)


class Document:
    """Strings and numbers with their pointers, to look values up in.

    A pointer is made when one is asked for, which few documents of a trajectory are.
    """

    def __init__(self, tree: Any, *, enter_texts: bool = True) -> None:
        self._found: dict[str, str | None] = {}
        self._starts: dict[str, int] = {}
        found = list(leaf_paths(tree, enter_texts=enter_texts))
        self._paths = [path for path, _ in found]
        self._texts = [value.strip() if isinstance(value, str) else as_text(value) for _, value in found]
        self.text = _SEPARATOR.join(["", *self._texts, ""])

    def words(self) -> frozenset[str]:
        """Every word in it."""
        return frozenset(_WORD.findall(self.text))

    @cached_property
    def _first_places(self) -> dict[str, int]:
        """The number of the first string or number that is a text."""
        places: dict[str, int] = {}
        for number, text in enumerate(self._texts):
            places.setdefault(text, number)
        return places

    def is_scalar(self, value: str) -> bool:
        """Whether a string or number in it is this value and nothing else."""
        return value in self._first_places

    def scalar(self, value: str) -> str | None:
        """Pointer of the first string or number that is this value and nothing else."""
        number = self._first_places.get(value)
        return None if number is None else pointer_of(self._paths[number])

    def mention(self, value: str) -> str | None:
        """Pointer of the first text that holds this value between boundaries."""
        start = self._start(value)
        return None if start < 0 else self._pointer(start)

    def find(self, value: str) -> str | None:
        """Pointer of the scalar that is the value, else of the first text that holds it."""
        if value not in self._found:
            pointer = self.scalar(value)
            self._found[value] = pointer if pointer is not None else self.mention(value)
        return self._found[value]

    def __contains__(self, value: str) -> bool:
        return self._start(value) >= 0 or value in self._first_places

    def _start(self, value: str) -> int:
        """Where the value stands first between boundaries; -1 where it does not."""
        start = self._starts.get(value)
        if start is None:
            start = self._starts[value] = first_occurrence(self.text, value)
        return start

    def _pointer(self, start: int) -> str:
        return pointer_of(self._paths[self.text.count(_SEPARATOR, 0, start) - 1])


@lru_cache(maxsize=4096)
def words_of(text: str) -> frozenset[str]:
    """The words of a text, which must all stand in a document that holds it."""
    return frozenset(_WORD.findall(text))


def split_truncation_marker(text: str) -> tuple[str, str]:
    """What a recording kept, and the marker that says it was cut; no marker where it was not."""
    tail = max(len(text) - _MAX_MARKER_LENGTH, 0)
    start = _earliest_start(text, tail)
    match = (_MARKER.search(text, start) if start is not None else None) or _ELLIPSIS.search(text, tail)
    return (text, "") if match is None else (text[: match.start()], text[match.start() :].strip())


def _earliest_start(text: str, tail: int) -> int | None:
    """Where a marker in the tail may begin at the earliest; None where there is none."""
    word = _MARKER_WORD.search(text, tail)
    if word is None:
        return None
    start = max(word.start() - _MAX_BEFORE_WORD, tail)
    while start > tail and (text[start - 1] in _OPENING_MARKS or text[start - 1].isspace()):
        start -= 1
    return start


def truncated_block_text(text: str) -> tuple[str, str]:
    """The text of a content block whose JSON was cut, and the marker; any other text as it is, without one."""
    start = _BLOCK_START.match(text)
    if start is None:
        return text, ""
    kept, marker = split_truncation_marker(text)
    body = kept[start.end() :]
    for shorter in range(8):
        try:
            return str(json.loads(f'"{body[: len(body) - shorter]}"', strict=False)), marker
        except ValueError:
            continue
    return text, ""


def as_text(value: Any) -> str:
    """A scalar as it stands in a text: `5.0` and `5` are the same number."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return value if isinstance(value, str) else str(value)
