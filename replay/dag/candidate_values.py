"""What a call's arguments mention: whole values, and the paths and ids inside longer texts.

Values that anybody could have come up with, such as `true`, `10` or `title`, are left out: they tell nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from replay.dag.documents import as_text, is_number, leaves
from replay.records import Call

_MIN_TEXT_LENGTH: Final = 4
_MIN_SIGNIFICANT_DIGITS: Final = 3
_COMMON_WORDS: Final = frozenset(
    """
    active admin advanced append array asc ascending ascii audio auto average base64 bash basic bicycle
    bicycling black blue body bold boolean bottom celsius center centre chinese close code column columns
    completed content contents count create critical csvs daily data date datetime debug default delete demo
    desc descending description directories directory disabled document documents docx done drive driving
    edit enabled english error errors example fahrenheit failed failure false file files folder french full
    german global gray green grey head high hour hours html http https image images imperial inactive info
    input insert integer italic item items japanese json kelvin label labels large latin-1 latin1 left link
    links list lists localhost long main markdown master medium message metric middle minute minutes month
    monthly months name names newest news none normal null number object okay oldest open options orange
    output page pages patch path paths pending plain popular post pptx private public purple put python
    queries query read recent relevance remove replace result results right root row rows sample search
    second seconds sheet sheet1 sheet2 sheet3 sheets shell short simple small source spanish standard start
    status stop string success summary table tables target test tests text time title today toml tomorrow
    top total transit true type types undefined update user users utf-8 utf8 utf_8 value values video view
    walk walking warn warning week weekly weeks white world write xlsx yaml year yearly years yellow
    yesterday
    """.split()  # noqa: SIM905 a list would take a line a word
)
_COMMON_PATTERNS: Final = re.compile(
    r"""
    (?:text|image|application|audio|video|font|multipart|message|model)/[\w.+*-]+   # MIME types
    | [A-Za-z]{2,3}[-_][A-Za-z]{2,4}                                               # locales
    | (?:Africa|America|Antarctica|Asia|Atlantic|Australia|Europe|Indian|Pacific|Etc|US)/[\w/+-]+
    | Sheet\d*
    | \$?[A-Z]{1,2}\$?\d{1,2}                                                      # a cell
    | [.\\/]+ | ~/? | \.{1,2}/
    | v?\d{1,2}(?:\.\d{1,2}){1,2}                                                  # a version
    """,
    re.VERBOSE,
)
_MIN_RANDOM_LENGTH: Final = 6
_MIXED: Final = re.compile(r"[A-Za-z]\d|\d[A-Za-z]")
_YEAR: Final = re.compile(r"(19|20)\d\d")
_NUMBERED: Final = re.compile(r"[A-Za-z]+[-_ ]?\d{1,3}")
_DIGIT_GROUPS: Final = re.compile(r"\d+(?:-\d+)+")
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}")
_MAX_SHORT_TEXT: Final = 400
_MAX_CANDIDATES: Final = 400
"""Distinct mentions that are looked for inside one text."""
_MAX_PATH_LENGTH: Final = 4096
"""What is longer is no path, and no URL that anyone passes on."""
_URL: Final = re.compile(r"(?<![a-zA-Z])[a-zA-Z][a-zA-Z0-9+.-]{0,30}://[^\s\"'<>`|\\^{}]+")
_PATH: Final = re.compile(
    r"""(?<![\w.:/~@+-])(?:(?:[A-Za-z]:)?(?:~|\.{1,2})?/|[\w.@+-]+/)[\w.@%+=,#~-]+(?:/[\w.@%+=,#~-]*)*""",
)
_TOKEN: Final = re.compile(r"\w(?:[\w:.@-]*\w)?")
_JOINT: Final = re.compile("[_:.@]")
_PATH_SEPARATOR: Final = re.compile("[/?&=#]")
_TOKEN_PARTS: Final = re.compile("[:.@_-]")
_MIN_UUID_LENGTH: Final = 32
_QUOTED: Final = re.compile(r"'([^'\n]{4,200})'|\"([^\"\n]{4,200})\"")
_FILE: Final = re.compile(r"[\w.+-]{3,}\.[A-Za-z]\w{0,4}")
_WHOLE_PATH: Final = re.compile(r"(?:[A-Za-z]:[\\/]|~?/|\.{1,2}/)(?:(?! [/.~-])[^\n\"'<>|*?]){1,400}")
_RELATIVE: Final = re.compile(r"[\w.@+-]+(?:/[\w.@+-]+)*\.[A-Za-z]\w{0,5}|[\w.@+-]+(?:/[\w.@+-]+)+/?")


class CandidateValue(NamedTuple):
    """A value that a call's arguments hold."""

    pointer: str
    """JSON pointer in the arguments."""
    value: Any
    """A scalar as it was given, or the part of a longer text."""
    text: str
    """As it stands in a text, a directory without the slash at its end."""
    whole: bool
    """It is all that stands at the pointer."""
    path: bool
    """It names a file, a directory or a resource."""


def candidate_values_of(call: Call) -> Iterator[CandidateValue]:
    """Every value in a call's arguments that could have come from elsewhere, each once a place."""
    for pointer, value in leaves(call.arguments or {}, enter_texts=False):
        yield from _candidates_in(value, pointer)


def _candidates_in(value: Any, pointer: str) -> Iterator[CandidateValue]:
    """What a string or number mentions, each once."""
    found: set[str] = set()
    for mention in _mentions_in(value, pointer):
        if len(found) == _MAX_CANDIDATES:
            return
        text = mention.strip() if isinstance(mention, str) else mention.text
        if text not in found and not is_uninformative(text):
            found.add(text)
            yield CandidateValue(pointer, mention, text, False, False) if isinstance(mention, str) else mention


def is_path(text: str) -> bool:
    """Whether a whole text is a path or a URL."""
    if len(text) > _MAX_PATH_LENGTH or not ("/" in text or "." in text or "\\" in text) or is_number(text):
        return False
    return any(pattern.fullmatch(text) for pattern in (_WHOLE_PATH, _URL, _RELATIVE))


def paths_in(text: str) -> tuple[str, ...]:
    """The paths and URLs inside a text."""
    all_urls: list[str] = []
    all_paths: list[str] = []
    for word in text.split() if "/" in text else ():  # neither goes across a space
        if "/" in word:
            urls = list(_URL.finditer(word)) if "://" in word else []
            all_urls += (match[0].rstrip(".,;:)") for match in urls)
            all_paths += (match[0].rstrip(".,;:") for match in _outside_urls(urls, _PATH.finditer(word)))
    return tuple(path for path in (*all_urls, *all_paths) if len(path) <= _MAX_PATH_LENGTH)


def _outside_urls(urls: list[re.Match[str]], paths: Iterator[re.Match[str]]) -> Iterator[re.Match[str]]:
    """The matches that do not start within one of the URLs; both come in the order of the text."""
    following = 0
    for path in paths:
        while following < len(urls) and urls[following].end() <= path.start():
            following += 1
        if following == len(urls) or path.start() < urls[following].start():
            yield path


def ancestors(path: str) -> Iterator[str]:
    """The directories above a path, the nearest first."""
    while "/" in path.strip("/"):
        path = path.rstrip("/").rpartition("/")[0]
        if path:
            yield path


def _mentions_in(value: Any, pointer: str) -> Iterator[CandidateValue | str]:
    """The mentions of a value; a part of it that is no path as it is written."""
    if not isinstance(value, str):
        yield CandidateValue(pointer, value, as_text(value).strip(), whole=True, path=False)
        return
    text = value.strip()
    if is_path(text):
        yield CandidateValue(pointer, text, text.rstrip("/") or text, whole=True, path=True)
        yield from (part for part in _parts_of_path(text) if part != text)
        return
    yield CandidateValue(pointer, text, text, whole=True, path=False)
    prose = _is_long(text)
    for path in paths_in(text):
        if prose and not _is_surely_path(path):
            continue
        yield CandidateValue(pointer, path, path.strip().rstrip("/") or path.strip(), whole=False, path=True)
        yield from _parts_of_path(path)
    yield from (part for part in _parts_of_text(text) if part != text)


def _parts_of_path(path: str) -> Iterator[str]:
    """Ids that are a part of a path, and the segments and query values of a URL."""
    url = "://" in path and _URL.fullmatch(path) is not None
    for segment in _PATH_SEPARATOR.split(path.split("://", 1)[-1]):
        part = unquote(segment) if "%" in segment else segment
        if url and len(part) >= 3 and "." not in part:
            yield part
        yield from _ids_in(part)


def _parts_of_text(text: str) -> Iterator[str]:
    long = _is_long(text)
    for match in _QUOTED.finditer(text):
        quoted = (match[1] or match[2]).strip()
        if not long or " " in quoted or _FILE.fullmatch(quoted):
            yield quoted
    for token in dict.fromkeys(_TOKEN.findall(text)):
        if _is_word(token):
            continue
        if not long and _is_informative_token(token):
            yield token
        yield from _ids_in_token(token)


def _ids_in(text: str) -> Iterator[str]:
    """Random tokens of a text, each before the random parts of it."""
    for token in _TOKEN.findall(text):
        if not _is_word(token):
            yield from _ids_in_token(token)


def _is_word(token: str) -> bool:
    """Letters alone, and fewer than a UUID has: no id, and no part of it is one."""
    return len(token) < _MIN_UUID_LENGTH and token.isalpha()


def _ids_in_token(token: str) -> tuple[str, ...]:
    whole = (token,) if is_random(token) else ()
    parts = _TOKEN_PARTS.split(token)
    return whole + tuple(part for part in parts if part != token and is_random(part))


def _is_long(text: str) -> bool:
    return len(text) > _MAX_SHORT_TEXT or "\n" in text


def _is_surely_path(path: str) -> bool:
    """In prose and programs `either/or` is no path."""
    return path.startswith(("/", "~", ".")) or "://" in path or "." in path.rpartition("/")[2]


def _is_informative_token(token: str) -> bool:
    if is_number(token):
        return significant_digits(token) >= 4
    return is_id(token) and (is_random(token) or _JOINT.search(token) is not None)


def significant_digits(number: str) -> int:
    """How many digits of a number carry information: not the zeros before and after."""
    mantissa = re.split("[eE]", number.lstrip("-"))[0]
    return len(mantissa.replace(".", "").strip("0"))


def is_uninformative(value: str) -> bool:
    """Too short, too round or too common to tell where it came from."""
    stripped = value.strip()
    if is_number(stripped):
        digits = significant_digits(stripped)
        return digits < _MIN_SIGNIFICANT_DIGITS and not (digits >= 2 and len(stripped) >= 6)
    if len(stripped) < _MIN_TEXT_LENGTH or not any(map(str.isalnum, stripped)):
        return True
    return stripped.lower() in _COMMON_WORDS or _COMMON_PATTERNS.fullmatch(stripped) is not None


def is_plain_word(value: str) -> bool:
    """A single word in lower or upper case, such as an option of a tool would be."""
    return value.isalpha() and (value.islower() or value.isupper())


def is_id(value: str) -> bool:
    """Letters with digits, joined words, an address: what no one writes by chance."""
    if is_number(value):
        return len(value.replace(".", "").lstrip("-")) >= 6
    has_digit = any(map(str.isdigit, value))
    has_letter = any(map(str.isalpha, value))
    joined = re.search(r"\w[_:.@]\w", value) is not None
    return is_random(value) or (
        " " not in value and has_letter and ((has_digit and len(value) >= 4) or (joined and len(value) >= 6))
    )


def is_random(value: str) -> bool:
    """A UUID, a hash, a long number, or letters and digits mixed."""
    if len(value) < _MIN_RANDOM_LENGTH or _is_word(value):
        return False
    if _UUID.fullmatch(value) or (is_number(value) and "." not in value):
        return True
    if _NUMBERED.fullmatch(value):
        return False
    if _DIGIT_GROUPS.fullmatch(value):
        return sum(map(str.isdigit, value)) >= 12
    return " " not in value and _MIXED.search(value) is not None


def is_common_number(value: str) -> bool:
    """Likely to stand in a large answer by chance: a number of few digits, a year."""
    return is_number(value) and (significant_digits(value) < 5 or _YEAR.fullmatch(value) is not None)
