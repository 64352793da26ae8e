"""The words of an error that are the same whenever the same call fails in the same way.

What is left out: the values of the call's arguments, as recorded and as sent; values that the servers draw anew each
time; and what looks like a number, a time or a random id.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Final

from replay.dag.documents import leaves
from replay.dag.drift import changed_texts, masked
from replay.outcomes.second_look import bare_code
from replay.records import Answer, Call, Rebinding, Trajectory
from replay.safety.text import cut

_INPUT_ECHO: Final = re.compile(r"input_value=.*?, input_type=\w+")
"""What pydantic shows of the arguments beside a validation error."""
_QUOTED: Final = re.compile(r"\"([^\"\n]+)\"|'([^'\n]+)'|`([^`\n]+)`")
_CUT: Final = re.compile(r"(?:\.\.\.|…)")
_DIGITS: Final = re.compile(r"<(?:random|epoch|float)>|(?<![A-Za-z\d])(?P<code>[A-Z]*)[A-Za-z\d]*\d[A-Za-z\d]*")
"""A number, or a word with a digit in it; of a code such as E1042 the capitals stay."""
_MIN_VALUE_LENGTH: Final = 3
_MIN_DRAWN_LENGTH: Final = 5
"""Of a value that is not known to have been rebound."""
_MAX_LENGTH: Final = 4000


def failure_words(text: str, call: Call, drawn: Collection[str] = ()) -> str:
    """The words of an error without what differs from run to run.

    Names in quotes stay: `'title' is required` is another failure than `'id' is required`.

    Args:
        text: of the error.
        call: with the arguments as they were recorded.
        drawn: what else is left out; see `drawn_values`.
    """
    given = (value for _, value in leaves(call.arguments or {}, enter_texts=False, id_keys=False))
    texts = (value for value in given if isinstance(value, str) and len(value) >= _MIN_VALUE_LENGTH)
    values = sorted({*texts, *drawn}, key=len, reverse=True)
    text = _QUOTED.sub(lambda quoted: " " if _echoes(quoted, values) else quoted[0], _INPUT_ECHO.sub(" ", text))
    for value in values:
        text = text.replace(value, " ")
    code = bare_code(text)
    text = _without_digits(text)
    return cut(" ".join([*text.split(), *([code] if code else [])]), _MAX_LENGTH)


def drawn_values(trajectory: Trajectory, answers: Mapping[str, Answer], rebound: Iterable[Rebinding]) -> frozenset[str]:
    """The values of a trajectory that its servers draw anew each time: ids of what a call made, above all.

    They are those that calls take from earlier answers, those that were rebound, and those in whose place another of
    the same length stands in the replayed answer. A failure is to be told by the same words whether it was replayed or
    only recorded, so what is masked anyway stays.

    Args:
        trajectory: with its data edges.
        answers: the replayed ones, by position.
        rebound: what was replaced in its calls.
    """
    taken = (str(edge.value) for edge in trajectory.edges or () if edge.producer_place == "answer")
    moved = (
        value
        for call in trajectory.calls()
        if call.answer is not None and call.position in answers
        for old, new in changed_texts(call.answer, answers[call.position])
        if len(old) == len(new)
        and not any(map(str.isspace, old + new))
        and _without_digits(old) != _without_digits(new)
        for value in (old, new)
    )
    replaced = (str(value) for one in rebound for value in (one.recorded, one.replayed))
    likely = (value for value in chain(taken, moved) if len(value) >= _MIN_DRAWN_LENGTH)
    return frozenset(value for value in chain(replaced, likely) if len(value) >= _MIN_VALUE_LENGTH)


def _without_digits(text: str) -> str:
    return _DIGITS.sub(lambda match: f"{match['code'] or ''}#", masked(text))


def _echoes(quoted: re.Match[str], values: Sequence[str]) -> bool:
    """Whether a quotation is the value of an argument, or such a value cut off."""
    pieces = [piece for piece in _CUT.split(next(filter(None, quoted.groups()))) if piece]
    return any(all(piece in value for piece in pieces) for value in values)
