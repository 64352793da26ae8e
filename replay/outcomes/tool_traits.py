"""What a tool does, told by the words of its name and by the arguments of a call.

A tool may hand out stored text, in which error words are content; search; change something; or run a program.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache, wraps

from replay.dag.value_matching import ArgumentIndex
from replay.records import Tool

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
    secret clipboard screen
""")
_READING_NAMES = _set_of("""
    fetch read cat echo view open recall scrape
""")
_PROSE_VERBS = _set_of("""
    search find query list ask chat summarize summarise answer explain translate analyze analyse
    generate think
""")
_RUNNING_WORDS = _set_of("""
    run exec execute shell command terminal bash python cmd eval evaluate powershell repl
    interpreter
""")
_QUERY_WORDS = _set_of("sql query queries statement cypher graphql")
_LOOKUP_VERBS = _set_of("get list read show describe cancel delete view find check stop")
_RECORD_NOUNS = _set_of("log logs transcript transcripts stdout stderr requests messages")
_PROGRAM_ARGUMENTS = frozenset(["command", "cmd", "commands", "code", "script", "shell_command"])
_SEARCH_VERBS = _set_of("""
    search find grep ask chat summarize summarise answer explain translate generate think classify
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
    return _names_stored_text(arguments.tool_name)


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
    return bool(_PROSE_VERBS & set(name_words(arguments.tool_name))) and not queries_a_database(arguments)


@_known
def queries_a_database(arguments: ArgumentIndex) -> bool:
    """Whether the call brings a statement of a database: the answer is rows then, never prose."""
    return "sql" in arguments.argument_names or any(_SQL_STATEMENT.match(value) for value in arguments.texts)


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
    if queries_a_database(arguments):
        return False
    named = bool(_RUNNING_WORDS & set(words)) and not _QUERY_WORDS & set(words) and words[0] not in _LOOKUP_VERBS
    return named or any(name.casefold() in _PROGRAM_ARGUMENTS for name in arguments.argument_names)
