"""What a call's arguments mention: whole values, and the paths and ids inside longer texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from replay.dag.documents import as_text
from replay.dag.pointers import leaves
from replay.dag.uninformative_values import is_id, is_random, is_uninformative, significant_digits
from replay.dag.value_matching import is_number
from replay.records import Call

__all__ = ["CandidateValue", "candidate_values_of", "is_path", "paths_in"]

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
_MAY_HOLD_ID: Final = re.compile(rf"\D*+\d|.{{{_MIN_UUID_LENGTH}}}")
"""A word that has a digit, or is as long as a UUID, which may have none."""
_MAX_REMEMBERED_TOKEN: Final = 100
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


class _Mention(NamedTuple):
    """What a text mentions: a candidate wherever the text stands."""

    value: Any
    text: str
    whole: bool
    path: bool


def candidate_values_of(call: Call) -> Iterator[CandidateValue]:
    """Every value in a call's arguments that could have come from elsewhere, each once a place."""
    for pointer, value in leaves(call.arguments or {}, enter_texts=False):
        short = not isinstance(value, str) or len(value) <= _MAX_SHORT_TEXT
        for mention in _known_mentions(value) if short else _find_mentions(value):
            yield CandidateValue(pointer, *mention)


def _find_mentions(value: Any) -> tuple[_Mention, ...]:
    """What a string or number mentions, each once."""
    found: dict[str, _Mention] = {}
    for mention in _mentions_in(value):
        if len(found) == _MAX_CANDIDATES:
            break
        text = mention.strip() if isinstance(mention, str) else mention.text
        if text not in found and not is_uninformative(text):
            found[text] = _Mention(mention, text, False, False) if isinstance(mention, str) else mention
    return tuple(found.values())


_known_mentions: Final = lru_cache(maxsize=4096, typed=True)(_find_mentions)


def is_path(text: str) -> bool:
    """Whether a whole text is a path or a URL."""
    if len(text) > _MAX_PATH_LENGTH:
        return False
    return _is_path(text)


@lru_cache(maxsize=1024)
def _is_path(text: str) -> bool:
    return not is_number(text) and any(pattern.fullmatch(text) for pattern in (_WHOLE_PATH, _URL, _RELATIVE))


@lru_cache(maxsize=64)
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


def _mentions_in(value: Any) -> Iterator[_Mention | str]:
    """The mentions of a value; a part of it that is no path as it is written."""
    if not isinstance(value, str):
        yield _Mention(value, as_text(value).strip(), whole=True, path=False)
        return
    text = value.strip()
    if is_path(text):
        yield _Mention(text, text.rstrip("/") or text, whole=True, path=True)
        yield from (part for part in _parts_of_path(text) if part != text)
        return
    yield _Mention(text, text, whole=True, path=False)
    prose = _is_long(text)
    for path in paths_in(text):
        if prose and not _is_surely_path(path):
            continue
        yield _Mention(path, path.strip().rstrip("/") or path.strip(), whole=False, path=True)
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
    distinct = dict.fromkeys(text.split())
    may_count = filter(_MAY_HOLD_ID.match, distinct) if long else distinct
    words = " ".join([word for word in may_count if not word.isalpha() or not _is_word(word)])
    for token in dict.fromkeys(_TOKEN.findall(words)):  # none goes across a space
        if token.isalpha() and _is_word(token):
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
    return _known_ids_in_token(token) if len(token) <= _MAX_REMEMBERED_TOKEN else _find_ids_in_token(token)


def _find_ids_in_token(token: str) -> tuple[str, ...]:
    whole = (token,) if is_random(token) else ()
    parts = _TOKEN_PARTS.split(token)
    return whole + tuple(part for part in parts if part != token and is_random(part))


_known_ids_in_token: Final = lru_cache(maxsize=8192)(_find_ids_in_token)


def _is_long(text: str) -> bool:
    return len(text) > _MAX_SHORT_TEXT or "\n" in text


def _is_surely_path(path: str) -> bool:
    """In prose and programs `either/or` is no path."""
    return path.startswith(("/", "~", ".")) or "://" in path or "." in path.rpartition("/")[2]


@lru_cache(maxsize=8192)
def _is_informative_token(token: str) -> bool:
    if is_number(token):
        return significant_digits(token) >= 4
    return is_id(token) and (is_random(token) or _JOINT.search(token) is not None)
