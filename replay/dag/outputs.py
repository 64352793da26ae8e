"""What a call makes: the files and named things that its arguments say it will leave behind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from replay.dag.candidate_values import is_path, paths_in
from replay.dag.pointers import leaves, parts
from replay.records import Answer, Call, RpcError, ToolResult, TransportFault, texts_of

__all__ = ["failed_visibly", "is_maker", "makes_part", "outputs_of", "rewrites", "words_of_tool"]

_CREATION_VERBS: Final = frozenset(
    """
    create write save make mkdir new download export generate render copy move rename put upload store init clone
    capture screenshot touch build compile dump record
    """.split()  # noqa: SIM905 a list would take a line a word
)
_PART_NOUNS: Final = frozenset(
    """
    worksheet sheet chart table pivot row rows column columns cell cells range formula formatting slide shape textbox
    branch commit tag issue comment review label milestone event page block paragraph heading
    """.split()  # noqa: SIM905
)
"""What is made inside a file, a repository or another thing that must be there before."""
_EXPORT_VERBS: Final = frozenset(["save", "export", "download", "render", "capture", "screenshot", "generate"])
"""A part becomes a file of its own by these."""
_NAMING_VERBS: Final = frozenset(["create", "add", "new", "init", "make", "register", "define", "insert", "upsert"])
_WHOLE_FILE_VERBS: Final = frozenset(["save", "export", "download", "mkdir", "clone", "generate", "render"])
_CREATE_VERBS: Final = frozenset(["create", "write", "new", "make", "init"])
_CONTAINER_NOUNS: Final = frozenset(
    ["file", "workbook", "document", "presentation", "directory", "folder", "database", "repository", "project"]
)
_INPUT_KEYS: Final = re.compile(r"(^|_)(in|input|source|src|from|template|image_source|old)(_|$)|^input|^source", re.I)
_OUTPUT_KEYS: Final = re.compile(r"(^|_)(out|output|dest|destination|save)(_|$)|^(output|dest|save)", re.I)
_MADE_KEYS: Final = re.compile(r"(^|_)(target|to|new)(_|$)|(path|file|name|uri)s?$", re.I)
_DIRECTORY_KEYS: Final = re.compile(r"(^|_)(dir|directory|folder)(_|$)|(dir|directory|folder)$", re.I)
_REPOSITORY_KEYS: Final = re.compile(r"(^|_)(repo|repository|project)(_|$)|^(repo|project)", re.I)
_PLACE_KEYS: Final = re.compile(r"(^|_)(workspace|root|cwd|base|working|work|parent)(_|$)|^(root|base|working)", re.I)
_DIRECTORY_WORDS: Final = frozenset(["directory", "directories", "folder", "dir", "mkdir"])
_REPOSITORY_WORDS: Final = frozenset(["init", "clone", "repository", "repo", "project"])
_NAME_KEY: Final = re.compile(r"(?P<noun>\w*?)_?(?:id|key|name|slug)", re.IGNORECASE)
_PROGRAM_TOOL: Final = re.compile(r"execute|run|command|shell|bash|terminal|python|script|eval", re.I)
_WRITING_CODE: Final = tuple(
    (literal, re.compile(pattern))
    for literal, pattern in (
        ("tee", r"\btee\b"),
        ("mkdir", r"\bmkdir\b"),
        ("touch", r"\btouch\b"),
        ("cp", r"\bcp\b"),
        ("mv", r"\bmv\b"),
        ("to_", r"\bto_\w+\("),
        (".save", r"\.save\w*\("),
        ("open(", r"""open\([^)]{0,300}?["'][wax]b?\+?["']"""),
        (".write", r"\.write\w*\("),
        ("copy", r"copy\w{0,20}\("),
        ("curl", r"\bcurl\b.{0,300}?-o\b"),
        ("wget", r"\bwget\b"),
    )
)
"""What writes a file, with a part of each that is looked for first: `in` is far quicker than `re`."""
_WRITING_WORDS: Final = (">", "makedirs", "rename(", "dump(", "Workbook(")
_FAILURE_START: Final = re.compile(
    r"error|security violation|fail(?:ed|ure)|validation error|\{?\W*error\W*:", re.IGNORECASE
)
_TRACEBACK: Final = "Traceback (most recent call last)"


def words_of_tool(call: Call) -> frozenset[str]:
    """The words that a tool's name is made of, in lower case."""
    return _words_of_name(call.tool or call.name or "")


@lru_cache(maxsize=1024)
def _words_of_name(name: str) -> frozenset[str]:
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return frozenset(word.lower() for word in re.split(r"[\W_]+", spaced) if word)


def is_maker(call: Call) -> bool:
    """Whether a tool makes a whole file or directory, rather than changes one."""
    words = words_of_tool(call)
    return bool(
        words & _WHOLE_FILE_VERBS
        or words & {"copy", "move", "rename"}
        or (words & _CREATE_VERBS and words & _CONTAINER_NOUNS)
    )


def rewrites(call: Call, maker: Call) -> bool:
    """Whether a call needs nothing of what an earlier one made in the same place, because it makes it anew."""
    return call.name == maker.name or is_maker(call)


def outputs_of(call: Call) -> Iterator[tuple[str, str]]:
    """Pointer and value of each output path or name in a call's arguments."""
    words, runs_programs = words_of_tool(call), _PROGRAM_TOOL.search(call.name or "")
    for pointer, value in leaves(call.arguments or {}, enter_texts=False):
        if not isinstance(value, str):
            continue
        text = value.strip()
        if is_path(text):
            if _is_made_path(_key_of(pointer), words):
                yield pointer, text.rstrip("/")
        elif words & _NAMING_VERBS and len(text) >= 4 and _names_what_is_made(_key_of(pointer), words):
            yield pointer, text
        elif runs_programs and _writes_files(value):
            yield from ((pointer, path.rstrip("/")) for path in dict.fromkeys(paths_in(value)))


def _key_of(pointer: str) -> str:
    """The name that a place has: of an element of a list, that of the list."""
    return next((part for part in reversed(parts(pointer)) if not part.isdecimal()), "")


@lru_cache(maxsize=64)
def _writes_files(program: str) -> bool:
    return any(word in program for word in _WRITING_WORDS) or any(
        literal in program and pattern.search(program) is not None for literal, pattern in _WRITING_CODE
    )


def makes_part(call: Call) -> bool:
    """Whether a tool makes something inside a file or another thing that must be there before."""
    return bool(words_of_tool(call) & _PART_NOUNS)


def _is_made_path(key: str, words: frozenset[str]) -> bool:
    """Whether a tool makes what a path argument names, rather than works on it or in it."""
    if _OUTPUT_KEYS.search(key):
        return True
    if not words & _CREATION_VERBS or _INPUT_KEYS.search(key) or _PLACE_KEYS.search(key):
        return False
    if words & _PART_NOUNS and not words & _EXPORT_VERBS:
        return False
    if _DIRECTORY_KEYS.search(key):
        return bool(words & _DIRECTORY_WORDS)
    if _REPOSITORY_KEYS.search(key):
        return bool(words & _REPOSITORY_WORDS)
    return _MADE_KEYS.search(key) is not None


def _names_what_is_made(key: str, words: frozenset[str]) -> bool:
    """`id` is the id of what a tool makes, and so is `sheet_name` of `create_worksheet`; `page_id` of it is not."""
    match = _NAME_KEY.fullmatch(key)
    noun = match["noun"].lower() if match else None
    return noun == "" or (noun is not None and any(noun in word for word in words))


def failed_visibly(answer: Answer | None) -> bool:
    """Whether a recorded answer says of itself that nothing was made."""
    if isinstance(answer, RpcError | TransportFault):
        return True
    if answer is None:
        return False
    if isinstance(answer, ToolResult) and answer.is_error:
        return True
    text = next(iter(texts_of(answer)), "").strip()
    return _FAILURE_START.match(text[:80]) is not None or _TRACEBACK in text[-6000:]
