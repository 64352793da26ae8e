"""Values that came from nowhere: placeholders, and names that neither the question nor any earlier answer holds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from replay.diagnosis.error_answers import missing_name, names_program
from replay.diagnosis.named_arguments import Argument
from replay.diagnosis.phrasing import place, quoted
from replay.diagnosis.trajectory_context import MAX_SEARCHED, TrajectoryContext
from replay.records import FAILURES, Outcome, canonical
from replay.records.finding import Finding

_SURE_PLACEHOLDER: Final = re.compile(
    r"(?:REPLACE|INSERT|ENTER|FILL|PUT)[_ -](?:WITH|ME|THE|THIS|YOUR|IN|ACTUAL|HERE)[A-Z0-9_ -]*"
    r"|[A-Z0-9_-]*(?:_|-)(?:PLACEHOLDER|HERE|GOES_HERE)|PLACEHOLDER[A-Z0-9_-]*|YOUR[_-][A-Z0-9_-]+"
    r"|(?:THE_)?ACTUAL_[A-Z0-9_]+|<(?:your|the|insert|actual|some)[ _-][\w -]{1,60}>|\{\{\s*[\w.\[\] -]{1,60}\s*\}\}"
    r"|\$\{[\w.\[\]]{1,60}\}|\{(?:step|call|result|output|prev)[\w.\[\]]{0,60}\}|\[(?:your|insert)[ _][\w -]{1,60}\]"
)
_LIKELY_PLACEHOLDER: Final = re.compile(
    r"<[a-zA-Z][\w -]{1,40}>|/?path/to/.*|(?:your|my|some)[_-][\w-]*(?:id|key|token|name|file|path)"
    r"|x{3,}(?:-x+)*|X{3,}(?:-X+)*|to[_ ]be[_ ](?:filled|determined).*|TODO|TBD"
    r"|(?:example|sample|dummy|fake|placeholder)[_-]?(?:id|key|token|path|file|value)\w*",
)
_PATH_TO: Final = re.compile("/?path/to/")
"""Where one such path was named, others may be meant as they stand."""
_IDENTIFIER_KEY: Final = re.compile(
    r"(?:^|[/_-])(?:id|ids|uid|uuid|guid|asin|sha|hash|token)(?:/\d+)?$|[a-z]I[dD]s?(?:/\d+)?$"
)
_OPAQUE: Final = re.compile(r"[A-Za-z0-9_-]{8,64}")
_DATED: Final = re.compile(r"(?:19|20)\d\d")
_WORD: Final = re.compile(r"[a-z]{5,}|[A-Z][a-z]{3,}|[A-Z]{6,}")
"""Runs of letters that make a word, as in `sheet1_summary`."""
_NO_NAME: Final = re.compile(r".*[*?\[].*|[\d\s:T.,/-]*", re.DOTALL)
"""A pattern, or a date or number, which the question may have in other words."""
_MIN_CHARACTERS: Final = 3


def provenance_findings(context: TrajectoryContext, position: str) -> Iterator[Finding]:
    """Arguments of a call that stand nowhere before it."""
    placeholders = [scalar for scalar in context.scalars[position] if _is_placeholder(context, position, scalar)]
    yield from (_placeholder(context, position, scalar) for scalar in placeholders)
    invented = []
    if not placeholders and context.outcome(position) is Outcome.NOT_FOUND and context.rows[position].caused_by is None:
        invented = list(_invented(context, position))
    yield from invented
    if not (placeholders or invented):
        yield from _invented_identifiers(context, position)


def known_before(context: TrajectoryContext, position: str, value: str) -> bool | None:
    """Whether the question or an earlier step holds a value in letters of either case; None where that cannot be known.

    It cannot where the question is unknown or has images, or where an earlier call has no answer to look at. A call
    that failed does not make known what it asked for.
    """
    task = context.trajectory.task
    wanted = value.strip().casefold()
    if wanted in (task.question or "").casefold():
        return True
    unknown = not task.question or bool(task.images)
    for call in context.earlier(position):
        text = context.searched_texts[call.position]
        if wanted in text and not _only_asked_for(context, call.position, wanted):
            return True
        unanswered = call.answer is None and call.position not in context.answers
        unknown = unknown or unanswered or len(text) >= MAX_SEARCHED
    return None if unknown else False


def _only_asked_for(context: TrajectoryContext, position: str, wanted: str) -> bool:
    """Whether a call failed that named a value itself."""
    failed = context.outcome(position) in FAILURES
    return failed and any(wanted in str(scalar.value).casefold() for scalar in context.scalars[position])


def _is_placeholder(context: TrajectoryContext, position: str, scalar: Argument) -> bool:
    """Whether a whole value is a stand-in for one; of a failed call also what merely looks like one."""
    if not isinstance(scalar.value, str):
        return False
    failed, text = context.outcome(position) in FAILURES, scalar.value.strip()
    if not (_SURE_PLACEHOLDER.fullmatch(text) or (failed and _LIKELY_PLACEHOLDER.fullmatch(text))):
        return False
    telling = _PATH_TO.search(scalar.value)
    return known_before(context, position, telling[0] if telling else scalar.value) is not True


def _placeholder(context: TrajectoryContext, position: str, scalar: Argument) -> Finding:
    return context.finding(
        position,
        "placeholder-argument",
        f"{place(scalar.pointer)} is {quoted(scalar.value)}: a placeholder, not a value.",
        "Make the call that gives the value first, and use its answer.",
        certainty="likely",
        pointer=scalar.pointer,
    )


def _invented(context: TrajectoryContext, position: str) -> Iterator[Finding]:
    name = missing_name(context, position)
    last = (name or "").rstrip("/").rpartition("/")[2]
    if (
        not name
        or names_program(context, position, name)
        or len(last) < _MIN_CHARACTERS
        or _NO_NAME.fullmatch(last)
        or not any(last in str(scalar.value) for scalar in context.scalars[position])
    ):
        return
    if known_before(context, position, last) is False:
        yield context.finding(
            position,
            "invented-value",
            f"Neither the question nor an earlier answer or call that succeeded holds {quoted(last)}.",
            "Read what there is first, and copy it from the answer."
            if any(map(str.isspace, last))
            else "List what there is first, and take the name from the answer.",
            certainty="likely",
        )


def _invented_identifiers(context: TrajectoryContext, position: str) -> Iterator[Finding]:
    """Identifiers that nobody makes up or knows by heart, and that came from nowhere.

    Names, queries, paths, dates and addresses are left alone: a model may know them, or make what is to be called so.
    """
    tool = context.tool(position)
    described = canonical(tool.input_schema).casefold() if tool is not None else ""
    for scalar in context.scalars[position]:
        value = str(scalar.value).strip()
        if (
            not _IDENTIFIER_KEY.search(scalar.pointer)
            or not _is_opaque(value)
            or value.casefold() in described
            or context.rows[position].outcome is Outcome.ILLEGAL_FORMAT
            or known_before(context, position, value) is not False
        ):
            continue
        yield context.finding(
            position,
            "invented-identifier",
            f"{place(scalar.pointer)} is {quoted(value)}, which stands in neither the question, the tool's "
            "schema, nor an earlier answer or call that succeeded.",
            "Take the identifier from the answer of a call that lists what there is.",
            certainty="likely",
            pointer=scalar.pointer,
        )


def _is_opaque(value: str) -> bool:
    """Letters and digits mixed, with no word, date or version in them."""
    if not _OPAQUE.fullmatch(value) or _DATED.search(value):
        return False
    digits = sum(character.isdigit() for character in value)
    letters = sum(character.isalpha() for character in value)
    return digits >= 2 and letters >= 2 and not _WORD.search(value)
