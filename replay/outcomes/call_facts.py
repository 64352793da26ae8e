"""What is known of a call before its answer is read: the names and values of its arguments, and what its tool does.

A tool may hand out stored text, in which error words are content; search; change something; or run a program. Its
name's words and the arguments tell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache, wraps
from itertools import islice
from typing import Any, Final

from replay.dag.documents import leaves
from replay.records import JsonObject, Tool

MAX_VALUES: Final = 200
MAX_VALUE_LENGTH: Final = 2000
MAX_NAMING_LENGTH: Final = 400
MIN_WORD_LENGTH: Final = 3
MAX_BOUNDED_LENGTH: Final = 7
"""A longer word of an argument counts also as a part of another word."""
MIN_NAME_LENGTH: Final = 4
_MAX_LEVELS: Final = 4
_MAX_TOLD, _MAX_COMMON = 40, 9
"""Characters of a value that a sentence tells of, and a number that may stand in it by chance."""
_WORD_IN_VALUE: Final = re.compile(r"[^\s\"'`=,;()<>|{}\[\]]{3,200}")


class ArgumentIndex:
    """The names and values of one call's arguments, ready to be looked for in its answer.

    Args:
        arguments: of the call; None where they could not be read.
        tool_name: the tool's own name.
        written_name: the name as the model wrote it.
    """

    def __init__(self, arguments: JsonObject | None, *, tool_name: str = "", written_name: str = "") -> None:
        self.tool_name, self.written_name = tool_name, written_name
        self.traits: dict[Callable[[ArgumentIndex], bool], bool] = {}
        """What is known of the tool, by the functions below."""
        self.argument_names = tuple(arguments or {})
        listed = (item for value in (arguments or {}).values() if isinstance(value, list) for item in value[:1])
        self.listed_items = _longest_list(arguments)
        """Items of the longest list in the arguments."""
        self._inner_names = tuple(name for item in listed if isinstance(item, dict) for name in item)
        self._folded_names = frozenset(name.casefold() for name in self.argument_names)
        self.by_name = {name: value for name, value in (arguments or {}).items() if isinstance(value, str)}
        values = [value for _, value in islice(leaves(arguments, enter_texts=False, id_keys=False), MAX_VALUES)]
        strings = {value[:MAX_VALUE_LENGTH].strip() for value in values if isinstance(value, str)}
        self.texts = tuple(sorted(strings - {""}, key=len)[::-1])
        self.numbers = tuple(value for value in values if not isinstance(value, str))
        self._lists = [len(value) for value in (arguments or {}).values() if isinstance(value, list)]

    @cached_property
    def lengths(self) -> frozenset[int]:
        """Of the lists, and of the texts in characters and in words; none that may be any number."""
        measures = (measure for text in self.texts for measure in (len(text), len(text.split())))
        return frozenset([*(n for n in self._lists if n > 1), *(n for n in measures if n > _MAX_COMMON)])

    def repeats_argument(self, key: str, part: Any) -> bool:
        """Whether a field of an answer only repeats an argument: by its name, or by a value of some length."""
        if key in self._folded_names:
            return True
        return isinstance(part, str) and len(part) >= MIN_NAME_LENGTH and part.strip() in self.texts

    def echoed_by(self, key: str, part: Any) -> bool:
        """Whether a field of an answer, named in lower case, is an argument as it was sent: its name and its value."""
        return any(name.casefold() == key and value == part for name, value in self.by_name.items())

    def explained_by(self, part: Any) -> bool:
        """Whether a part of an answer has a text for arguments alone, by their names: `{"page": "must be >= 1"}`."""
        return (
            isinstance(part, dict)
            and bool(part)
            and all(
                str(name).casefold() in self._folded_names and isinstance(text, str | list)
                for name, text in part.items()
            )
        )

    def tool_named_in(self, text: str) -> bool:
        """Whether the text names the tool, or the call's name as written."""
        return any(len(name) > 1 and name in text for name in (self.tool_name, self.written_name))

    def ends_in_a_name_of(self, text: str) -> bool:
        """Whether a name that the text gives is the last part of the call's name as written."""
        names = re.findall(r"\w{1,80}[_./:-][\w./:-]{2,80}|['\"`]\w{3,80}['\"`]", text[:300])
        return any(self.written_name.endswith(name.strip("'\"`").rstrip(".:")) for name in names)

    def tool_spoken_of_in(self, line: str) -> bool:
        """Whether a line speaks of the tool: names it, with spaces or as one word, and not as a word of its own."""
        words, server = name_words(self.tool_name), self.written_name.casefold().split("/")[0]
        if len(server) >= MIN_NAME_LENGTH and line.casefold().startswith(f"{server} "):
            return True
        if len(words) > 1:
            return self.tool_name in line or " ".join(words) in " ".join(name_words(line))
        name = re.escape(self.tool_name)
        return bool(words) and re.search(rf"(?:^\W*|\btool \W?|[:'\"\[`]){name}\b", line) is not None

    def is_word_of_its_names(self, word: str) -> bool:
        """Whether a word stands in the tool's name or in an argument's: `files` in `file_path`."""
        asked = (part for name in (self.tool_name, *self.argument_names) for part in name_words(name))
        return len(word) >= MIN_WORD_LENGTH and any(word[:MIN_NAME_LENGTH] in part for part in asked)

    def arguments_named_in(self, text: str) -> bool:
        """Whether the text names an argument in quotes, or two of them; also those of the objects in a list."""
        names = {*self.argument_names, *self._inner_names}
        if any(holds_quoted(text, name) for name in names):
            return True
        named = (re.search(rf"\b{re.escape(name)}\b", text) for name in names if len(name) > 2)
        return sum(map(bool, named)) > 1

    def value_named_in(self, text: str) -> bool:
        """Whether the text names an argument's value: a string, a word or the last path segment of one, or a number."""
        folded = text.casefold()
        if any(_names_word(folded, word) for word in self._words()):
            return True
        short = (value for value in self.texts if len(value) < MIN_WORD_LENGTH)
        if self.value_quoted_in(text) or any(
            holds_quoted(text, value) or _stands_alone(text, value) for value in short
        ):
            return True
        return any(holds_number(text, number) for number in self.numbers)

    def number_named_in(self, text: str) -> bool:
        """Whether the text holds a number among the argument values, be it written as a string."""
        written = (value for value in self.texts if re.fullmatch(r"-?\d+(?:\.\d+)?", value))
        return any(holds_number(text, number) for number in (*self.numbers, *written))

    def value_told_of_in(self, text: str) -> bool:
        """Whether a sentence tells of a value: holds one of one short word, and not as the label before a colon."""
        values = (value for value in self.texts if MIN_WORD_LENGTH <= len(value) <= _MAX_TOLD)
        return (
            self.value_quoted_in(text)
            or any(
                re.search(rf"(?<![\w/]){re.escape(value)}(?![\w/]|\s?:)", text, re.IGNORECASE)
                for value in values
                if not re.search(r"[/\\]", value)
            )
            or any(holds_number(text, number) for number in self.numbers if abs(number) > _MAX_COMMON)
        )

    def value_quoted_in(self, text: str) -> bool:
        """Whether the text holds a word of an argument's value in quotes."""
        quoted = re.findall(r"['\"`]([\w.-]{1,60})['\"`]", text[:2000])
        return any(holds_word(value, word) for word in quoted[:20] for value in self.texts)

    def without_values(self, text: str, min_length: int = 6) -> str:
        """The text without the argument strings of at least `min_length` characters."""
        for value in self.texts:
            if len(value) >= min_length:
                text = text.replace(value, " ")
        return text

    def holds_only_values(self, text: str) -> bool:
        """Whether nothing but argument values, and marks around them, stands in the text; a last slash is one."""
        rest = self.without_values(text, min_length=1)
        for value in self.texts:
            rest = rest.replace(value.rstrip("/\\") or value, " ")
        return rest != text and not re.search(r"\w", rest)

    def _words(self) -> Iterator[str]:
        for value in self.texts:
            folded = value.casefold()
            yield folded
            for word in _WORD_IN_VALUE.findall(folded)[:100]:
                if len(value) > MAX_NAMING_LENGTH and word.isalpha():
                    continue  # of a whole document any word may stand in any error
                yield word
                if "/" in word or "\\" in word:
                    yield re.split(r"[/\\]", word.rstrip("/\\"))[-1]


def _longest_list(value: Any, depth: int = 0) -> int:
    parts = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    inner = (
        max((_longest_list(part, depth + 1) for part in parts[:MAX_VALUES]), default=0) if depth < _MAX_LEVELS else 0
    )
    return max(inner, len(parts) if isinstance(value, list) else 0)


def _stands_alone(text: str, value: str) -> bool:
    """Whether a short value with a digit in it is a word of a text."""
    return len(value) > 1 and any(map(str.isdigit, value)) and holds_word(text, value)


def _names_word(text: str, word: str) -> bool:
    if len(word) < MIN_WORD_LENGTH or word not in text:
        return False
    return len(word) > MAX_BOUNDED_LENGTH or holds_word(text, word)


_Trait = Callable[[ArgumentIndex], bool]


def _set_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


_READING_VERBS = _set_of("""
    read cat get fetch view open show download load retrieve extract convert head tail display print
    dump recall echo scrape crawl browse export transcribe
""")
_CONTENT_NOUNS = _set_of("""
    file files text content contents document documents doc docs note notes page pages resource url
    markdown html json blob message messages snippet log logs lines line paragraph memory raw body
    transcript comment comments readme source article section email mail thread history variable env
    secret clipboard screen policy policies faq guide instructions rule rules terms knowledge manual abstract
    lyrics quote joke poem definition story notebook diary journal book chapter letter letters
""")
_READING_NAMES = _set_of("""
    fetch read cat echo view open recall scrape
""")
_WEB_VERBS = _set_of("fetch scrape crawl browse extract")
_PROSE_VERBS = _set_of("""
    search find query list ask chat summarize summarise answer explain translate analyze analyse
    generate think transcribe classify
""")
_RUNNERS = _set_of("shell terminal bash python powershell repl interpreter ipython jupyter zsh pwsh")
_RUNNING_VERBS = _set_of("run exec execute eval evaluate")
"""Of a tool that is given one text, or a program: what `run_report` runs is no program that the call brought."""
_QUERY_WORDS = _set_of("sql query queries statement cypher graphql")
_LOOKUP_VERBS = _set_of("get list read show describe cancel delete view find check stop")
_LOOKING_VERBS = _set_of("""
    get list read show describe view find check fetch search query count lookup look retrieve inspect explain compare
    summarize analyze analyse calculate compute forecast predict recommend suggest define who what when where how is has
""")
_ABOUT_ERRORS = frozenset(
    "error errors failure failures exception exceptions crash crashes log logs lint tests".split()  # noqa: SIM905
)
_QUESTION_VERBS = _set_of("check is has can verify validate test exists are does")
_PROSE_ARGUMENTS = frozenset(["prompt", "question", "thought", "messages"])
_DESCRIPTIONS = _PROSE_ARGUMENTS | _set_of("""
    description explanation reason purpose title summary message comment note notes subject instruction instructions
    task goal
""")
"""Arguments in plain words, in which `Update the table` is no statement."""
_RECORD_NOUNS = _set_of("log logs transcript transcripts stdout stderr requests messages")
PROGRAM_ARGUMENTS = frozenset(["command", "cmd", "commands", "code", "script", "shell_command"])
_SEARCH_VERBS = _set_of("""
    search find grep ask chat summarize summarise answer explain translate generate think classify retrieve retriever
""")
_CHANGE_VERBS = _set_of("""
    delete remove update edit modify rename set unset close stop kill cancel drop unmerge merge
    replace patch clear add create write send post put append insert click hover press fill tap drag
    start restart pause resume
""")
_READING_PROGRAM = re.compile(
    r"^\W*(?:cat|head|tail|less|more|grep|sed|awk|journalctl|type|Get-Content|bat|jq|strings|xxd|echo|printf)\b"
)
_READS_LAST = re.compile(
    r"(?:&&|;|[\"'])\s*(?:cat|head|tail|less|more|journalctl|type|Get-Content|bat|strings|xxd)\b[^|;&\n]*$"
)
"""A command that goes somewhere, and then shows what is stored there."""
_FILTERS_ERRORS = re.compile(
    r"\|\s*(?:grep|egrep|rg|findstr|Select-String)\b[^|]{0,80}\b(?:error|fail|warn)", re.IGNORECASE
)
_SQL_STATEMENT = re.compile(
    r"(?:\s|--[^\n]*\n)*(?:select|insert|update|delete|create|drop|alter|with|explain|pragma|describe|merge|truncate)\b"
    r"[^\n]*(?:\n[^\n]*){0,20}?"
    r"(?:\b(?:from|into|table|set|as|database|schema|view|index)\b|\d|\*)",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def name_words(tool_name: str) -> tuple[str, ...]:
    """A tool name's words, in lower case: `readTextFile` and `read_text_file` alike."""
    return tuple(word.casefold() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", tool_name))


def _known(trait: _Trait) -> _Trait:
    """A trait that is looked for once a call."""

    @wraps(trait)
    def known(arguments: ArgumentIndex) -> bool:
        found = arguments.traits.get(trait)
        if found is None:
            found = arguments.traits[trait] = trait(arguments)
        return found

    return known


def returns_content(arguments: ArgumentIndex, tool: Tool | None) -> bool:
    """Whether the tool, by its name, hands out stored text as it is."""
    if runs_commands(arguments):
        return _shows_what_is_stored(arguments)
    if tool is not None and tool.annotations and tool.annotations.get("destructiveHint") is True and not tool.read_only:
        return False
    web = not _WEB_VERBS.isdisjoint(name_words(arguments.tool_name)) and names_a_web_address(arguments)
    return web or _names_stored_text(arguments.tool_name)


@lru_cache(maxsize=4096)
def _names_stored_text(tool_name: str) -> bool:
    words = name_words(tool_name)
    if not words:
        return False
    records = words[-1] in _RECORD_NOUNS and not _CHANGE_VERBS & set(words)
    return (
        records
        or (len(words) == 1 and words[0] in _READING_NAMES)
        or bool(_READING_VERBS & set(words[:3]) and _CONTENT_NOUNS & set(words))
    )


@_known
def _shows_what_is_stored(arguments: ArgumentIndex) -> bool:
    return any(_READING_PROGRAM.match(value) or _READS_LAST.search(value) for value in arguments.texts)


@_known
def answers_in_prose(arguments: ArgumentIndex) -> bool:
    """Whether the tool, by its name, searches or writes prose: its answer may be any sentence."""
    if queries_a_database(arguments):
        return False
    named = _PROSE_VERBS & set(name_words(arguments.tool_name))
    return bool(named) or is_told_to_write(arguments)


def is_told_to_write(arguments: ArgumentIndex) -> bool:
    """Whether the call hands a prompt or a question on to somebody who answers in words of their own."""
    return not _PROSE_ARGUMENTS.isdisjoint(arguments.argument_names)


def asks_about_errors(arguments: ArgumentIndex) -> bool:
    """Whether the call asks for errors: then words of failure are what it wanted."""
    words = name_words(arguments.tool_name)
    if _CHANGE_VERBS.intersection(words):
        return False
    if _ABOUT_ERRORS.intersection(words):
        return True
    return any(len(value) < 60 and _ABOUT_ERRORS.intersection(name_words(value)) for value in arguments.texts)


@_known
def filters_errors(arguments: ArgumentIndex) -> bool:
    """Whether a command shows the lines with errors of another's output."""
    return any(map(_FILTERS_ERRORS.search, arguments.texts))


@_known
def looks_up(arguments: ArgumentIndex) -> bool:
    """Whether the tool, by its name, only looks something up: then its answer may say no."""
    words = name_words(arguments.tool_name)
    return not words or "status" in words or not _LOOKING_VERBS.isdisjoint(words[:2])


@_known
def asks_yes_or_no(arguments: ArgumentIndex) -> bool:
    """Whether the tool, by its name, answers a question with yes or no."""
    return not _QUESTION_VERBS.isdisjoint(name_words(arguments.tool_name)[:1])


@_known
def asks_for_a_state(arguments: ArgumentIndex) -> bool:
    """Whether the tool, by its name, tells how a thing stands: `get_status`, `job_state`, `check_health`."""
    return not {"status", "state", "health"}.isdisjoint(name_words(arguments.tool_name)) and not changes_something(
        arguments
    )


@_known
def queries_a_database(arguments: ArgumentIndex) -> bool:
    """Whether the call brings a statement of a database: the answer is rows then, never prose."""
    described = {text.strip() for name, text in arguments.by_name.items() if name.casefold() in _DESCRIPTIONS}
    brought = (text for text in arguments.texts if text not in described)
    return "sql" in arguments.argument_names or any(map(_SQL_STATEMENT.match, brought))


@_known
def searches(arguments: ArgumentIndex) -> bool:
    """Whether the tool, by its name, shows what it finds: then the call's words stand in any answer."""
    return bool(_SEARCH_VERBS & set(name_words(arguments.tool_name)))


@_known
def names_a_web_address(arguments: ArgumentIndex) -> bool:
    """Whether the call names an address on the web: what comes back may be the word of a backend."""
    return any(re.match(r"https?://", value, re.IGNORECASE) for value in arguments.texts)


@_known
def changes_something(arguments: ArgumentIndex) -> bool:
    """Whether the tool, by its name, changes a thing that must be there."""
    return bool(_CHANGE_VERBS & set(name_words(arguments.tool_name)[:3]))


@_known
def runs_commands(arguments: ArgumentIndex) -> bool:
    """Whether the tool, by its name or its arguments, runs a program."""
    words = name_words(arguments.tool_name)
    names = {name.casefold() for name in arguments.argument_names}
    if queries_a_database(arguments) or (names and all(name.endswith("id") for name in names)):
        return False
    given = not names.isdisjoint(PROGRAM_ARGUMENTS)
    holds = given or not names.isdisjoint(CODE_ARGUMENTS) or len(arguments.by_name) < 2
    runs = holds and not _RUNNING_VERBS.isdisjoint(words)
    named = runs or not _RUNNERS.isdisjoint(words) or words in (("command",), ("cmd",))
    named = named and _QUERY_WORDS.isdisjoint(words)
    told = given and not _is_told_a_verb(arguments)
    return (named and words[0] not in _LOOKUP_VERBS) or (told and _PROSE_VERBS.isdisjoint(words))


def _is_told_a_verb(arguments: ArgumentIndex) -> bool:
    """Whether the command is a bare word beside what it is for, `{"device": "a7", "command": "stop"}`: no program."""
    commands = [value for name, value in arguments.by_name.items() if name.casefold() in PROGRAM_ARGUMENTS]
    return len(arguments.by_name) > len(commands) and all(map(str.isalpha, commands))


_WEB_CLIENT = re.compile(r"(?:^|[\s;&|(\"'`])(?:curl|wget|https?|xh|Invoke-(?:WebRequest|RestMethod))\s+\S", re.I)
MAX_PROGRAM_LENGTH = 20_000
_DENIES = re.compile(
    r"n't\b|\b(?:nothing|none|not|never|no|cannot|fail\w*|error\w*|fehler|erreur|errore|erro|already|unexpectedly|only"
    r"|(?:can|could|may|must|to) be)\b",
    re.IGNORECASE,
)
_PARTICIPLE = re.compile(r"\b\w{3,20}(?:ed|en)\b")
_MAX_OPENING = 120
_ACTIONS = ("action", "operation", "command", "method", "op")
_STEM = 4


def says_the_verb(text: str, arguments: ArgumentIndex) -> bool:
    """Whether a text begins with what the tool's name, or the action asked for, does, as done: `Paragraph added`."""
    bare = re.sub(r"(?<!\w)'[^'\n]{1,60}'(?!\w)", "", text.lstrip()[:_MAX_OPENING])
    first = re.split(r"[.!?](?:\s|$)|\s\(", bare, maxsplit=1)[0]
    if _DENIES.search(first):
        return False
    asked = [value for name, value in arguments.by_name.items() if name.casefold() in _ACTIONS and len(value) < 40]
    words = (word for said in (arguments.tool_name, *asked) for word in name_words(said))
    verbs = [word[:_STEM].rstrip("e") for word in words if len(word) >= MIN_WORD_LENGTH]
    return any(word.casefold().startswith(verb) for word in _PARTICIPLE.findall(first) for verb in verbs)


def is_own_value(body: Any, arguments: ArgumentIndex) -> bool:
    """Whether the JSON that a call gave is what its own program made, or what a web service said to it.

    Args:
        body: the JSON value that the whole answer is.
        arguments: of the call.
    """
    if not isinstance(body, dict | list) or not runs_commands(arguments):
        return False
    programs = [value[:MAX_PROGRAM_LENGTH] for value in arguments.texts]
    return any(map(_WEB_CLIENT.search, programs)) or any(_built_by(program, body) for program in programs)


def _built_by(program: str, body: Any) -> bool:
    """Whether a program spells out the fields of an object: `return {errors: found, total: n}`."""
    if not isinstance(body, dict) or len(body) < 2:
        return False
    return all(re.search(rf"(?<!\w){re.escape(str(key))}(?!\w)", program) for key in list(body)[:50])


def same_path(value: str, path: str) -> bool:
    """Whether an argument names a path, or what stands last in it, or a folder above it."""
    own, whole = (text.replace("\\\\", "/").replace("\\", "/").strip("/") for text in (value, path))
    return bool(own) and (own in whole if "/" in own else own in (whole, whole.rpartition("/")[2]))


def holds_number(text: str, number: object) -> bool:
    """Whether a text holds a number that is not a part of a longer one."""
    written = str(number)
    return written in text and re.search(rf"(?<![\w.]){re.escape(written)}(?![\w.]*\d)", text) is not None


def holds_word(text: str, word: str) -> bool:
    """Whether a text holds a word, or several, with no letter or digit on either side."""
    return word in text and re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


def holds_quoted(text: str, word: str) -> bool:
    """Whether a text holds a word in quotes."""
    return word in text and re.search(rf"['\"`]{re.escape(word)}['\"`]", text) is not None


CODE_ARGUMENTS: Final = _set_of("""
    code script function expression js javascript python program snippet source_code pagefunction formula lambda
    function_body
""")
"""Names of arguments that hold a program."""
_LOOKS_LIKE_CODE = re.compile(r"=>|\bfunction\s*\(|\bdef \w+\(|\breturn\b[^\n]*;|\bimport \w+|\bdocument\.|\bawait ")


def brings_a_program(arguments: JsonObject | None) -> bool:
    """Whether an argument is a program, by its name or by its looks."""
    for name, value in (arguments or {}).items():
        if not isinstance(value, str) or not value.strip():
            continue
        named = name.casefold() in CODE_ARGUMENTS
        if (named and re.search(r"\W", value.strip())) or _LOOKS_LIKE_CODE.search(value[:MAX_VALUE_LENGTH]):
            return True
    return False
