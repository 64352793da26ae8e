"""Is the whole answer an error? Structure first, words last."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from replay.outcomes.bodies import error_in, found_nothing, only_words, sole_message, sole_text
from replay.outcomes.content import (
    asks_a_question,
    changes_something,
    fetches,
    is_stored_json,
    is_stored_text,
    queries_a_database,
    returns_content,
    runs_commands,
    searches,
)
from replay.outcomes.mentions import Mentions
from replay.outcomes.phrases import LOOSE, NEEDS_A_CLIENT, OUTAGE, RATE, TELLTALE, http_status, rpc_code
from replay.outcomes.shapes import (
    ABSENT,
    BARE,
    CLAUSE,
    DATA,
    EMPTY,
    ERROR_LINE,
    FAILED_READING,
    FRAME,
    HEADING,
    LABEL,
    NEEDLESS,
    NOTHING_THERE,
    PREFIX,
    SENTENCE,
    SHELL,
    SUCCESS_START,
    TOOL_UNKNOWN,
    WRAPPING,
)
from replay.records import Certainty, RpcError, TextAnswer, Tool, ToolResult

LONGEST_REPORT = 20_000
_LONGEST_SENTENCE = 600
_LONGEST_CLAUSE = 160
_LONGEST_REFUSAL = 120
_EXIT = re.compile(
    r"(?:\b(?:return|exit)[ _]?(?:code|status)|\bexited with(?: an?)?(?: (?:code|status))?|\breturncode|\bstatus code)"
    r"\W{0,4}(-?\d{1,10})\b",
    re.IGNORECASE,
)
_FIRST_SENTENCE = re.compile(r"\n|[.!?](?:\s|$)|。")
_EXIT_KEYS = ("exit_code", "exitcode", "returncode", "return_code", "exitstatus", "exit_status")

Basis = Literal["protocol", "flag", "exit", "body", "prefix", "sentence"]


class Failure(NamedTuple):
    """An answer that as a whole reports a failure."""

    text: str
    """What the rules look at: the message, without what only wraps it."""
    basis: Basis
    certainty: Certainty = "certain"
    status: int | None = None
    """HTTP status where the answer holds one."""
    code: int | None = None
    """JSON-RPC error code where the answer holds one."""


class Exit(NamedTuple):
    """How a program that a tool ran has ended."""

    code: int
    output: str


def traceback_of(tail: str, mentions: Mentions, tool: Tool | None) -> Failure | None:
    """The failure of a program whose output ends in a traceback, where the tool runs programs and gives no status."""
    if not runs_commands(mentions) or returns_content(mentions, tool) or "Traceback (most" not in tail:
        return None
    last = tail[tail.rfind("Traceback (most") :]
    return _failure(last, "exit", "likely") if ERROR_LINE.match(last.strip().rsplit("\n", 1)[-1]) else None


def protocol_failure(answer: RpcError) -> Failure:
    """The failure that a JSON-RPC error is."""
    data = "" if answer.data is None else f" {answer.data!s}"[:4000]
    return _failure(answer.message[:LONGEST_REPORT] + data, "protocol", code=answer.code)


def exit_of(text: str, tail: str, body: object, mentions: Mentions) -> Exit | None:
    """How the program ended, where the tool runs programs and says so."""
    if not runs_commands(mentions):
        return None
    if isinstance(body, dict):
        codes = [part for key, part in body.items() if str(key).casefold().replace("-", "_") in _EXIT_KEYS]
        if codes and isinstance(codes[0], int):
            return Exit(
                codes[0], "\n".join(str(body[key]) for key in ("stdout", "stderr", "output", "error") if body.get(key))
            )
    found = list(_EXIT.finditer(tail[-400:]))
    if found:
        start = max(0, len(tail) - 400) + found[-1].start()
        return Exit(int(found[-1][1]), _without_line(tail, start))
    first = _EXIT.search(text.split("\n", 1)[0][:300])
    return Exit(int(first[1]), text) if first else None


def text_failure(text: str, *, flagged: bool, mentions: Mentions, tool: Tool | None, body: object) -> Failure | None:
    """The failure that a text is as a whole; None where it is an answer.

    Args:
        text: the text blocks, joined; cut where it is longer than any error report.
        flagged: the server marked the answer as an error.
        mentions: the call's arguments.
        tool: the tool's description, where it is known.
        body: the JSON value that is the whole text, or None.
    """
    rows = isinstance(body, list) and not flagged and queries_a_database(mentions)
    error = None if rows else error_in(body, mentions.argument_names)
    if error is not None:
        if not flagged and returns_content(mentions, tool) and is_stored_json(text, error.message, mentions):
            return None
        return _failure(error.message, "flag" if flagged else "body", status=error.status)
    if flagged:
        return _failure(text, "flag")
    inner = sole_text(body)
    message = sole_message(body, mentions.argument_names) if inner is None else None
    if (
        message is not None
        and LOOSE.search(message[:_LONGEST_SENTENCE])
        and not EMPTY.match(message)
        and not found_nothing(body)
    ):
        return _failure(message, "body", "likely")
    if inner is None and body is not None:
        words = only_words(body)
        reports = words is not None and PREFIX.match(words) and not returns_content(mentions, tool)
        return _failure(words, "body", "likely") if reports and words else None
    basis = _shape(inner if inner is not None else text, mentions, tool)
    return (
        _failure(inner if inner is not None else text, basis, "likely" if basis == "sentence" else "certain")
        if basis
        else None
    )


def exit_failure(ended: Exit) -> Failure:
    """The failure that a program's non-zero exit is."""
    return _failure(ended.output, "exit", "likely")


def peel(text: str) -> str:
    """An error text without what only wraps it (`Error executing tool x: `, `MCP error -32603: `, `Error: `)."""
    for _ in range(6):
        inner = WRAPPING.sub("", text.strip(), count=1)
        if inner == text:
            break
        text = inner
    return text.strip()


def _failure(
    text: str, basis: Basis, certainty: Certainty = "certain", status: int | None = None, code: int | None = None
) -> Failure:
    number = code or rpc_code(text) or (status if status is not None and status < 0 else None)
    http = status if status is not None and status > 0 else http_status(text)
    return Failure(text.strip(), basis, certainty, http, number)


def _shape(text: str, mentions: Mentions, tool: Tool | None) -> Basis | None:
    """Whether an unflagged text is a report of a failure: by its prefix, or as a sentence."""
    stripped = mentions.without_values(_without_heading(text)).strip()
    beginning = text[:300]
    if mentions.tool_named_in(beginning) and len(stripped) <= _LONGEST_SENTENCE and TOOL_UNKNOWN.search(beginning):
        return "prefix"
    if not stripped or len(stripped) > LONGEST_REPORT or _is_content(stripped, text, mentions, tool):
        return None
    stores = returns_content(mentions, tool) and not (BARE.match(stripped) and fetches(mentions))
    if stores and is_stored_text(text, mentions):
        return None
    if PREFIX.match(stripped) or FRAME.match(stripped) or (not stores and _is_bare(stripped, mentions)):
        return "prefix"
    if _doubts_itself(stripped) or (not stores and not asks_a_question(mentions) and _lacks_a_client(stripped)):
        return "sentence"
    return "sentence" if _is_report(stripped, text, mentions, stores=stores) else None


def _is_content(stripped: str, text: str, mentions: Mentions, tool: Tool | None) -> bool:
    """Whether a text is data, good news, or what the call itself brought or asked for."""
    if DATA.match(_without_heading(text)) or SUCCESS_START.match(stripped):
        return True
    brought = len(stripped) > 4 and any(stripped.casefold() in value.casefold() for value in mentions.texts)
    section = any(text.startswith(f"{value}:\n") for value in mentions.texts)
    return brought or section or _was_asked_for(text, mentions, tool)


def _is_report(stripped: str, text: str, mentions: Mentions, *, stores: bool) -> bool:
    """Whether a short text that does not call itself an error is a report of a failure all the same."""
    lines = stripped.count("\n") + 1
    paragraphs = stores and "\n\n" in text.strip() and not FAILED_READING.match(stripped)
    if len(stripped) > _LONGEST_SENTENCE or lines > 8 or paragraphs:
        return False
    if SENTENCE.match(stripped):
        return True
    if runs_commands(mentions):
        named = lines == 1 and mentions.value_named_in(text) and CLAUSE.search(stripped.rstrip(".")) is not None
        return named or (not stores and SHELL.match(stripped) is not None)
    return _misses_a_thing(stripped, text, mentions) or _refuses(stripped, text, mentions, stores=stores)


def _doubts_itself(stripped: str) -> bool:
    """Whether a short text found nothing, and goes on to say that the backend may be the reason."""
    if len(stripped) > _LONGEST_SENTENCE or not EMPTY.match(stripped):
        return False
    reasons = _FIRST_SENTENCE.split(stripped, maxsplit=1)[-1]
    return reasons != stripped and (RATE.search(reasons) or OUTAGE.search(reasons)) is not None


def _is_bare(stripped: str, mentions: Mentions) -> bool:
    """Whether an answer is an error's status alone, and no column of that name."""
    return BARE.match(stripped) is not None and not queries_a_database(mentions)


def _lacks_a_client(stripped: str) -> bool:
    """Whether a short text says that its client does not do what the server asked of it."""
    return len(stripped) <= _LONGEST_CLAUSE and NEEDS_A_CLIENT.search(stripped) is not None


def _misses_a_thing(stripped: str, text: str, mentions: Mentions) -> bool:
    """Whether `No such-and-such` is bad news: the tool was to change it, or to get the one that the call names."""
    if not NOTHING_THERE.match(stripped):
        return False
    return changes_something(mentions) or (not asks_a_question(mentions) and mentions.value_named_in(text))


def _refuses(stripped: str, text: str, mentions: Mentions, *, stores: bool) -> bool:
    """Whether a clause somewhere in the first sentence makes a report of it."""
    if not stores and len(stripped) <= _LONGEST_REFUSAL and "\n" not in stripped and NEEDLESS.match(stripped):
        return True
    prose = stores or asks_a_question(mentions)
    if not prose and (LABEL.match(stripped) or _is_telling(stripped)):
        return True
    first = _FIRST_SENTENCE.split(stripped, maxsplit=1)[0]
    named = (
        mentions.value_quoted_in(text[:_LONGEST_CLAUSE])
        if searches(mentions)
        else not prose or mentions.value_named_in(text)
    )
    clause = ABSENT if stores else CLAUSE
    return named and len(first) <= _LONGEST_CLAUSE and clause.search(first) is not None


def _is_telling(stripped: str) -> bool:
    """Whether one short line names a cause that only failures have."""
    return "\n" not in stripped and len(stripped) <= _LONGEST_CLAUSE and TELLTALE.search(stripped) is not None


def _was_asked_for(text: str, mentions: Mentions, tool: Tool | None) -> bool:
    """Whether the text's error word is a choice that the call made among those that the tool offers."""
    first = re.match(r"\W*(\w+)", text)
    if first is None:
        return False
    chosen = [name for name, value in mentions.by_name.items() if value.casefold() == first[1].casefold()]
    if tool is None or not isinstance(tool.input_schema, dict):
        return any(re.search(r"(?:type|kind|level|severity|status|category)$", name, re.IGNORECASE) for name in chosen)
    properties = tool.input_schema.get("properties")
    fields = [properties.get(name) for name in chosen] if isinstance(properties, dict) else []
    return any(
        isinstance(field, dict) and mentions.by_name[name] in field.get("enum", ())
        for name, field in zip(chosen, fields, strict=False)
    )


def _without_heading(text: str) -> str:
    """The text without what may stand before a report."""
    text = text.lstrip()
    found = HEADING.match(text)
    return text[found.end() :] if found else text


def _without_line(text: str, place: int) -> str:
    """The text without the line that holds a place."""
    start, end = text.rfind("\n", 0, place) + 1, text.find("\n", place)
    return (text[:start] + (text[end:] if end >= 0 else "")).strip()


def flagged_by_server(answer: ToolResult | TextAnswer, blocks: tuple[dict[str, object], ...]) -> bool:
    """Whether the server, or the harness that recorded it, marked the answer as an error."""
    return (isinstance(answer, ToolResult) and answer.is_error) or any(block.get("error") is True for block in blocks)
