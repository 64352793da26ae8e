"""Takes secrets out of what is written down: known values, the shapes of common tokens, and the user's own patterns."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any, Final, Literal, get_args, get_origin

import pydantic_core

from replay.errors import UsageError
from replay.json_values import encode, without_lone_surrogates
from replay.safety.secret_patterns import (
    CERTAIN_KEY,
    KINDS,
    PUBLIC_KEY,
    REDACTED,
    SECRET_KEY,
    SECRET_NAME,
    NamedSecret,
    may_hold_secret,
    pattern_of,
)

if TYPE_CHECKING:
    from pydantic import BaseModel

    from replay.records import Record


MIN_SECRET_LENGTH: Final = 6
"""Shorter values (`true`, `8080`, `all`) are in half of all texts; to take them out would ruin the recording."""

PLAIN_VALUE: Final = re.compile(r"(?i)\d+|true|false|yes|no|on|off|none|null|localhost|/.*|\w+://[^@?]*")
"""What a variable of any name may hold and is no secret."""
MIN_NAMED_LENGTH: Final = 3
"""Of a value that stands under the name of a key or token."""
_MAX_KEY_LENGTH: Final = 60
_KEY: Final = re.compile(r"(?=(?:\D*\d){3})(?=(?:[^a-zA-Z]*[a-zA-Z]){3})[\w.~+/=-]{16,200}")
"""What is a key wherever it stands, once its name told it: long, of letters and digits."""
_MOST_LEARNED: Final = 200

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


class Redactor:
    """Replaces secrets by `[REDACTED]`.

    Args:
        secrets: values to take out wherever they stand, however they are spelled there (`pattern_of`).
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
        self._learned: dict[str, bytes] = {}
        """Keys, each as it stands in UTF-8."""

    def learn(self, value: Any) -> None:
        """Take note of the keys that stand under their names in a JSON value: from then on they are out anywhere."""
        found = islice(_named_keys(value), _MOST_LEARNED - len(self._learned))
        self._learned |= {key: key.encode() for key in found}

    def text(self, text: str) -> str:
        """The text without its secrets; the very same object where it holds none."""
        text = _without_shapes(self._without_known(text))
        for pattern in self._patterns:
            text = pattern.sub(_unless_empty, text)
        return text if self._further is None else self._further(text)

    def _without_known(self, text: str) -> str:
        for key in self._learned:  # as they are written: in every spelling so many would be more than RE2 can hold
            text = text.replace(key, REDACTED)
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
        dumped = record.model_dump(mode="json", exclude_none=True)
        return dumped if self._is_clean(dumped) else self.searched_record(record)

    def searched_record(self, record: Record) -> Any:
        """The same, of a record that may hold secrets: all of it is searched."""
        dumped = record.model_dump(mode="json", exclude_none=True)
        self.learn(dumped)
        return self._record(record, dumped)

    def record_text(self, record: Record) -> bytes:
        """A record as JSON text without its secrets; the same as that of `record`."""
        text = self.clean_record_text(record)
        return text if text is not None else encode(self.searched_record(record))

    def clean_record_text(self, record: Record) -> bytes | None:
        """A record as JSON text; None where something in it may be a secret, or cannot be written so."""
        try:
            text = pydantic_core.to_json(record, exclude_none=True)
        except ValueError:  # halves of surrogate pairs
            return None
        return text if self._is_clean_text(text) else None

    def _record(self, record: BaseModel, dumped: dict[str, Any]) -> dict[str, Any]:
        cleaned = dict(dumped)
        for name in type(record).model_fields:
            if name in dumped and name not in _OWN_FIELDS:
                types = _types_of_field(type(record), name)
                cleaned[name] = self._field(getattr(record, name), dumped[name], types)
        return cleaned

    def _field(self, value: Any, dumped: Any, types: frozenset[Any]) -> Any:
        from pydantic import BaseModel  # not at the top: `--help` takes out secrets too, and is quick

        if isinstance(value, BaseModel):
            return dumped if self._is_clean(dumped) else self._record(value, dumped)
        if isinstance(value, tuple) and value and isinstance(value[0], BaseModel):
            return [self._field(item, inner, types) for item, inner in zip(value, dumped, strict=True)]
        if Any in types or str in types:
            return dumped if isinstance(dumped, int | float) and Any not in types else self._cleaned(dumped)
        return dumped

    def _is_clean(self, value: Any) -> bool:
        """Whether nothing in the value can be a secret, told from its JSON text at one go; False where in doubt."""
        return not self._patterns and self._further is None and self._is_clean_text(encode(value))

    def _is_clean_text(self, text: bytes) -> bool:
        known = pattern_of(self._secrets)
        if self._patterns or self._further is not None or may_hold_secret(text):
            return False
        known_in = known is not None and known.search(text) is not None
        return not known_in and not any(key in text for key in self._learned.values())

    def _cleaned(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return self._object(value)
        if isinstance(value, list | tuple):
            cleaned = _command([self._cleaned(item) for item in value])
            return value if all(map(operator.is_, cleaned, value)) else type(value)(cleaned)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return self._number(value)
        return value

    def _object(self, value: dict[Any, Any]) -> dict[Any, Any]:
        cleaned: dict[Any, Any] = {}
        for key, item in value.items():
            cleaned[_unused(self.text(key) if isinstance(key, str) else key, cleaned)] = self._member(key, item)
        unchanged = len(cleaned) == len(value) and all(
            key in cleaned and cleaned[key] is item for key, item in value.items()
        )
        return value if unchanged else cleaned

    def _member(self, key: Any, item: Any) -> Any:
        if not isinstance(key, str) or len(key) > _MAX_KEY_LENGTH or PUBLIC_KEY.match(key):
            return self._cleaned(item)
        if CERTAIN_KEY.fullmatch(key) is not None:
            return self._cleaned(_without_values(item))
        if isinstance(item, str) and SECRET_KEY.fullmatch(key) is not None and len(item.strip()) >= MIN_NAMED_LENGTH:
            return _without_values(item)
        return self._cleaned(item)

    def _number(self, value: float) -> Any:
        if not self._secrets and not self._patterns:
            return value
        written = json.dumps(value)
        return value if self.text(written) == written else REDACTED


def is_secret_name(name: str) -> bool:
    """Whether a variable or header of that name holds a secret."""
    return bool(SECRET_NAME.search(name))


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


def _named_keys(value: Any) -> Iterator[str]:
    """What stands under the names of secrets in a JSON value or its texts, where it is a key and no word or path."""
    match value:
        case str() if may_hold_secret(value):
            for kind in KINDS:
                if isinstance(kind, NamedSecret):
                    named = (match for match in kind.matches(value) if match[1])  # a token is out anywhere by its shape
                    secrets = (match[0][match.end(1) - match.start() :] for match in named)
                    yield from filter(_is_key, (secret.strip("\\\"'") for secret in secrets))
        case dict():
            for name, item in value.items():
                if isinstance(item, str) and SECRET_KEY.fullmatch(str(name)) and not PUBLIC_KEY.match(str(name)):
                    yield from filter(_is_key, [item])
                yield from _named_keys(item)
        case list() | tuple():
            for item in value:
                if not isinstance(item, dict) or may_hold_secret(encode(item)):
                    yield from _named_keys(item)


def _is_key(text: str) -> bool:
    return _KEY.fullmatch(text) is not None and PLAIN_VALUE.fullmatch(text) is None


def _without_shapes(text: str) -> str:
    """The text without what has the shape of a secret, or stands under the name of one."""
    if may_hold_secret(text):
        for kind in KINDS:
            text = kind.taken_out(text)
    return text


def _command(items: list[Any]) -> list[Any]:
    """A list, of which an option may say that the word after it is a secret: that shows in the list as text alone."""
    if not all(isinstance(item, str) for item in items) or not any(item.startswith("-") for item in items):
        return items
    written = json.dumps(items, ensure_ascii=False)
    left = _without_shapes(written)
    try:
        words = items if left == written else json.loads(left)
    except ValueError:  # something was taken out together with the quote behind it
        return items
    return words if len(words) == len(items) else items


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
