"""What codes and phrases say of a failed call, and so whose fault it is: `codes.yaml` and `phrases.yaml`, read once.

Codes that are also plain words (`Forbidden`, `Timeout`) count only in a field of their own or in brackets, as their
systems write them. All phrases are asked of a text in one go, in linear time.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

CAUSES: Final[dict[str, str]] = {
    "unauthorized": "the environment: credentials are missing, wrong or not enough",
    "rate-limited": "the environment: too much was asked",
    "network": "the environment: a host cannot be resolved or reached",
    "timeout": "the environment: somebody waited in vain",
    "outage": "the environment: a backend failed",
    "environment": "the environment: something the server needs is missing, full or broken",
    "cancelled": "the environment: somebody ended the call",
    "session-lost": "the environment: the session or the transport is gone",
    "missing": "the model, or nobody: what was asked for is not there",
    "exists": "the model: what the call would make is there already",
    "invalid": "the model: the arguments do not fit",
    "denied": "the model where it named the thing, else the environment: the system denies access",
    "tool-unknown": "the model: there is no such tool",
}
"""A cause -> whose fault it is, and why."""


_SQLSTATE: Final = re.compile(
    r"\b(?:SQLSTATE|sqlstate|pgcode|SQL state)\W{1,4}([0-9A-Z]{5})\b|\b\d{4,6} \(([0-9A-Z]{5})\):"
)
_CURL: Final = re.compile(r"\bcurl:? \(?(\d{1,2})\)? ")
_WINDOWS: Final = re.compile(r"\bWinError (\d{1,5})\b|\b(?:Errno|os error) (1[01]\d{3})\b", re.IGNORECASE)
"""Numbers from 10,000 on are those of Windows Sockets, whoever writes them."""
_ERRNO: Final = re.compile(r"\bErrno (-?\d{1,3})\b|\(os error (\d{1,3})\)", re.IGNORECASE)
_SMTP: Final = re.compile(r"(?<![\d.])[45]\d\d[ -]#?([45])\.(\d{1,3})\.\d{1,3}(?![\d.])")
_TOKEN: Final = re.compile(r"ORA-\d{5}|[A-Za-z][A-Za-z0-9_.]{3,60}")
_PLAIN_TOKEN: Final = re.compile(
    r"(?:\(|\breason\W{1,4}|\bcode\W{1,4}|^Error )([A-Z][A-Za-z]{3,24})(?:\):|[\"',)]| desc\b)"
)
_STATUS: Final = re.compile(
    r"(?:\bHttpError|\breceived(?: an?)?|\bHTTP(?:/[\d.]+)?(?: (?:status|error|code|response|request)){0,3}"
    r"|\bstatus(?:[ _-]?code)?|\bstatusCode|\bcode|\berror|\breturned|\bresponse|\bfailed with)"
    r"[\s:=(\[\"'#-]{0,5}(?P<named>[45]\d\d)\b(?!\.\d)"
    r"|(?<![\d.])(?P<phrase>[45]\d\d)[\s:,)\]-]{1,3}(?:client error|server error|bad request|unauthori"
    r"|payment required|forbidden|not found|method not|not acceptable|conflict|gone\b|unprocessable"
    r"|too many|internal|bad gateway|service unav|gateway|validation failed)"
    r"|https?://\S{1,400}: (?P<after>[45]\d\d)\b|^\W{0,3}(?P<start>[45]\d\d)[ :]+[A-Z{]"
    r"|\b(?P<asked>[45]\d\d) (?:GET|POST|PUT|PATCH|DELETE|HEAD) https?:|(?:\(|[-=]> ?|→ ?)(?P<last>[45]\d\d)\)?\W{0,3}$"
    r"|^\W{0,3}(?P<bare>[45]\d\d)\W{0,3}$",
    re.IGNORECASE,
)
_RPC_CODE: Final = re.compile(
    r"\b(?:mcp|rpc|json-rpc) error:? (?:code )?\(?(-3[23]\d{3})\b|\bcode\W{1,4}(-32[0-9]{3})\b", re.IGNORECASE
)
_MAX_TEXT: Final = 4000
_NUMBERED: Final = frozenset({"HTTP", "JSON-RPC and MCP", "SQLSTATE", "SMTP", "exit codes", "curl", "Windows"})
"""Tables of numbers, which count only where their systems write them."""


class CodeTable(NamedTuple):
    """The codes of one system."""

    system: str
    source: str
    """Where the system says what they mean."""
    causes: Mapping[str, str]
    """A cause -> its codes, with spaces between them."""
    plain: bool = False
    """Whether the codes are words that a sentence may hold as well."""

    def by_code(self) -> dict[str, str]:
        """A code -> its cause."""
        return {code: cause for cause, codes in self.causes.items() for code in codes.split()}


def read_yaml(name: str) -> Any:
    """A table of this package."""
    import yaml  # not at the top: it is loaded when an answer is first judged

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(files("replay.outcomes").joinpath(name).read_text("utf-8"), Loader=loader)  # noqa: S506


@cache
def code_tables() -> Mapping[str, CodeTable]:
    """All tables, by system."""
    return {row["system"]: CodeTable(**row) for row in read_yaml("codes.yaml")}


@cache
def _numbers(system: str) -> dict[str, str]:
    return code_tables()[system].by_code()


@cache
def _words(*, plain: bool) -> dict[str, str]:
    found: dict[str, str] = {}
    for table in code_tables().values():
        if table.plain is plain and table.system not in _NUMBERED:
            found |= table.by_code()
    return found


def http_status(text: str) -> int | None:
    """The first HTTP error status that a text gives as one."""
    match = _STATUS.search(text[:_MAX_TEXT])
    return int(next(filter(None, match.groups()))) if match else None


def rpc_code(text: str) -> int | None:
    """The JSON-RPC error code that an SDK wrote into its text."""
    match = _RPC_CODE.search(text[:600])
    return int(match[1] or match[2]) if match else None


_SERVER_ERRORS = frozenset((*range(500, 550), *range(555, 600)))


def cause_of_status(status: int | None) -> str | None:
    """What an HTTP status says."""
    if status is None or not 400 <= status < 600:
        return None
    unknown = "outage" if status in _SERVER_ERRORS else None  # 550 to 554 are those of mail servers
    return _numbers("HTTP").get(str(status), "invalid" if status < 500 else unknown)


def cause_of_rpc(code: int | None) -> str | None:
    """What a JSON-RPC error code says."""
    return _numbers("JSON-RPC and MCP").get(str(code))


def cause_of_exit(code: int, program: str = "") -> str | None:
    """What an exit code says, where it says anything but that the program failed.

    Args:
        code: of the shell, which is that of the last program.
        program: that was run last, where it is known.
    """
    return _numbers("exit codes").get(str(code)) or (_numbers("curl").get(str(code)) if program == "curl" else None)


def causes_in(text: str) -> frozenset[str]:
    """What the codes in the text of an error say, HTTP and JSON-RPC aside."""
    return frozenset(filter(None, _causes(text[:_MAX_TEXT])))


def _causes(text: str) -> Iterator[str | None]:
    words, plain = _words(plain=False), _words(plain=True)
    yield from (words.get(token.rstrip(".")) for token in _TOKEN.findall(text))
    yield from (plain.get(token) for token in _PLAIN_TOKEN.findall(text))
    state = _SQLSTATE.search(text)
    if state is not None:
        written, states = state[1] or state[2], _numbers("SQLSTATE")
        yield states.get(written) or states.get(written[:2])
    number = _ERRNO.search(text)
    if number is not None:  # Python and Rust write the number; negative ones are the resolver's
        written = number[1] or number[2]
        yield words.get(errno.errorcode.get(int(written), "EAI_FAIL" if written.startswith("-") else ""))
    windows = _WINDOWS.search(text)
    if windows is not None:
        yield _numbers("Windows").get(windows[1] or windows[2])
    transfer = _CURL.search(text)
    if transfer is not None:
        yield _numbers("curl").get(transfer[1])
    mail = _SMTP.search(text)
    if mail is not None:
        classes = _numbers("SMTP")
        yield classes.get(f"{mail[1]}.{mail[2]}") or classes.get(mail[1])


def code_rows() -> list[tuple[str, str, str, str]]:
    """All tables as rows for the documentation: system, source, cause, codes."""
    return [
        (table.system, table.source, cause, codes)
        for table in code_tables().values()
        for cause, codes in table.causes.items()
    ]


_NOTHING: Final[frozenset[str]] = frozenset()
FORMS: Final = frozenset(
    """
    opens opens-sdk opens-short opens-loose denies clause missing-clause done done-somewhere nothing too-large
    """.split()  # noqa: SIM905 a list would take a line a word
)
"""What tells a report from content; all other meanings are causes, which are looked for in reports alone."""


class Phrase(NamedTuple):
    """One row of the table."""

    means: str
    pattern: str
    sources: tuple[str, ...]
    matches: str
    """A text that holds it."""
    not_in: str
    """A text that is like it and does not."""


class PhraseTable:
    """Rows that are looked for in one go: those of which a text holds the literal parts.

    Args:
        rows: of the table.

    Raises:
        PatternError: a pattern is not a regular expression, or cannot be matched in linear time.
    """

    def __init__(self, rows: Iterable[Phrase]) -> None:
        self.rows = tuple(rows)
        self._means = tuple(row.means for row in self.rows)
        self._filter = _compiled(tuple(row.pattern for row in self.rows))

    def meanings(self, text: str) -> frozenset[str]:
        """What the phrases in a text mean."""
        matches = self._filter.Match(text.encode("utf-8", "replace")) if text else None
        return frozenset([self._means[index] for index in matches]) if matches else _NOTHING


def _of_any_script(pattern: str) -> str:
    """A pattern to which letters of all scripts are words: RE2 knows those of ASCII alone."""
    of_letters = pattern.replace(r"[^\W\d]", r"\pL").replace(r"[^e\W]", r"[a-df-z\d_]").replace(r"[\W_]", r"[^\pL\pN]")
    return of_letters.replace(r"\W", r"[^\pL\pN_]")


def _compiled(patterns: tuple[str, ...]) -> Any:
    import re2  # not at the top: it is loaded when an answer is first judged

    from replay.safety.linear_regex import PatternError

    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    compiled = re2.Filter()
    for pattern in patterns:
        try:
            compiled.Add(_of_any_script(pattern), options)
        except re2.error:
            raise PatternError(f"the phrase {pattern!r} cannot be matched in linear time") from None
    compiled.Compile()
    return compiled


def read_phrases() -> tuple[Phrase, ...]:
    """The rows of `phrases.yaml`."""
    return tuple(
        Phrase(row["means"], row["pattern"], tuple(row["sources"]), row["matches"], row["not"])
        for row in read_yaml("phrases.yaml")
    )


@lru_cache(maxsize=1)
def _tables() -> tuple[PhraseTable, PhraseTable]:
    rows = read_phrases()
    return (
        PhraseTable(row for row in rows if row.means in FORMS),
        PhraseTable(row for row in rows if row.means not in FORMS or row.means == "too-large"),
    )


@lru_cache(maxsize=512)
def forms_in(text: str) -> frozenset[str]:
    """Which forms of a report, or of good news, a text has; asked of nearly every answer."""
    return _tables()[0].meanings(text)


@lru_cache(maxsize=512)
def causes_said(text: str) -> frozenset[str]:
    """Which causes the words of a report name."""
    return _tables()[1].meanings(text)
