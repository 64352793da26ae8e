"""Whose a failure is, where its words alone would say another: the query's, the program's, the server's own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from replay.outcomes.error_report import strip_wrappers
from replay.outcomes.tool_traits import queries_a_database, runs_commands
from replay.outcomes.words.error_model import ModelVerdict, model_in_use
from replay.outcomes.words.patterns import any_of

if TYPE_CHECKING:
    from replay.outcomes.answer import Condition, ParsedAnswer

_MAX_TEXT = 2000
_SURE = 0.65
"""How much of a failure's likelihood must fall to one outcome for the model to say whose it is."""

_NAMED_IN_QUERY = any_of(
    r"\b(?:column|function|operator|procedure|aggregate|collation|type|alias|field|identifier)\b[^\n]{0,160}"
    r"\b(?:do|does)(?: not|n't) exist\b",
    r"\b(?:no such|unknown|undefined|unresolved|invalid|ambiguous) (?:column|function|identifier|field|alias"
    r"|operator)\b",
    r"\b(?:column|function|identifier|field)\b[^\n]{0,100}\b(?:not found|is not defined|cannot be resolved"
    r"|is ambiguous)\b|\bhas no column\b"
    r"|\bmissing columns?:|\bunknown_identifier\b",
)
"""Parts of the statement itself. A table that is not there is a thing that was looked up."""

_STATEMENT = re.compile(
    r"^\s*(?:select\b|insert into\b|update \w|delete from\b|create (?:or replace )?\w|alter \w|drop \w|with \w+ as\b"
    r"|explain\b|refresh \w)",
    re.IGNORECASE | re.MULTILINE,
)
_PROGRAM_ARGUMENTS = frozenset(
    """
    code script function expression js javascript python program snippet source_code pagefunction formula lambda
    function_body
    """.split()  # noqa: SIM905 a list would take a line a word
)
_LOOKS_LIKE_CODE = re.compile(r"=>|\bfunction\s*\(|\bdef \w+\(|\breturn\b[^\n]*;|\bimport \w+|\bdocument\.|\bawait ")
_EXCEPTION = re.compile(
    r"\b(?:Type|Reference|Syntax|Range|Name|Attribute|Key|Index|Value|Indentation|ZeroDivision|Assertion|Eval|Lookup"
    r"|Arithmetic|Overflow|UnboundLocal|Runtime|Recursion)Error\b|\bStopIteration\b|\bis not a function\b"
    r"|\bis not defined\b|\bcannot read propert|\bunexpected token\b",
    re.IGNORECASE,
)
_OWN_PROCESS = any_of(
    r"\b(?:command|process|subprocess|cli|program|server|worker|daemon)\b[^\n]{0,40}"
    r"\b(?:failed|exited|crashed|died|terminated|quit|killed)\b[^\n]{0,20}\b(?:code|status|signal)\b"
)
"""A program that the server runs for itself ended badly."""
_OWN_PART = re.compile(
    r"\b(?:is|are|was) (?:not|n't) (?:currently |yet )?(?:connected|responding|reachable|running)\b"
    r"|^\W*(?:[\w:-]{1,20}:? ){0,3}not connected\W*$",
    re.IGNORECASE,
)
_UNDEFINED_NAME = re.compile(
    r"\bname ['\"](\w{1,80})['\"] is not defined|(?:^|: )\W{0,3}([A-Za-z_$]\w{0,80}) is not defined\W*$", re.IGNORECASE
)
_MIN_WORDS = 2
_WORD = re.compile(r"[^\W\d_]{2,}")
_VAGUE_WORDS = frozenset(
    """
    error errors failed failure fail exception something somehow went wrong unknown unexpected occurred happened
    internal tool call operation request command action executing execute calling running run the an has have had is
    was it with while during please try again later oops sorry could not be completed complete hm code message status
    of to in for
    """.split()  # noqa: SIM905 a list would take a line a word
)
"""What an error says that explains nothing."""

_FILE_MISSING = re.compile(
    r"\bENOENT\b|no such file"
    r"|(?:file|directory|path)\b[^\n]{0,120}\b(?:not found|do(?:es)?(?: not|n't) exist|is missing)"
    r"|(?:cannot|could not|failed to|unable to) (?:open|find|load|read)\b[^\n]{0,60}\bfile\b",
    re.IGNORECASE,
)
_FILE_NAME = re.compile(
    r"(?:[A-Za-z]:\\|[/~.])?[\w./\\-]{0,200}[/\\][\w.-]+|\b[\w-]{1,80}\.[a-z]\w{1,5}\b"
    r"|\b(?:open|mkdir|l?stat|scandir|access|unlink|rmdir|copyfile|rename) '[^'\n]{1,200}'"
)
_FILE_ARGUMENT = re.compile(
    r"path|file|dir|folder|name|uri|url|source|target|cwd|root|repo|location|input|output", re.I
)


def query_names_nothing(parsed: ParsedAnswer) -> bool:
    """The call brought a statement of a database, and the failure is of a name in it."""
    error = parsed.error
    return (
        error is not None
        and error.basis != "exit"
        and (queries_a_database(parsed.arguments) or any(map(_STATEMENT.search, parsed.arguments.texts)))
        and _NAMED_IN_QUERY.search(error.text[:_MAX_TEXT]) is not None
    )


def own_program_failed(parsed: ParsedAnswer) -> bool:
    """The call brought a program of the model's, and an exception of a program is the failure."""
    error = parsed.error
    if error is None or error.basis == "exit" or not brings_a_program(parsed.call.arguments):
        return False
    return _EXCEPTION.search(error.text[:_MAX_TEXT]) is not None


def brings_a_program(arguments: dict[str, Any] | None) -> bool:
    """Whether an argument is a program, by its name or by its looks."""
    for name, value in (arguments or {}).items():
        if not isinstance(value, str) or not value.strip():
            continue
        named = name.casefold() in _PROGRAM_ARGUMENTS
        if (named and re.search(r"\W", value.strip())) or _LOOKS_LIKE_CODE.search(value[:_MAX_TEXT]):
            return True
    return False


def own_process_failed(parsed: ParsedAnswer) -> bool:
    """A process of the server's ended badly, and the call brought neither a command nor a program nor a statement."""
    error = parsed.error
    if error is None or error.basis == "exit" or brings_a_program(parsed.call.arguments):
        return False
    if runs_commands(parsed.arguments) or queries_a_database(parsed.arguments):
        return False
    return _OWN_PROCESS.search(error.text[:_MAX_TEXT]) is not None


def own_part_fails(parsed: ParsedAnswer) -> bool:
    """What the server needs is not connected or does not run, and it is nothing that the call names."""
    error = parsed.error
    if error is None or error.basis == "exit":
        return False
    said = error.text[:_MAX_TEXT]
    return _OWN_PART.search(said) is not None and not parsed.arguments.value_named_in(said)


def own_name_undefined(parsed: ParsedAnswer) -> bool:
    """A program lacks a variable whose name the call did not bring: the server's own code is broken."""
    found = _UNDEFINED_NAME.search(parsed.error.text[:_MAX_TEXT]) if parsed.error else None
    if found is None:
        return False
    name = found[1] or found[2]
    return not any(name in value for value in (*parsed.arguments.texts, *parsed.arguments.argument_names))


def own_file_missing(parsed: ParsedAnswer) -> bool:
    """A file is missing that the call neither named nor could have: the server's own."""
    error = parsed.error
    if error is None or error.basis in ("exit", "sentence", "model"):
        return False
    said = error.text[:_MAX_TEXT]
    if not _FILE_MISSING.search(said) or not _FILE_NAME.search(said):
        return False
    if any(
        _FILE_ARGUMENT.search(name) or name.casefold() in _PROGRAM_ARGUMENTS for name in parsed.arguments.argument_names
    ):
        return False
    slashed = any("/" in value or "\\" in value for value in parsed.arguments.texts)
    return not slashed and not parsed.arguments.value_named_in(said)


def says_something(text: str) -> bool:
    """Whether a failure's text says more than that there was one."""
    words = {word.casefold() for word in _WORD.findall(strip_wrappers(text[:_MAX_TEXT]))}
    return len(words - _VAGUE_WORDS) >= _MIN_WORDS or any(word[0] >= "\u3040" for word in words)


def model_says(outcome: str) -> Condition:
    """Nothing else tells whose the failure is, and the model finds it like those of this outcome."""

    def match(parsed: ParsedAnswer) -> bool:
        if parsed.error is None or parsed.error.basis == "exit" or not says_something(parsed.error.text):
            return False
        verdict = model_verdict(parsed)
        return verdict is not None and verdict.outcome == outcome and verdict.share >= _SURE

    return match


def model_verdict(parsed: ParsedAnswer) -> ModelVerdict | None:
    """What the model makes of the failure; asked once an answer."""
    if parsed.verdict is None and parsed.error is not None and parsed.error.text.strip():
        parsed.verdict = model_in_use().judge(parsed.error.text, parsed.arguments)
    return parsed.verdict
