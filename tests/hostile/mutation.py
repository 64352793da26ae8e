"""Seeds and what is near them: values replaced, wrapped, moved, repeated, renamed or dropped, and bytes changed.

A seed is kept as the values of its file. A mutation copies only the way to the place that it changes, so that ten
thousand inputs a second can be had of files of a few kilobytes.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from replay.json_values import parse_json
from tests.hostile.modes import PAYLOADS

_TOKEN: Final = "@@here@@"
_MAX_PATHS: Final = 600
_MAX_PAYLOAD: Final = 20_000
_HEAVY_SHARE: Final = 0.03
_PAYLOADS: Final[dict[str, str]] = {name: make()[:_MAX_PAYLOAD] for name, make in PAYLOADS.items()}
_HEAVY: Final = tuple(text for text in _PAYLOADS.values() if len(text) > 1000)
_LIGHT: Final = tuple(text for text in _PAYLOADS.values() if len(text) <= 1000)
_SCALARS: Final[tuple[Any, ...]] = (
    None, True, False, 0, -1, 7, 2**63, -(2**200), 1.5, 1e300, float("nan"), float("-inf"), "", " ", "x", "null", "0",
    "1e999", "9" * 5000, "\ud800", "\u2028\u202e", "2026-13-45T99:00:00Z", "9999-12-31T23:59:59-23:59", "[" * 300,
    "\x00\x1b[2J", "a/b__c:d", "${X}", "../../etc/passwd", [], {}, [None], [[]], [{}], {"": ""}, {"a": {"b": [1]}},
    ["x"], [1, 2], {"text": 5}, {"type": []}, {"id": {}}, {"role": {}}, {"content": {"content": [{}]}},
)  # fmt: skip
_BYTES: Final = (b"\xff", b"\x00", b"[", b"{", b'"', b"}", b"]", b",", b"\\", b"\n", b"\xe2\x80\xa8", b"\xed\xa0\x80",
                 b"\\ud800", b"\xef\xbb\xbf")  # fmt: skip

Path = tuple[Any, ...]


@dataclass
class Seed:
    """One input to begin with: its values, one after the other, or bytes that are not JSON."""

    values: list[Any] = field(default_factory=list)
    data: bytes = b""
    paths: list[Path] = field(default_factory=list)
    separator: bytes = b"\n"

    @classmethod
    def of(cls, data: bytes) -> Seed:
        """The seed of a file's bytes."""
        try:
            values = [parse_json(data)]
        except ValueError:
            try:
                values = [parse_json(line) for line in data.split(b"\n") if line.strip()]
            except ValueError:
                values = []
        paths = _paths(values)
        return cls(values, data, paths)


def _paths(values: list[Any]) -> list[Path]:
    found: list[Path] = []
    waiting: list[tuple[Path, Any]] = [((number,), value) for number, value in enumerate(values)]
    while waiting and len(found) < _MAX_PATHS:
        path, value = waiting.pop(0)
        found.append(path)
        waiting += [((*path, key), item) for key, item in _members(value)]
    return found


def _members(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)


def small(value: Any, dice: random.Random, *, items: int, letters: int) -> Any:
    """The value with at most so many items in a row of each list, and so many letters of each text."""
    if isinstance(value, dict):
        return {key: small(item, dice, items=items, letters=letters) for key, item in value.items()}
    if isinstance(value, list):
        start = dice.randrange(max(len(value) - items, 0) + 1)
        return [small(item, dice, items=items, letters=letters) for item in value[start : start + items]]
    if isinstance(value, str) and len(value) > letters:
        if value[:1] in "[{":
            try:
                return json.dumps(small(json.loads(value), dice, items=items, letters=letters))
            except ValueError:
                pass
        return value[:letters]
    return value


class Mutator:
    """Makes inputs of the seeds of one door.

    Args:
        seeds: at least one.
        dice: what is chosen by chance.
    """

    def __init__(self, seeds: Sequence[Seed], dice: random.Random) -> None:
        self.seeds = list(seeds)
        self._first = len(self.seeds)
        self._dice = dice
        self._heavy = False

    def add(self, data: bytes) -> None:
        """Mutate this one as well from now on."""
        self.seeds.append(Seed.of(data))

    def input(self) -> bytes:
        """The next input."""
        dice = self._dice
        # half of all from what it began with: what was added since is mostly what no reader takes any more
        seed = self.seeds[dice.randrange(self._first)] if dice.random() < 0.5 else dice.choice(self.seeds)
        if not seed.values:
            return self._changed_bytes(seed.data)
        values = seed.values
        self._heavy = dice.random() < _HEAVY_SHARE
        payloads: list[str] = []
        for _ in range(dice.choice((1, 1, 1, 2, 2, 4))):
            values = self._changed(values, dice.choice(seed.paths), payloads)
        ascii_only = dice.random() < 0.5
        text = seed.separator.decode().join(json.dumps(value, ensure_ascii=ascii_only) for value in values)
        for payload in payloads:
            text = text.replace(f'"{_TOKEN}"', payload, 1)
        data = text.encode("utf-8", "surrogatepass")
        return self._changed_bytes(data) if dice.random() < 0.1 else data

    def _changed(self, values: list[Any], path: Path, payloads: list[str]) -> list[Any]:
        """The values with another one at a path; the same where the path is gone."""
        copy = list(values)
        holder: Any = copy
        try:
            for key in path[:-1]:
                holder[key] = dict(holder[key]) if isinstance(holder[key], dict) else list(holder[key])
                holder = holder[key]
            self._change(holder, path[-1], payloads)
        except (LookupError, TypeError):
            return values
        return copy

    def _change(self, holder: Any, key: Any, payloads: list[str]) -> None:
        dice = self._dice
        change = dice.choices(_CHANGES, _WEIGHTS)[0]
        if change == "payload":
            payloads.append(dice.choice(_HEAVY if self._heavy else _LIGHT))
            holder[key] = _TOKEN
        elif change == "other":
            holder[key] = self._from_elsewhere()
        elif change == "drop":
            del holder[key]
        elif change == "swap":
            other = dice.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
            holder[key], holder[other] = holder[other], holder[key]
        elif change == "repeat" and isinstance(holder, list):
            holder[key:key] = [holder[key]] * dice.choice((1, 2, 50))
        elif change == "rename" and isinstance(holder, dict):
            holder[self._some_key()] = holder.pop(key)
        elif change == "add" and isinstance(holder[key], dict):
            holder[key] = {**holder[key], self._some_key(): self._from_elsewhere()}
        else:
            holder[key] = _REWRITES[dice.randrange(len(_REWRITES))](holder[key], dice)

    def _from_elsewhere(self) -> Any:
        seed = self._dice.choice(self.seeds)
        if not seed.paths:
            return None
        value: Any = seed.values
        for key in self._dice.choice(seed.paths):
            value = value[key]
        return value

    def _some_key(self) -> str:
        seed = self._dice.choice(self.seeds)
        keys = [path[-1] for path in self._dice.choices(seed.paths, k=4) if path and isinstance(path[-1], str)]
        return keys[0] if keys else "x"

    def _changed_bytes(self, data: bytes) -> bytes:
        dice = self._dice
        changed = bytearray(data or b"{}")
        for _ in range(dice.choice((1, 1, 2, 4))):
            place = dice.randrange(len(changed) or 1)
            match dice.randrange(6):
                case 0 if changed:
                    changed[place] = dice.randrange(256)
                case 1:
                    del changed[place : place + dice.randrange(1, 40)]
                case 2 | 3:
                    changed[place:place] = dice.choice(_BYTES)
                case 4:
                    changed[place:place] = changed[place : place + dice.randrange(200)]
                case _:
                    changed = changed[:place] if dice.random() < 0.5 else changed
        return bytes(changed)


_CHANGES: Final = ("scalar", "payload", "other", "drop", "swap", "repeat", "rename", "add")
_WEIGHTS: Final = (7, 2, 3, 3, 2, 1, 2, 1)


def _parsed(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _inside_text(value: Any, dice: random.Random) -> Any:
    """The JSON in a text with one of its values replaced."""
    inner = _parsed(value)
    if not isinstance(value, str) or not isinstance(inner, dict | list) or not inner:
        return json.dumps(value)
    key = dice.choice(list(inner) if isinstance(inner, dict) else range(len(inner)))
    inner[key] = dice.choice(_SCALARS)
    return json.dumps(inner)


_REWRITES: Final[tuple[Callable[[Any, random.Random], Any], ...]] = (
    lambda value, dice: dice.choice(_SCALARS),
    lambda value, dice: dice.choice(_SCALARS),
    lambda value, dice: dice.choice(_SCALARS),
    lambda value, dice: [value],
    lambda value, dice: {"error": value},
    lambda value, dice: json.dumps(value),
    lambda value, dice: _parsed(value),
    lambda value, dice: str(value),
    _inside_text,
)
