"""What of a call's own arguments an answer says again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from replay.outcomes.names import read_name
from replay.records import Call, Tool

_MOST_VALUES = 200
_LONGEST_VALUE = 2000
_TOKEN = re.compile(r"[^\s\"'`=,;()<>|{}\[\]]{3,200}")


class Mentions:
    """The scalars in a call's arguments, ready to be looked for in a text."""

    def __init__(self, call: Call, tool: Tool | None = None) -> None:
        self.tool_name = tool.name if tool else call.tool or (read_name(call.name, ()).tool if call.name else "")
        self.written_name = call.name or ""
        scalars = list(_limited(call.arguments))
        self.argument_names = tuple(call.arguments or {})
        self.by_name = {name: value for name, value in (call.arguments or {}).items() if isinstance(value, str)}
        self.texts = tuple(sorted({text.strip() for text in scalars if isinstance(text, str)} - {""}, key=len)[::-1])
        self._numbers = tuple(str(number) for number in scalars if not isinstance(number, str | bool))

    def tool_named_in(self, text: str) -> bool:
        """Whether the text names the tool, or the call's name as written."""
        return any(len(name) > 1 and name in text for name in (self.tool_name, self.written_name))

    def arguments_named_in(self, text: str) -> bool:
        """Whether the text names an argument in quotes, or two of them."""
        if any(re.search(rf"['\"`]{re.escape(name)}['\"`]", text) for name in self.argument_names):
            return True
        return (
            sum(bool(re.search(rf"\b{re.escape(name)}\b", text)) for name in self.argument_names if len(name) > 2) > 1
        )

    def value_named_in(self, text: str) -> bool:
        """Whether the text names an argument's value: a string, a word or the last path segment of one, or a number."""
        folded = text.casefold()
        if any(_holds_token(folded, token) for token in self._tokens()):
            return True
        if self.value_quoted_in(text):
            return True
        return any(re.search(rf"(?<![\w.]){re.escape(number)}(?![\w.]*\d)", text) for number in self._numbers)

    def value_quoted_in(self, text: str) -> bool:
        """Whether the text holds a word of an argument's value in quotes."""
        quoted = re.findall(r"['\"`]([\w.-]{1,60})['\"`]", text[:2000])
        return any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", value) for word in quoted[:20] for value in self.texts)

    def without_values(self, text: str, shortest: int = 6) -> str:
        """The text without the argument strings of at least `shortest` characters."""
        for value in self.texts:
            if len(value) >= shortest:
                text = text.replace(value, " ")
        return text

    def says_only_values(self, text: str) -> bool:
        """Whether nothing but argument values, and marks around them, stands in the text; a last slash is one."""
        rest = self.without_values(text, shortest=1)
        for value in self.texts:
            rest = rest.replace(value.rstrip("/\\") or value, " ")
        return rest != text and not re.search(r"\w", rest)

    def _tokens(self) -> Iterator[str]:
        for value in self.texts:
            folded = value.casefold()
            yield folded
            for token in _TOKEN.findall(folded)[:100]:
                yield token
                if "/" in token or "\\" in token:
                    yield re.split(r"[/\\]", token.rstrip("/\\"))[-1]


def _holds_token(text: str, token: str) -> bool:
    if len(token) < 3 or token not in text:
        return False
    return len(token) >= 8 or re.search(rf"(?<!\w){re.escape(token)}(?!\w)", text) is not None


def _limited(value: Any) -> Iterator[Any]:
    for scalar in islice(_scalars(value), _MOST_VALUES):
        yield scalar[:_LONGEST_VALUE] if isinstance(scalar, str) else scalar


def _scalars(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from _scalars(part)
    elif value is not None:
        yield value
