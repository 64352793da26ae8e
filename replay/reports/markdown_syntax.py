"""Markdown that shows hostile text literally: nothing of a server's or a model's words is ever markup."""

from __future__ import annotations

import re
from typing import Final

from replay.safety.text import cut, one_line, printable, without_colours

_SPECIAL: Final = re.compile(r"([\\`*_\[\]<>|~$&])")
_LEADING: Final = re.compile(r"^(\d{0,9})([#+=-]|(?<=\d)[.)](?=\s|$))")
"""What makes a heading, a list or a rule at the start of a line."""
_LINKED: Final = re.compile(r"\S*(?:[@#]\w|://|www\.|\bGH-\d|\b[0-9a-f]{7,40}\b)\S*", re.IGNORECASE)
"""What an issue tracker makes a link, or a message to somebody, wherever it stands but in code."""
_TICKS: Final = re.compile(r"`+")
_EDGES: Final = re.compile(r"^[\"'(\[]*|[\"')\].,:;]*$")


def prose(text: str, limit: int | None = None) -> str:
    """Text for a paragraph: on one line, every mark of Markdown escaped, links and mentions as code."""
    flat, parts, end = one_line(without_colours(text), limit), [], 0
    for found in _LINKED.finditer(flat):
        parts += [_escape(flat[end : found.start()]), _linked(found[0])]
        end = found.end()
    return _LEADING.sub(r"\1\\\2", "".join([*parts, _escape(flat[end:])]))


def code(text: str, limit: int | None = None) -> str:
    """Text as a code span: its fence is longer than any run of backticks inside."""
    flat = one_line(text, limit)
    if not flat:
        return "` `"
    fence = "`" * (_longest_run(flat) + 1)
    pad = " " if flat[0] == "`" or flat[-1] == "`" or len(fence) > 1 else ""
    return f"{fence}{pad}{flat}{pad}{fence}"


def block(text: str, language: str = "", limit: int = 4000) -> str:
    """Text as a code block, cut where it is long; its fence is longer than any run of backticks inside."""
    shown = printable(text.replace("\r\n", "\n"))
    too_long = len(shown) > limit
    shown = cut(shown, limit).rstrip("\n") if too_long else shown.rstrip("\n")
    fence = "`" * max(3, _longest_run(shown) + 1)
    note = f"\n\n*Cut after {limit} of {len(text)} characters.*" if too_long else ""
    return f"{fence}{language}\n{shown}\n{fence}{note}"


def cell(markdown: str) -> str:
    """Markdown that stands in a cell of a table: pipes part cells even inside code."""
    return re.sub(r"(?<!\\)\|", r"\\|", markdown).replace("\n", " ")


def details(summary: str, body: str) -> str:
    """A part that is folded away; the summary is Markdown already."""
    return f"<details>\n<summary>{summary}</summary>\n\n{body}\n\n</details>"


def _linked(text: str) -> str:
    """A word that would be linked, as code, with the marks around it left outside."""
    head, tail = _EDGES.match(text), _EDGES.search(text, max(len(text) - 4, 0))
    start = head.end() if head else 0
    stop = max(start + 1, tail.start() if tail else len(text))
    return f"{_escape(text[:start])}{code(text[start:stop])}{_escape(text[stop:])}"


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


def _longest_run(text: str) -> int:
    return max((len(run) for run in _TICKS.findall(text)), default=0)
