"""What an answer says, beside the call that it answers: whether it reports a failure, on what basis, and which causes.

Structure first: a protocol error, a flag, an exit code, a JSON body, and words last. Where a tool hands out what
somebody stored, error words are content.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

from replay.json_values import cut_json
from replay.outcomes.call_facts import (
    ArgumentIndex,
    answers_in_prose,
    is_own_value,
    queries_a_database,
    returns_content,
    runs_commands,
    searches,
)
from replay.outcomes.codes import (
    cause_of_exit,
    cause_of_rpc,
    cause_of_status,
    causes_in,
    causes_said,
    forms_in,
)
from replay.outcomes.envelopes import OpenedAnswer, as_it_came, open_answer
from replay.outcomes.error_report import (
    MAX_LOOK,
    MAX_REPORT_LENGTH,
    MAX_SENTENCE_LENGTH,
    ErrorReport,
    decisive_part,
    program_words,
    report_of,
    report_of_rpc,
    stopped_in,
)
from replay.outcomes.json_fields import in_words, is_error_alone, is_nothing, scalars
from replay.outcomes.labels import without_margins
from replay.outcomes.literals import structure_in
from replay.outcomes.programs import (
    ProgramExit,
    all_lines_complain,
    complaint_in,
    exiting_program,
    program_exit,
    says_its_own_alternative,
    status_is_the_answer,
    traceback_in,
    without_prompt,
)
from replay.outcomes.residue import (
    JsonReading,
    error_in_tail,
    found_nothing,
    is_empty,
    only_words,
    read_json,
    words_of_a_refusal,
)
from replay.outcomes.sentences import (
    CAUSES,
    COUNTS,
    basis_of_text,
    counts_of,
)
from replay.outcomes.stored_text import is_stored_json, is_stored_label, shows_lines
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
_MAX_BATCH = 8_000_000
_BATCH = re.compile(r'\s*(?:\{\s*"\w{1,30}"\s*:\s*)?\[\s*\{')
_FAILED_ITEM = re.compile(r'"errors?"\s*:\s*["\[{]')

_TERMINAL_ESCAPE = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]|\[(?:\d{1,2};){0,3}\d{1,2}m(?=\S|\s|$)")


_COMPLAINING_LINE = re.compile(
    r"^\W*(?:[\w.'-]+:? ){0,3}(?i:errors?|exception|fail(?:ed|ure)?|traceback|fatal|cannot|could not|unable|denied"
    r"|invalid)\b|[a-z](?:Error|Exception)\b",
    re.MULTILINE,
)
_QUOTES = re.compile(r"\n\s*(?:string|text|input|content|pattern|query|received|value): ", re.IGNORECASE)
"""From here on a report quotes what the call brought, which may say anything."""
_MAX_LEAVES, _MAX_ENDS, _MAX_LINE = 200, 3, 300
_MIN_CUT = 2_000
"""Characters from which on JSON that does not end may have been cut off by who recorded it."""
_MAX_NOTHING = 300
"""Characters in which an answer says that there is nothing."""
_MIN_QUOTED = 12
"""Characters of a text of the call that a host quotes whole."""
_QUOTED_SENTENCE = re.compile(r"[\"'`](?=\w)[^\"'`\n]{2,80} [^\"'`\n]{2,80}[\"'`]")
_TWO_SENTENCES = re.compile(r"(?:[^.\n]|\.(?!\s)){1,600}\. (?:[^.\n]|\.(?!\s)){1,600}\.")
_OF_THE_HOST = frozenset(
    "not-permitted cancelled hidden session-lost tool-unknown input-not-json too-large".split()  # noqa: SIM905
)


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
        free_text = {"input": call.raw} if call.raw and call.unreadable is None else None
        self.arguments = ArgumentIndex(call.arguments or free_text, tool_name=name, written_name=call.name or "")
        self.flagged = isinstance(answer, RpcError)
        self.text = self.tail = ""
        self.layers: tuple[EnvelopeLayer, ...] = ()
        """The envelopes that the text came in."""
        self.structured: Any = None
        self.has_media = False
        self.body: Any = None
        self.reading = JsonReading()
        """What is left of the body, where it is JSON."""
        self.program_exit: ProgramExit | None = None
        self.error: ErrorReport | None = None
        if isinstance(answer, RpcError):
            self.error = report_of_rpc(answer)
        elif isinstance(answer, ToolResult | TextAnswer):
            self._read_result(answer)
            if self.error is not None and not self.flagged and self._reads_back(stored_texts):
                self.error = None

    @property
    def fault(self) -> TransportFault | None:
        """The transport fault that came instead of an answer."""
        return self.answer if isinstance(self.answer, TransportFault) else None

    @cached_property
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
        if len(stripped) >= _MAX_NOTHING or content or "nothing" not in forms_in(stripped):
            return False
        return searches(self.arguments) or not self.arguments.value_quoted_in(stripped)

    @cached_property
    def said(self) -> frozenset[str]:
        """What the phrases in the failure mean."""
        error = self.error
        if error is None:
            return frozenset()
        text = decisive_part(error)  # of which a program is quoted that the call brought
        text = self.arguments.without_values(text) if runs_commands(self.arguments) else text
        text = _without_quoted_parts(text, self.arguments)
        text = in_words(text)
        quoted = _QUOTES.search(text) if error.basis != "exit" else None
        return causes_said(text[: quoted.start()] if quoted else text)

    @cached_property
    def coded(self) -> frozenset[str]:
        """What the codes in the failure mean: HTTP status, JSON-RPC code, exit code, and the codes of known systems."""
        error = self.error
        if error is None:
            return frozenset()
        causes = {cause_of_status(error.status), cause_of_rpc(error.code)}
        if error.basis == "exit" and self.program_exit is not None:
            causes.add(cause_of_exit(self.program_exit.code, exiting_program(self.arguments)))
        return frozenset(filter(None, causes)) | causes_in(decisive_part(error))

    @cached_property
    def complains(self) -> bool:
        """Whether any text in the answer begins or ends with a complaint: then no success is certain."""
        body = self.body if self.body is not None else self.structured
        texts = [part for part in islice(scalars(body), _MAX_LEAVES) if isinstance(part, str)] if body else [self.text]
        lines = (line for text in texts for line in _head_and_tail(text))
        said = self.arguments.without_values("\n".join(line[:_MAX_LINE] for line in lines)[:MAX_REPORT_LENGTH])
        forms = forms_in(said) & {"clause", "missing-clause"}
        return bool(forms or not causes_said(said).isdisjoint(CAUSES) or _COMPLAINING_LINE.search(said))

    @cached_property
    def partial(self) -> tuple[str, ...]:
        """What failed of a batch of which some was done."""
        if self.reading.partial or self.error is not None or len(self.text) > MAX_SENTENCE_LENGTH:
            return self.reading.partial
        counts = COUNTS.search(self.text)
        numbers = counts_of(counts) if counts else (0, 0)
        return (counts[0],) if counts and all(numbers) else ()

    def _read_result(self, answer: ToolResult | TextAnswer) -> None:
        opened = open_answer(answer)
        if opened.layers:
            closed = as_it_came(answer)
            opened = closed if self._is_stored_envelope(closed, opened) else opened
        self.layers = opened.layers
        pieces = list(opened.pieces)
        self.text, self.tail = _ends([opened.only_label] if opened.only_label else pieces)
        if "\x1b" in self.text or "[0m" in self.text:  # some recordings lose the escape and keep the rest of it
            self.text, self.tail = _TERMINAL_ESCAPE.sub("", self.text), _TERMINAL_ESCAPE.sub("", self.tail)
        if len(self.text) <= MAX_REPORT_LENGTH and not runs_commands(self.arguments):
            self.text = without_margins(self.text)
        self.has_media = opened.has_media
        self.body = structure_in(self.text) if len(self.text) <= MAX_HEAD else None
        self.body = _long_body(pieces, self.text) if self.body is None and len(self.text) > _MIN_CUT else self.body
        self.structured = None if pieces and _only_repeats(opened.structured) else opened.structured
        if not pieces and self.structured is not None:
            self.body = self.structured
            self.text = json.dumps(self.structured, ensure_ascii=False, default=str)[:MAX_HEAD]
        self.program_exit = self._exit_of_program()
        if self.program_exit is None and runs_commands(self.arguments):
            self.text, self.tail = without_prompt(self.text), without_prompt(self.tail)
        self.flagged = opened.flagged
        self.error = self._find_error(opened.marked)

    def _exit_of_program(self) -> ProgramExit | None:
        """How a program ended, also where its output is the one text of an object: `{"result": "... rc: 1"}`."""
        status = self.body if self.body is not None else self.structured
        if isinstance(status, dict) and runs_commands(self.arguments):
            printed = read_json(status, self.arguments).words
            ended = program_exit(*_ends([printed]), None, self.arguments) if printed is not None else None
            if ended is not None:
                return ended
        return program_exit(self.text, self.tail, status, self.arguments)

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

    def _find_error(self, marked: bool) -> ErrorReport | None:
        program = self.program_exit
        if program is not None and program.code != 0:
            return None if status_is_the_answer(program, self.arguments) else ErrorReport(program.output, "exit")
        if not marked and runs_commands(self.arguments) and says_its_own_alternative(self.text, self.arguments):
            return None
        if program is not None and not self.flagged:  # a status of zero is that of the last program alone
            complains = all_lines_complain(program_words(program.output), self.arguments)
            return ErrorReport(program.output, "exit") if complains else None
        if self.has_media and not marked:
            return None
        if program is None and (ended := self._bad_end(marked)) is not None:
            return ended
        return self._error_in_body(marked) if self.body is not None else self._error_in_text(self.text, marked)

    def _bad_end(self, marked: bool) -> ErrorReport | None:
        """The failure of a command without an exit code: by its last lines, or as its output is marked as one."""
        shown = runs_commands(self.arguments) and "\n" in self.text.strip() and self.body is None
        stopped = stopped_in(self.text.strip().split("\n", 1)[0], self.arguments) if marked and shown else None
        if stopped is not None:
            return stopped
        if marked and shown and _OF_THE_HOST.isdisjoint(causes_said(self.text[:300])):
            return ErrorReport(self.text, "exit")
        crashed = traceback_in(self.text, self.tail, self.arguments, self.tool)
        told = self.answer.is_error if isinstance(self.answer, ToolResult) else None
        return (
            crashed
            or stopped_in(self.tail, self.arguments)
            or complaint_in(self.text, self.arguments, self.tool, flagged=told)
        )

    def _error_in_body(self, marked: bool) -> ErrorReport | None:
        """The failure that a JSON body is, once all that says nothing is taken out."""
        arguments, tool = self.arguments, self.tool
        own = not marked and is_own_value(self.body, arguments)
        rows = not marked and queries_a_database(arguments) and _are_rows(self.body, arguments)
        self.reading = reading = JsonReading() if own or rows else read_json(self.body, arguments)
        if reading.error is not None:
            stored = not marked and returns_content(arguments, tool)
            if stored and is_stored_json(self.text, reading.error.message, arguments):
                return None
            return report_of(reading.error.message, "flag" if marked else "body", status=reading.error.status)
        if marked:
            return report_of(self.text, "flag")
        if own or reading.affirmed or found_nothing(self.body):
            return None
        text = _only_text(self.body)
        complaint = _only_complaint(self.body) or (None if self._hands_out_text else text)
        listed = text if isinstance(self.body, list) else None
        said = next((words for words in (complaint, reading.words, listed) if words is not None), None)
        if said is not None:
            return self._error_in_text(said, marked=False, message=reading.message or complaint is not None)
        few = isinstance(self.body, dict) and len(self.text) <= MAX_LOOK and not returns_content(arguments, tool)
        return self._error_in_few_words() if few else None

    @property
    def _hands_out_text(self) -> bool:
        """Whether the one text of an object may be any: what is stored, or was to be written."""
        return returns_content(self.arguments, self.tool) or answers_in_prose(self.arguments)

    def _error_in_few_words(self) -> ErrorReport | None:
        """The failure that a small object tells in its one text: beside what was not done, or beside nothing."""
        refusal = words_of_a_refusal(self.body, self.arguments)
        if refusal is not None and forms_in(refusal).isdisjoint({"done", "done-somewhere"}):
            return report_of(refusal, "body")
        words = only_words(self.body)
        return report_of(words, "body") if words and "opens" in forms_in(words[:MAX_LOOK]) else None

    def _error_in_text(self, text: str, marked: bool, message: bool = False) -> ErrorReport | None:
        if marked:
            of_a_host = any(layer.kind == "tag" for layer in self.layers)
            return report_of(_own_words_of_host(text, self.arguments) if of_a_host else text, "flag")
        if shows_lines(text, self.arguments, self.tool):
            return None
        basis = basis_of_text(text, self.arguments, self.tool, message=message)
        if basis is not None:
            return report_of(text, basis)
        shown = returns_content(self.arguments, self.tool) or runs_commands(self.arguments)
        if shown or "done" in forms_in(text[:MAX_SENTENCE_LENGTH]):
            return None
        tail = error_in_tail(text)
        return report_of(tail.message, "body", status=tail.status) if tail is not None else None


def _are_rows(body: Any, arguments: ArgumentIndex) -> bool:
    """Whether a list may be what a query selects; one error alone is none, unless the query speaks of errors."""
    if not isinstance(body, list) or len(body) != 1 or not is_error_alone(body[0]):
        return isinstance(body, list)
    return any(key in text.casefold() for key in body[0] for text in arguments.texts)


def _own_words_of_host(text: str, arguments: ArgumentIndex) -> str:
    """What a host says of a call: not the text that it quotes of it, nor what it advises after two sentences."""
    long = "\n" not in text.strip() and _TWO_SENTENCES.match(text.strip())
    return long[0] if long else arguments.without_values(text, _MIN_QUOTED)


def _has_one(body: Any) -> bool:
    return isinstance(body, dict | list) and len(body) == 1


def _only_repeats(structured: Any) -> bool:
    """Whether structured content is one text, as SDKs put it beside the content that it is: it is no data."""
    return isinstance(structured, dict) and _has_one(structured) and isinstance(next(iter(structured.values())), str)


def _only_text(body: Any) -> str | None:
    """The text of an object or a list that has nothing else, where it is a line."""
    value = next(iter(body.values() if isinstance(body, dict) else body)) if _has_one(body) else None
    if not isinstance(value, str) or len(value) > _MAX_LINE or "\n" in value:
        return None
    return value if structure_in(value) is None else None


def _head_and_tail(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines if len(lines) <= 2 * _MAX_ENDS else lines[:_MAX_ENDS] + lines[-_MAX_ENDS:]


def _only_complaint(body: Any) -> str | None:
    """What a program wrote to stderr that wrote nothing to stdout; None where it did not."""
    if not isinstance(body, dict) or not isinstance(body.get("stderr"), str) or "stdout" not in body:
        return None
    return body["stderr"] if body["stderr"].strip() and is_nothing(body["stdout"]) else None


def _long_body(pieces: list[str], head: str) -> Any:
    """Of a long JSON value what its head holds; all of a list of records of which one holds an error."""
    if head.lstrip()[:1] not in ("{", "["):
        return None
    batch = len(pieces) == 1 and _BATCH.match(pieces[0]) and _FAILED_ITEM.search(pieces[0], 0, _MAX_BATCH)
    whole = structure_in(pieces[0], _MAX_BATCH) if batch else None
    return whole if whole is not None else cut_json(head[:MAX_HEAD].rstrip("\n"))


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


def _without_quoted_parts(text: str, arguments: ArgumentIndex) -> str:
    """The text without the words in quotes that stand in a value of the call, as a part of a command does."""
    for quoted in _QUOTED_SENTENCE.findall(text):
        text = text.replace(quoted, " ") if any(quoted[1:-1] in value for value in arguments.texts) else text
    return text
