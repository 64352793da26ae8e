"""What an answer rule may ask of a reading."""

from __future__ import annotations

import re
from collections.abc import Callable

from replay.outcomes import phrases, shapes
from replay.outcomes.failure import peel
from replay.outcomes.reading import Reading

Match = Callable[[Reading], bool]
_LONGEST_LINE = 300
_INTERNAL = re.compile(r"\W*(?:an )?internal (?:rpc |json-rpc )?error(?: (?:has )?occurred)?\W*", re.IGNORECASE)
_NOTHING = re.compile(r"\b(?:undefined|NaN)\b")


def fault_is(kind: str) -> Match:
    """The transport failed in this way."""
    return lambda reading: reading.fault is not None and reading.fault.fault == kind


def says(pattern: re.Pattern[str], *, program: bool | None = None) -> Match:
    """The failure's text matches; with `program`, only if it is (not) a program's output."""

    def match(reading: Reading) -> bool:
        failure = reading.failure
        if failure is None or (program is not None and (failure.basis == "exit") != program):
            return False
        return pattern.search(_looked_at(failure.text, failure.basis == "exit")) is not None

    return match


def status_in(*wanted: int) -> Match:
    """The failure has one of these HTTP statuses."""
    return lambda reading: reading.failure is not None and reading.failure.status in wanted


def code_in(*wanted: int) -> Match:
    """The failure has one of these JSON-RPC codes."""
    return lambda reading: reading.failure is not None and reading.failure.code in wanted


def either(*matches: Match) -> Match:
    """One of the matches holds."""
    return lambda reading: any(match(reading) for match in matches)


def _looked_at(text: str, is_output: bool) -> str:
    """The part of a failure's text that names its cause: the beginning, and the end of a program's output."""
    return text[:2000] if len(text) <= 2000 else f"{text[:500]}\n{text[-1500:]}" if is_output else text[:2000]


def tool_unknown(reading: Reading) -> bool:
    """The answer says that there is no such tool, and nobody lists it."""
    failure = reading.failure
    if failure is None or reading.tool is not None or failure.basis == "exit":
        return False
    text = peel(failure.text[:600])
    if failure.code == -32601:
        return True
    found = shapes.TOOL_UNKNOWN.search(text)
    named = reading.mentions.tool_named_in(text) or not reading.mentions.tool_name
    of_a_tool = found is not None and (named or (len(text) < 60 and "function" not in found[0].casefold()))
    return of_a_tool or _server_unknown(text, reading)


def _server_unknown(text: str, reading: Reading) -> bool:
    found = shapes.SERVER_UNKNOWN.search(text)
    name = next(filter(None, found.groups()), "") if found else ""
    return bool(name) and reading.mentions.written_name.startswith(name)


def storage_no_json(reading: Reading) -> bool:
    """A JSON parser failed on something that the call did not bring."""
    if reading.failure is None or reading.failure.basis == "exit":
        return False
    starts_like_json = any(value[:1] in '{["' for value in reading.mentions.texts)
    named = any("json" in name.casefold() for name in reading.mentions.argument_names)
    return not starts_like_json and not named and says(phrases.JSON_PARSER)(reading)


def arguments_refused(reading: Reading) -> bool:
    """The server's check of the arguments failed."""
    failure = reading.failure
    if failure is None or failure.basis == "exit":
        return False
    text = failure.text[:4000]
    if phrases.VALIDATION.search(text) is None:
        return False
    missing = phrases.MISSING.search(text[:600]) is not None
    looked_up = missing and reading.mentions.value_named_in(text[:600]) and not phrases.STRICT_VALIDATION.search(text)
    return not looked_up and not (missing and failure.status in (404, 410))


def explained_by_schema(reading: Reading) -> bool:
    """The arguments break the schema, and the answer does not report a failed look-up."""
    failure = reading.failure
    if failure is None or not reading.violations:
        return False
    looked_up = phrases.MISSING.search(failure.text[:1000]) is not None and reading.mentions.value_named_in(
        failure.text[:1000]
    )
    ignored = all(
        violation.keyword in ("additionalProperties", "unevaluatedProperties") for violation in reading.violations
    )
    return not looked_up and not ignored


def program_misses(reading: Reading) -> bool:
    """A program's output says that what the arguments name is not there."""
    failure = reading.failure
    if failure is None or failure.basis != "exit" or "Traceback (most recent call last)" in failure.text:
        return False
    text = _looked_at(failure.text, True)
    lines = [line for line in text.splitlines() if phrases.MISSING.search(line) and "command not found" not in line]
    return any(reading.mentions.value_named_in(line) for line in lines)


def echoes_a_value(reading: Reading) -> bool:
    """The report is an argument's value and nothing else."""
    return reading.failure is not None and reading.mentions.says_only_values(peel(reading.failure.text))


def thing_missing(reading: Reading) -> bool:
    """The report says that the thing asked for is not there."""
    if says(phrases.MISSING, program=False)(reading):
        return True
    return (
        reading.failure is not None
        and reading.failure.basis == "sentence"
        and shapes.NOTHING_THERE.match(reading.failure.text) is not None
    )


def denied_by_itself(reading: Reading) -> bool:
    """`EACCES`, `Permission denied` about a path that the call names: a refusal, not missing credentials."""
    failure = reading.failure
    denied = r"permission denied|access (?:is )?denied|\bE(?:ACCES|PERM)\b|operation not permitted"
    if failure is None or not re.search(denied, failure.text[:1000], re.IGNORECASE):
        return False
    return (
        reading.mentions.value_named_in(failure.text[:1000])
        or re.search(r"\bE(?:ACCES|PERM)\b", failure.text[:1000]) is not None
    )


def _names_a_missing_thing(reading: Reading) -> bool:
    """Whether the report says of an argument's value that it does not exist."""
    text = reading.failure.text[:1000] if reading.failure else ""
    strong = re.compile(
        r"\bno such (?:table|file|column|collection)|(?:do|does)(?: not|n't) exist\b|\bENOENT\b|404", re.IGNORECASE
    )
    return strong.search(text) is not None


def unauthorized(reading: Reading) -> bool:
    """Credentials are missing or not enough."""
    if status_in(401, 403, 407)(reading):
        return True
    return says(phrases.UNAUTHORIZED, program=False)(reading) and not says(phrases.MISSING_OR_HIDDEN)(reading)


def network_down(reading: Reading) -> bool:
    """The network fails, and not for want of a proper address or of the thing itself."""
    if says(phrases.BAD_ADDRESS)(reading) or status_in(*range(400, 500))(reading):
        return False
    return says(phrases.NETWORK)(reading) or (says(phrases.FETCH_FAILED)(reading) and not thing_missing(reading))


def internal_and_no_more(reading: Reading) -> bool:
    """The error says that it is an internal one, and not a word more."""
    return reading.failure is not None and _INTERNAL.fullmatch(peel(reading.failure.text[:200])) is not None


def nothing_in_place(reading: Reading) -> bool:
    """A required argument is missing, and its place in a short answer holds what a program calls nothing."""
    missing = any(violation.keyword == "required" for violation in reading.violations)
    return missing and len(reading.text) < _LONGEST_LINE and _NOTHING.search(reading.text) is not None


def value_malformed(reading: Reading) -> bool:
    """A value cannot be parsed or computed, and the report does not say that it is missing."""
    return says(phrases.MALFORMED)(reading) and not _names_a_missing_thing(reading)


def program_failed(reading: Reading) -> bool:
    """A program that the call ran ended with an error."""
    return reading.failure is not None and reading.failure.basis == "exit"
