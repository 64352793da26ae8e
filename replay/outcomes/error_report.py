"""Whether an answer as a whole reports an error: structure first, words last.

Where a tool hands out what somebody stored, error words are content.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from replay.dag.value_matching import ArgumentIndex
from replay.outcomes.envelopes.json_errors import error_in_json, found_nothing, only_words, sole_message, sole_text
from replay.outcomes.tool_traits import (
    answers_in_prose,
    changes_something,
    name_words,
    names_a_web_address,
    queries_a_database,
    returns_content,
    runs_commands,
    searches,
)
from replay.outcomes.words.error_phrases import (
    OUTAGE,
    POLICY_REFUSAL,
    RATE_LIMIT,
    TOO_LARGE,
    http_status,
    rpc_code,
)
from replay.outcomes.words.json_tails import status_in_tail
from replay.outcomes.words.own_values import is_own_value, says_it_was_done
from replay.outcomes.words.patterns import (
    DATA_START,
    ERROR_PREFIX,
    ERROR_SENTENCE,
    LOOSE_ERROR_PREFIX,
    NO_RESULTS,
    NO_SUCH_THING,
    READ_FAILED,
    REPORT_HEADING,
    SDK_ERROR_PREFIX,
    SHELL_ERROR,
    SHORT_REFUSAL,
    STATUS_OR_ERROR_LINE,
    SUCCESS_START,
    TRACEBACK_LAST_LINE,
    WRAPPER,
)
from replay.outcomes.words.quick_phrases import (
    ANY_ERROR,
    ERROR_CAUSE,
    ERROR_CLAUSE,
    MISSING_CLAUSE,
    NEEDS_A_CLIENT,
    TOOL_UNKNOWN,
)
from replay.outcomes.words.unknown_names import server_is_unknown
from replay.records import Certainty, RpcError, Tool

MAX_REPORT_LENGTH = 20_000
_MAX_SENTENCE_LENGTH = 600
_MAX_CLAUSE_LENGTH = 160
_MAX_REFUSAL_LENGTH = 120
_MAX_FOLDED = 3
"""Letters that one letter becomes where case is folded."""
_EXIT_CODE = re.compile(
    r"(?:\b(?:return|exit)[ _]?(?:code|status)|\bexited with(?: an?)?(?: (?:code|status))?|\breturncode|\bstatus code)"
    r"\W{0,4}(-?\d{1,10})\b",
    re.IGNORECASE,
)
_EXIT_WORDS = ("code", "status", "ed w")
"""One of them is in every match of it, once case is folded."""
_PATH = re.compile(r"(?:[A-Za-z]:\\|/)[\w.\-/\\ ]*[\w\-]")
_DATA_FILE = re.compile(r"\.(?:jsonl?|ndjson|json5|geojson|ipynb)\b", re.IGNORECASE)
_FIRST_SENTENCE = re.compile(r"\n|[.!?](?:\s|$)|。")
_FIRST_WORD = re.compile(r"\W*(\w+)")
_WHOLE_ERROR = re.compile(
    r"\W*(?:[a-z]{1,20} ){0,2}(?:domain|range|parse|syntax|value|type|overflow) error\W*"
    r"|\W*(?:[\w'\"-]{1,40} ){1,4}(?:is|are) not (?:yet |currently )?(?:connected|responding|reachable|ready)\W*",
    re.IGNORECASE,
)
_ABOUT_ERRORS = frozenset(
    """
    error errors failure failures exception exceptions crash crashes log logs lint
    """.split()  # noqa: SIM905 a list would take a line a word
)
_EXITED = re.compile(
    r"\b(?:process|command|program|cli)\b[^\n]{0,40} (?:exited|failed|terminated) with (?:exit )?(?:code|status) [1-9]",
    re.IGNORECASE,
)
_STOPPED = re.compile(
    r"\b(?:command|process|program|script|execution|tool|job)\b[^\n]{0,60}\b(?:timed out|(?:terminated|killed|aborted"
    r"|stopped|cancell?ed|interrupted)\b[^\n]{0,40}\b(?:time-?out|time limit|\d+ ?(?:ms|milliseconds|s|sec|seconds"
    r"|minutes)\b))",
    re.IGNORECASE,
)
_EXIT_KEYS = ("exit_code", "exitcode", "returncode", "return_code", "exitstatus", "exit_status")

Basis = Literal["protocol", "flag", "exit", "body", "prefix", "sentence", "model"]


class ErrorReport(NamedTuple):
    """An answer that as a whole reports a failure."""

    text: str
    """What the rules look at: the message, without what only wraps it."""
    basis: Basis
    certainty: Certainty = "certain"
    status: int | None = None
    """HTTP status where the answer holds one."""
    code: int | None = None
    """JSON-RPC error code where the answer holds one."""


class ProgramExit(NamedTuple):
    """How a program that a tool ran has ended."""

    code: int
    output: str


def traceback_in(tail: str, arguments: ArgumentIndex, tool: Tool | None) -> ErrorReport | None:
    """The failure of a program whose output ends in a traceback, where the tool runs programs and gives no status."""
    if not runs_commands(arguments) or returns_content(arguments, tool) or "Traceback (most" not in tail:
        return None
    last = tail[tail.rfind("Traceback (most") :]
    return _report(last, "exit", "likely") if TRACEBACK_LAST_LINE.match(last.strip().rsplit("\n", 1)[-1]) else None


def stopped_in(tail: str, arguments: ArgumentIndex) -> ErrorReport | None:
    """The failure of a program that was stopped for taking too long, where the harness says so below its output."""
    if not runs_commands(arguments):
        return None
    lines = tail.rstrip()[-_MAX_SENTENCE_LENGTH:].rsplit("\n", 4)[-4:]
    said = next((line for line in lines if _STOPPED.search(line)), None)
    return _report(said, "sentence", "likely") if said is not None else None


def error_of_rpc(answer: RpcError) -> ErrorReport:
    """The failure that a JSON-RPC error is."""
    data = "" if answer.data is None else f" {answer.data!s}"[:4000]
    return _report(answer.message[:MAX_REPORT_LENGTH] + data, "protocol", code=answer.code)


def program_exit(text: str, tail: str, body: object, arguments: ArgumentIndex) -> ProgramExit | None:
    """How the program ended, where the tool runs programs and says so."""
    if not runs_commands(arguments):
        return None
    if isinstance(body, dict):
        codes = [part for key, part in body.items() if str(key).casefold().replace("-", "_") in _EXIT_KEYS]
        if codes and isinstance(codes[0], int):
            return ProgramExit(
                codes[0], "\n".join(str(body[key]) for key in ("stdout", "stderr", "output", "error") if body.get(key))
            )
    found = _exit_codes(tail[-400:])
    if found:
        start = max(0, len(tail) - 400) + found[-1].start()
        return ProgramExit(int(found[-1][1]), _without_line(tail, start))
    first = _exit_codes(text.split("\n", 1)[0][:300])
    return ProgramExit(int(first[0][1]), text) if first else None


def _exit_codes(text: str) -> list[re.Match[str]]:
    folded = text.casefold()
    return list(_EXIT_CODE.finditer(text)) if any(word in folded for word in _EXIT_WORDS) else []


def error_in_text(
    text: str, *, flagged: bool, arguments: ArgumentIndex, tool: Tool | None, body: object
) -> ErrorReport | None:
    """The failure that a text is as a whole; None where it is an answer.

    Args:
        text: the text blocks, joined; cut where it is longer than any error report.
        flagged: the server marked the answer as an error.
        arguments: the call's, to be looked for in the text.
        tool: the tool's description, where it is known.
        body: the JSON value that is the whole text, or None.
    """
    rows = isinstance(body, list) and not flagged and queries_a_database(arguments)
    own = not flagged and is_own_value(body, arguments)
    error = None if rows or own else error_in_json(body, arguments.argument_names)
    if error is not None:
        if not flagged and returns_content(arguments, tool) and is_stored_json(text, error.message, arguments):
            return None
        return _report(error.message, "flag" if flagged else "body", status=error.status)
    if flagged or own:
        return _report(text, "flag") if flagged else None
    inner = sole_text(body)
    message = sole_message(body, arguments.argument_names) if inner is None else None
    if (
        message is not None
        and ANY_ERROR.search(message[:_MAX_SENTENCE_LENGTH])
        and not NO_RESULTS.match(message)
        and not found_nothing(body)
    ):
        return _report(message, "body", "likely")
    if inner is None and body is not None:
        words = only_words(body)
        reports = words is not None and ERROR_PREFIX.match(words) and not returns_content(arguments, tool)
        return _report(words, "body", "likely") if reports and words else None
    basis = _basis_of_text(inner if inner is not None else text, arguments, tool)
    return (
        _report(inner if inner is not None else text, basis, "likely" if basis == "sentence" else "certain")
        if basis
        else None
    )


def error_in_words(text: str, body: object) -> ErrorReport:
    """The failure that a model takes a short text for."""
    inner = sole_text(body)
    return _report(inner if inner is not None else text, "model", "likely")


def error_of_exit(ended: ProgramExit) -> ErrorReport:
    """The failure that a program's non-zero exit is."""
    return _report(ended.output, "exit", "likely")


def strip_wrappers(text: str) -> str:
    """An error text without what only wraps it (`Error executing tool x: `, `MCP error -32603: `, `Error: `)."""
    for _ in range(6):
        inner = WRAPPER.sub("", text.strip(), count=1)
        if inner == text:
            break
        text = inner
    return text.strip()


def _report(
    text: str, basis: Basis, certainty: Certainty = "certain", status: int | None = None, code: int | None = None
) -> ErrorReport:
    if status is None and basis in ("flag", "prefix", "sentence", "model", "body"):
        status = status_in_tail(text)
    number = code or rpc_code(text) or (status if status is not None and status < 0 else None)
    http = status if status is not None and status > 0 else http_status(text)
    return ErrorReport(text.strip(), basis, certainty, http, number)


def _basis_of_text(text: str, arguments: ArgumentIndex, tool: Tool | None) -> Basis | None:
    """Whether an unflagged text is a report of a failure: by its prefix, or as a sentence."""
    stripped = arguments.without_values(_without_heading(text)).strip()
    beginning = text[:300]
    unknown = arguments.tool_named_in(beginning) and TOOL_UNKNOWN.search(beginning)
    if (unknown or server_is_unknown(beginning, arguments)) and len(stripped) <= _MAX_SENTENCE_LENGTH:
        return "prefix"
    if not stripped or len(stripped) > MAX_REPORT_LENGTH or is_content(stripped, text, arguments, tool):
        return None
    stores = returns_content(arguments, tool) and not (
        STATUS_OR_ERROR_LINE.match(stripped) and names_a_web_address(arguments)
    )
    if stores and _is_stored_text(text, arguments):
        return None
    if (
        ERROR_PREFIX.match(stripped)
        or SDK_ERROR_PREFIX.match(stripped)
        or TOO_LARGE.match(stripped)
        or (not stores and (_is_bare(stripped, arguments) or _EXITED.search(stripped[:300])))
    ):
        return "prefix"
    if _doubts_itself(stripped) or (not stores and not answers_in_prose(arguments) and _lacks_a_client(stripped)):
        return "sentence"
    reports = not asks_about_errors(arguments) and _is_report(stripped, text, arguments, stores=stores)
    return "sentence" if reports else None


def is_content(stripped: str, text: str, arguments: ArgumentIndex, tool: Tool | None) -> bool:
    """Whether a text is data, good news, or what the call itself brought or asked for."""
    if DATA_START.match(_without_heading(text)) or SUCCESS_START.match(stripped) or says_it_was_done(text, arguments):
        return True
    long_enough = [value.casefold() for value in arguments.texts if len(value) * _MAX_FOLDED >= len(stripped)]
    folded = stripped.casefold() if long_enough else ""
    brought = len(stripped) > 4 and any(folded in value for value in long_enough)
    section = any(text.startswith(f"{value}:\n") for value in arguments.texts)
    return brought or section or _was_asked_for(text, arguments, tool)


def _is_report(stripped: str, text: str, arguments: ArgumentIndex, *, stores: bool) -> bool:
    """Whether a short text that does not call itself an error is a report of a failure all the same."""
    lines = stripped.count("\n") + 1
    paragraphs = stores and "\n\n" in text.strip() and not READ_FAILED.match(stripped)
    if len(stripped) > _MAX_SENTENCE_LENGTH or lines > 8 or paragraphs:
        return False
    if ERROR_SENTENCE.match(stripped):
        return True
    if runs_commands(arguments):
        named = lines == 1 and arguments.value_named_in(text) and ERROR_CLAUSE.search(stripped.rstrip(".")) is not None
        whole = _WHOLE_ERROR.fullmatch(stripped) or SHELL_ERROR.match(stripped)
        return named or (not stores and whole is not None)
    return _lacks_a_thing(stripped, text, arguments) or _refuses(stripped, text, arguments, stores=stores)


def _doubts_itself(stripped: str) -> bool:
    """Whether a short text found nothing, and goes on to say that the backend may be the reason."""
    if len(stripped) > _MAX_SENTENCE_LENGTH or not NO_RESULTS.match(stripped):
        return False
    reasons = _FIRST_SENTENCE.split(stripped, maxsplit=1)[-1]
    return reasons != stripped and (RATE_LIMIT.search(reasons) or OUTAGE.search(reasons)) is not None


def asks_about_errors(arguments: ArgumentIndex) -> bool:
    """Whether the call asks for errors: then words of failure are what it wanted."""
    if _ABOUT_ERRORS.intersection(name_words(arguments.tool_name)):
        return True
    return any(len(value) < 60 and _ABOUT_ERRORS.intersection(name_words(value)) for value in arguments.texts)


def _is_bare(stripped: str, arguments: ArgumentIndex) -> bool:
    """Whether an answer is an error's status alone, and no column of that name."""
    return STATUS_OR_ERROR_LINE.match(stripped) is not None and not queries_a_database(arguments)


def _lacks_a_client(stripped: str) -> bool:
    """Whether a short text says that its client does not do what the server asked of it."""
    return len(stripped) <= _MAX_CLAUSE_LENGTH and NEEDS_A_CLIENT.search(stripped) is not None


def _lacks_a_thing(stripped: str, text: str, arguments: ArgumentIndex) -> bool:
    """Whether `No such-and-such` is bad news: the tool was to change it, or to get the one that the call names."""
    if not NO_SUCH_THING.match(stripped):
        return False
    return changes_something(arguments) or (not answers_in_prose(arguments) and arguments.value_named_in(text))


def _refuses(stripped: str, text: str, arguments: ArgumentIndex, *, stores: bool) -> bool:
    """Whether a clause somewhere in the first sentence makes a report of it."""
    if not stores and len(stripped) <= _MAX_REFUSAL_LENGTH and "\n" not in stripped and SHORT_REFUSAL.match(stripped):
        return True
    prose = stores or answers_in_prose(arguments)
    if not prose and (LOOSE_ERROR_PREFIX.match(stripped) or _names_a_cause(stripped)):
        return True
    first = _FIRST_SENTENCE.split(stripped, maxsplit=1)[0]
    named = (
        arguments.value_quoted_in(text[:_MAX_CLAUSE_LENGTH])
        if searches(arguments)
        else not prose or arguments.value_named_in(text)
    )
    clause = MISSING_CLAUSE if stores else ERROR_CLAUSE
    return named and len(first) <= _MAX_CLAUSE_LENGTH and clause.search(first) is not None


def _names_a_cause(stripped: str) -> bool:
    """Whether one short line names a cause that only failures have."""
    return "\n" not in stripped and len(stripped) <= _MAX_CLAUSE_LENGTH and ERROR_CAUSE.search(stripped) is not None


def _was_asked_for(text: str, arguments: ArgumentIndex, tool: Tool | None) -> bool:
    """Whether the text's error word is a choice that the call made among those that the tool offers."""
    first = _FIRST_WORD.match(text) if arguments.by_name else None
    if first is None:
        return False
    chosen = [name for name, value in arguments.by_name.items() if value.casefold() == first[1].casefold()]
    if tool is None or not isinstance(tool.input_schema, dict):
        return any(re.search(r"(?:type|kind|level|severity|status|category)$", name, re.IGNORECASE) for name in chosen)
    properties = tool.input_schema.get("properties")
    fields = [properties.get(name) for name in chosen] if isinstance(properties, dict) else []
    return any(
        isinstance(field, dict) and arguments.by_name[name] in field.get("enum", ())
        for name, field in zip(chosen, fields, strict=False)
    )


def _without_heading(text: str) -> str:
    """The text without what may stand before a report."""
    text = text.lstrip()
    found = REPORT_HEADING.match(text)
    return text[found.end() :] if found else text


def _without_line(text: str, place: int) -> str:
    """The text without the line that holds a place."""
    start, end = text.rfind("\n", 0, place) + 1, text.find("\n", place)
    return (text[:start] + (text[end:] if end >= 0 else "")).strip()


def _is_stored_text(text: str, arguments: ArgumentIndex) -> bool:
    """Whether an error-shaped answer of a tool that returns content is that content.

    A server that reports a failure names what failed: an argument or its value, or the tool. Content names its own
    things: other paths, several lines, the line break that ends a file.
    """
    if _names_the_call(text, arguments) or (SDK_ERROR_PREFIX.match(text) and not text.endswith("\n")):
        return False
    if "\n" not in text and (POLICY_REFUSAL.search(text) or TOO_LARGE.match(text)):
        return False
    several_lines = text.strip("\n").count("\n") > 1
    return bool(_PATH.search(text)) or text.endswith("\n") or several_lines or not _reads_like_a_report(text, arguments)


def is_stored_json(text: str, message: str, arguments: ArgumentIndex) -> bool:
    """Whether an error-shaped JSON body of a tool that returns content is that content."""
    if _names_the_call(message, arguments):
        return False
    return text.endswith("\n") or any(_DATA_FILE.search(value) for value in arguments.texts)


def is_stored_label(text: str, message: str, arguments: ArgumentIndex) -> bool:
    """Whether what a tool that returns content begins with a label of an error is that content."""
    if _names_the_call(message, arguments):
        return False
    several_lines = text.strip("\n").count("\n") > 1
    return bool(_PATH.search(message)) or text.endswith("\n") or several_lines


def _names_the_call(text: str, arguments: ArgumentIndex) -> bool:
    return arguments.value_named_in(text) or arguments.tool_named_in(text) or arguments.arguments_named_in(text)


def _reads_like_a_report(text: str, arguments: ArgumentIndex) -> bool:
    if ERROR_PREFIX.match(text) or READ_FAILED.match(text):
        return True
    return not arguments.texts and ERROR_SENTENCE.match(text) is not None
