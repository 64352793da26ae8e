"""Who and where: users, home directories, people, hosts and addresses in a text, each replaced by the same stand-in.

What has the shape of a path below a home, an e-mail address, an author's line or a URL tells the names; they are then
replaced wherever they stand as words of their own. A name that never stands in such a place is not known.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

import re2

from replay.json_values import without_lone_surrogates

_USER, _HOST, _PERSON = "user", "host", "person"
_SHAPES: Final = tuple(
    (kind, re2.compile(pattern))
    for kind, pattern in (
        (_USER, r"(?:/home/|/Users/|\\Users\\|-home-|-Users-)([A-Za-z0-9._]+)"),
        (_PERSON, r"\b([A-Z][\w.']+(?: [A-Z][\w.']+){1,3}) <[^<>\s]+@[^<>\s]+>"),
        (_USER, r"([A-Za-z0-9._%+-]+)@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b"),
        (_HOST, r"[A-Za-z0-9._%+-]+@([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,})\b"),
        (_HOST, r"\b[a-z][a-z0-9+.-]*://(?:[^/\s@\"']+@)?([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*)"),
        (_HOST, r"\b((?:\d{1,3}\.){3}\d{1,3})\b"),
    )
)
_NOBODY: Final = frozenset(
    {
        "admin",
        "app",
        "example.com",
        "git",
        "localhost",
        "node",
        "root",
        "runner",
        "shared",
        "ubuntu",
        "user",
        "127.0.0.1",
    }
)
"""Names that tell nobody and nowhere."""
_MIN_LENGTH: Final = 3
"""Of a name that is replaced wherever it stands."""


class Identities:
    """The names of a text, and what stands for each.

    Args:
        users: names that are known beforehand, such as that of this machine's user.
        people: likewise.
        hosts: likewise.
    """

    def __init__(self, users: Iterable[str] = (), people: Iterable[str] = (), hosts: Iterable[str] = ()) -> None:
        self._stand_ins: dict[str, str] = {}
        self._numbers: Counter[str] = Counter()
        self._pattern: re.Pattern[str] | None = None
        for kind, names in ((_PERSON, people), (_USER, users), (_HOST, hosts)):
            for name in names:
                self._add(kind, name)

    @property
    def counts(self) -> dict[str, int]:
        """How many of each kind there are."""
        return dict(self._numbers)

    def learn(self, value: Any) -> None:
        """Take note of the names in a JSON value."""
        for text in _texts(value):
            if "@" in text or "/" in text or "\\" in text or "." in text or "-" in text:
                for kind, pattern in _SHAPES:
                    for match in pattern.finditer(without_lone_surrogates(text)):
                        self._add(kind, match.group(1).rstrip("."))

    def _add(self, kind: str, name: str) -> None:
        if len(name) >= _MIN_LENGTH and name.casefold() not in _NOBODY and name.casefold() not in self._stand_ins:
            self._numbers[kind] += 1
            suffix = ".example" if kind == _HOST else ""
            self._stand_ins[name.casefold()] = f"{kind}-{self._numbers[kind]}{suffix}"
            self._pattern = None

    def replaced(self, value: Any) -> Any:
        """A JSON value with a stand-in for each name, in keys too."""
        match value:
            case str():
                return self._text(value)
            case list():
                return [self.replaced(item) for item in value]
            case dict():
                return {self._text(str(key)): self.replaced(item) for key, item in value.items()}
        return value

    def _text(self, text: str) -> str:
        if not self._stand_ins:
            return text
        if self._pattern is None:
            names = sorted(self._stand_ins, key=len, reverse=True)
            self._pattern = re.compile(rf"(?i)(?<![A-Za-z0-9])(?:{'|'.join(map(re.escape, names))})(?![A-Za-z0-9])")
        return self._pattern.sub(lambda match: self._stand_ins[match.group(0).casefold()], text)


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from _texts(item)
        case dict():
            for key, item in value.items():
                yield str(key)
                yield from _texts(item)
