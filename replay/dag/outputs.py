"""What a call makes: the files and named things that its arguments say it will leave behind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from replay.dag.mentions import is_path, paths_in
from replay.dag.pointers import leaves, parts
from replay.records import Answer, Call, RpcError, ToolResult, TransportFault, texts_of

__all__ = ["failed_visibly", "makes", "outputs_of", "rewrites", "words_of_tool"]

_MAKERS: Final = frozenset(
    [
        "create",
        "write",
        "save",
        "make",
        "mkdir",
        "new",
        "download",
        "export",
        "generate",
        "render",
        "crop",
        "draw",
        "convert",
        "copy",
        "move",
        "rename",
        "put",
        "upload",
        "store",
        "init",
        "clone",
        "capture",
        "screenshot",
        "touch",
        "build",
        "compile",
        "merge",
        "split",
        "resize",
        "annotate",
        "dump",
        "record",
        "edit",
        "update",
        "append",
        "insert",
        "add",
        "open_or_create",
    ]
)
_NAMERS: Final = frozenset(["create", "add", "new", "init", "make", "register", "define", "insert", "upsert"])
_REWRITERS: Final = frozenset(
    [
        "create",
        "save",
        "make",
        "mkdir",
        "new",
        "download",
        "export",
        "generate",
        "init",
        "clone",
        "copy",
        "move",
        "rename",
    ]
)
_INPUT_KEYS: Final = re.compile(r"(^|_)(in|input|source|src|from|template|image_source|old)(_|$)|^input|^source", re.I)
_OUTPUT_KEYS: Final = re.compile(
    r"(^|_)(out|output|dest|destination|target|save|to|new)(_|$)|^(output|dest|save)", re.I
)
_NAME_KEYS: Final = re.compile(r"^(id|name|key|slug|title)$|(_|[a-z])(id|Id|ID|name|Name)$")
_RUNNERS: Final = re.compile(r"execute|run|command|shell|bash|terminal|python|script|eval", re.I)
_WRITES: Final = re.compile(
    r"""(?:>>?|\btee\b|\bmkdir\b|\btouch\b|\bcp\b|\bmv\b|makedirs|\bto_\w+\(|\.save\w*\(|open\([^)]*["'][wax]b?\+?["']
    |\.write\w*\(|copy\w*\(|rename\(|\bcurl\b.*-o\b|\bwget\b|dump\(|Workbook\()""",
    re.VERBOSE,
)


def words_of_tool(call: Call) -> frozenset[str]:
    """The words that a tool's name is made of, in lower case."""
    name = call.tool or call.name or ""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return frozenset(word.lower() for word in re.split(r"[\W_]+", spaced) if word)


def makes(call: Call) -> bool:
    """Whether a tool's name says that it makes or changes something."""
    return bool(words_of_tool(call) & _MAKERS)


def rewrites(call: Call) -> bool:
    """Whether a call needs nothing at the place it writes to, because it makes what it names anew."""
    words = words_of_tool(call)
    return bool(words & _REWRITERS) or {"write", "file"} <= words


def outputs_of(call: Call) -> Iterator[tuple[str, str]]:
    """Pointer and value of each output path or name in a call's arguments."""
    words, runs = words_of_tool(call), _RUNNERS.search(call.name or "")
    for pointer, value in leaves(call.arguments or {}, enter_texts=False):
        key = next((part for part in reversed(parts(pointer)) if not part.isdecimal()), "")
        if not isinstance(value, str):
            continue
        text = value.strip()
        if is_path(text):
            if _OUTPUT_KEYS.search(key) or (words & _MAKERS and not _INPUT_KEYS.search(key)):
                yield pointer, text.rstrip("/")
        elif words & _NAMERS and _NAME_KEYS.search(key) and len(text) >= 4:
            yield pointer, text
        elif runs and _WRITES.search(value):
            yield from ((pointer, path.rstrip("/")) for path in dict.fromkeys(paths_in(value)))


def failed_visibly(answer: Answer | None) -> bool:
    """Whether a recorded answer says of itself that nothing was made."""
    if isinstance(answer, RpcError | TransportFault):
        return True
    if answer is None:
        return False
    if isinstance(answer, ToolResult) and answer.is_error:
        return True
    head = " ".join(text[:80] for text in texts_of(answer)[:1]).lstrip().lower()
    return head.startswith(("error", "security violation", "failed", "failure", "validation error"))
