"""How a program that a call ran has ended: by its status, its last words, or complaints that are all it says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from replay.outcomes.call_facts import (
    MAX_PROGRAM_LENGTH,
    PROGRAM_ARGUMENTS,
    ArgumentIndex,
    filters_errors,
    holds_word,
    returns_content,
    runs_commands,
    searches,
)
from replay.outcomes.error_report import (
    MAX_LOOK,
    PROGRAM_HEAD,
    TRACEBACK_LAST_LINE,
    ErrorReport,
    program_words,
    report_of,
)
from replay.outcomes.literals import json_at_end
from replay.records import Tool

_EXIT_CODE = re.compile(
    r"^[^\d\t\n]{0,80}?(?:\b(?:return|exit)[ _]?(?:code|status)|\bexited with(?: an?)?(?: (?:code|status))?"
    r"|\breturncode|\bstatus code|^\W?rc)\W{0,4}?(-?(?:\d{1,2}|1\d\d|2[0-5]\d|9009|\d{8,10}))\b",
    re.IGNORECASE | re.MULTILINE,
)
"""On a line of its own, or after nothing but words: a log's line begins with its time."""
_EXIT_WORDS = ("code", "status", "ed w", "rc=")
"""One of them is in every match of it, once case is folded."""
_EXIT_KEYS = ("exit_code", "exitcode", "returncode", "return_code", "exitstatus", "exit_status", "rc")
_SAID_BY = re.compile(r"^([a-z][\w.-]{1,20}): ", re.MULTILINE)
_SHELL_COMPLAINS = re.compile(
    r"^(?:\(eval\)|(?:\S{0,200}/)?\w{0,4}sh): ?(?:-c: |\w{1,20}:)?(?:line )?\d+: ", re.MULTILINE
)
_LAST_WORDS = re.compile(
    r"make(?:\[\d+\])?: \*{3} |npm (?:ERR!|error) |E: |fatal: |CMake Error\b"
    r"|(?:Username|Password|Enter passphrase) for "
)
"""How a program's last line says that it gave up."""
_GIVES_UP = re.compile(
    r"^(?:(?:[\w./\\@+-]{1,200}[:(]\d{1,6}(?:[:,]\d{1,6})?\)?: )?(?:fatal )?error(?: ?\[?[A-Z]{1,6}\d{2,6}\]?)?: \S"
    r"|[\w./\\-]{1,200}\.go:\d{1,6}:\d{1,6}: |[\w./-]{1,200}\.rb:\d{1,6}:in "
    r"|\*\* BUILD FAILED \*\*|(?:\[\w{1,7}\] )?BUILD FAIL(?:ED|URE)\b|Build FAILED\.|\[ERROR\] \S"
    r"|Exception in thread \"|Error response from daemon: |[\d :-]{10,20}ERROR \d{3}: |[a-z][\w.-]{1,40}: error: "
    r"|wget: unable to |error Command \"|Node\.js v\d+\.\d|The system cannot find the (?:file|path)\b"
    r"|Try '[^'\n]{1,80} --help' for more information|No manual entry for |Failed to connect to bus"
    r"|fatal: \[[^\]\n]{1,80}\]: (?:UNREACHABLE|FAILED)!| ! \[rejected\]|[A-Z]\w{2,40}NotFound: "
    r"|[A-Z]\w{0,40}Error: [^\n]{0,400}\n {4}at \S)",
    re.MULTILINE,
)
"""Lines that compilers, build tools and other programs write where they fail, and nowhere else."""
_SHOWS_OTHERS = re.compile(
    r"\b(?:git (?:-\S+ )*(?:log|show|diff|blame|status)|(?:docker|podman|kubectl|oc|pm2|fly|heroku)(?: \S+){0,2} logs?"
    r"|journalctl|dmesg|history|gh run view)\b"
)
"""Of a command that shows what others wrote, or what there is."""
_POWERSHELL_ERROR = re.compile(r"\+ FullyQualifiedErrorId : (?!NativeCommandError)\w")
"""What PowerShell writes below an error in any language; `NativeCommandError` is said of all that a program logs."""
_PROMPT = re.compile(
    r"|\[(?!err|fail|fatal|warn|exc)[a-z][\w -]{1,40}: [^\]]{1,300}\]|[$#%>❯]|(?:PS )?[a-z]:\\[^\n]{0,200}>"
    r"|(?:\(\w{1,40}\) )?[\w.-]{1,60}@[\w.-]{1,60}[: ]\S{0,200} ?[$#%>]",
    re.IGNORECASE,
)
"""A line that a shell or a harness writes below what a program printed: the next prompt, `[Interpreter: python3]`."""
_SCRIPT_BANNER = re.compile(r"\s*(?:> [^\n]{1,400}\n){2}\s*\n|\$ [^\n]{1,400}\n")
"""What npm, pnpm, yarn and bun write above a script that they run: its name, and its command."""
_TAG_LINE = re.compile(r"\s*</?[a-z_]{1,30}>\s*")
_FEW_LINES, _MAX_BEFORE_TRACEBACK = 5, 200
_STATUS_IS_THE_ANSWER = re.compile(
    r"\(?(?:\w+=\S+ |sudo |uv run |npx |python3? -m )*"
    r"(?:grep|egrep|fgrep|rg|diff|cmp|test|\[|pgrep|which|pytest|git diff|git grep|expr)(?!\S)"
)
_UNHEARD = re.compile(r"(?:2>|&>|>&) ?/dev/null\b")
"""A command whose complaints are thrown away: who wrote it was ready for its failure."""
_PROGRAM_ERROR = re.compile(
    r"traceback|no such file|usage:|\berror:|\b(?:Import|ModuleNotFound|Syntax)Error\b|no module named"
    r"|command not found|not recognized|permission denied|invalid option|^\S{1,60} not found$",
    re.IGNORECASE | re.MULTILINE,
)


class ProgramExit(NamedTuple):
    """How a program that a tool ran has ended."""

    code: int
    output: str


def traceback_in(text: str, tail: str, arguments: ArgumentIndex, tool: Tool | None) -> ErrorReport | None:
    """The failure of a program whose output begins with or ends in a traceback, where the tool gives no status."""
    if returns_content(arguments, tool) or searches(arguments):
        return None
    if not runs_commands(arguments):
        last = tail.strip().rsplit("\n", 1)[-1]
        return report_of(last, "prefix") if "\nTraceback (most" in tail and TRACEBACK_LAST_LINE.match(last) else None
    if "Traceback (most recent call last)" in text[:_MAX_BEFORE_TRACEBACK]:
        return ErrorReport(text, "exit")
    if "Traceback (most" not in tail:
        return None
    last = tail[tail.rfind("Traceback (most") :]
    return ErrorReport(last, "exit") if TRACEBACK_LAST_LINE.match(last.strip().rsplit("\n", 1)[-1]) else None


def complaint_in(text: str, arguments: ArgumentIndex, tool: Tool | None, *, flagged: bool | None) -> ErrorReport | None:
    """The failure of a command without a status, whose few lines are all complaints, or which says that it gives up.

    Args:
        text: what it printed.
        arguments: of the call.
        tool: its description, where it is known.
        flagged: what the recording says of the call; None where it says nothing.
    """
    if not runs_commands(arguments):
        return None
    lines = [line for line in text.strip().splitlines() if line.strip()]
    if not lines:
        return None
    if len(lines) > 1 and _SAID_BY.match(lines[0]) and lines[1].casefold().startswith("usage: "):
        return ErrorReport(lines[0], "exit")
    few = len(lines) < _FEW_LINES
    if returns_content(arguments, tool):
        return ErrorReport(text, "exit") if few and _complain_of_themselves(lines, arguments) else None
    ends = (lines[0], lines[-1]) if few else (lines[-1],)
    gave_up = (
        _POWERSHELL_ERROR.search(text) is not None
        or any(map(_LAST_WORDS.match, ends))
        or (len(lines) < 2 * _FEW_LINES and _SHELL_COMPLAINS.match(lines[0]))
    )
    if gave_up or all_lines_complain(text, arguments):
        return ErrorReport(text, "exit")
    shown = filters_errors(arguments) or searches(arguments) or any(map(_SHOWS_OTHERS.search, arguments.texts))
    fails = flagged is None and not shown and _GIVES_UP.search(text[:MAX_LOOK] + "\n" + text[-MAX_LOOK:]) is not None
    return ErrorReport(text, "exit") if fails else None


def _complain_of_themselves(lines: Sequence[str], arguments: ArgumentIndex) -> bool:
    """Whether each line is a shell's complaint, or that of the program with which the command begins."""
    names = {value.split()[0] for value in arguments.texts if value.split()}
    said = [_SAID_BY.match(line) for line in lines]
    return all(
        _SHELL_COMPLAINS.match(line) or (match is not None and match[1] in names)
        for line, match in zip(lines, said, strict=True)
    )


def all_lines_complain(text: str, arguments: ArgumentIndex) -> bool:
    """Whether an output is a few lines, in each of which a shell or a program of the command complains."""
    lines = [line for line in text.splitlines() if line.strip() and not _TAG_LINE.fullmatch(line)]
    commands = " ".join(arguments.texts)[:MAX_LOOK]
    return 0 < len(lines) < _FEW_LINES and all(
        _SHELL_COMPLAINS.match(line) or ((said := _SAID_BY.match(line)) and holds_word(commands, said[1]))
        for line in lines
    )


def program_exit(text: str, tail: str, body: object, arguments: ArgumentIndex) -> ProgramExit | None:
    """How the program ended, where the tool runs programs and says so."""
    head = PROGRAM_HEAD.match(text)
    if not runs_commands(arguments) and not (head and _exit_codes(head[0])):
        return None
    body = json_at_end(text) if body is None else body
    if isinstance(body, dict):
        inner = body.get("metadata")
        fields = {**inner, **body} if isinstance(inner, dict) else body
        codes = [part for key, part in fields.items() if str(key).casefold().replace("-", "_") in _EXIT_KEYS]
        if codes and isinstance(codes[0], int):
            parts = (body[key] for key in ("stdout", "stderr", "output", "error") if body.get(key))
            return ProgramExit(codes[0], "\n".join(map(str, parts)))
        if "stdout" in body:
            return None
    opening = _exit_codes(text[:300].split("\n", 1)[0])
    matches = _exit_codes(tail[-400:])
    if opening and not (matches and matches[-1][0].rstrip("-0123456789") == opening[0][0].rstrip("-0123456789")):
        return ProgramExit(int(opening[0][1]), _without_line(text, 0))  # a runner's own line; what follows is printed
    if matches:
        start = max(0, len(tail) - 400) + matches[-1].start()
        return ProgramExit(int(matches[-1][1]), _without_line(tail, start))
    first = _exit_codes("\n".join(text[:300].split("\n", 5)[:5]))
    return ProgramExit(int(first[0][1]), text) if first else _end_in_words(text)


def _end_in_words(text: str) -> ProgramExit | None:
    """How a program ended of which the runner says in words above its output that it has failed.

    That a script of the runner's has completed says nothing of the commands that it ran.
    """
    head = PROGRAM_HEAD.match(text)
    return ProgramExit(1, text[head.end() :]) if head is not None and head["badly"] else None


def _exit_codes(text: str) -> list[re.Match[str]]:
    folded = text.casefold()
    return list(_EXIT_CODE.finditer(text)) if any(word in folded for word in _EXIT_WORDS) else []


def without_prompt(text: str) -> str:
    """A program's output without the prompt, and the like, that stands below it or what names the script above it."""
    for above in (PROGRAM_HEAD, _SCRIPT_BANNER):
        head = above.match(text)
        text = text[head.end() :] if head and text[head.end() :].strip() else text
    lines = text.rstrip().split("\n")
    printed = len(lines)
    while printed and _PROMPT.fullmatch(lines[printed - 1].strip()):
        printed -= 1
    return "\n".join(lines[:printed]) if printed < len(lines) else text


def _without_line(text: str, position: int) -> str:
    """The text without the line that holds a position."""
    start, end = text.rfind("\n", 0, position) + 1, text.find("\n", position)
    return (text[:start] + (text[end:] if end >= 0 else "")).strip()


def status_is_the_answer(program: ProgramExit, arguments: ArgumentIndex) -> bool:
    """Whether exit status 1 is the program's way to say no: `grep` without a match, `diff` with a difference."""
    commands = last_commands(arguments, redirected=True)
    if program.code in (1, 2) and _UNHEARD.search(commands[-1]):
        return not _PROGRAM_ERROR.search(program.output)
    answering = [command for command in commands if _STATUS_IS_THE_ANSWER.match(command)]
    printed = program_words(program.output).splitlines()
    only_complaints = bool(printed) and all(map(_SAID_BY.match, printed))
    said_by_others = (name for name in _SAID_BY.findall(program.output) if not answering[0].startswith(name))
    return (
        program.code == 1
        and bool(answering)
        and not only_complaints
        and not _PROGRAM_ERROR.search(program.output)
        and not _SHELL_COMPLAINS.search(program.output)
        and not any(holds_word(text, name) for name in said_by_others for text in arguments.texts)
    )


def last_commands(arguments: ArgumentIndex, *, redirected: bool = False) -> list[str]:
    """The commands whose exit code may be that of a script: its last one, and those that lead to it by `&&`.

    Args:
        arguments: of the call.
        redirected: with where their output goes.
    """
    script = next((value for name, value in arguments.by_name.items() if name.casefold() in PROGRAM_ARGUMENTS), "")
    script = _QUOTED.sub("''", script[-MAX_PROGRAM_LENGTH:])
    script = _REDIRECTION.sub("2>" if redirected else " ", script).rstrip("; \n")
    chain = re.split(r"[;\n]|(?<!&)&(?!&)", script)[-1].split("&&")
    return [command.split("|")[-1].strip() for command in chain]


def says_its_own_alternative(text: str, arguments: ArgumentIndex) -> bool:
    """Whether an output holds what a command was to print where a part of it fails: `which uv || echo "no uv"`."""
    return any(match["words"].strip() in text for value in arguments.texts for match in _ALTERNATIVE.finditer(value))


def exiting_program(arguments: ArgumentIndex) -> str:
    """The program of whose status a script's is thought to be: `curl`, whose codes few others have, else the last."""
    return "curl" if any(_CURL.search(text) for text in arguments.texts) else last_program(arguments)


def last_program(arguments: ArgumentIndex) -> str:
    """The program of a script's last command."""
    return (last_commands(arguments)[-1].split() or [""])[0]


_ALTERNATIVE = re.compile(r"\|\|\s*[({]?\s*(?:echo|printf)(?: -\w+)? [\"']?(?P<words>[^\"'\n)|;&$\\]{3,80})")

_CURL = re.compile(r"(?:^|[\s;&|(])curl\s")

_QUOTED = re.compile(r"'[^']*+'|\"(?:[^\"\\]|\\.)*+\"", re.DOTALL)

_REDIRECTION = re.compile(r"\d?>&\d|&>")
