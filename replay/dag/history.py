"""What was known when: the question, then each step's arguments and answers, searchable by value."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from replay.dag.documents import Document, arguments_document, document_of, words_of
from replay.dag.mentions import Mention, mentions_of
from replay.dag.outputs import failed_visibly, outputs_of, rewrites
from replay.dag.value_matching import occurrences
from replay.records import Call, Task, Trajectory

__all__ = ["Entry", "History", "Output"]

_MOST_CANDIDATES: Final = 600


@dataclass(frozen=True)
class Entry:
    """The arguments or the answer of one call."""

    step: int
    call: Call
    place: Literal["answer", "arguments"]
    document: Document


@dataclass(frozen=True)
class Output:
    """A path or a name that a call will leave behind."""

    step: int
    call: Call
    pointer: str


class History:
    """Looks up who held a value first.

    The word index keeps only words that some argument mentions, so its size does not grow with the answers.
    """

    def __init__(self, trajectory: Trajectory) -> None:
        self.mentions: dict[str, tuple[Mention, ...]] = {
            call.position: tuple(mentions_of(call)) for call in trajectory.calls()
        }
        self._question = _question_text(trajectory.task)
        self._years = sorted(_YEAR.findall(self._question))
        self._entries: list[Entry] = []
        self._written: dict[str, int] = {}
        self._with_word: dict[str, list[int]] = defaultdict(list)
        self._outputs: dict[str, list[Output]] = defaultdict(list)
        wanted = frozenset(
            word for mentions in self.mentions.values() for mention in mentions for word in words_of(mention.text)
        )
        for number, step in enumerate(trajectory.steps):
            for call in step.calls:
                self._add(Entry(number, call, "arguments", arguments_document(call)), wanted)
                for pointer, value in outputs_of(call):
                    self._outputs[value].append(Output(number, call, pointer))
            for call in step.calls:
                if call.answer is not None:
                    self._add(Entry(number, call, "answer", document_of(call.answer)), wanted)

    def _add(self, entry: Entry, wanted: frozenset[str]) -> None:
        words = entry.document.words()
        for word in words & wanted:
            self._with_word[word].append(len(self._entries))
        if entry.place == "arguments":
            for word in words:
                self._written.setdefault(word.lower(), entry.step)
        self._entries.append(entry)

    def entries(self) -> Iterator[Entry]:
        """All of them, in order of time."""
        return iter(self._entries)

    def asked(self, value: str) -> bool:
        """Whether the question holds the value, in whatever case."""
        folded = _squeezed(value)
        return (
            any(True for _ in occurrences(self._question, folded))
            or _asked_date(self._question, folded)
            or self._asked_year(folded)
        )

    def _asked_year(self, value: str) -> bool:
        """A year of a span that the question names by its ends."""
        return _YEAR.fullmatch(value) is not None and bool(self._years) and self._years[0] < value < self._years[-1]

    def holders(self, value: str, before: int) -> Iterator[Entry]:
        """The arguments and answers of earlier steps that hold the value, in order of time."""
        for number in self._candidates(value):
            entry = self._entries[number]
            if entry.step >= before:
                return
            if value in entry.document:
                yield entry

    def first(self, value: str, before: int) -> Entry | None:
        """Who held the value first."""
        return next(self.holders(value, before), None)

    def maker(self, value: str, before: int) -> Output | None:
        """The earlier call that made what the value names: the first that did not visibly fail, else the first."""
        earlier = [output for output in self._outputs.get(value, ()) if output.step < before]
        good = (output for output in earlier if not failed_visibly(output.call.answer))
        return next(good, None) or next(iter(earlier), None)

    def makes_anew(self, call: Call, value: str, maker: Call) -> bool:
        """Whether a call needs nothing of what the maker left in this place, because it makes it itself."""
        return rewrites(call, maker) and any(output.call is call for output in self._outputs.get(value, ()))

    def was_written(self, word: str, step: int) -> bool:
        """Whether the arguments of a step, or of one before it, hold a word in whatever case."""
        return self._written.get(word.lower(), step + 1) <= step

    def _candidates(self, value: str) -> list[int]:
        postings = sorted((self._with_word.get(word, []) for word in words_of(value)), key=len)
        if not postings:
            return []
        common = postings[0]
        for posting in postings[1:]:
            held = set(posting)
            common = [number for number in common if number in held]
        return common[:_MOST_CANDIDATES]


def _question_text(task: Task) -> str:
    return _squeezed("\n".join([task.question or "", *task.images]))


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().lower()


_YEAR: Final = re.compile(r"\b(?:19|20)\d\d\b")
_ISO_DATE: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:t[\d:.]+z?)?")
_MONTHS: Final = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]


def _asked_date(question: str, value: str) -> bool:
    """An ISO date whose year, month and day the question spells in another way."""
    match = _ISO_DATE.fullmatch(value)
    if match is None or match[1] not in question or not 1 <= int(match[2]) <= 12:
        return False
    month, day = _MONTHS[int(match[2]) - 1], str(int(match[3]))
    return month[:3] in question and any(True for _ in occurrences(question, day))
