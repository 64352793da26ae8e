"""Takes secrets out of what is written down: known values, the shapes of common tokens, and the user's own patterns."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final, Literal, get_args, get_origin

from replay.errors import UsageError
from replay.json_values import encode, without_lone_surrogates
from replay.safety.spellings import pattern_of

if TYPE_CHECKING:
    from pydantic import BaseModel

    from replay.records import Record


__all__ = ["SENSITIVE_NAMES", "may_hold_secret"]

_WHATEVER_STANDS_THERE: Final = (
    r"pass(?:word|wd|phrase|code)s?|pwd|(?:client|app|shared|webhook|totp)?[_-]?secrets?(?:[_-]?key)?|credentials?"
    r"|(?:set[_-]?)?cookies?|(?:proxy[_-]?)?authorization"
)
"""Names under which anything is a secret, also a number, a list or a single letter."""
_KEYS_AND_TOKENS: Final = (
    r"(?:api|access|private|account|signing|encryption)[_-]?key|apikey"
    r"|(?:access|refresh|auth|id|session|bearer|bot|api|user|personal[_-]?access|security)?[_-]?token"
)
SENSITIVE_NAMES: Final = f"{_WHATEVER_STANDS_THERE}|{_KEYS_AND_TOKENS}"
"""A pattern of names under which a secret stands."""

_ESCAPED: Final = r"\\[bfnrt]|\\u00[0-9a-fA-F]{2}"
_GAP: Final = rf"(?:[^\w]|{_ESCAPED})*"
_WORD: Final = r"[\w\x{80}-\x{10FFFF}-]"
_PROBES: Final = (
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----",
    rf"(?i:authorization){_GAP}[:=]",
    rf"(?i:bearer)(?:[^\w]|20|{_ESCAPED})+[\w.~+/=%\x{{80}}-\x{{10FFFF}}-]{{8}}",
    rf"eyJ{_WORD}{{8,}}\.{_WORD}{{8,}}\.",
    rf"sk-{_WORD}{{16}}",
    r"[sr]k_(?:live|test)_",
    r"gh[pousr]_[A-Za-z0-9]{20}",
    r"github_pat_",
    r"glpat-",
    r"A[KS]IA[A-Z0-9]{16}",
    r"xox[abeprs]-",
    rf"AIza{_WORD}{{35}}",
    r"hf_[A-Za-z0-9]{30}",
    r"npm_[A-Za-z0-9]{36}",
    rf"""["'](?i:(?:[a-z0-9]+[_-])*(?:{SENSITIVE_NAMES}))\\*["']{_GAP}:{_GAP}["'\[0-9-]""",
    rf"(?i:{SENSITIVE_NAMES}){_GAP}=",
    rf"--(?i:(?:[a-z0-9]+-)*(?:{SENSITIVE_NAMES}))",
    rf"(?i:{_WHATEVER_STANDS_THERE}){_GAP}:",
    rf"(?i:{_WHATEVER_STANDS_THERE}){_GAP}(?i:is)",
    r"""://[^\s/:@"']*:[^\s/@"']+@""",
)


def may_hold_secret(text: str | bytes) -> bool:
    """Whether anything in a text, or in JSON text, may have the shape or the name of a secret.

    Args:
        text: text; bytes are UTF-8.
    """
    try:
        return _by_re2("|".join(_PROBES)).search(text) is not None
    except UnicodeError:  # halves of surrogate pairs
        return True


@cache
def _by_re2(pattern: str) -> Any:
    import re2  # not at the top: `--help` takes out secrets too, and is quick

    options = re2.Options()
    options.never_capture = True
    return re2.compile(pattern, options)


REDACTED: Final = "[REDACTED]"

MIN_SECRET_LENGTH: Final = 6
"""Shorter values (`true`, `8080`, `all`) are in half of all texts; to take them out would ruin the recording."""

PLAIN_VALUE: Final = re.compile(r"(?i)\d+|true|false|yes|no|on|off|none|null|localhost|/.*|\w+://[^@?]*")
"""What a variable of any name may hold and is no secret."""
MIN_NAMED_LENGTH: Final = 3
"""Of a value that stands under the name of a key or token."""
_MAX_KEY_LENGTH: Final = 60

_OWN_FIELDS: Final = frozenset(
    {
        "caused_by",
        "consumer",
        "digest",
        "gap",
        "keyword",
        "position",
        "producer",
        "recorded_rule",
        "replayed_rule",
        "rule",
        "state",
    }
)
"""Fields of our records that hold words of ours: a secret that happens to be such a word is not one there."""
_CERTAIN_KEY: Final = re.compile(rf"(?i)(?:[a-z0-9]+[_-])*?(?:{_WHATEVER_STANDS_THERE})|x-api-key")
_SECRET_KEY: Final = re.compile(rf"(?i)(?:[a-z0-9]+[_-])*?(?:{SENSITIVE_NAMES})")
_SECRET_NAME: Final = re.compile(rf"(?i){SENSITIVE_NAMES}|passw|(?:^|[_-])(?:auth|key|pat|pwd)$")
"""Of a variable or a header: as a member's key anywhere in the name, or one of the endings that say it there alone."""
_PUBLIC_KEY: Final = re.compile(r"(?i)(?:page|next|prev|continuation|sync|cursor|resume|sample|max|min|stop|eos|bos)")
"""Begins the name of what is a token and no secret, such as `next_page_token`."""


@dataclass(frozen=True)
class _Token:
    """One kind of token. A text is searched only where it holds a trigger: `in` is far quicker than `re`."""

    triggers: tuple[str, ...]
    pattern: re.Pattern[str]
    replacement: str | Callable[[re.Match[str]], str]

    def taken_out(self, text: str) -> str:
        """The text without tokens of this kind."""
        return self.pattern.sub(self.replacement, text) if any(trigger in text for trigger in self.triggers) else text


@dataclass(frozen=True)
class _NamedSecret:
    """What stands under the name of a secret. RE2 finds the names; `re`, which is slow at that, reads on from there."""

    name: str
    """A pattern of RE2 for where `pattern` may match: no two of its matches overlap in a name."""
    pattern: re.Pattern[str]
    """Its first group stays."""

    def taken_out(self, text: str) -> str:
        """The text without the secrets that stand under such a name."""
        parts, end = [], 0
        for start in _starts(self.name, text):
            match = self.pattern.match(text, start) if start >= end else None
            if match is not None:
                parts.append(text[end : match.start()] + _after_its_name(match))
                end = match.end()
        return "".join([*parts, text[end:]]) if parts else text


def _starts(name: str, text: str) -> Iterator[int]:
    return (match.start() for match in _by_re2(name).finditer(without_lone_surrogates(text)))


def _after_its_name(match: re.Match[str]) -> str:
    return f"{match[1]}{match.groupdict().get('quote') or ''}{REDACTED}"


def _token(triggers: str, pattern: str, replacement: str | Callable[[re.Match[str]], str] = REDACTED) -> _Token:
    return _Token(tuple(triggers.split("|")), re.compile(pattern), replacement)


def _named(name: str, pattern: str) -> _NamedSecret:
    return _NamedSecret(rf"(?i){name}", re.compile(pattern, re.IGNORECASE | re.MULTILINE))


_PARTS: Final = r"(?:[a-z0-9]+[_-]){0,4}"
_PREFIX: Final = rf"{_PARTS}?(?<!page[_-])(?<!next[_-])(?<!max[_-])"
_NOT_ONE: Final = (
    r"(?![$<{%=>]|\[REDACTED\]|(?:none|null|nil|undefined|true|false)\b"
    rf"|(?:{SENSITIVE_NAMES}|await|new|self|this)\b(?!-)|[a-z_][\w.]*(?:\([^\s)]*\)|\s*\?)|[a-z_]\w*\.[a-z_]\w*[.(\[])"
)
"""What may stand after the name of a secret instead of it: a variable, a placeholder, code that gets it."""
_VALUE: Final = r"""[^\s"'\\&;,)\]}>]+"""
_QUOTED: Final = r"""(?P<quote>\\*["'])(?!\$\{|\[REDACTED\])(?=\S)(?:(?!(?P=quote))(?:\\.|[^\\\n]))+(?=(?P=quote))"""
_PLAIN: Final = r"(?:string|str|text|required|optional|incorrect|invalid|wrong|missing|empty|ok|yes|no|\*+)\b"
"""What a line says of a password that is none."""

_KINDS: Final = (
    _token(
        "PRIVATE KEY-----",
        r"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)",
    ),
    _token(
        "earer|EARER",
        r"(?i)\b(bearer(?:\s|%20|\+)+)(?!(?:tokens?|auth\w*|scheme|header|credentials?)\b)[\w.~+/=%-]{8,}",
        rf"\g<1>{REDACTED}",
    ),
    _token("eyJ", r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"),
    _token("sk-", r"(?<![A-Za-z0-9])sk-(?:(?=[A-Za-z_-]*\d)[\w-]{16,}|[\w-]{20,})"),
    _token("sk_|rk_", r"(?<![A-Za-z0-9])[sr]k_(?:live|test)_\w{10,}"),
    _token("ghp_|gho_|ghu_|ghs_|ghr_", r"(?<![A-Za-z0-9])gh[pousr]_[A-Za-z0-9]{20,}"),
    _token("github_pat_", r"github_pat_\w{20,}"),
    _token("glpat-", r"glpat-[\w-]{16,}"),
    _token("AKIA|ASIA", r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _token("xox", r"(?<![A-Za-z0-9])xox[abeprs]-[A-Za-z0-9-]{10,}"),
    _token("AIza", r"AIza[\w-]{35}"),
    _token("hf_", r"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{30,}"),
    _token("npm_", r"(?<![A-Za-z0-9])npm_[A-Za-z0-9]{36}"),
    _named(
        rf"""["']{_PARTS}(?:{_WHATEVER_STANDS_THERE})\\*["']\W*:""",
        rf"""(["']{_PREFIX}(?:{_WHATEVER_STANDS_THERE})\\*["']\s*:\s*)(?:{_QUOTED}|-?\d[\d.]*)""",
    ),
    _named(
        rf"""["']{_PARTS}(?:{_KEYS_AND_TOKENS})\\*["']\W*:""",
        rf"""(["']{_PREFIX}(?:{_KEYS_AND_TOKENS})\\*["']\s*:\s*)(?=\\*["'][^"'\\\n]{{3}}){_QUOTED}""",
    ),
    _token(
        "uthorization|UTHORIZATION",
        r"""(?i)(authorization\\*["']?\s*[:=]\s*\\*["']?)(?!\[REDACTED\])(?:digest\s[^\r\n]+|[^\s"'\\][^\r\n"'\\]*)""",
        rf"\g<1>{REDACTED}",
    ),
    _token(
        "ookie|OOKIE",
        r"""(?i)(cookie\\*["']?\s*[:=]\s*\\*["']?)(?=[^\s"'\\=;]+=)(?!\[REDACTED\])[^\r\n"'\\]+""",
        rf"\g<1>{REDACTED}",
    ),
    _named(
        rf"(?:{_WHATEVER_STANDS_THERE})\W*=",
        rf"""((?:{_WHATEVER_STANDS_THERE})\\*["']?\s*=\s*)(?:{_QUOTED}|{_NOT_ONE}{_VALUE})""",
    ),
    _named(
        rf"{_PARTS}(?:{_KEYS_AND_TOKENS})[ \t]*=",
        rf"""((?<![\w-])(?=[\w-]{{0,60}}(?:key|token)[ \t]*=){_PREFIX}(?:{_KEYS_AND_TOKENS})[ \t]*=[ \t]*)"""
        rf"""(?:{_QUOTED}|{_NOT_ONE}{_VALUE})""",
    ),
    _named(
        rf"--(?:[a-z0-9]+-){{0,4}}(?:{SENSITIVE_NAMES})[ \t]",
        rf"(--(?:[a-z0-9]+-){{0,4}}?(?:{SENSITIVE_NAMES})[ \t]+)(?:{_QUOTED}|{_NOT_ONE}(?!-){_VALUE})",
    ),
    _named(
        rf"(?:{_WHATEVER_STANDS_THERE})(?:\W*:|\W+is\b)",
        rf"""((?:{_WHATEVER_STANDS_THERE})(?:\s*:|\s+is\b)\s*)(?=\\*["']?[^\s"'\\]*\d)(?=\\*["']?[^\s"'\\]*[a-z])"""
        rf"""(?:{_QUOTED}|{_NOT_ONE}{_VALUE})""",
    ),
    _token(
        "ass|ASS|wd|WD",
        r"(?im)(^[ \t>*-]{0,40}(?:\w{1,30}[ \t])?(?:\w{1,30}[_-])?(?:pass(?:word|wd|phrase|code)|pwd)\s*:[ \t]*)"
        rf"{_NOT_ONE}(?!{_PLAIN}){_VALUE}[ \t]*$",
        _after_its_name,
    ),
    _token("://", r"""(://[^\s/:@"'\\]*:)[^\s/@"'\\]+(?=@)""", rf"\g<1>{REDACTED}"),
)


_MAX_NAME: Final = 100
_NAMES_REMEMBERED: Final = 2000
"""Short texts that were found clean: the names of servers, tools and models come again with each call."""


class Redactor:
    """Replaces secrets by `[REDACTED]`.

    Args:
        secrets: values to take out wherever they stand, however they are spelled there (`replay.safety.spellings`).
            Those shorter than `MIN_SECRET_LENGTH` characters are left alone.
        patterns: regular expressions; whatever one matches is taken out.
        further: what else becomes of a text that is without secrets.

    Raises:
        UsageError: a pattern is not a regular expression.
    """

    def __init__(
        self,
        secrets: Iterable[str] = (),
        patterns: Iterable[str] = (),
        further: Callable[[str], str] | None = None,
    ) -> None:
        self._further = further
        stripped = (secret.strip() for secret in secrets)
        self._secrets = frozenset(secret for secret in stripped if len(secret) >= MIN_SECRET_LENGTH)
        self._patterns = tuple(map(_compiled, patterns))
        self._clean_names: set[str] = set()

    def text(self, text: str) -> str:
        """The text without its secrets; the very same object where it holds none."""
        if len(text) > _MAX_NAME:
            return self._text(text)
        if text in self._clean_names:
            return text
        cleaned = self._text(text)
        if cleaned is text and len(self._clean_names) < _NAMES_REMEMBERED:
            self._clean_names.add(text)
        return cleaned

    def _text(self, text: str) -> str:
        text = self._without_known(text)
        if may_hold_secret(text):
            for kind in _KINDS:
                text = kind.taken_out(text)
        for pattern in self._patterns:
            text = pattern.sub(_unless_empty, text)
        return text if self._further is None else self._further(text)

    def _without_known(self, text: str) -> str:
        known = pattern_of(self._secrets)
        if known is None:
            return text
        try:
            return str(known.sub(REDACTED, text)) if known.search(text) else text
        except UnicodeError:  # halves of surrogate pairs
            whole = without_lone_surrogates(text)
            return str(known.sub(REDACTED, whole)) if known.search(whole) else text

    def json(self, value: Any) -> Any:
        """The value without its secrets, keys included; the very same object where it holds none."""
        return value if self._is_clean(value) else self._cleaned(value)

    def record(self, record: Record) -> Any:
        """A record as JSON without its secrets; it can be read back as the record that it is.

        Only free text and JSON of others are searched: a field that holds one of our own words (an outcome, a rule, a
        position) or a number stays as it is, also where a secret is spelled alike.
        """
        return self._record(record, record.model_dump(mode="json", exclude_none=True))

    def record_text(self, record: Record) -> bytes:
        """A record as JSON text without its secrets; the same as that of `record`."""
        text = self.clean_record_text(record)
        return text if text is not None else encode(self.record(record))

    def clean_record_text(self, record: Record) -> bytes | None:
        """A record as JSON text; None where something in it may be a secret, or cannot be written so."""
        try:
            text = record.model_dump_json(exclude_none=True).encode()
        except ValueError:  # halves of surrogate pairs
            return None
        return text if self._is_clean_text(text) else None

    def _record(self, record: BaseModel, dumped: dict[str, Any]) -> dict[str, Any]:
        if self._is_clean(dumped):
            return dumped
        cleaned = dict(dumped)
        for name in type(record).model_fields:
            if name in dumped and name not in _OWN_FIELDS:
                types = _types_of_field(type(record), name)
                cleaned[name] = self._field(getattr(record, name), dumped[name], types)
        return cleaned

    def _field(self, value: Any, dumped: Any, types: frozenset[Any]) -> Any:
        from pydantic import BaseModel  # not at the top: `--help` takes out secrets too, and is quick

        if isinstance(value, BaseModel):
            return self._record(value, dumped)
        if isinstance(value, tuple) and value and isinstance(value[0], BaseModel):
            return [self._field(item, inner, types) for item, inner in zip(value, dumped, strict=True)]
        if Any in types or str in types:
            return dumped if isinstance(dumped, int | float) and Any not in types else self._cleaned(dumped)
        return dumped

    def _is_clean(self, value: Any) -> bool:
        """Whether nothing in the value can be a secret, told from its JSON text at one go; False where in doubt."""
        return not self._patterns and self._is_clean_text(encode(value))

    def _is_clean_text(self, text: bytes) -> bool:
        known = pattern_of(self._secrets)
        if self._patterns or self._further is not None:
            return False
        return (known is None or known.search(text) is None) and not may_hold_secret(text)

    def _cleaned(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return self._object(value)
        if isinstance(value, list | tuple):
            cleaned = [self._cleaned(item) for item in value]
            return value if all(map(_is_same_object, cleaned, value)) else type(value)(cleaned)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return self._number(value)
        return value

    def _object(self, value: dict[Any, Any]) -> dict[Any, Any]:
        cleaned: dict[Any, Any] = {}
        for key, item in value.items():
            cleaned[_unused(self._key(key), cleaned)] = self._member(key, item)
        unchanged = len(cleaned) == len(value) and all(
            key in cleaned and cleaned[key] is item for key, item in value.items()
        )
        return value if unchanged else cleaned

    def _key(self, key: Any) -> Any:
        return self.text(key) if isinstance(key, str) else key

    def _member(self, key: Any, item: Any) -> Any:
        if not isinstance(key, str) or len(key) > _MAX_KEY_LENGTH or _PUBLIC_KEY.match(key):
            return self._cleaned(item)
        if _CERTAIN_KEY.fullmatch(key) is not None:
            return self._cleaned(_without_values(item))
        if isinstance(item, str) and _SECRET_KEY.fullmatch(key) is not None and len(item.strip()) >= MIN_NAMED_LENGTH:
            return _without_values(item)
        return self._cleaned(item)

    def _number(self, value: float) -> Any:
        if not self._secrets and not self._patterns:
            return value
        written = json.dumps(value)
        return value if self.text(written) == written else REDACTED


def is_secret_name(name: str) -> bool:
    """Whether a variable or header of that name holds a secret."""
    return bool(_SECRET_NAME.search(name))


def secrets_around(environment: Mapping[str, str], command: Sequence[str] = ()) -> set[str]:
    """The secrets that a program gets by variables and options (`--api-key KEY`, `TOKEN=...`) that are named so."""
    found = {value for name, value in environment.items() if is_secret_name(name)}
    for argument, following in zip_longest(command, command[1:], fillvalue=""):
        name, equals, value = argument.partition("=")
        if is_secret_name(name.lstrip("-")) and (equals or argument.startswith("-")):
            found.add(value if equals else following)
    return {value for value in found if not PLAIN_VALUE.fullmatch(value)}


@cache
def _types_of_field(kind: type[BaseModel], name: str) -> frozenset[Any]:
    return _types_in(kind.model_fields[name].annotation)


def _types_in(annotation: Any) -> frozenset[Any]:
    """The types that a field may hold; of a dict those of its values, of a Literal none."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return frozenset()
    if origin is dict:
        return _types_in(arguments[1])
    return frozenset({annotation}) if not arguments else frozenset().union(*map(_types_in, arguments))


def _unused(key: Any, taken: dict[Any, Any]) -> Any:
    """The key, numbered where another one became the same."""
    new, number = key, 2
    while new in taken:
        new, number = f"{key} {number}", number + 1
    return new


def _without_values(item: Any) -> Any:
    """What stands under the name of a secret, taken out; a variable, a blank and a schema are none."""
    if isinstance(item, str):
        return item if not item.strip() or item == REDACTED or item.startswith("${") else REDACTED
    if isinstance(item, int | float) and not isinstance(item, bool):
        return REDACTED
    if isinstance(item, list | tuple):
        return type(item)(map(_without_values, item))
    if isinstance(item, dict) and isinstance(item.get("value"), str):  # a browser's list of cookies
        return {**item, "value": _without_values(item["value"])}
    return item


def _is_same_object(left: object, right: object) -> bool:
    return left is right


def _unless_empty(match: re.Match[str]) -> str:
    return REDACTED if match.group() else ""


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise UsageError(f"{pattern!r} is not a regular expression: {error}") from error


_current: ContextVar[Redactor] = ContextVar("redactor", default=Redactor())  # noqa: B039


@contextmanager
def redacting(redactor: Redactor) -> Iterator[None]:
    """Let `clean` take out what this redactor knows, as long as the block lasts and in the tasks that it starts."""
    token = _current.set(redactor)
    try:
        yield
    finally:
        _current.reset(token)


def clean(text: str) -> str:
    """A text without the secrets that are known here: whoever cuts a text does this first, or half a token stays."""
    return _current.get().text(text)
