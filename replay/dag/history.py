"""What was known when: the question, then each step's arguments and answers, searchable by value.

Also what a call makes: the files and named things that its arguments say it will leave behind.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any, Final, Literal

from replay.dag.candidate_values import CandidateValue, candidate_values_of, is_path, paths_in
from replay.dag.documents import Document, answer_tree, leaves, name_at, occurrences, words_in
from replay.records import Answer, Call, RpcError, ToolResult, Trajectory, TransportFault, texts_of

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
_WRITING_CODE: Final = (
    r"makedirs|rename\(|dump\(|Workbook\(|\b(?:tee|mkdir|touch|cp|mv|wget)\b|\bcurl\b.{0,300}?-o\b"
    r"|\bto_\w+\(|\.(?:save|write)\w*\(|copy\w{0,20}\(|open\([^)]{0,300}?[\"'][wax]b?\+?[\"']"
)
"""What writes a file in a program, beside `>`."""
_FAILURE_START: Final = re.compile(
    r"error|security violation|fail(?:ed|ure)|validation error|\{?\W*error\W*:", re.IGNORECASE
)
_TRACEBACK: Final = "Traceback (most recent call last)"
_MAX_ENTRIES: Final = 600
_YEAR: Final = re.compile(r"\b(?:19|20)\d\d\b")
_ISO_DATE: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:t[\d:.]+z?)?")
_MONTHS: Final = (
    "january february march april may june july august september october november december".split()  # noqa: SIM905
)


@dataclass(frozen=True)
class Entry:
    """The arguments or the answer of one call."""

    step: int
    call: Call
    place: Literal["answer", "arguments"]
    document: Document


@dataclass(frozen=True)
class Output:
    """A path or a name that a call will leave behind."""

    step: int
    call: Call
    pointer: str


class ValueHistory:
    """Looks up who held a value first.

    The word index keeps only words that some argument mentions, so its size does not grow with the answers.
    """

    def __init__(self, trajectory: Trajectory) -> None:
        self.candidates: dict[str, tuple[CandidateValue, ...]] = {
            call.position: tuple(candidate_values_of(call)) for call in trajectory.calls()
        }
        self._question = _normalized("\n".join([trajectory.task.question or "", *trajectory.task.images]))
        self._years = sorted(_YEAR.findall(self._question))
        self.entries: list[Entry] = []
        """All of them, in order of time."""
        self._last_step = len(trajectory.steps) - 1
        self._with_word: dict[str, list[int]] = defaultdict(list)
        self._entries_of: dict[str, list[int]] = {}
        self._outputs: dict[str, list[Output]] = defaultdict(list)
        texts = {candidate.text for candidates in self.candidates.values() for candidate in candidates}
        indexed_words = frozenset(words_in("\n".join(texts)))
        for number, step in enumerate(trajectory.steps):
            for call in step.calls:
                self._add(
                    Entry(number, call, "arguments", Document(call.arguments or {}, enter_texts=False)), indexed_words
                )
                for pointer, value in outputs_of(call):
                    self._outputs[value].append(Output(number, call, pointer))
            for call in step.calls:
                if call.answer is not None:
                    self._add(Entry(number, call, "answer", Document(answer_tree(call.answer))), indexed_words)

    def _add(self, entry: Entry, indexed_words: frozenset[str]) -> None:
        if entry.step < self._last_step:  # nobody asks for what came in the last
            for word in indexed_words.intersection(entry.document.words()):
                self._with_word[word].append(len(self.entries))
        self.entries.append(entry)

    def is_in_question(self, value: str) -> bool:
        """Whether the question holds the value, in whatever case."""
        folded = _normalized(value)
        return (
            (folded in self._question and any(True for _ in occurrences(self._question, folded)))
            or _is_date_in_question(self._question, folded)
            or self._is_year_in_question(folded)
        )

    def _is_year_in_question(self, value: str) -> bool:
        """A year of a span that the question names by its ends."""
        return _YEAR.fullmatch(value) is not None and bool(self._years) and self._years[0] < value < self._years[-1]

    def holders(self, value: str, before: int) -> Iterator[Entry]:
        """The arguments and answers of earlier steps that hold the value, in order of time."""
        for entry in map(self.entries.__getitem__, self._entries_with_words(value)):
            if entry.step >= before:
                return
            if value in entry.document:
                yield entry

    def first(self, value: str, before: int) -> Entry | None:
        """Who held the value first."""
        return next(self.holders(value, before), None)

    def maker(self, value: str, before: int) -> Output | None:
        """The earlier call that made what the value names: the first that did not visibly fail, else the first."""
        earlier = [output for output in self._outputs.get(value, ()) if output.step < before]
        successful = (output for output in earlier if not failed_visibly(output.call.answer))
        return next(successful, None) or next(iter(earlier), None)

    def recreates(self, call: Call, value: str, maker: Call) -> bool:
        """Whether a call needs nothing of what the maker left in this place, because it makes it itself."""
        anew = call.name == maker.name or is_maker(call)
        return anew and any(output.call is call for output in self._outputs.get(value, ()))

    def was_in_arguments(self, word: str, step: int) -> bool:
        """Whether the arguments of a step, or of one before it, hold a word in whatever case."""
        return self._first_step_of_word.get(word.lower(), step + 1) <= step

    @cached_property
    def _first_step_of_word(self) -> dict[str, int]:
        """The first step whose arguments hold a word, by the word in lower case."""
        steps: dict[str, int] = {}
        for entry in reversed(self.entries):
            if entry.place == "arguments":
                steps.update((word.lower(), entry.step) for word in entry.document.words())
        return steps

    def _entries_with_words(self, value: str) -> list[int]:
        """The entries with all words of a value, by number; where its rarest word is in few, all with that."""
        found = self._entries_of.get(value)
        if found is None:
            postings = sorted((self._with_word.get(word, []) for word in words_in(value)), key=len)
            found = next(iter(postings), [])
            if len(found) > _MAX_ENTRIES:
                found = sorted(set(found).intersection(*postings[1:]))[:_MAX_ENTRIES]
            self._entries_of[value] = found
        return found


def _normalized(text: str) -> str:
    return " ".join(text.split()).lower()


def _is_date_in_question(question: str, value: str) -> bool:
    """An ISO date whose year, month and day the question spells in another way."""
    match = _ISO_DATE.fullmatch(value)
    if match is None or match[1] not in question or not 1 <= int(match[2]) <= 12:
        return False
    month, day = _MONTHS[int(match[2]) - 1], str(int(match[3]))
    return month[:3] in question and any(True for _ in occurrences(question, day))


def words_of_tool(call: Call) -> frozenset[str]:
    """The words that a tool's name is made of, in lower case."""
    return _words_of_name(call.tool or call.name or "")


@lru_cache
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


def outputs_of(call: Call) -> Iterator[tuple[str, str]]:
    """Pointer and value of each output path or name in a call's arguments."""
    words = words_of_tool(call)
    for pointer, value in leaves(call.arguments or {}, enter_texts=False):
        if not isinstance(value, str):
            continue
        text = value.strip()
        if is_path(text):
            if _is_made_path(name_at(pointer), words):
                yield pointer, text.rstrip("/")
        elif words & _NAMING_VERBS and len(text) >= 4 and _names_what_is_made(name_at(pointer), words):
            yield pointer, text
        elif _PROGRAM_TOOL.search(call.name or "") and (">" in value or _writes_file(value)):
            yield from ((pointer, made.rstrip("/")) for made in dict.fromkeys(paths_in(value)))


def _writes_file(program: str) -> bool:
    return _writing_code().search(program.encode("utf-8", "replace")) is not None


@cache
def _writing_code() -> Any:
    import re2  # not at the top: the command's help need not load it

    return re2.compile(_WRITING_CODE)


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
