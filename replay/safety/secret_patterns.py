"""How secrets stand in a text: known ones in any spelling, others under a name or in the shape of a token."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from html.entities import codepoint2name
from typing import Any, Final
from unicodedata import normalize

from replay.json_values import without_lone_surrogates

_WHATEVER_STANDS_THERE: Final = (
    r"pass(?:word|wd|phrase|code)s?|pwd|(?:client|app|shared|webhook|totp)?[_-]?secrets?(?:[_-]?key)?|credentials?"
    r"|(?:set[_-]?)?cookies?|(?:proxy[_-]?)?authorization"
)
"""Names under which anything is a secret, also a number, a list or a single letter."""
_KEYS_AND_TOKENS: Final = (
    r"(?:api|(?:shared)?access|private|account|signing|encryption)[_-]?key|apikey"
    r"|(?:access|refresh|auth|id|session|bearer|bot|api|user|personal[_-]?access|security)?[_-]?token"
)
_KEY_IN_WORDS: Final = (
    r"(?:(?:api|access|private|secret|signing|encryption)[ _-]key|(?:api|access|auth|bot|refresh|session)[ _-]token)"
)
"""How a line of text or a header calls a key."""
SENSITIVE_NAMES: Final = f"{_WHATEVER_STANDS_THERE}|{_KEYS_AND_TOKENS}"
"""A pattern of names under which a secret stands."""

_PUBLISHED: Final = (
    # code and packages
    r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}"
    r"|glpat-[A-Za-z0-9_-]{16,}|gl(?:dt|rt|cbt|ptt|ft|imt|soat|ffct)-[A-Za-z0-9_-]{20,}"
    r"|npm_[A-Za-z0-9]{36}|pypi-Ag[A-Za-z0-9_-]{60,}|rubygems_[0-9a-f]{48}|dckr_[po]at_[A-Za-z0-9_-]{27,}"
    # clouds and what watches them
    r"|GOCSPX-[A-Za-z0-9_-]{28}|AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{20,}"
    r"|do[opr]_v1_[0-9a-f]{64}|nfp_[A-Za-z0-9]{36}|hv[sb]\.[A-Za-z0-9_-]{24,}|dapi[0-9a-f]{32}"
    r"|pul-[0-9a-f]{40}|dp\.pt\.[A-Za-z0-9]{43}|sbp_[0-9a-f]{40}|sb_secret_[A-Za-z0-9_-]{20,}"
    r"|gl(?:c_[A-Za-z0-9+/]{32,}|sa_[A-Za-z0-9]{32}_[0-9A-Fa-f]{8})|sntryu_[0-9a-f]{64}|NRAK-[A-Z0-9]{27}"
    # payments and shops
    r"|[sr]k_(?:live|test|prod)_[A-Za-z0-9_]{10,}|whsec_[A-Za-z0-9+/]{24,}"
    r"|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}|sq0(?:atp|csp)-[A-Za-z0-9_-]{22,}"
    # messages
    r"|xox[abeprs]-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{20,}"
    r"|SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"
    r"|(?:bot)?[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"  # Telegram
    r"|(?:[MNO][DTjz][AEIMQUYcgk][w-z0-5]){5,6}[A-Za-z0-9]{0,3}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}"  # Discord
    r"|SK[0-9a-f]{32}\b"  # Twilio
    # models and search
    r"|hf_[A-Za-z0-9]{30,}|gsk_[A-Za-z0-9]{52}|xai-[A-Za-z0-9]{70,}|pplx-[A-Za-z0-9]{40,}|r8_[A-Za-z0-9]{37}"
    r"|tvly-(?:dev-|prod-)?[A-Za-z0-9]{32}|nvapi-[A-Za-z0-9_-]{60,}|lsv2_[ps][tk]_[0-9a-f]{32}_[0-9a-f]{10}"
    r"|pcsk_[A-Za-z0-9_]{60,}|apify_api_[A-Za-z0-9]{36}|e2b_[0-9a-f]{40}"
    # documents and tasks
    r"|ntn_[0-9]{11}[A-Za-z0-9]{35}|secret_[A-Za-z0-9]{43}|lin_api_[A-Za-z0-9]{40}|figd_[A-Za-z0-9_-]{36,}"
    r"|pat[A-Za-z0-9]{14}\.[0-9a-f]{64}|ATATT3[A-Za-z0-9_=-]{100,}|PMAK-[0-9a-f]{24}-[0-9a-f]{34}"
    r"|pat-(?:na|eu|ap)[0-9]-[0-9a-f-]{36}|pk_[0-9]{6,}_[A-Z0-9]{32}"
)
"""Tokens that are told by their own shape, as those who give them out publish it; RE2 and `re` read it alike."""

_ESCAPED: Final = r"\\[bfnrt]|\\u[0-9a-fA-F]{4}"
_GAP: Final = rf"(?:[^\w]|{_ESCAPED})*"
_WORD: Final = r"[\w\x{80}-\x{10FFFF}-]"
_SCHEME_END: Final = r":\\*/\\*/"
_WEBHOOK: Final = r"(?:hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/webhooks/[0-9]+)/"
_SQL: Final = r"(?:identified by|(?:with|login|encrypted) password)"
"""What stands before a password in SQL."""
_PROBES: Final = (
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----",
    rf"(?i:authorization){_GAP}[:=]",
    rf"(?i:bearer)(?:[^\w]|20|{_ESCAPED})+[\w.~+/=%\x{{80}}-\x{{10FFFF}}-]{{8}}",
    rf"eyJ{_WORD}{{8,}}\.{_WORD}{{8,}}\.",
    rf"sk-{_WORD}{{16}}",
    _PUBLISHED,
    r"A[KS]IA[A-Z0-9]{16}",
    rf"""["'](?i:(?:[a-z0-9]+[_-])*(?:{SENSITIVE_NAMES}))\\*["']{_GAP}:{_GAP}["'\[0-9-]""",
    rf"(?i:{SENSITIVE_NAMES}){_GAP}=",
    rf"(?i:{_WHATEVER_STANDS_THERE}){_GAP}(?:\|\||\?\?)",
    rf"--(?i:(?:[a-z0-9]+-)*(?:{SENSITIVE_NAMES}))",
    rf"(?i:{_WHATEVER_STANDS_THERE}){_GAP}:",
    rf"(?i:{_WHATEVER_STANDS_THERE}){_GAP}(?i:is)",
    rf"(?i:{_KEY_IN_WORDS}){_GAP}(?i:[:]|is)",
    rf"""{_SCHEME_END}[^\s/"']*@""",
    r"hooks\.slack\.com/|/api/webhooks/",
    "[0-9]Q~",
    r"curl[^\w]|mysql|mariadb|mongo|sshpass|redis-cli|(?:docker|podman)[^\w]+login|openssl",
    rf"(?i:{_SQL})",
)


def may_hold_secret(text: str | bytes) -> bool:
    """Whether anything in a text, or in JSON text, may have the shape or the name of a secret.

    Args:
        text: text; bytes are UTF-8.
    """
    try:
        return _by_re2("|".join(_PROBES)).search(text if isinstance(text, bytes) else text.encode()) is not None
    except UnicodeError:  # halves of surrogate pairs
        return True


@lru_cache(maxsize=64)
def _by_re2(pattern: str, max_memory: int = 8 << 20) -> Any:
    import re2  # not at the top: `--help` takes out secrets too, and is quick

    options = re2.Options()
    options.never_capture = True
    options.max_mem = max_memory
    return re2.compile(pattern, options)


REDACTED: Final = "[REDACTED]"

CERTAIN_KEY: Final = re.compile(rf"(?i)(?:[a-z0-9]+[_-])*?(?:{_WHATEVER_STANDS_THERE})|x-api-key")
SECRET_KEY: Final = re.compile(rf"(?i)(?:[a-z0-9]+[_-])*?(?:{SENSITIVE_NAMES})")
SECRET_NAME: Final = re.compile(rf"(?i){SENSITIVE_NAMES}|passw|(?:^|[_-])(?:auth|key|pat|pwd)$")
"""Of a variable or a header: as a member's key anywhere in the name, or one of the endings that say it there alone."""
PUBLIC_KEY: Final = re.compile(r"(?i)(?:page|next|prev|continuation|sync|cursor|resume|sample|max|min|stop|eos|bos)")
"""Begins the name of what is a token and no secret, such as `next_page_token`."""


@dataclass(frozen=True)
class Token:
    """One kind of token. A text is searched only where it holds a trigger: `in` is far quicker than `re`."""

    triggers: tuple[str, ...]
    pattern: re.Pattern[str]
    replacement: str | Callable[[re.Match[str]], str]

    def taken_out(self, text: str) -> str:
        """The text without tokens of this kind."""
        return self.pattern.sub(self.replacement, text) if any(trigger in text for trigger in self.triggers) else text


@dataclass(frozen=True)
class NamedSecret:
    """What stands under the name of a secret. RE2 finds the names; `re`, which is slow at that, reads on from there."""

    name: str
    """A pattern of RE2 for where `pattern` may match: no two of its matches overlap in a name."""
    pattern: re.Pattern[str]
    """Its first group stays."""

    def taken_out(self, text: str) -> str:
        """The text without the secrets that stand under such a name."""
        parts, end = [], 0
        for match in self.matches(text):
            parts.append(text[end : match.start()] + _after_its_name(match))
            end = match.end()
        return "".join([*parts, text[end:]]) if parts else text

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        """The secrets that stand under such a name, each with its name."""
        end = 0
        for start in _starts(self.name, text):
            match = self.pattern.match(text, start) if start >= end else None
            if match is not None:
                yield match
                end = match.end()


def _starts(name: str, text: str) -> Iterator[int]:
    return (match.start() for match in _by_re2(name).finditer(without_lone_surrogates(text)))


def _after_its_name(match: re.Match[str]) -> str:
    return f"{match[1]}{match.groupdict().get('quote') or ''}{REDACTED}"


def _token(triggers: str, pattern: str, replacement: str | Callable[[re.Match[str]], str] = REDACTED) -> Token:
    return Token(tuple(triggers.split("|")), re.compile(pattern), replacement)


def _named(name: str, pattern: str) -> NamedSecret:
    return NamedSecret(rf"(?i){name}", re.compile(pattern, re.IGNORECASE | re.MULTILINE))


def _option(programs: str, option: str) -> Token:
    """The word that follows an option on the command line of these programs."""
    words = rf"(\b(?:{programs}){option})(?i:{_QUOTED}|{_NOT_ONE}{_VALUE})"
    return _token(programs, words, _after_its_name)


_PARTS: Final = r"(?:[a-z0-9]+[_-]){0,4}"
_PREFIX: Final = rf"{_PARTS}?(?<!page[_-])(?<!next[_-])(?<!max[_-])"
_NOT_ONE: Final = (
    r"(?![$<{%=>]|\[REDACTED\]|(?:none|null|nil|undefined|true|false)\b"
    rf"|(?:{SENSITIVE_NAMES}|await|new|self|this)\b(?!-)|[a-z_][\w.]*(?:\([^\s)]*\)|\s*\?)|[a-z_]\w*\.[a-z_]\w*[.(\[])"
)
"""What may stand after the name of a secret instead of it: a variable, a placeholder, code that gets it."""
_VALUE: Final = r"""[^\s"'\\&;,)\]}>]+"""
_QUOTED: Final = (
    r"""(?P<quote>\\*["'`])(?!\$\{|\[REDACTED\]|[\s,:\[\]{}]*(?:\\*["'`]|\Z))(?=\S)"""
    r"""(?:(?!(?P=quote))(?:\\.|[^\\\n]))+(?=(?P=quote)|\Z)"""
)
"""Up to the quote that closes it, or to the end of a text that was cut off before that quote; not what stands between
two members of JSON."""
_PLAIN: Final = r"(?:string|str|text|required|optional|incorrect|invalid|wrong|missing|empty|ok|yes|no|\*+)\b"
"""What a line says of a password that is none."""

_LISTED: Final = r"""\\*["']\s*,\s*(?=\\*["'])"""
_NEXT: Final = rf"(?:[ \t]+|{_LISTED})"
"""What stands between two words of a command, which is a line or a list of its words in quotes."""
_LISTED_VALUE: Final = rf"""{_LISTED}(?!\\*["'](?:-|[^"'\n]{{0,99}}["']\s*:))(?=\\*["']{_NOT_ONE})"""
"""Between an option and its value in a list: neither another option follows nor the name of a member."""
_OTHER_WORDS: Final = (
    rf"(?:[ \t]|{_LISTED})(?:\\\n|[^\n;&|]|[;&|](?![\s;&|])){{0,400}}?"
    r"""(?:(?<=\s)|(?<=,["'])|(?<=,\s["'])|(?<=,\\["'])|(?<=,\s\\["']))"""
)
"""What stands between a program and its option: neither another command nor a line that does not go on."""

# What may not stand before a token is looked at behind its first letters: `re` finds letters at once, and nothing else.
KINDS: Final = (
    _token(
        "PRIVATE KEY-----",
        r"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)",
    ),
    _token(
        "earer|EARER",
        r"(?i)\b(bearer(?:\s|%20|\+)+)(?!(?:tokens?|auth\w*|scheme|header|credentials?)\b)[\w.~+/=%-]{8,}",
        rf"\g<1>{REDACTED}",
    ),
    _token("eyJ", r"eyJ(?<=\beyJ)[\w-]{8,}\.[\w-]{8,}\.[\w-]*"),
    _token("sk-", r"sk-(?<![A-Za-z0-9]sk-)(?:(?=[A-Za-z_-]*\d)[\w-]{16,}|[\w-]{20,})"),
    NamedSecret(_PUBLISHED, re.compile(rf"()(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))(?:{_PUBLISHED})")),
    _token("AKIA|ASIA", r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
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
        rf"(?:{_WHATEVER_STANDS_THERE})\W*(?:=|\|\||\?\?)",
        rf"""((?:{_WHATEVER_STANDS_THERE})\\*["']?\s*(?:=|(?:\|\||\?\?)(?=\s*\\*["'][^\s"'\\]{{6}}))\s*)"""
        rf"(?:{_QUOTED}|{_NOT_ONE}{_VALUE})",
    ),
    _named(
        rf"""{_PARTS}(?:{_KEYS_AND_TOKENS})(?:\\*["']\])?[ \t]*=""",
        rf"""((?<![\w-])(?=[\w-]{{0,60}}(?:key|token)(?:\\*["']\])?[ \t]*=){_PREFIX}(?:{_KEYS_AND_TOKENS})"""
        rf"""(?:\\*["']\])?[ \t]*=[ \t]*)(?:{_QUOTED}|{_NOT_ONE}{_VALUE})""",
    ),
    _named(
        rf"(?:{_KEY_IN_WORDS})(?:\W*:|\W+is\b)",
        rf"""((?:{_KEY_IN_WORDS})(?:\s*:|\s+is\b)[\s*`"']{{0,4}})(?=[\w.~+/=-]{{16}})(?=[\w.~+/=-]*\d)(?=[\w.~+/=-]*[a-z])"""
        rf"""{_NOT_ONE}[\w.~+/=-]+""",
    ),
    _named(
        rf"""--(?:[a-z0-9]+-){{0,4}}(?:{SENSITIVE_NAMES})(?:[ \t]|\\*["'])""",
        rf"(--(?:[a-z0-9]+-){{0,4}}?(?:{SENSITIVE_NAMES})(?:[ \t]+|{_LISTED_VALUE}))"
        rf"(?:{_QUOTED}|{_NOT_ONE}(?!-){_VALUE})",
    ),
    _named(
        rf"(?:{_WHATEVER_STANDS_THERE})(?:\W*:|\W+is\b)",
        rf"""((?:{_WHATEVER_STANDS_THERE})(?:\s*:|\s+is\b)(?:\*\*)?\s*)"""
        r"""(?=\\*["']?[^\s"'\\]*\d)(?=\\*["']?[^\s"'\\]*[a-z])"""
        rf"""(?:{_QUOTED}|{_NOT_ONE}{_VALUE})""",
    ),
    _token(
        "ass|ASS|wd|WD",
        r"(?im)(^[ \t>*-]{0,40}(?:\d{1,6}[\t→][ \t]*)?(?:\w{1,30}[ \t])?(?:\w{1,30}[_-])?"
        r"(?:pass(?:word|wd|phrase|code)|pwd)\s*:[ \t]*)"
        rf"{_NOT_ONE}(?!{_PLAIN}){_VALUE}[ \t]*$",
        _after_its_name,
    ),
    _token("://|:\\/", rf"""({_SCHEME_END}[^\s/:"'\\]*:)(?!\[REDACTED\]@)[^\s/"'\\]+(?=@)""", rf"\g<1>{REDACTED}"),
    _token("://|:\\/", rf"({_SCHEME_END})(?=(?:[^\d\s/@]*\d){{3}})[\w.~%+-]{{20,}}(?=@)", rf"\g<1>{REDACTED}"),
    _token("Q~", r"(?:(?<![A-Za-z0-9_~.])|(?<=\\[nrt]))[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}"),  # Azure
    _token("hooks.slack.com/|/api/webhooks/", rf"({_WEBHOOK})[\w/+-]+", rf"\g<1>{REDACTED}"),
    _token(
        "curl",
        rf"""(\bcurl{_OTHER_WORDS}(?:-[a-zA-Z]{{0,6}}?[uU]{_NEXT}?|--(?:proxy-)?user(?:{_NEXT}|=))"""
        rf"""(?P<open>\\*["'])?[^\s:"'/]{{0,99}}:)(?i:{_NOT_ONE})(?!//)(?(open)[^"'\n]+?(?=\\*["'\n]|\Z)|{_VALUE})""",
        rf"\g<1>{REDACTED}",
    ),
    _option("mysql|mariadb", rf"[\w-]*{_OTHER_WORDS}-p(?!\d+:\d)"),
    _option("mongo", rf"\w*{_OTHER_WORDS}-p{_NEXT}(?!\d+:\d)"),
    _option("docker|podman", rf"""{_NEXT}\\*["']?login{_OTHER_WORDS}-p{_NEXT}"""),
    _option("redis-cli", rf"{_OTHER_WORDS}-a{_NEXT}"),
    _option("sshpass", rf"""{_NEXT}\\*["']?-p{_NEXT}?"""),
    _option("openssl", rf"{_OTHER_WORDS}(?:-[a-z]+[ \t]+)?pass:"),
    _named(_SQL, rf"({_SQL}\s+){_QUOTED}"),
)

_MAX_MEMORY_OF_SPELLINGS: Final = 64 << 20
_CONTROL_ESCAPES: Final = {"\n": "n", "\t": "t", "\r": "r", "\b": "b", "\f": "f"}


@lru_cache(maxsize=16)
def pattern_of(secrets: frozenset[str]) -> Any:
    """A compiled pattern that matches each spelling of each secret, the longest first; None without any.

    Each character may stand as itself, or as an escape of JSON, Python, HTML or a URL; the whole in Unicode's composed
    or decomposed form, in hexadecimal, or in base64, there also in the middle of what was encoded with it. RE2 matches
    that in linear time.
    """
    if not secrets:
        return None
    longest_first = sorted(map(without_lone_surrogates, secrets), key=lambda secret: (-len(secret), secret))
    spellings = (spelling for secret in longest_first for spelling in _spellings(secret))
    return _by_re2("|".join(spellings), _MAX_MEMORY_OF_SPELLINGS)


def _spellings(secret: str) -> list[str]:
    forms = dict.fromkeys((secret, normalize("NFC", secret), normalize("NFD", secret)))
    data = secret.encode()
    return ["".join(map(_character, form)) for form in forms] + [f"(?i:{data.hex()})", *_base64(data)]


@lru_cache(maxsize=512)
def _character(character: str) -> str:
    r"""A character as itself or escaped. In JSON within JSON there is more than one backslash before it."""
    code = ord(character)
    units = character.encode("utf-16-be").hex()
    data = character.encode()
    name = codepoint2name.get(code)
    forms = [
        "".join(f"%(?i:{byte:02x})" for byte in data),
        f"&#0*{code};|&#[xX]0*(?i:{code:x});",
        "".join(rf"\\+[uU](?:0000)?(?i:{units[at : at + 4]})" for at in range(0, len(units), 4)),
        rf"\\+U(?i:{code:08x})",
        "".join(rf"\\+x(?i:{byte:02x})" for byte in data),
    ]
    forms += [rf"\\+x(?i:{code:02x})"] if code <= 0xFF else []
    forms += [f"&{name};"] if name else ["&apos;"] if character == "'" else []
    forms += [r"\+|&nbsp;"] if character == " " else []
    if character in _CONTROL_ESCAPES:
        forms.append(rf"\\+{_CONTROL_ESCAPES[character]}")
    if character == "\\":
        return rf"(?:{'|'.join(forms)}|\\+)"
    return rf"\\*(?:{'|'.join([*forms, re.escape(character)])})"  # last: `%` begins its own escape


def _base64(data: bytes) -> list[str]:
    """What stands in base64 of anything that holds these bytes: the groups that depend on nothing around them."""
    cores = []
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + data).decode().rstrip("=")
        whole = len(encoded) if (before + len(data)) % 3 == 0 else len(encoded) - 1
        core = encoded[(0, 2, 3)[before] : whole]
        cores.append("".join({"+": "[+-]", "/": r"(?:\\*/|_|%2[fF])"}.get(character, character) for character in core))
    return cores
