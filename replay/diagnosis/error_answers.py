"""Calls that the server took and could not fulfil: which argument its error, or that of a program it ran, speaks of."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import takewhile
from typing import Final, NamedTuple

from rapidfuzz import fuzz

from replay.dag.documents import join
from replay.diagnosis.named_arguments import (
    Argument,
    argument_by_name,
    argument_by_value,
    arguments_of,
    folded,
    is_same_name,
)
from replay.diagnosis.phrasing import ended, place, plain, quoted
from replay.diagnosis.sql import statements_of
from replay.diagnosis.trajectory_context import KnownName, TrajectoryContext, last_segment
from replay.outcomes.call_facts import ArgumentIndex, runs_commands
from replay.records import Outcome, texts_of
from replay.records.finding import Finding
from replay.safety.text import one_line

_THINGS: Final = (
    "sheet|worksheet|table|column|document|file|workbook|entity|user|page|database|collection|resource|key|branch|repository"
    "|project|issue|directory|folder|object|node|record|item|slide|shape|cell|range|symbol|station|city"
)
_MISSING: Final = re.compile(
    "(?:"
    r"no such file or directory(?:, \w+)?:? '(?P<file>[^'\n]+)'"
    r"|no such (?P<kind>table|column|function|module|collection|index|key|branch|element): ?['\"`]?(?P<name>[\w.\-/]+)"
    rf"|\b(?P<what>{_THINGS})s?(?: with \w+| named| called)?:? ['\"`](?P<quoted>[^'\"`\n]{{1,200}})['\"`]"
    r" (?:was |is |could )?(?:not|does not|doesn't)\b"
    r"|['\"`](?P<before>[^'\"`\n]{1,200})['\"`] (?:was |is |could )?(?:not (?:be )?found|does not exist|doesn't exist)"
    r"|(?:^|\n)(?:\w+: )?(?:cannot (?:access|open|stat) )?['\"]?(?P<shell>(?!E[A-Z]{3,}:)[^\s:'\"]+)['\"]?:"
    " No such file or directory"
    ")",
    re.IGNORECASE,
)
_HINTS: Final = re.compile(
    r"(?:[\w.\[\]]+ )?\b(?:must|should) (?:be|have|start|contain|match)\b(?:[^\n;.]|\.(?!:)){1,160}"
    r"|\b(?<!not )(?:available|valid|supported|existing|possible|known|accepted) [\w ]{1,30}: ?[^\n]{1,200}"
    r"|\b(?<!not )(?:available|choices|options)(?: are| is)?: ?[^\n]{1,160}"
    r"|\bdid you mean\b[^\n<]{1,160}(?:(?<=[:?])\n[^\n<]{1,160})?"
    r"|(?-i:\bexpected [A-Z0-9\[\"'])[^\n.;]{1,120}|\buse \w[^\n.;]{1,120} instead|\bpass \w+=\w+[^\n.;]{0,80}"
    r"|\bonly [^\n.;]{1,80} (?:are|is) allowed|\bmaximum [^\n.;]{1,80}",
    re.IGNORECASE,
)
_ADVICE: Final = re.compile(
    r"(?:^|[.!:;>] |\n)((?:Please )?(?i:use(?! of\b)|provide|specify|pass|call|set|add|read(?= it| the))"
    r" (?!--?h)(?:[^\n.;<\"]|\"(?=\w)|(?<=\w)\"(?= )){4,160})"
)
"""A sentence that says what is to be done."""
_ALLOWED: Final = re.compile(
    r"(?:outside[^\n]{0,40} allowed director(?:y|ies): (?:\S+ not in )?|\bnot in )(?P<place>/[^\s,]*)", re.IGNORECASE
)
_REFUSALS: Final = {
    "answer.outside-the-sandbox": "refused-by-policy",
    "answer.permission-denied": "permission-denied",
    "answer.exists-already": "exists-already",
    "answer.malformed-value": "malformed-value",
}
_NOTHING_THERE: Final = re.compile(r"\b(?:404|410)\b|\bnot found\b|\bno longer exists\b", re.IGNORECASE)
_REQUEST: Final = re.compile(r"\b(?:GET|POST|PUT|PATCH|DELETE|HEAD|[Ff]etch(?:ing)?)\b[:\s'\"(]*$")
_ADDRESS: Final = re.compile(r"https?://[^\s\"'<>]+")
_SELF_EXPLAINING: Final = frozenset({"refused-by-policy", "malformed-value", "permission-denied"})


_MIN_KNOWN: Final = 4
_NEAR: Final = 60.0


class _Missing(NamedTuple):
    what: str
    name: str


_QUERY_NAMES_NOTHING: Final = "answer.query-names-nothing"


def error_findings(context: TrajectoryContext, position: str) -> Iterator[Finding]:
    """What the error says about the arguments."""
    row = context.rows[position]
    if row.outcome is Outcome.NOT_FOUND or row.rule == _QUERY_NAMES_NOTHING:
        yield _not_found(context, position)
    elif row.outcome is Outcome.INVALID_ARGUMENTS:
        programs = list(program_findings(context, position))
        yield from programs or [_refused(context, position)]


def _not_found(context: TrajectoryContext, position: str) -> Finding:
    text = context.answer_text(position)
    missing, named = _missing_in(text), argument_by_value(context.sent(position), _without_addresses(text))
    if missing is None and named is None:
        address = _asked_address(context, position, text) if _NOTHING_THERE.search(text) else None
        return _no_address(context, position, address) if address else _generic(context, position, "not-found")
    name = missing.name if missing else str(named.value if named else "")
    holder = _holder(context, position, name) or named
    what = missing.what if missing else ""
    if names_program(context, position, name):
        return no_program(context, position, name)
    return context.finding(
        position,
        "missing-thing",
        _missing_sentence(what, name, holder, text)
        if missing
        else f"{_who(context, position)} did not find what {place(holder.pointer)} asks for, {quoted(name)}: "
        f"{plain(text, 240)}."
        if holder
        else f"{_who(context, position)} did not find {quoted(name)}: {plain(text, 240)}.",
        _missing_suggestion(context, position, name if holder and _is_a_name(name, holder) else "", text),
        pointer=holder.pointer if holder else None,
        details={"missing": name},
    )


def _is_a_name(name: str, holder: Argument) -> bool:
    """Whether what is missing is no mere word of a longer argument."""
    return not name.isalpha() or str(holder.value).strip() == name


def missing_name(context: TrajectoryContext, position: str) -> str | None:
    """What a failed look-up looked for."""
    text = context.answer_text(position)
    missing, named = _missing_in(text), argument_by_value(context.sent(position), _without_addresses(text))
    if missing is not None:
        return missing.name
    return named.value if named is not None and isinstance(named.value, str) else None


def _missing_in(text: str) -> _Missing | None:
    """What the error says is not there."""
    found = _MISSING.search(text)
    if found is None:
        return None
    parts = found.groupdict()
    name = next(parts[key] for key in ("file", "name", "quoted", "before", "shell") if parts[key])
    return _Missing((parts["kind"] or parts["what"] or "").lower(), name)


def _asked_address(context: TrajectoryContext, position: str, text: str) -> str | None:
    """The first address in an error, where it is what was asked for, and not one that explains."""
    address = _ADDRESS.search(text)
    if address is None:
        return None
    given = any(address[0].rstrip(".,:;)") in str(leaf.value) for leaf in arguments_of(context.sent(position)))
    return address[0] if given or _REQUEST.search(text[: address.start()]) else None


def _no_address(context: TrajectoryContext, position: str, address: str) -> Finding:
    """Of an address nobody can say which part of it is wrong: its owner, its project or its path."""
    return context.finding(
        position,
        "missing-address",
        f"Nothing is at {quoted(address.rstrip('.,:;)'), 200)}, or nothing that these credentials may see.",
        "Look it up first, from the outside in: what is there, and then the path.",
    )


def _without_addresses(text: str) -> str:
    """The text without URLs, which repeat arguments that may well be right."""
    return _ADDRESS.sub(" ", text.partition("Call log:")[0])


def absent_program(context: TrajectoryContext, position: str) -> str | None:
    """The program that a command starts and that its answer says is not there."""
    text = context.answer_text(position)
    missing, command = _missing_in(text), _NO_COMMAND.search(text)
    name = missing.name if missing else (command["name"] or command["of_zsh"]) if command else ""
    return name if name and names_program(context, position, name) else None


def names_program(context: TrajectoryContext, position: str, name: str) -> bool:
    """Whether what is missing is the program that a command starts, and not a name in SQL."""
    start = re.compile(rf"(?:^|[;&|(\n])\s*{re.escape(name)}\s+\S")
    texts = [scalar.value for scalar in context.scalars[position] if isinstance(scalar.value, str)]
    return any(start.search(text) and not statements_of(text) for text in texts)


def no_program(context: TrajectoryContext, position: str, name: str) -> Finding:
    """The finding of a command whose program is not there."""
    return context.finding(
        position,
        "missing-program",
        f"The command starts the program {quoted(name)}, which is not there where the command runs.",
        f"Do without {quoted(name)}, or install it where the command runs." if "/" not in name else None,
        details={"missing": name},
    )


def _holder(context: TrajectoryContext, position: str, name: str) -> Argument | None:
    """The argument that holds what is missing."""
    return argument_by_value(context.sent(position), name) or next(
        (
            Argument(scalar.pointer, scalar.value)
            for scalar in arguments_of(context.sent(position))
            if isinstance(scalar.value, str) and name in scalar.value
        ),
        None,
    )


def _missing_sentence(what: str, name: str, holder: Argument | None, text: str) -> str:
    thing = f"{what} {quoted(name)}".strip()
    if holder is None:
        return f"The call needs {thing}, which is not there: {plain(text)}."
    if str(holder.value).strip() == name.strip():
        return f"{place(holder.pointer)[:1].upper()}{place(holder.pointer)[1:]} names {thing}, which is not there."
    return f"{place(holder.pointer)} needs {thing}, which is not there: {plain(text)}."


def _missing_suggestion(context: TrajectoryContext, position: str, name: str, text: str) -> str | None:
    if advice := _advised(context, position, text):
        return advice
    near = nearest_known(context, position, name)
    if near is not None:
        return f"{near.call} named {quoted(near.value)}: that may be the one that was meant."
    return None


def _refused(context: TrajectoryContext, position: str) -> Finding:
    row, text = context.rows[position], context.answer_text(position)
    kind = _REFUSALS.get(row.rule)
    named = _topic(context, position, text, alone=kind in _SELF_EXPLAINING)
    if named is None and kind is None:
        return _generic(context, position, "refused")
    about = "" if kind == "exists-already" else "the call"
    about = f"{place(named.pointer)} ({quoted(named.value)})" if named else about
    if kind == "malformed-value":
        gives = (
            f"What {about} gives" if context.sent(position) else "The call gives no arguments, and what stood for them"
        )
        about = f"{gives} could not be parsed or computed"
    verb = {
        "refused-by-policy": f"{_who(context, position)} does not allow",
        "permission-denied": "The operating system denies access to",
        "exists-already": f"What the call would make is there already{':' if named else ''}",
        "malformed-value": "",
    }.get(kind or "", f"{_who(context, position)} refuses the call, and its error speaks of")
    return context.finding(
        position,
        kind or "refused-value",
        f"{f'{verb} {about}'.strip()}: {plain(text, 240)}.",
        _advised(context, position, text),
        pointer=named.pointer if named else None,
    )


def _topic(context: TrajectoryContext, position: str, text: str, *, alone: bool) -> Argument | None:
    """The argument that an error speaks of: by its value, else by its name; else the only one, where one must be."""
    text, arguments = _without_addresses(text), context.sent(position)
    named = argument_by_value(arguments, text) or argument_by_name(arguments, text)
    if named is None and alone and len(arguments) == 1:
        name, value = next(iter(arguments.items()))
        return Argument(join("", name), value)
    return named


def _advised(context: TrajectoryContext, position: str, text: str) -> str | None:
    """What the error itself says would be right; of a program's output the line that tells why it failed."""
    if _is_printed(context, position):
        line = _telling_line(text)
        text = line[0] if line else ""
    if allowed := _ALLOWED.search(text):
        advice = f"allowed is what lies in {plain(allowed['place'])}"
    elif hint := _ADVICE.search(text) or _HINTS.search(text):
        advice = plain(hint[hint.lastindex or 0], 200)
    else:
        return None
    repeated = any(
        advice in one_line(str(own)) for own in (*context.sent(position).values(), context.calls[position].raw)
    )
    if repeated or advice.endswith(":"):
        return None  # the call says so itself, or what is advised stands elsewhere
    return ended(f"{_who(context, position)} says: {advice}")


_WRAPPED: Final = re.compile(r"<(?P<tag>\w+)>(?P<words>[^<>]*)</(?P=tag)>")
"""An answer that stands in a tag as a whole."""


def _generic(context: TrajectoryContext, position: str, kind: str) -> Finding:
    """The server's own words, where they name no part of the call."""
    row = context.rows[position]
    answer = context.answer_text(position)
    wrapped = _WRAPPED.fullmatch(answer.strip())
    said = wrapped["words"] if wrapped else answer
    words = f"{_who(context, position)}'s words: {plain(said, 240)}" if said.strip() else plain(row.message, 240)
    return context.finding(position, kind, ended(words), _advised(context, position, answer), specific=False)


def _who(context: TrajectoryContext, position: str) -> str:
    """Whose answer it is: an agent's own tools have no server."""
    return "The tool" if context.rows[position].server is None else "The server"


_EXCEPTION: Final = re.compile(
    r"^(?P<name>(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Warning|NotFound\w*)): ?(?P<words>.*)$", re.M
)
_PLACE: Final = re.compile(r'^\s*File "[^"\n]*", line (?P<line>\d+)', re.M)
_UNDEFINED: Final = re.compile(r"name '(?P<name>\w+)' is not defined")
_NO_MODULE: Final = re.compile(r"No module named '(?P<name>[\w.]+)'")
_NO_COMMAND: Final = re.compile(
    r"(?:^|\n)(?:[\w/]*sh: )?(?:line \d+: |\d+: )?(?:(?P<name>[\w.-]+): (?:command )?not found"
    r"|[\w()]{1,12}:(?:\d+:)? command not found: (?P<of_zsh>[\w.-]+))"
)
_ENDED: Final = re.compile(r"\b(?:return|exit) code:? [1-9]")
_MAX_HEAD: Final = 1000
"""Characters of an answer in which a harness says how the program ended."""
_LAST_ERROR: Final = re.compile(
    r"^.*\b(?:error|fatal|cannot|failed|No such|not found|invalid|denied)\b.*$", re.M | re.I
)


def program_findings(context: TrajectoryContext, position: str) -> Iterator[Finding]:
    """Why a program failed that the call ran; nothing for other calls."""
    row = context.rows[position]
    text = context.answer_text(position)
    answer = context.answer(position)
    whole = "\n".join(texts_of(answer)) if answer is not None else ""
    ended = _ENDED.search(whole[:_MAX_HEAD])
    if not (row.rule.startswith("program.") or ended or _ENDED.search(text)):
        return
    line = _telling_line(text)
    if line is not None and line.re is _EXCEPTION:
        yield _raised(context, position, whole, line)
        return
    printed = line[0].strip() if line else text.strip() if row.rule.startswith("program.") else ""
    if printed:
        yield context.finding(
            position, "program-failed", f"The program that the call ran failed: {plain(printed, 240)}."
        )


def _telling_line(text: str) -> re.Match[str] | None:
    """The line of a program's output that says why it failed."""
    exceptions = list(_EXCEPTION.finditer(text))
    return exceptions[-1] if exceptions else _NO_COMMAND.search(text) or _LAST_ERROR.search(text)


def _is_printed(context: TrajectoryContext, position: str) -> bool:
    """Whether an answer is what a program printed, which says much beside why it failed."""
    call = context.calls[position]
    arguments = ArgumentIndex(call.arguments, tool_name=call.name or "")
    return context.rows[position].rule.startswith("program.") or runs_commands(arguments)


def error_text(context: TrajectoryContext, position: str) -> str:
    """What an error says: of a long one, and of what a program printed, the line that tells why."""
    text = context.answer_text(position)
    long = len(text) > _MAX_HEAD or _is_printed(context, position)
    line = _telling_line(text) if long else None
    return line[0] if line else text[:_MAX_HEAD]


def _raised(context: TrajectoryContext, position: str, whole: str, exception: re.Match[str]) -> Finding:
    """The exception, with its line where the whole answer has a traceback of one line."""
    lines = [match["line"] for match in _PLACE.finditer(whole, 0, max(whole.rfind(exception[0]), 0))]
    where = f" in line {lines[-1]}" if len(lines) == 1 else ""
    return context.finding(
        position,
        "program-failed",
        f"The program that the call ran raised {exception['name']}{where}: {plain(exception['words'], 200)}.",
        _advice(context, position, exception["words"]),
        details={"exception": exception["name"]},
    )


def _advice(context: TrajectoryContext, position: str, words: str) -> str | None:
    undefined = _UNDEFINED.search(words)
    if undefined and undefined["name"] in json.dumps(context.calls[position].arguments, ensure_ascii=False):
        name = undefined["name"]
        setters = [call.position for call in context.earlier(position) if _sets(context, call.position, name)]
        earlier = f" {setters[-1]} set it, and this call's program did not see it." if setters else ""
        return f"Define {quoted(name)} in the code of this call.{earlier}"
    if module := _NO_MODULE.search(words):
        return f"Make the module {quoted(module['name'])} available where the program runs, or do without it."
    return None


def _sets(context: TrajectoryContext, position: str, name: str) -> bool:
    pattern = re.compile(rf"^\s*(?:{re.escape(name)}\s*=[^=]|def {re.escape(name)}\b|import {re.escape(name)}\b)", re.M)
    same_tool = context.calls[position].name
    code = [value for value in context.arguments(position).values() if isinstance(value, str)]
    return bool(same_tool) and any(pattern.search(text) for text in code)


def nearest_known(context: TrajectoryContext, position: str, name: str) -> KnownName | None:
    """The nearest name in the answers of earlier successful calls: the same one, written otherwise or elsewhere."""
    wanted, step = last_segment(name).lower(), context.step_of[position]
    if len(wanted) < _MIN_KNOWN or any(map(str.isspace, name)):
        return None
    earlier = takewhile(lambda known: context.step_of[known.call] < step, context.names_in_answers)
    near = (known for known in earlier if fuzz.ratio(known.folded, wanted, score_cutoff=_NEAR))
    alike = (known for known in near if is_same_name(known.folded, wanted) and _may_be_meant(known.value, name))
    return max(alike, key=lambda known: fuzz.ratio(known.value, name), default=None)


def _may_be_meant(known: str, name: str) -> bool:
    """Whether one path can stand for another: a folder of it is too many or lacking, or its last name spelt otherwise.

    The same path below another folder is another thing. Of what has no ending only letter cases and separators differ.
    """
    here, there = (path.lstrip("~").removeprefix("./").strip("/").split("/") for path in (name, known))
    (first, dot, ending), (last, _, other) = here[-1].rpartition("."), there[-1].rpartition(".")
    if here[-1] != there[-1]:
        spelt = is_same_name(first, last) if dot else folded(ending) == folded(other)
        below = there[:-1] == here[:-1] or (bool(dot) and len(there) == 1)
        return spelt and below and (not dot or ending == other)
    shorter, longer = sorted((here, there), key=len)
    rest = iter(longer)
    return bool(dot) and longer[-len(shorter) :] != shorter and all(folder in rest for folder in shorter)
