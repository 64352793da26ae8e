"""Tools whose answer is what somebody stored: there, error words are content."""

from __future__ import annotations

import re
from functools import lru_cache

from replay.outcomes.mentions import Mentions
from replay.outcomes.phrases import REFUSED_PATH
from replay.outcomes.shapes import FAILED_READING, FRAME, PREFIX, SENTENCE
from replay.records import Tool


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_VERBS = _words("""
    read cat get fetch view open show download load retrieve extract convert head tail display print
    dump recall echo scrape crawl browse export transcribe
""")
_NOUNS = _words("""
    file files text content contents document documents doc docs note notes page pages resource url
    markdown html json blob message messages snippet log logs lines line paragraph memory raw body
    transcript comment comments readme source article section email mail thread history variable env
    secret clipboard screen
""")
_ALONE = _words("""
    fetch read cat echo view open recall scrape
""")
_ASKING = _words("""
    search find query list ask chat summarize summarise answer explain translate analyze analyse
    generate think
""")
_RUNNING = _words("""
    run exec execute shell command terminal bash python cmd eval evaluate powershell repl
    interpreter
""")
_QUERYING = _words("sql query queries statement cypher graphql")
_LOOKING = _words("get list read show describe cancel delete view find check stop")
_RECORDS = _words("log logs transcript transcripts stdout stderr requests messages")
_RUN_ARGUMENTS = frozenset(["command", "cmd", "commands", "code", "script", "shell_command"])
_SEARCHING = _words("""
    search find grep ask chat summarize summarise answer explain translate generate think classify
""")
_CHANGING = _words("""
    delete remove update edit modify rename set unset close stop kill cancel drop unmerge merge
    replace patch clear add create write send post put append insert click hover press fill tap drag
    start restart pause resume
""")
_READING_PROGRAM = re.compile(
    r"^\W*(?:cat|head|tail|less|more|grep|sed|awk|journalctl|type|Get-Content|bat|jq|strings|xxd|echo|printf)\b"
)
_STATEMENT = re.compile(
    r"\s*(?:select|insert|update|delete|create|drop|alter|with|explain|pragma|describe|merge|truncate)\b[^\n]*"
    r"(?:\b(?:from|into|table|set|as|database|schema|view|index)\b|\d|\*)",
    re.IGNORECASE,
)
_PATH = re.compile(r"(?:[A-Za-z]:\\|/)[\w.\-/\\ ]*[\w\-]")
_DATA_FILE = re.compile(r"\.(?:jsonl?|ndjson|json5|geojson|ipynb)\b", re.IGNORECASE)


@lru_cache(maxsize=4096)
def words_of(tool_name: str) -> tuple[str, ...]:
    """A tool name's words, in lower case: `readTextFile` and `read_text_file` alike."""
    return tuple(word.casefold() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", tool_name))


def returns_content(mentions: Mentions, tool: Tool | None) -> bool:
    """Whether the tool, by its name, hands out stored text as it is."""
    words = words_of(mentions.tool_name)
    if runs_commands(mentions):
        return any(_READING_PROGRAM.match(value) for value in mentions.texts)
    if not words or (
        tool is not None and tool.annotations and tool.annotations.get("destructiveHint") is True and not tool.read_only
    ):
        return False
    records = words[-1] in _RECORDS and not _CHANGING & set(words)
    return records or (len(words) == 1 and words[0] in _ALONE) or bool(_VERBS & set(words[:3]) and _NOUNS & set(words))


def asks_a_question(mentions: Mentions) -> bool:
    """Whether the tool, by its name, searches or writes prose: its answer may be any sentence."""
    return bool(_ASKING & set(words_of(mentions.tool_name))) and not queries_a_database(mentions)


def queries_a_database(mentions: Mentions) -> bool:
    """Whether the call brings a statement of a database: the answer is rows then, never prose."""
    return "sql" in mentions.argument_names or any(_STATEMENT.match(value) for value in mentions.texts)


def searches(mentions: Mentions) -> bool:
    """Whether the tool, by its name, shows what it finds: then the call's words stand in any answer."""
    return bool(_SEARCHING & set(words_of(mentions.tool_name)))


def fetches(mentions: Mentions) -> bool:
    """Whether the call names an address on the web: what comes back may be the word of a backend."""
    return any(re.match(r"https?://", value, re.IGNORECASE) for value in mentions.texts)


def changes_something(mentions: Mentions) -> bool:
    """Whether the tool, by its name, changes a thing that must be there."""
    return bool(_CHANGING & set(words_of(mentions.tool_name)[:3]))


def runs_commands(mentions: Mentions) -> bool:
    """Whether the tool, by its name or its arguments, runs a program."""
    words = words_of(mentions.tool_name)
    if queries_a_database(mentions):
        return False
    named = bool(_RUNNING & set(words)) and not _QUERYING & set(words) and words[0] not in _LOOKING
    return named or any(name.casefold() in _RUN_ARGUMENTS for name in mentions.argument_names)


def is_stored_text(text: str, mentions: Mentions) -> bool:
    """Whether an error-shaped answer of a tool that returns content is that content.

    A server that reports a failure names what failed: an argument or its value, or the tool. Content names its own
    things: other paths, several lines, the line break that ends a file.
    """
    if _names_the_call(text, mentions) or (FRAME.match(text) and not text.endswith("\n")):
        return False
    if REFUSED_PATH.search(text) and "\n" not in text:
        return False
    several_lines = text.strip("\n").count("\n") > 1
    return bool(_PATH.search(text)) or text.endswith("\n") or several_lines or not _reads_like_a_report(text, mentions)


def is_stored_json(text: str, message: str, mentions: Mentions) -> bool:
    """Whether an error-shaped JSON body of a tool that returns content is that content."""
    if _names_the_call(message, mentions):
        return False
    return text.endswith("\n") or any(_DATA_FILE.search(value) for value in mentions.texts)


def _names_the_call(text: str, mentions: Mentions) -> bool:
    return mentions.value_named_in(text) or mentions.tool_named_in(text) or mentions.arguments_named_in(text)


def _reads_like_a_report(text: str, mentions: Mentions) -> bool:
    if PREFIX.match(text) or FAILED_READING.match(text):
        return True
    return not mentions.texts and SENTENCE.match(text) is not None
