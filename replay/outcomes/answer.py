"""What an answer says: parsed once for all rules, and the conditions that a rule may ask of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Sequence
from functools import cache
from typing import Any

from replay.dag.value_matching import ArgumentIndex
from replay.outcomes.envelopes.json_errors import is_empty, parse_json
from replay.outcomes.envelopes.opening import OpenedAnswer, as_it_came, open_answer
from replay.outcomes.error_report import (
    ErrorReport,
    ProgramExit,
    error_in_text,
    error_in_words,
    error_of_exit,
    error_of_rpc,
    is_stored_json,
    is_stored_label,
    program_exit,
    stopped_in,
    strip_wrappers,
    traceback_in,
)
from replay.outcomes.sentence import failure_in_sentence
from replay.outcomes.tool_traits import returns_content
from replay.outcomes.words import error_phrases, patterns
from replay.outcomes.words.error_model import ModelVerdict
from replay.outcomes.words.own_values import is_own_value
from replay.outcomes.words.quick_search import QuickSearch
from replay.outcomes.words.unknown_names import server_is_unknown
from replay.records import (
    Answer,
    Call,
    EnvelopeLayer,
    RpcError,
    SchemaViolation,
    TextAnswer,
    Tool,
    ToolResult,
    TransportFault,
)
from replay.records.tool_name import read_name

MAX_HEAD, MAX_TAIL = 24_000, 4_000
_STATUS_IS_THE_ANSWER = re.compile(
    r"(?:^|[|;&(\n]\s*)(?:grep|egrep|fgrep|rg|diff|cmp|test|\[|pgrep|which|type|pytest|git diff|git grep|expr)\b"
)
_PROGRAM_ERROR = re.compile(
    r"traceback|no such file|usage:|\berror:|command not found|not recognized|permission denied|invalid option",
    re.IGNORECASE,
)
_MAX_LINE_LENGTH = 300
_TERMINAL_ESCAPE = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_INTERNAL_ERROR = re.compile(r"\W*(?:an )?internal (?:rpc |json-rpc )?error(?: (?:has )?occurred)?\W*", re.IGNORECASE)
_UNDEFINED = re.compile(r"\b(?:undefined|NaN)\b")


class ParsedAnswer:
    """What the rules look at: an answer beside the call that it answers."""

    def __init__(
        self,
        call: Call,
        answer: Answer,
        tool: Tool | None,
        violations: Sequence[SchemaViolation],
        stored_texts: Collection[str] = (),
        *,
        listed: bool = True,
    ) -> None:
        self.call, self.answer, self.tool, self.violations = call, answer, tool, tuple(violations)
        self.listed = listed and tool is not None
        """Whether a server lists the tool under the name that the call writes: then it cannot be unknown."""
        name = tool.name if tool else call.tool or (read_name(call.name, ()).tool if call.name else "")
        self.arguments = ArgumentIndex(call.arguments, tool_name=name, written_name=call.name or "")
        self.flagged = isinstance(answer, RpcError)
        self.text = self.tail = ""
        self.layers: tuple[EnvelopeLayer, ...] = ()
        """The envelopes that the text came in."""
        self.structured: Any = None
        self.has_media = False
        self.body: Any = None
        self.program_exit: ProgramExit | None = None
        self.error: ErrorReport | None = None
        self.verdict: ModelVerdict | None = None
        """What the model says of an answer that only its words tell."""
        if isinstance(answer, RpcError):
            self.error = error_of_rpc(answer)
        elif isinstance(answer, ToolResult | TextAnswer):
            self._read_result(answer)
            if self.error is not None and not self.flagged and self._reads_back(stored_texts):
                self.error = None

    @property
    def fault(self) -> TransportFault | None:
        """The transport fault that came instead of an answer."""
        return self.answer if isinstance(self.answer, TransportFault) else None

    @property
    def is_empty(self) -> bool:
        """Whether a successful answer brought nothing."""
        if self.has_media:
            return False
        stripped = self.text.strip()
        if stripped in ("", "[]", "{}", "null", "None", "()", '""', "undefined"):
            return not self.structured or is_empty(self.structured)
        if self.body is not None:
            return is_empty(self.body)
        content = returns_content(self.arguments, self.tool)
        return len(stripped) < 300 and not content and patterns.NO_RESULTS.match(stripped) is not None

    def _read_result(self, answer: ToolResult | TextAnswer) -> None:
        opened = open_answer(answer)
        if opened.layers:
            closed = as_it_came(answer)
            opened = closed if self._is_stored_envelope(closed, opened) else opened
        self.layers = opened.layers
        pieces = list(opened.pieces)
        self.text, self.tail = _ends([opened.only_label] if opened.only_label else pieces)
        if "\x1b" in self.text:
            self.text, self.tail = _TERMINAL_ESCAPE.sub("", self.text), _TERMINAL_ESCAPE.sub("", self.tail)
        self.has_media = opened.has_media
        self.body = parse_json(self.text)
        self.structured = opened.structured
        if not pieces and self.structured is not None:
            self.body = self.structured
            self.text = json.dumps(self.structured, ensure_ascii=False, default=str)[:MAX_HEAD]
        self.program_exit = program_exit(self.text, self.tail, self.body, self.arguments)
        self.flagged = opened.flagged
        self.error = self._find_error(opened.marked)

    def _is_stored_envelope(self, closed: OpenedAnswer, opened: OpenedAnswer) -> bool:
        """Whether what looks like an envelope of an error is the text that the tool was to hand out."""
        if closed.marked or not opened.marked or not returns_content(self.arguments, self.tool):
            return False
        text, message = "\n".join(closed.pieces)[:MAX_HEAD], "\n".join(opened.pieces)[:MAX_HEAD]
        structured = any(layer.flag and layer.kind in ("result", "blocks", "repr") for layer in opened.layers)
        return (is_stored_json if structured else is_stored_label)(text, message, self.arguments)

    def _reads_back(self, stored_texts: Collection[str]) -> bool:
        """Whether the answer is, as a whole, a text that an earlier call of the trajectory stored."""
        if self.program_exit is not None or not stored_texts or not isinstance(self.answer, ToolResult | TextAnswer):
            return False
        whole = "\n".join(as_it_came(self.answer).pieces)[: 2 * MAX_HEAD].strip()
        return any(earlier.strip() in (whole, self.text.strip()) for earlier in stored_texts)

    def _find_error(self, marked_as_error: bool) -> ErrorReport | None:
        if self.program_exit is not None:
            if self.program_exit.code == 0 and not self.flagged:
                return None
            if self.program_exit.code != 0:
                return None if self._status_is_the_answer(self.program_exit) else error_of_exit(self.program_exit)
        if self.has_media and not marked_as_error:
            return None
        crashed = traceback_in(self.tail, self.arguments, self.tool) if self.program_exit is None else None
        if self.program_exit is None and crashed is None:
            crashed = stopped_in(self.tail, self.arguments)
        found = crashed or error_in_text(
            self.text, flagged=marked_as_error, arguments=self.arguments, tool=self.tool, body=self.body
        )
        return found or self._failure_in_sentence()

    def _failure_in_sentence(self) -> ErrorReport | None:
        """The failure that the model sees in a short answer, where nothing marks it as one."""
        if self.program_exit is not None or is_own_value(self.body, self.arguments):
            return None
        self.verdict = failure_in_sentence(self.text, self.body, self.arguments, self.tool)
        return error_in_words(self.text, self.body) if self.verdict else None

    def _status_is_the_answer(self, program: ProgramExit) -> bool:
        """Whether exit status 1 is the program's way to say no: `grep` without a match, `diff` with a difference."""
        commands = " ".join(self.arguments.texts)
        return (
            program.code == 1
            and bool(_STATUS_IS_THE_ANSWER.search(commands[:4000]))
            and not _PROGRAM_ERROR.search(program.output)
        )


def _ends(pieces: list[str]) -> tuple[str, str]:
    """Head and tail of the joined text, without joining more than they hold."""
    head: list[str] = []
    room = MAX_HEAD
    for piece in pieces:
        head.append(piece[:room])
        room -= len(piece) + 1
        if room <= 0:
            break
    tail: list[str] = []
    room = MAX_TAIL
    for piece in reversed(pieces):
        tail.append(piece[-room:])
        room -= len(piece) + 1
        if room <= 0:
            break
    cut = sum(map(len, pieces)) > MAX_HEAD
    return "\n".join(head) + ("\n" if cut else ""), "\n".join(reversed(tail))


Condition = Callable[[ParsedAnswer], bool]


def fault_is(kind: str) -> Condition:
    """The transport failed in this way."""
    return lambda parsed: parsed.fault is not None and parsed.fault.fault == kind


def fault_status_is(*statuses: int) -> Condition:
    """The transport gave one of these HTTP statuses instead of an answer."""
    begins = tuple(f"HTTP {status} " for status in statuses)
    return lambda parsed: parsed.fault is not None and f"{parsed.fault.message} ".startswith(begins)


@cache
def error_matches(pattern: re.Pattern[str], *, program: bool | None = None) -> Condition:
    """The failure's text matches; with `program`, only if it is (not) a program's output."""
    quick = QuickSearch(pattern)

    def match(parsed: ParsedAnswer) -> bool:
        error = parsed.error
        if error is None or (program is not None and (error.basis == "exit") != program):
            return False
        return quick.search(_decisive_part(error.text, error.basis == "exit")) is not None

    return match


def status_in(*wanted: int) -> Condition:
    """The failure has one of these HTTP statuses."""
    return lambda parsed: parsed.error is not None and parsed.error.status in wanted


def code_in(*wanted: int) -> Condition:
    """The failure has one of these JSON-RPC codes."""
    return lambda parsed: parsed.error is not None and parsed.error.code in wanted


def one_of(*matches: Condition) -> Condition:
    """One of the matches holds."""
    return lambda parsed: any(match(parsed) for match in matches)


def _decisive_part(text: str, is_output: bool) -> str:
    """The part of a failure's text that names its cause: the beginning, and the end of a program's output."""
    return text[:2000] if len(text) <= 2000 else f"{text[:500]}\n{text[-1500:]}" if is_output else text[:2000]


def tool_is_unknown(parsed: ParsedAnswer) -> bool:
    """The answer says that there is no such tool, and nobody lists it."""
    error = parsed.error
    if error is None or parsed.listed or error.basis == "exit":
        return False
    text = strip_wrappers(error.text[:600])
    if error.code == -32601:
        return True
    found = patterns.TOOL_UNKNOWN.search(text)
    named = (
        parsed.arguments.tool_named_in(text) or not parsed.arguments.tool_name or _ends_the_name(found, text, parsed)
    )
    of_a_tool = found is not None and (named or (len(text) < 60 and "function" not in found[0].casefold()))
    return of_a_tool or server_is_unknown(text, parsed.arguments, parsed.call.server or "")


def _ends_the_name(found: re.Match[str] | None, text: str, parsed: ParsedAnswer) -> bool:
    """Whether the name that the report gives is the last part of the call's name as written."""
    said = re.findall(r"[\w./:-]{6,120}", text[found.end() : found.end() + 200]) if found else []
    return any(parsed.arguments.written_name.endswith(name.rstrip(".:")) for name in said)


def stored_json_is_broken(parsed: ParsedAnswer) -> bool:
    """A JSON parser failed on something that the call did not bring."""
    if parsed.error is None or parsed.error.basis == "exit":
        return False
    starts_like_json = any(value[:1] in '{["' for value in parsed.arguments.texts)
    named = any("json" in name.casefold() for name in parsed.arguments.argument_names)
    return not starts_like_json and not named and error_matches(error_phrases.JSON_PARSE_ERROR)(parsed)


def arguments_are_refused(parsed: ParsedAnswer) -> bool:
    """The server's check of the arguments failed."""
    error = parsed.error
    if error is None or error.basis == "exit":
        return False
    text = error.text[:4000]
    if error_phrases.VALIDATION_ERROR.search(text) is None:
        return False
    missing = error_phrases.NOT_FOUND.search(text[:600]) is not None
    looked_up = (
        missing and parsed.arguments.value_named_in(text[:600]) and not error_phrases.STRICT_VALIDATION.search(text)
    )
    return not looked_up and not (missing and error.status in (404, 410))


def schema_explains(parsed: ParsedAnswer) -> bool:
    """The arguments break the schema, and the answer does not report a failed look-up."""
    error = parsed.error
    if error is None or not parsed.violations:
        return False
    looked_up = error_phrases.NOT_FOUND.search(error.text[:1000]) is not None and parsed.arguments.value_named_in(
        error.text[:1000]
    )
    ignored = all(
        violation.keyword in ("additionalProperties", "unevaluatedProperties") for violation in parsed.violations
    )
    return not looked_up and not ignored


def program_reports_missing(parsed: ParsedAnswer) -> bool:
    """A program's output says that what the arguments name is not there."""
    error = parsed.error
    if error is None or error.basis != "exit" or "Traceback (most recent call last)" in error.text:
        return False
    text = _decisive_part(error.text, True)
    lines = [
        line for line in text.splitlines() if error_phrases.NOT_FOUND.search(line) and "command not found" not in line
    ]
    return any(parsed.arguments.value_named_in(line) for line in lines)


def error_is_only_a_value(parsed: ParsedAnswer) -> bool:
    """The report is an argument's value and nothing else."""
    return parsed.error is not None and parsed.arguments.holds_only_values(strip_wrappers(parsed.error.text))


def thing_is_missing(parsed: ParsedAnswer) -> bool:
    """The report says that the thing asked for is not there."""
    if error_matches(error_phrases.NOT_FOUND, program=False)(parsed):
        return True
    return (
        parsed.error is not None
        and parsed.error.basis == "sentence"
        and patterns.NO_SUCH_THING.match(parsed.error.text) is not None
    )


def os_denies_named_path(parsed: ParsedAnswer) -> bool:
    """`EACCES`, `Permission denied` about a path that the call names: a refusal, not missing credentials."""
    error = parsed.error
    denied = r"permission denied|access (?:is )?denied|\bE(?:ACCES|PERM)\b|operation not permitted"
    if error is None or not re.search(denied, error.text[:1000], re.IGNORECASE):
        return False
    return (
        parsed.arguments.value_named_in(error.text[:1000])
        or re.search(r"\bE(?:ACCES|PERM)\b", error.text[:1000]) is not None
    )


def _names_a_missing_thing(parsed: ParsedAnswer) -> bool:
    """Whether the report says of an argument's value that it does not exist."""
    text = parsed.error.text[:1000] if parsed.error else ""
    strong = re.compile(
        r"\bno such (?:table|file|column|collection)|(?:do|does)(?: not|n't) exist\b|\bENOENT\b|404", re.IGNORECASE
    )
    return strong.search(text) is not None


def unauthorized(parsed: ParsedAnswer) -> bool:
    """Credentials are missing or not enough."""
    if status_in(401, 403, 407)(parsed):
        return True
    return error_matches(error_phrases.UNAUTHORIZED, program=False)(parsed) and not error_matches(
        error_phrases.NOT_FOUND_OR_HIDDEN
    )(parsed)


def network_is_down(parsed: ParsedAnswer) -> bool:
    """The network fails, and not for want of a proper address or of the thing itself."""
    if error_matches(error_phrases.BAD_ADDRESS)(parsed) or status_in(*range(400, 500))(parsed):
        return False
    return error_matches(error_phrases.NETWORK_DOWN)(parsed) or (
        error_matches(error_phrases.FETCH_FAILED)(parsed) and not thing_is_missing(parsed)
    )


def internal_error_only(parsed: ParsedAnswer) -> bool:
    """The error says that it is an internal one, and not a word more."""
    return parsed.error is not None and _INTERNAL_ERROR.fullmatch(strip_wrappers(parsed.error.text[:200])) is not None


def undefined_in_place(parsed: ParsedAnswer) -> bool:
    """A required argument is missing, and its place in a short answer holds what a program calls nothing."""
    missing = any(violation.keyword == "required" for violation in parsed.violations)
    return missing and len(parsed.text) < _MAX_LINE_LENGTH and _UNDEFINED.search(parsed.text) is not None


def value_is_malformed(parsed: ParsedAnswer) -> bool:
    """A value cannot be parsed or computed, and the report does not say that it is missing."""
    return error_matches(error_phrases.MALFORMED_VALUE)(parsed) and not _names_a_missing_thing(parsed)


def program_failed(parsed: ParsedAnswer) -> bool:
    """A program that the call ran ended with an error."""
    return parsed.error is not None and parsed.error.basis == "exit"
