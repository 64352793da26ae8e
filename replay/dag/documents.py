"""Arguments and answers made searchable: as JSON values that pointers (RFC 6901) refer to, and as text.

A text that is itself a JSON document is entered: `/content/0/text/items/2/id` is the id of the third item of the
document in the first content block. A value is found in a text where it stands as a whole, not as a part of a longer
word, number or file name. A recording that a harness cut for length is read as far as it goes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Final

from replay.json_values import parse_json
from replay.records import Answer, RpcError, TextAnswer, ToolResult, TransportFault, blocks_of

_JSON_STARTS: Final = frozenset("{[ \t\r\n")
_MAX_DEPTH: Final = 64
_MAX_NESTED_DOCUMENTS: Final = 3
_MAX_INDEX_DIGITS: Final = 9

_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?(e[-+]\d{1,3})?")
MAX_COMPARED: Final = 20_000_000
"""Characters compared to find one value: a long one that repeats itself stands everywhere in a longer one."""
_MARKER: Final = re.compile(
    r"""\s*+(?:\.{3}|…)?+\s*+[(\[<*-]*+\s*+[^\n]{0,120}?
    (?:too\ long|truncat|only\ the\ first\ \d|characters?\ (?:omitted|remaining)|cut\ (?:off|short|for\ length)
    |more\ (?:characters|lines|bytes|tokens)\b|output\ omitted)
    [\s\S]{0,700}\Z""",
    re.IGNORECASE | re.VERBOSE,
)
_MARKER_WORD: Final = re.compile("too long|truncat|only the first |character|cut |more |output omitted", re.IGNORECASE)
"""One of them is in every marker: few texts have one, and to look for a marker itself takes milliseconds."""
_MAX_BEFORE_WORD: Final = 160
"""Characters before that word with which a marker may begin."""
_ELLIPSIS: Final = re.compile(r"\s*+(?:\.{3}|…)\s*\Z")
_BLOCK_START: Final = re.compile(r'\s*+\[?+\s*+\{\s*+"type"\s*+:\s*+"text"\s*+,\s*+"text"\s*+:\s*+"')
_MAX_MARKER_LENGTH: Final = 900
"""A marker stands at the very end."""
_WORD: Final = re.compile(r"[^\W_]+")
_MARKS: Final = bytes(32 if code < 128 and not chr(code).isalnum() else code for code in range(256))
"""Makes spaces of what ends a word, far quicker than a regular expression finds the words of long answers."""
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


class Document:
    """Strings and numbers with their pointers, to look values up in."""

    def __init__(self, tree: Any, *, enter_texts: bool = True) -> None:
        self._starts: dict[str, int] = {}
        found = list(leaves(tree, enter_texts=enter_texts))
        self._pointers = [pointer for pointer, _ in found]
        self._texts = [value.strip() if isinstance(value, str) else as_text(value) for _, value in found]
        self.text = _SEPARATOR.join(["", *self._texts, ""])

    def words(self) -> list[str]:
        """Every word in it, some of them more than once."""
        return words_in(self.text)

    @cached_property
    def _scalars(self) -> dict[str, str]:
        """By text: the pointer of the first string or number that is that text."""
        return dict(zip(reversed(self._texts), reversed(self._pointers), strict=True))

    def is_scalar(self, value: str) -> bool:
        """Whether a string or number in it is this value and nothing else."""
        return value in self._scalars

    def scalar(self, value: str) -> str | None:
        """Pointer of the first string or number that is this value and nothing else."""
        return self._scalars.get(value)

    def mention(self, value: str) -> str | None:
        """Pointer of the first text that holds this value between boundaries."""
        start = self._start(value)
        return None if start < 0 else self._pointers[self.text.count(_SEPARATOR, 0, start) - 1]

    def find(self, value: str) -> str | None:
        """Pointer of the scalar that is the value, else of the first text that holds it."""
        pointer = self.scalar(value)
        return pointer if pointer is not None else self.mention(value)

    def __contains__(self, value: str) -> bool:
        return self._start(value) >= 0 or value in self._scalars

    def _start(self, value: str) -> int:
        """Where the value stands first between boundaries; -1 where it does not."""
        start = self._starts.get(value)
        if start is None:
            start = self._starts[value] = next(iter(occurrences(self.text, value)), -1) if value in self.text else -1
        return start


def words_in(text: str) -> list[str]:
    """The words of a text, some of them more than once; they must all stand in a document that holds it."""
    if text.isalnum():
        return [text]
    parted = text.encode("utf-8", "surrogatepass").translate(_MARKS).decode("utf-8", "surrogatepass")
    found = parted.split()
    if parted.isascii():
        return found
    foreign = " ".join(part for part in found if not part.isascii())
    return [part for part in found if part.isascii()] + _WORD.findall(foreign)


def join(base: str, part: str | int) -> str:
    """The pointer of a member of what stands at `base`."""
    return f"{base}/{part if isinstance(part, int) else part.replace('~', '~0').replace('/', '~1')}"


def parts(pointer: str) -> list[str]:
    """The unescaped reference tokens of a pointer."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def as_json(text: str) -> Any:
    """The JSON object or array that a text is, else None."""
    stripped = text.strip() if text[:1] in _JSON_STARTS else ""
    if stripped[:1] + stripped[-1:] not in {"{}", "[]"}:
        return None
    try:
        return parse_json(stripped)
    except ValueError:
        return None


def leaves(value: Any, *, enter_texts: bool = True, id_keys: bool = True) -> Iterator[tuple[str, Any]]:
    """Every string and number below a value with its pointer, in document order.

    Args:
        value: any JSON value.
        enter_texts: a text that is itself a JSON document is entered.
        id_keys: keys that look like ids are yielded too; their pointer is that of their member.
    """
    stack: list[tuple[str, Any, int, int]] = [("", value, 0, 0 if enter_texts else _MAX_NESTED_DOCUMENTS)]
    while stack:
        pointer, item, depth, documents = stack.pop()
        if isinstance(item, str):
            inner = as_json(item) if documents < _MAX_NESTED_DOCUMENTS else None
            if inner is None:
                yield pointer, item
            else:
                stack.append((pointer, inner, depth + 1, documents + 1))
        elif isinstance(item, int | float) and not isinstance(item, bool):
            yield pointer, item
        elif isinstance(item, dict | list) and depth < _MAX_DEPTH:
            members = item.items() if isinstance(item, dict) else enumerate(item)
            stack += [(join(pointer, key), member, depth + 1, documents) for key, member in members][::-1]
            if id_keys and isinstance(item, dict):
                yield from ((join(pointer, key), key) for key in item if any(map(str.isdigit, key)))


def name_at(pointer: str) -> str:
    """The name of what stands at a pointer: of an element of a list, that of the list."""
    return next((part for part in reversed(parts(pointer)) if not part.isdecimal()), "")


def index_in(items: Sequence[Any], part: str) -> int | None:
    """The place in a list that a part of a pointer names; None where there is none."""
    index = int(part) if part.isdecimal() and len(part) <= _MAX_INDEX_DIGITS else len(items)
    return index if index < len(items) else None


def resolve(value: Any, pointer: str) -> Any:
    """What stands at a pointer.

    Raises:
        LookupError: nothing does.
    """
    for part in parts(pointer):
        if isinstance(value, str):
            value = as_json(value)
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list | tuple) and (index := index_in(value, part)) is not None:
            value = value[index]
        else:
            raise LookupError(pointer)
    return value


def with_value_at(value: Any, pointer: str, new: Any) -> Any:
    """A JSON value with another one at a pointer that leads somewhere; the containers on the way are changed."""
    if not pointer:
        return new
    *path, last = parts(pointer)
    holder = value
    for part in path:
        holder = holder[int(part) if isinstance(holder, list) else part]
    holder[int(last) if isinstance(holder, list) else last] = new
    return value


def is_number(text: str) -> bool:
    """Whether a text is the spelling of a number."""
    return text[-1:].isdecimal() and _NUMBER.fullmatch(text) is not None


def occurrences(text: str, value: str) -> Iterable[int]:
    """Where a value stands in a text as a whole, and not as a part of a longer word, number or file name."""
    bounded = _number_bounded if is_number(value) else _text_bounded
    start = text.find(value) if value else -1
    tries = max(MAX_COMPARED // max(len(value), 1), 8)
    while start >= 0 and tries:
        if bounded(text, start, value):
            yield start
        start, tries = text.find(value, start + 1), tries - 1


def _number_bounded(text: str, start: int, value: str) -> bool:
    end = start + len(value)
    before, after = text[max(start - 2, 0) : start], text[end : end + 2]
    if _is_word(before[-1:]) or _is_word(after[:1]):
        return False
    return not (before[-1:] == "." and before[:1].isdigit()) and not (after[:1] == "." and after[1:].isdigit())


def _text_bounded(text: str, start: int, value: str) -> bool:
    end = start + len(value)
    before, after, beyond = text[max(start - 1, 0) : start], text[end : end + 1], text[end + 1 : end + 2]
    id_like = _is_id_like(value)
    if (_is_word(value[0]) and _is_word(before, id_like)) or (_is_word(value[-1]) and _is_word(after, id_like)):
        return False
    if value[0] in "/.~" and (_is_word(before) or before in {".", "-", "~"}):
        return False
    if id_like or " " in value:
        return True
    if before == "-" or (after == "-" and _is_word(beyond)):
        return False
    return not (after == "." and _is_word(beyond))


def _is_id_like(value: str) -> bool:
    """Letters with digits: it cannot be a part of a word, so a file name may hold it: `job_8f3a2b.txt`."""
    return len(value) >= 6 and value.isalnum() and any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def _is_word(character: str, underscore_ends: bool = False) -> bool:
    return character.isalnum() or (character == "_" and not underscore_ends)


def split_truncation_marker(text: str) -> tuple[str, str]:
    """What a recording kept, and the marker that says it was cut; no marker where it was not."""
    tail = max(len(text) - _MAX_MARKER_LENGTH, 0)
    word = _MARKER_WORD.search(text, tail)
    marked = _MARKER.search(text, max(word.start() - _MAX_BEFORE_WORD, tail)) if word else None
    match = marked or _ELLIPSIS.search(text, tail)
    return (text, "") if match is None else (text[: match.start()], text[match.start() :].strip())


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
