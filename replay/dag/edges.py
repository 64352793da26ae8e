"""Which call gave which value to which."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, Literal

from replay.dag.history import Entry, History, Output
from replay.dag.mentions import Mention
from replay.dag.outputs import is_maker
from replay.dag.uninformative_values import is_constant, is_id, is_plain_word, is_random, is_weak
from replay.dag.workspace_roots import ancestors, roots_of
from replay.records import Call, DataEdge, Trajectory

__all__ = ["infer_edges"]

_CROWDED: Final = 5000
"""Characters of an answer beyond which a number of few digits stands in it by chance."""
_LISTED: Final = r"(?m)(?:^|[\]\s>│├└─|/'\"]){}/?['\"]?\s*$"


def infer_edges(
    trajectory: Trajectory, *, place: Literal["recorded", "arguments"] = "recorded"
) -> tuple[DataEdge, ...]:
    """The data edges of a trajectory, ordered by consumer.

    A value makes an edge where a call's arguments hold it, whole or inside a longer text, the question does not hold
    it, and an earlier step's answer held it before any call's arguments did; or where it is a path or a name that an
    earlier call was told to make. Constants, and the workspace's own directory, make none.

    Args:
        trajectory: with its recorded answers where it has them.
        place: `recorded` looks at recorded answers and arguments, `arguments` at arguments alone.
    """
    if place == "arguments":
        trajectory = _without_answers(trajectory)
    history = History(trajectory)
    finder = _Finder(history)
    return tuple(
        edge for number, step in enumerate(trajectory.steps) for call in step.calls for edge in finder.of(call, number)
    )


def _without_answers(trajectory: Trajectory) -> Trajectory:
    steps = tuple(
        step.model_copy(update={"calls": tuple(call.model_copy(update={"answer": None}) for call in step.calls)})
        for step in trajectory.steps
    )
    return trajectory.model_copy(update={"steps": steps})


class _Finder:
    """Finds the producers of one call's values after another's."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._roots = roots_of(history)

    def of(self, call: Call, step: int) -> Iterator[DataEdge]:
        """The edges into a call, each once."""
        mentions = [
            mention
            for mention in self._history.mentions[call.position]
            if mention.text not in self._roots and not self._history.asked(mention.text)
        ]
        favourite = self._votes(mentions, step)
        edges: list[DataEdge] = []
        for mention in mentions:
            found = self._path(call, mention, step) if mention.path else self._value(call, mention, step, favourite)
            edges.extend(edge for edge in found if not _covered(edge, edges))
        yield from edges

    def _path(self, call: Call, mention: Mention, step: int) -> Iterator[DataEdge]:
        path, history = mention.text, self._history
        maker = self._maker(path, step)
        anew = maker is not None and history.makes_anew(call, path, maker.call)
        if maker is not None and not anew:
            yield _made(call, mention, maker, path)
            return
        first = history.first(path, step)
        if first is not None and first.place == "answer":
            if not self._is_given(path):
                yield _held(call, mention, first, path, "certain")
            return
        yield from self._directory(call, mention, step)
        if not anew:
            yield from self._file_name(call, mention, step)

    def _is_given(self, path: str) -> bool:
        """A directory of the workspace that the question names."""
        directory, _, name = path.rpartition("/")
        return directory in self._roots and "." not in name and self._history.asked(name)

    def _maker(self, path: str, step: int) -> Output | None:
        """Who made a path, unless its place was known before and the maker only changed it, or was a program."""
        maker = self._history.maker(path, step)
        if maker is None or (_runs(maker) and self._is_given(path)):
            return None
        if is_maker(maker.call):
            return maker
        for value in (path, path.rpartition("/")[2]):
            first = None if self._history.asked(value) else self._history.first(value, maker.step)
            if first is not None and (first.place == "answer" or (_runs(maker) and first.call.name != maker.call.name)):
                return None
        return maker

    def _directory(self, call: Call, mention: Mention, step: int) -> Iterator[DataEdge]:
        for above in ancestors(mention.text):
            if above in self._roots or self._history.asked(above) or is_constant(above) or above.endswith(":/"):
                return
            maker = self._maker(above, step)
            if maker is not None:
                yield _made(call, mention, maker, above)
                return
            first = self._history.first(above, step)
            if self._is_given(above):
                return
            if first is not None and first.place == "answer" and above.startswith(("/", "~", "http")):
                yield _held(call, mention, first, above, "certain")
                return

    def _file_name(self, call: Call, mention: Mention, step: int) -> Iterator[DataEdge]:
        """A listing gives names, or paths that start further down."""
        names = mention.text.strip("/").split("/")
        for start in range(1 if mention.text.startswith(("/", "~", ".")) else 0, len(names)):
            tail = "/".join(names[start:])
            if tail == mention.text or is_constant(tail) or self._history.asked(tail):
                continue
            first = self._history.first(tail, step)
            if first is not None and first.place == "answer":
                if _is_listed(first, tail):
                    yield _held(call, mention, first, tail, "likely")
                return

    def _value(self, call: Call, mention: Mention, step: int, favourite: Counter[str]) -> Iterator[DataEdge]:
        text = mention.text
        first = self._history.first(text, step)
        if first is None:
            return
        if first.place == "arguments":
            maker = self._history.maker(text, step)
            if maker is not None and not self._history.makes_anew(call, text, maker.call):
                yield _made(call, mention, maker, mention.value)
            return
        if text.isalpha() and self._history.was_written(text, first.step):
            return
        source = self._favoured(text, step, favourite) if is_weak(text) else self._source(mention, step)
        if source is not None and _believable(mention, source):
            sure = source.document.is_scalar(text) or is_random(text) or (mention.whole and is_id(text))
            certainty: Literal["certain", "likely"] = "certain" if sure and not is_weak(text) else "likely"
            yield _held(call, mention, source, mention.value, certainty)

    def _source(self, mention: Mention, step: int) -> Entry | None:
        """The first answer that holds the value in a way that can be believed, before any arguments do."""
        for entry in self._history.holders(mention.text, step):
            if entry.place == "arguments":
                return None
            if _believable(mention, entry):
                return entry
        return None

    def _votes(self, mentions: list[Mention], step: int) -> Counter[str]:
        """For how many of a call's values each earlier answer could be the source."""
        weak = {mention.text for mention in mentions if not mention.path and is_weak(mention.text)}
        votes: Counter[str] = Counter()
        for text in weak:
            votes.update(entry.call.position for entry in self._history.holders(text, step) if entry.place == "answer")
        return votes

    def _favoured(self, text: str, step: int, votes: Counter[str]) -> Entry | None:
        holders = [entry for entry in self._history.holders(text, step) if entry.place == "answer"]
        best = max(holders, key=lambda entry: votes[entry.call.position], default=None)
        if best is None or best.document.is_scalar(text) or votes[best.call.position] > 1:
            return best
        return best if len(best.document.text) <= _CROWDED else None


def _runs(output: Output) -> bool:
    """Whether the path was found inside a program, which may as well read it."""
    text = output.call.arguments or {}
    return any(
        (isinstance(value, str) and len(value) > 500) or key in {"command", "code"} for key, value in text.items()
    )


def _believable(mention: Mention, entry: Entry) -> bool:
    text, document = mention.text, entry.document
    if document.is_scalar(text):
        return mention.whole or not is_plain_word(text)
    if mention.whole:
        return not is_plain_word(text)
    return is_id(text)


def _is_listed(entry: Entry, name: str) -> bool:
    """A name like any other word counts only where it stands as a listing would have it."""
    if re.search(r"[\d_.-]|/", name) or entry.document.is_scalar(name):
        return True
    return re.search(_LISTED.format(re.escape(name)), entry.document.text) is not None


def _covered(edge: DataEdge, edges: list[DataEdge]) -> bool:
    """A part of a value that the same answer already gave as a whole."""
    return any(
        other.producer_place == "answer"
        and other.consumer_pointer == edge.consumer_pointer
        and str(edge.value) in str(other.value)
        for other in edges
    )


def _made(call: Call, mention: Mention, maker: Output, value: Any) -> DataEdge:
    whole = maker.call.arguments is not None and mention.path
    return DataEdge(
        producer=maker.call.position,
        producer_place="arguments",
        producer_pointer=maker.pointer,
        consumer=call.position,
        consumer_pointer=mention.pointer,
        value=value,
        certainty="certain" if whole and not _runs(maker) else "likely",
    )


def _held(call: Call, mention: Mention, entry: Entry, value: Any, certainty: Literal["certain", "likely"]) -> DataEdge:
    return DataEdge(
        producer=entry.call.position,
        producer_pointer=entry.document.find(str(value).strip()) or "",
        consumer=call.position,
        consumer_pointer=mention.pointer,
        value=value,
        certainty=certainty,
    )
