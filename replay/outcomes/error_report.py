"""The text of an answer that reports a failure: without what only wraps it, and the part that names the cause."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from replay.outcomes.call_facts import CODE_ARGUMENTS, ArgumentIndex, runs_commands
from replay.outcomes.codes import http_status, rpc_code
from replay.outcomes.residue import error_in_tail
from replay.records import RpcError

MAX_REPORT_LENGTH = 20_000
MAX_SENTENCE_LENGTH, MAX_LOOK = 600, 2_000
CRASHED = "The tool crashed, and its answer does not say why"
Basis = Literal["protocol", "flag", "exit", "body", "prefix", "sentence"]

_WRAPPER = re.compile(
    r"^(?:#{1,4} (?:result|error)\s*\n+|(?:an )?error (?:occurred )?(?:executing|running|calling|invoking"
    r"|in)(?: mcp)?(?: tool)? ['\"]?[\w./:-]{1,100}['\"]?:\s*"
    r"|mcp error -?\d+:\s*|tool (?:execution|call) (?:failed|error):\s*|error ?\([^)\n]{0,60}\):\s*"
    r"|error:\s*|<error>\s*"
    r"|(?:i|we)(?:'ve| have)? (?:encountered|hit|got|ran into) an? [^\n.:]{0,120}[.:]\s*"
    r"|(?:this|the error) (?:was|is)(?: the error)?:\s*)",
    re.IGNORECASE,
)
"""What only wraps a report: the frame of an SDK or of a harness."""

_REPORT_OF_CHECKS = re.compile(
    r"(?<!port )(?<![:.])\b\d+ (?:failed|passed|failing|passing)\b|\bTest (?:Files|Suites)\b|\berror TS\d{4}"
    r"|\b\d+ problems? \(\d+ error|^(?:FAIL(?:ED)?|PASS)[ :]|\bTest suite failed to run",
    re.MULTILINE,
)
"""What tests, linters and type checks print: what failed in it is the code that they looked at."""

_COMPLAINT = re.compile(
    r"[^\w\n]{0,8}(?:[\w.@/\\-]{1,80}(?: \[\w{1,40}\])? ?: "
    r"|(?:npm |git |pip )?(?:errors?|fatal|err!|failed|failure|denied|cannot|could not|caused by)\b"
    r"|[^\n]{0,400}\btimed out\b)",
    re.IGNORECASE,
)
"""How a line begins in which a program says what it could not do."""

TRACEBACK_LAST_LINE = re.compile(r"[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Warning|Iteration)\b")
PROGRAM_HEAD = re.compile(
    r"(?:(?:[A-Z][a-z]+ (?:(?P<well>completed|finished|succeeded)|(?P<badly>failed|errored|crashed))"
    r"|[A-Z][A-Za-z ]{1,30}[:\d][^\n]{0,80})?\n){1,12}Output:[ \t]*(?:\n|$)"
)
"""What a runner writes above what a program printed."""


_NO_PROGRAM = re.compile(
    r"No such file or directory: ['\"]?(?P<first>[\w.+-]+)['\"]?\W*$"
    r"|command not found: (?P<zsh>[\w.+-]+)\s*$"
    r"|^(?P<which>[\w.+-]+) not found$"
    r"|(?:^|: )(?P<shell>[\w.+-]+): (?:command )?(?-i:not found)\b|\bterm '(?P<term>[\w.+-]+)' is not recognized"
    r"|^'(?P<cmd>[\w.+-]+)' is not recognized"
    r"|python[\d.]*(?:\.exe)?: No module named (?P<module>[\w.]+)"
    r"|failed to spawn:? [`'\"](?P<spawn>[\w.+-]+)[`'\"]|\bspawn (?P<node>[\w.+-]+) ENOENT"
    r"|exec(?:utable)?:? \"?(?P<go>[\w.+-]+)\"?: executable file not found",
    re.IGNORECASE | re.MULTILINE,
)
"""How shells and programs that start others say that there is no such program."""
_NO_MODULE = re.compile(
    r"^(?:ModuleNotFoundError: No module named '(?P<python>\w+)'"
    r"|Error: Cannot find module '(?P<node>[a-z][\w/.-]*)')",
    re.MULTILINE,
)
"""How Python and Node say that a package is not installed; a module of one that is there has a dot in its name."""
_SERVER_UNKNOWN = re.compile(
    r"\b(?:unknown|no such|invalid|unrecogni[sz]ed|undefined|unavailable) (?:mcp )?server"
    r":? ['\"`]?(?P<first>[\w./:-]{1,100})"
    r"|\bserver(?: named| with name)?:? "
    r"(?:['\"`](?P<quoted>[^'\"`\n]{1,100})['\"`]|(?P<second>[\w./:-]{1,100})) (?:is |was )?"
    r"(?:not (?:found|available|known|registered|configured|defined|enabled|listed|exposed)"
    r"|does(?: not|n't) exist|unknown|unavailable|undefined)"
    r"|\bno (?:(?:active |open )?(?:connection|client|session) (?:was )?(?:found |available |registered )?"
    r"(?:for|to|with) )?(?:the )?(?:mcp )?server(?: (?:named|called|with (?:the )?name|for(?: tool)?))?:? "
    r"['\"`]?(?P<third>[\w./:-]{1,100})",
    re.IGNORECASE,
)
"""How a harness says that it has no server of that name."""


_FILE_MISSING = re.compile(
    r"\bENOENT\b|no such file|\bnot found:\s+\S*(?:[/\\]\S*){3}"
    r"|(?:file|directory|path)\b[^\n]{0,120}\b(?:not found|do(?:es)?(?: not|n't) exist|is missing)"
    r"|(?:cannot|could not|failed to|unable to) (?:open|find|load|read)\b[^\n]{0,60}\bfile\b",
    re.IGNORECASE,
)
_FILE_NAME = re.compile(
    r"(?:[A-Za-z]:\\|[/~.])?[\w./\\-]{0,200}[/\\][\w.-]+|\b[\w-]{1,80}\.[a-z]\w{1,5}\b"
    r"|\b(?:open|mkdir|l?stat|scandir|access|unlink|rmdir|copyfile|rename) '[^'\n]{1,200}'"
)
_FILE_ARGUMENT = re.compile(
    r"path|file|dir|folder|name|ur[il]|source|target|cwd|root|repo|location|(?:in|out)put", re.I
)
_SLASH = re.compile(r"[/\\]")
_DEEP_PATH = re.compile(r"(?:[\w.-]+[/\\]){3,}[\w.-]+")
_STOPPED = re.compile(
    r"\b(?:command|process|program|script|execution|tool|job)\b[^\n]{0,60}\b(?:timed out|(?:terminated|killed|aborted"
    r"|stopped|cancell?ed|interrupted)\b[^\n]{0,40}\b(?:time-?out|time limit|\d+ ?(?:ms|milliseconds|s|sec|seconds"
    r"|minutes)\b))",
    re.IGNORECASE,
)


class ErrorReport(NamedTuple):
    """An answer that as a whole reports a failure."""

    text: str
    """What the rules look at: the message, without what only wraps it."""
    basis: Basis
    status: int | None = None
    """HTTP status where the answer holds one."""
    code: int | None = None
    """JSON-RPC error code where the answer holds one."""


def report_of(text: str, basis: Basis, status: int | None = None, code: int | None = None) -> ErrorReport:
    """The report that a text is, with the HTTP status and the JSON-RPC code that it names where none is given."""
    if status is None and basis != "protocol":
        tail = error_in_tail(text)
        status = None if tail is None else tail.status if (tail.status or 0) > 0 else http_status(tail.message)
    number = code or rpc_code(text) or (status if status is not None and status < 0 else None)
    http = status if status is not None and status > 0 else http_status(text)
    return ErrorReport(text.strip(), basis, http, number)


def report_of_rpc(answer: RpcError) -> ErrorReport:
    """The report that a protocol error is."""
    data = "" if answer.data is None else f" {answer.data!s}"[:4000]
    return report_of(answer.message[:MAX_REPORT_LENGTH] + data, "protocol", code=answer.code)


def decisive_part(error: ErrorReport) -> str:
    """The part of a failure's text that names its cause: the beginning, and the end of a program's output."""
    text = error.text
    if error.basis != "exit":
        return text[:MAX_LOOK]
    if _REPORT_OF_CHECKS.search(text[:500]) or _REPORT_OF_CHECKS.search(text[-4000:]):
        return ""
    text = text if len(text) <= MAX_LOOK else f"{text[:500]}\n{text[-1500:]}"
    lines = text.strip().split("\n")
    return "\n".join([line for line in lines[:-3] if _COMPLAINT.match(line)] + lines[-3:])


def strip_wrappers(text: str) -> str:
    """An error text without what only wraps it (`Error executing tool x: `, `MCP error -32603: `, `Error: `)."""
    for _ in range(6):
        inner = _WRAPPER.sub("", text.strip(), count=1)
        if inner == text:
            break
        text = inner
    return text.strip()


def program_words(text: str) -> str:
    """What a program says of its failure: the line that ends a traceback, else what it printed.

    The lines about its run that a harness writes before `Output:` are none of it.
    """
    text = strip_wrappers(text)
    if (start := text.rfind("Traceback (most recent call last)")) >= 0:
        return next((line for line in text[start:].splitlines()[1:] if TRACEBACK_LAST_LINE.match(line)), text[start:])
    head = PROGRAM_HEAD.match(text)
    return text[head.end() :].strip() if head else text


def server_is_unknown(text: str, arguments: ArgumentIndex, server: str = "") -> bool:
    """Whether a text says that there is no such server, of the one that the call is for.

    Args:
        text: the report.
        arguments: of the call, with its name as written.
        server: the server that the name was read as, where it is known.
    """
    text = text[:MAX_SENTENCE_LENGTH]
    match = _SERVER_UNKNOWN.search(text) if "server" in text.casefold() else None
    name = next(filter(None, match.groups()), "").rstrip(".:'\"`") if match else ""
    if not name:
        return False
    names_a_tool = any("tool" in key.casefold() for key in arguments.argument_names)
    asked = (server, *(arguments.by_name.values() if names_a_tool else ()))
    return arguments.written_name.startswith(name) or name.casefold() in map(str.casefold, asked)


def misses_program(text: str, arguments: ArgumentIndex) -> bool:
    """Whether the output of a command says that a program which the command names, by no path, is not installed."""
    match = _NO_PROGRAM.search(text[-MAX_LOOK:]) if runs_commands(arguments) else None
    if match is None:
        return False
    name = re.escape(next(filter(None, match.groups())))
    starts = r"(?<![\w./\\-])"
    if match["first"]:
        starts = r"(?:^|[|;&(`\n]\s*|\b(?:sudo|xargs|env|time|exec) )"
    elif match["which"]:
        starts = r"\b(?:which|whence|where|type|command -v) "
    return any(re.search(rf"{starts}{name}(?![\w./\\-])", command[:MAX_LOOK]) for command in arguments.texts)


def misses_module(text: str, arguments: ArgumentIndex) -> bool:
    """Whether a program that the call brought ended for want of a package that it imports.

    Of a program in a file nobody knows whether the package is one of its own.
    """
    match = next(reversed(list(_NO_MODULE.finditer(text[-MAX_LOOK:]))), None)
    if match is None:
        return False
    name = re.escape(re.split(r"[./]", match["python"] or match["node"])[0])
    imports = re.compile(rf"\b(?:import|from|require\() ?['\"]?{name}\b")
    return any(map(imports.search, arguments.texts))


def misses_a_file_of_its_own(text: str, arguments: ArgumentIndex) -> bool:
    """Whether a report says that a file is missing, and names one that the call neither named nor could have."""
    if not (_FILE_MISSING.search(text) and _FILE_NAME.search(text)) or arguments.value_named_in(text):
        return False
    path = _DEEP_PATH.search(text)
    folders = set(_SLASH.split(path[0])) if path else set()
    if folders and all(folders.isdisjoint(_SLASH.split(value)) for value in arguments.texts):
        return True
    names = arguments.argument_names
    if any(_FILE_ARGUMENT.search(name) or name.casefold() in CODE_ARGUMENTS for name in names):
        return False
    return not any(map(_SLASH.search, arguments.texts))


def stopped_in(tail: str, arguments: ArgumentIndex) -> ErrorReport | None:
    """The failure of a program that was stopped for taking too long, where the harness says so below its output."""
    if not runs_commands(arguments):
        return None
    lines = tail.rstrip()[-MAX_SENTENCE_LENGTH:].rsplit("\n", 4)[-4:]
    line = next((line for line in lines if _STOPPED.search(line)), None)
    return report_of(line, "sentence") if line is not None else None
