"""What a rule may ask of a parsed answer: which cause it names, and whose fault that is where words alone mislead."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from replay.outcomes.call_facts import (
    brings_a_program,
    holds_word,
    name_words,
    queries_a_database,
    runs_commands,
    same_path,
)
from replay.outcomes.codes import cause_of_exit, cause_of_rpc, cause_of_status, causes_in, causes_said, http_status
from replay.outcomes.denials import (
    NOT_A_LACK,
    UNKNOWN,
    denies_a_value,
    denies_the_tool,
    knows_no_argument,
    no_such_thing,
)
from replay.outcomes.error_report import (
    decisive_part,
    misses_a_file_of_its_own,
    misses_module,
    misses_program,
    program_words,
    server_is_unknown,
    strip_wrappers,
)
from replay.outcomes.evidence import ParsedAnswer
from replay.outcomes.json_fields import in_words
from replay.outcomes.programs import exiting_program, last_program
from replay.outcomes.sentences import FRAME_WORDS, own_words
from replay.records import Tool

Condition = Callable[[ParsedAnswer], bool]

_MAX_TEXT, _MAX_LINE_LENGTH = 2000, 300
_MAX_HOST_LENGTH, _MAX_OPENING = 600, 160
"""A host says in few words that it did not make the call."""

_STACK = re.compile(r"Traceback \(most recent call last\)|\n\s{1,12}at [^\n]{1,200}:\d+:\d+\)?")
_INTERNAL_ERROR = re.compile(
    r"(?i)\W*(?:an )?internal (?:rpc |json-rpc |server )?error(?: (?:has )?occurred)?\W*"
    r"(?-i:(?:[a-z]\w*\.)*(?:Key|Index|Attribute|Type|Name|Lookup|Assertion|ZeroDivision|UnboundLocal|NullPointer)"
    r"(?:Error|Exception)\b[^\n]*)?"
)
_DENIED = re.compile(r"permission denied(?! ?\([a-z])|access (?:is )?denied|operation not permitted", re.IGNORECASE)
_PATH_DENIED = re.compile(
    r"(?:permission|access) (?:is )?denied[^\n]{0,40}?['\"](?P<path>[^'\"\n]{1,300})['\"]", re.IGNORECASE
)
_OF_PROGRAM = re.compile(r"([a-z][\w.-]{1,30}): ")
_NO_PORT = re.compile(
    r"\b(?:listen|bind) E(?:PERM|ACCES|ADDRINUSE)\b|\baddress already in use\b|\bWin32 error \d"
    r"|\bport is already allocated\b",
    re.IGNORECASE,
)
_NO_CONTAINER = re.compile(
    r"\bcontainer (?:name \S+ is (?P<taken>already in use)|\S+ is unhealthy)\b|\bservice \S+ is not running\b"
    r"|\bbwrap: ",
    re.IGNORECASE,
)
_NAME_IN_CODE = re.compile(
    r"\bcannot find (?:name|symbol|value|type|function|macro|'[^'\n]{1,80}' in scope)\b"
    r"|\bparameter cannot be found\b"
)
"""What a compiler cannot find is wrong in the program, and no thing that was asked for."""
_INSTALL = re.compile(r"\b(?:pip3?|npm|brew|apt(?:-get)?|cargo|gem|conda) install\b", re.IGNORECASE)
_EXCEPTION = re.compile(
    r"\b(?:Type|Reference|Syntax|Range|Name|Attribute|Key|Index|Value|Indentation|ZeroDivision|Assertion|Eval|Lookup"
    r"|Arithmetic|Overflow|UnboundLocal|Runtime|Recursion|NoMethod|Undef\w{1,20})Error\b"
    r"|\bCall to undefined\b|\bStopIteration\b|\bis not a function\b"
    r"|\bis not defined\b|\bhas no attribute\b|\bcannot read propert|\bunexpected token\b",
    re.IGNORECASE,
)
_UNDEFINED_NAME = re.compile(
    r"\bname ['\"](\w{1,80})['\"] is not defined|(?:^|: )\W{0,3}([A-Za-z_$]\w{0,80}) is not defined\W*$", re.IGNORECASE
)
_LIMIT = re.compile(r"\b(?:limit|maximum|minimum|max|min|at (?:least|most)|more than|less than|only|left|full)\b", re.I)
_RANGE = re.compile(r"(?<![\w.-])-?\d+(?:\.\d+)? ?(?:to|through|and|[-–—]|\.{2,3}) ?-?\d+(?![\w-])")
_INTEGER = re.compile(r"(?<![\w./-])\d{1,9}(?![\w./-]*\d)")  # no part of a name, nor of a tally (`0/2`)
_STEM = 5


def fault(*kinds: str) -> Condition:
    """The transport failed in one of these ways."""
    return lambda parsed: parsed.fault is not None and parsed.fault.fault in kinds


def fault_status(*statuses: int) -> Condition:
    """The transport gave one of these HTTP statuses instead of an answer."""
    begins = tuple(f"HTTP {status} " for status in statuses)
    return lambda parsed: parsed.fault is not None and f"{parsed.fault.message} ".startswith(begins)


def says(*causes: str, program: bool | None = None) -> Condition:
    """The failure's words or codes name one of the causes; with `program`, only if it is (not) a program's output."""
    wanted = frozenset(causes)

    def match(parsed: ParsedAnswer) -> bool:
        if parsed.error is None or (program is not None and (parsed.error.basis == "exit") != program):
            return False
        return not wanted.isdisjoint(parsed.said) or not wanted.isdisjoint(parsed.coded)

    return match


def coded(*causes: str) -> Condition:
    """A code in the failure says one of the causes: an HTTP status, a JSON-RPC code, or that of a known system."""
    return lambda parsed: parsed.error is not None and not parsed.coded.isdisjoint(causes)


def status_says(cause: str) -> Condition:
    """The HTTP status or the JSON-RPC code of the failure says the cause."""
    return lambda parsed: (
        parsed.error is not None and cause in (cause_of_status(parsed.error.status), cause_of_rpc(parsed.error.code))
    )


def host_says(cause: str) -> Condition:
    """A host says in few words, which are not the call's own, why it did not make the call."""

    def match(parsed: ParsedAnswer) -> bool:
        error = parsed.error
        if error is None or error.basis == "exit":
            return False
        text = parsed.arguments.without_values(error.text).strip()
        return cause in causes_said(text if len(text) <= _MAX_HOST_LENGTH else text.split("\n", 1)[0][:_MAX_OPENING])

    return match


def session_is_lost(parsed: ParsedAnswer) -> bool:
    """The session or the transport between host and server is gone; a session that the call names is another thing."""
    error = parsed.error
    if error is None or error.basis == "exit" or len(error.text) > _MAX_HOST_LENGTH:
        return False
    if "session-lost" not in parsed.said and "session-lost" not in parsed.coded:
        return False
    if parsed.arguments.value_named_in(error.text):
        return False
    own = any("session" in name.casefold() for name in parsed.arguments.argument_names)
    about_sessions = "session" in name_words(parsed.arguments.tool_name)
    return not own and not about_sessions


def cause_is_hidden(parsed: ParsedAnswer) -> bool:
    """A host or an SDK says that the call failed, and keeps the cause to itself."""
    error = parsed.error
    if error is None or error.basis == "exit" or parsed.coded or error_is_only_a_value(parsed):
        return False
    return host_says("hidden")(parsed)


def too_large_to_hand_out(parsed: ParsedAnswer) -> bool:
    """The answer was held back for its length, and nothing tells how the call should have asked."""
    return says("too-large", program=False)(parsed) and not asked_for_too_much(parsed)


def asked_for_too_much(parsed: ParsedAnswer) -> bool:
    """The tool hands out less than was asked for, and says how to ask; nothing is kept elsewhere."""
    error = parsed.error
    if error is None or not {"too-large", "ask-for-less"} <= parsed.said:
        return False
    return "saved " not in error.text[:_MAX_TEXT]


def tool_is_unknown(parsed: ParsedAnswer) -> bool:
    """The answer says that there is no such tool, and nobody lists it."""
    error = parsed.error
    if error is None or parsed.listed or error.basis == "exit":
        return False
    text = strip_wrappers(error.text[:600])
    if error.code == -32601:
        return True
    said = causes_said(text)
    names = (name.casefold() for name in parsed.arguments.argument_names)
    if "tool-unlisted" in said and not any(word in name for name in names for word in ("action", "tool", "func")):
        return True
    unknown = "tool-unknown" in said
    named = (
        parsed.arguments.tool_named_in(text)
        or not parsed.arguments.tool_name
        or parsed.arguments.ends_in_a_name_of(text)
    )
    short = len(text) < 60 and not re.search(r"function|command|action", text, re.IGNORECASE)
    if denies_the_tool(text, parsed.arguments) or (unknown and (named or short)):
        return True
    return server_is_unknown(text, parsed.arguments, parsed.call.server or "")


def stored_json_is_broken(parsed: ParsedAnswer) -> bool:
    """A JSON parser failed on something that the call did not bring."""
    if parsed.error is None or parsed.error.basis == "exit" or runs_commands(parsed.arguments):
        return False
    starts_like_json = any(value[:1] in '{["' for value in parsed.arguments.texts)
    named = any("json" in name.casefold() for name in parsed.arguments.argument_names)
    return not starts_like_json and not named and "json-parse" in parsed.said


def arguments_are_refused(parsed: ParsedAnswer) -> bool:
    """The server's check of the arguments failed."""
    error = parsed.error
    if error is None or error.basis == "exit" or "validation" not in parsed.said:
        return False
    missing = "not-found" in causes_said(error.text[:600].strip())
    looked_up = missing and parsed.arguments.value_named_in(error.text[:600]) and "strict" not in parsed.said
    return not looked_up and not (missing and error.status in (404, 410))


def schema_explains(parsed: ParsedAnswer) -> bool:
    """The arguments break the schema, and the answer does not report a failed look-up."""
    error = parsed.error
    if error is None or not parsed.violations:
        return False
    looked_up = bool(parsed.said & {"not-found"} or parsed.coded & {"missing"}) and parsed.arguments.value_named_in(
        error.text[:1000]
    )
    ignored = all(
        violation.keyword in ("additionalProperties", "unevaluatedProperties") for violation in parsed.violations
    )
    return not looked_up and not ignored


def program_reports_missing(parsed: ParsedAnswer) -> bool:
    """A program's output says that what the arguments name is not there."""
    error = parsed.error
    if error is None or error.basis != "exit" or _STACK.search(error.text):
        return False
    lines = decisive_part(error).splitlines()
    if (len(lines) == 1 and no_such_thing(lines[0])) or any(http_status(line) in (404, 410) for line in lines[-2:]):
        return True
    return any(_is_not_there(line, "\n".join(lines[at : at + 2]), parsed) for at, line in enumerate(lines))


def _is_not_there(line: str, named_in: str, parsed: ParsedAnswer) -> bool:
    said = causes_said(line)
    if _NAME_IN_CODE.search(line):
        return False
    missing = "not-found" in said or "missing" in causes_in(line)
    return missing and "environment" not in said and parsed.arguments.value_named_in(named_in)


def program_is_missing(parsed: ParsedAnswer) -> bool:
    """The program that a command names, and no path to it, or a package that it imports is not there where it runs."""
    error = parsed.error
    if error is None:
        return False
    if error.basis == "exit" and misses_module(error.text, parsed.arguments):
        return True
    return not _STACK.search(error.text) and misses_program(error.text, parsed.arguments)


def program_asks_to_install(parsed: ParsedAnswer) -> bool:
    """A program ended with the advice to install what it lacks."""
    error = parsed.error
    if error is None or error.basis != "exit" or _STACK.search(error.text):
        return False
    return _INSTALL.search(decisive_part(error)) is not None


def program_failed(parsed: ParsedAnswer) -> bool:
    """A program that the call ran ended with an error, and it was not the shell that could not run it."""
    if parsed.error is None or parsed.error.basis != "exit":
        return False
    if parsed.coded & {"environment", "outage"}:
        return False
    program = parsed.program_exit
    return program is None or cause_of_exit(program.code, exiting_program(parsed.arguments)) is None


def error_is_only_a_value(parsed: ParsedAnswer) -> bool:
    """The report is an argument's value and nothing else."""
    return parsed.error is not None and parsed.arguments.holds_only_values(strip_wrappers(parsed.error.text))


_NO_VALUE = re.compile(
    rf"\W*(?:{UNKNOWN}|no {NOT_A_LACK})"
    r"(?:[a-z][\w-]{0,30}\W+){1,3}\W*",
    re.IGNORECASE,
)
"""What is left of `no item sofa` and `unknown item: sofa` without the arguments' values: a kind of thing."""


_QUOTED_LACK = re.compile(rf"no {NOT_A_LACK}[^'\"\n]{{1,60}}['\"]\w", re.IGNORECASE)
"""`no copy of 'Cairns' on the disk`: what is not there has a name."""


def breaks_a_stated_range(parsed: ParsedAnswer) -> bool:
    """The report names a number of the call, and the range in which such things are: `no room 12, only 0 to 9`; or the
    length of a text or a list of the call, beside another number.
    """
    error = parsed.error
    if error is None or error.basis == "exit" or parsed.coded:
        return False
    text = error.text[:_MAX_LINE_LENGTH]
    numbers = {int(number) for number in _INTEGER.findall(text)}
    measured = len(numbers) > 1 and not numbers.isdisjoint(parsed.arguments.lengths)
    if measured and "not-found" not in parsed.said:
        return True
    range_ = _RANGE.search(text)
    return range_ is not None and parsed.arguments.number_named_in(text[: range_.start()] + text[range_.end() :])


def thing_is_missing(parsed: ParsedAnswer) -> bool:
    """The report says that the thing asked for is not there."""
    if says("not-found", "missing", program=False)(parsed):
        return True
    error = parsed.error
    if error is None or error.basis == "exit":
        return False
    text = in_words(strip_wrappers(error.text[:_MAX_TEXT]))
    if not parsed.coded and (denies_a_value(text, parsed.arguments) or knows_no_argument(text, parsed.arguments)):
        return True
    if _NO_VALUE.fullmatch(parsed.arguments.without_values(text, 3)) is not None:
        return parsed.arguments.value_named_in(text)
    named = error.basis == "sentence" or parsed.arguments.value_named_in(text) or _QUOTED_LACK.match(text) is not None
    return named and no_such_thing(text)


def os_denies_own_path(parsed: ParsedAnswer) -> bool:
    """The operating system denies access to a path that the call names neither itself nor by what is in it."""
    error = parsed.error
    if error is None:
        return False
    named = _PATH_DENIED.search(error.text[:_MAX_TEXT])
    if named is None or _is_above_an_argument(named["path"], parsed):
        return False
    return not any(same_path(value, named["path"]) for value in parsed.arguments.texts)


def _is_above_an_argument(path: str, parsed: ParsedAnswer) -> bool:
    """Whether a path is a folder in which the call was to work: who makes `/a/b/c` is refused `/a`."""
    folder = path.strip().rstrip("/")
    return folder.startswith("/") and any(value.strip().startswith(folder + "/") for value in parsed.arguments.texts)


def runner_fails(parsed: ParsedAnswer) -> bool:
    """What runs the command fails before it: programs complain of where they run that the command does not name."""
    error = parsed.error
    if error is None or error.basis != "exit" or "environment" not in parsed.said:
        return False
    names = [_OF_PROGRAM.match(line) for line in program_words(error.text).strip().splitlines()]
    commands = " ".join(parsed.arguments.texts)
    return bool(names) and all(name is not None and not holds_word(commands, name[1]) for name in names)


def system_denies_program(parsed: ParsedAnswer) -> bool:
    """A program may not listen where it runs, or another one does, or the system or a container does not start."""
    if parsed.error is None:
        return False
    text = decisive_part(parsed.error)
    shell = parsed.error.basis == "exit" or "bwrap: " in text
    container = _NO_CONTAINER.search(text) if shell else None
    if container is not None and not (container["taken"] and parsed.arguments.value_named_in(container[0])):
        return True
    return _NO_PORT.search(text) is not None


def os_denies_named_path(parsed: ParsedAnswer) -> bool:
    """`EACCES`, `Permission denied` about a path that the call names, or a folder above it: a refusal of the call."""
    error = parsed.error
    if error is None:
        return False
    if "hidden-or-missing" in parsed.said or os_denies_own_path(parsed) or system_denies_program(parsed):
        return False
    lines = decisive_part(error)[:1000].splitlines()
    if error.basis == "exit":  # that a program says its own name names nothing
        program = re.escape(last_program(parsed.arguments))
        lines = [re.sub(rf"^\W{{0,8}}{program}\b", "", line) for line in lines]
    denied = [line for line in lines if _DENIED.search(line) or "denied" in causes_in(line)]
    folders = (_PATH_DENIED.search(line) for line in denied)
    return any(map(parsed.arguments.value_named_in, denied)) or any(
        folder is not None and _is_above_an_argument(folder["path"], parsed) for folder in folders
    )


def unauthorized(parsed: ParsedAnswer) -> bool:
    """Credentials are missing or not enough."""
    if "unauthorized" in parsed.coded:
        return True
    return says("unauthorized")(parsed) and "hidden-or-missing" not in parsed.said and "missing" not in parsed.coded


def network_is_down(parsed: ParsedAnswer) -> bool:
    """The network fails, and not for want of a proper address or of the thing itself."""
    if parsed.error is None or "bad-address" in parsed.said or 400 <= (parsed.error.status or 0) < 500:
        return False
    fetch = "fetch-failed" in parsed.said and not thing_is_missing(parsed)
    return says("network")(parsed) or fetch


def internal_error_only(parsed: ParsedAnswer) -> bool:
    """The error says that it is an internal one, and not a word more but an exception that only a bug raises."""
    return parsed.error is not None and _INTERNAL_ERROR.fullmatch(strip_wrappers(parsed.error.text[:200])) is not None


def exists_already(parsed: ParsedAnswer) -> bool:
    """What the call would make is there already, and nothing is said to be missing."""
    return "exists" in parsed.coded or (says("exists")(parsed) and "not-found" not in parsed.said)


def query_names_nothing(parsed: ParsedAnswer) -> bool:
    """The call brought a statement of a database, and the failure is of a name in it."""
    error = parsed.error
    return (
        error is not None
        and error.basis != "exit"
        and "query-name" in parsed.said
        and queries_a_database(parsed.arguments)
    )


def own_program_failed(parsed: ParsedAnswer) -> bool:
    """The call brought a program of the model's, and an exception of a program is the failure."""
    error = parsed.error
    if error is None or error.basis == "exit":
        return False
    runs = runs_commands(parsed.arguments) and any(" " in text for text in parsed.arguments.texts)
    if not runs and not brings_a_program(parsed.call.arguments):
        return False
    return _EXCEPTION.search(error.text[:_MAX_TEXT]) is not None


def own_process_failed(parsed: ParsedAnswer) -> bool:
    """A process of the server's ended badly, and the call brought neither a command nor a program nor a statement."""
    error = parsed.error
    if error is None or error.basis == "exit" or brings_a_program(parsed.call.arguments):
        return False
    if runs_commands(parsed.arguments) or queries_a_database(parsed.arguments):
        return False
    return "own-process" in parsed.said


def own_part_fails(parsed: ParsedAnswer) -> bool:
    """What the server needs is not connected or does not run, and it is nothing that the call names."""
    error = parsed.error
    if error is None or error.basis == "exit" or "own-part" not in parsed.said:
        return False
    return not parsed.arguments.value_named_in(error.text[:_MAX_TEXT])


def own_name_undefined(parsed: ParsedAnswer) -> bool:
    """A program lacks a variable whose name the call did not bring: the server's own code is broken."""
    match = _UNDEFINED_NAME.search(parsed.error.text[:_MAX_TEXT]) if parsed.error else None
    if match is None:
        return False
    name = match[1] or match[2]
    return not any(name in value for value in (*parsed.arguments.texts, *parsed.arguments.argument_names))


def own_file_missing(parsed: ParsedAnswer) -> bool:
    """A file is missing that the call neither named nor could have: the server's own."""
    error = parsed.error
    if error is None or error.basis in ("exit", "sentence"):
        return False
    return misses_a_file_of_its_own(error.text[:_MAX_TEXT], parsed.arguments)


def says_a_cause(parsed: ParsedAnswer) -> bool:
    """Whether the report names an argument, tells of a value or a limit, and so is about the call."""
    error = parsed.error
    if error is None or error.basis == "exit":
        return error is not None
    text = strip_wrappers(error.text[:_MAX_TEXT])
    words = own_words(text, parsed.arguments)
    words |= {word.removesuffix("s") for word in words}
    names = {name.casefold() for name in (*parsed.arguments.argument_names, *_parameters(parsed.tool))}
    if words & names - FRAME_WORDS or parsed.arguments.arguments_named_in(text):
        return True
    stems = {word[:_STEM] for word in name_words(parsed.arguments.tool_name)}
    of_its_own = {word for word in words - FRAME_WORDS if word[:_STEM] not in stems and len(word) > 1}
    return bool(of_its_own) and (_LIMIT.search(text) is not None or parsed.arguments.value_told_of_in(text))


def _parameters(tool: Tool | None) -> Collection[str]:
    schema = tool.input_schema if tool is not None else None
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties if isinstance(properties, dict) else ()


def is_an_error(parsed: ParsedAnswer) -> bool:
    """The answer reports an error, whatever it is."""
    return parsed.error is not None


def names_what_is_missing(parsed: ParsedAnswer) -> bool:
    """A code says that something is missing, or the report names a value that the call asked for."""
    error = parsed.error
    if error is None or runs_commands(parsed.arguments):
        return False
    return "missing" in parsed.coded or parsed.arguments.value_named_in(error.text[:_MAX_HOST_LENGTH])
