"""A trajectory as a graph: which values flowed from which call into which, and the graph over these data edges.

An edge runs from the call that first held a value to a call whose arguments mention it. What the question gave, and the
directory that everybody works in, tell nothing.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from itertools import combinations
from typing import Any, Final, Literal

from replay.dag.candidate_values import (
    CandidateValue,
    ancestors,
    is_common_number,
    is_id,
    is_plain_word,
    is_random,
    is_uninformative,
)
from replay.dag.causes import cause_links, missing_paths, passes_failure_on
from replay.dag.history import Entry, Output, ValueHistory, is_maker
from replay.records import Call, DataEdge, Outcome, Trajectory

_ANNOUNCED_ROOT: Final = r"(?i)(?:allowed director|working director|workspace|cwd)[^/\n]{0,20}\s*(/[^\s'\"\\]+)"
_COMMON_ROOTS: Final = frozenset(
    {"/", "/tmp", "/home", "/root", "/workspace", "/data", "/mnt", "/var", "/usr", ".", "./"}  # noqa: S108
)
_MIN_SHARE: Final = 0.8
_MIN_PATHS: Final = 3
_MAX_LENGTH_FOR_COMMON_NUMBERS: Final = 5000
"""Characters of an answer beyond which a number of few digits stands in it by chance."""
_NAMES_AN_ID: Final = re.compile(r"(?:[_/-][Ii]d|[a-z](?:Id|ID))s?(?:/\d+)?$")
"""A pointer to an argument that is an id by its name."""
_LISTING_LINE: Final = r"(?m)(?:^|[\]\s>│├└─|/'\"]){}/?['\"]?\s*$"


class Graph:
    """The data edges of a trajectory.

    Args:
        trajectory: its own `edges` are used, or inferred when they are asked for where it has none.
    """

    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory
        self.known_edges = trajectory.edges
        """Those that are given, or were inferred by now."""
        self.steps: tuple[tuple[str, ...], ...] = tuple(
            tuple(call.position for call in step.calls) for step in trajectory.steps
        )
        """The positions of each step's calls."""
        self._order = {
            position: number for number, position in enumerate(p for positions in self.steps for p in positions)
        }
        """The calls, each after those that it depends on."""
        self._step_of = {position: number for number, positions in enumerate(self.steps) for position in positions}

    @property
    def edges(self) -> tuple[DataEdge, ...]:
        """All of them."""
        if self.known_edges is None:
            self.known_edges = infer_edges(self.trajectory)
        return self.known_edges

    def into(self, position: str) -> tuple[DataEdge, ...]:
        """The edges that a call's arguments depend on."""
        return self._into.get(position, ())

    def ancestors(self, position: str) -> tuple[str, ...]:
        """The calls that a call depends on, near or far, in order."""
        reached = {position}
        for call in reversed(self._order):
            if call in reached:
                reached.update(edge.producer for edge in self.into(call))
        return self._sorted(reached - {position})

    def dependents(self, position: str) -> tuple[str, ...]:
        """The calls that depend on a call, near or far, in order."""
        reached = {position}
        for call in self._order:
            if any(edge.producer in reached for edge in self.into(call)):
                reached.add(call)
        return self._sorted(reached - {position})

    @property
    def is_multi_hop(self) -> bool:
        """Two or more steps, and an edge across them."""
        return any(self._step_of[edge.producer] != self._step_of[edge.consumer] for edge in self.edges)

    @property
    def is_multi_threaded(self) -> bool:
        """Two calls in a step with no edge between them."""
        linked = {(edge.producer, edge.consumer) for edge in self.edges}
        return any(
            (first, second) not in linked and (second, first) not in linked
            for positions in self.steps
            for first, second in combinations(positions, 2)
        )

    @property
    def depth(self) -> int:
        """Number of steps."""
        return len(self.steps)

    @property
    def width(self) -> int:
        """Most calls in one step."""
        return max(map(len, self.steps), default=0)

    @property
    def longest_chain(self) -> int:
        """Most calls on a path of data edges; 0 without calls."""
        lengths: dict[str, int] = {}
        for call in self._order:
            lengths[call] = 1 + max((lengths.get(edge.producer, 0) for edge in self.into(call)), default=0)
        return max(lengths.values(), default=0)

    def root_cause(self, position: str, failed: Mapping[str, Outcome]) -> str | None:
        """The earliest failed call that a failed call depends on through failed calls, or None.

        Beside the data edges this follows who was to make what a call names (`replay.dag.causes`).

        Args:
            position: of the failed call.
            failed: the outcomes of all failed calls.
        """
        seen, pending = {position}, [position]
        while pending:
            current = pending.pop()
            missing = missing_paths(self._calls[current])
            producers = dict.fromkeys(edge.producer for edge in self.into(current) if _bears_on(edge, missing))
            for earlier in (*producers, *self._causes.get(current, ())):
                edges = (edge for edge in self.into(current) if edge.producer == earlier)
                outcome = failed.get(current, Outcome.NOT_FOUND)
                if (
                    earlier in failed
                    and earlier not in seen
                    and passes_failure_on(self._calls[earlier], outcome, edges)
                ):
                    seen.add(earlier)
                    pending.append(earlier)
        return min(seen - {position}, key=self._order.__getitem__, default=None)

    @cached_property
    def _calls(self) -> dict[str, Call]:
        return {call.position: call for call in self.trajectory.calls()}

    @cached_property
    def _into(self) -> dict[str, tuple[DataEdge, ...]]:
        grouped: dict[str, list[DataEdge]] = {}
        for edge in self.edges:
            grouped.setdefault(edge.consumer, []).append(edge)
        return {position: tuple(edges) for position, edges in grouped.items()}

    @cached_property
    def _causes(self) -> dict[str, tuple[str, ...]]:
        return cause_links(self.trajectory)

    def _sorted(self, positions: set[str]) -> tuple[str, ...]:
        return tuple(sorted(positions, key=self._order.__getitem__))


def _bears_on(edge: DataEdge, missing: Collection[str]) -> bool:
    """Whether a value can be what a call failed for: of a path that its answer says is missing, it must be a part."""
    given = edge.producer_place == "arguments" and isinstance(edge.value, str)
    return not missing or not given or any(edge.value.strip().rstrip("/") in path for path in missing)


def infer_edges(trajectory: Trajectory) -> tuple[DataEdge, ...]:
    """The data edges of a trajectory, ordered by consumer.

    A value makes an edge where a call's arguments hold it, whole or inside a longer text, the question does not hold
    it, and an earlier step's answer held it before any call's arguments did; or where it is a path or a name that an
    earlier call was told to make. Constants, and the workspace's own directory, make none.
    """
    finder = _EdgeFinder(ValueHistory(trajectory))
    return tuple(
        edge
        for number, step in enumerate(trajectory.steps)
        for call in step.calls
        for edge in finder.edges_into(call, number)
    )


class _EdgeFinder:
    """Finds the producers of one call's values after another's."""

    def __init__(self, history: ValueHistory) -> None:
        self._history = history
        self._roots = roots_of(history)

    def edges_into(self, call: Call, step: int) -> Iterator[DataEdge]:
        """The edges into a call, each once."""
        if step == 0:  # nothing came before
            return
        candidates = [
            candidate
            for candidate in self._history.candidates[call.position]
            if candidate.text not in self._roots and not self._history.is_in_question(candidate.text)
        ]
        source_scores = self._source_scores(candidates, step)
        edges: list[DataEdge] = []
        given: dict[str, str] = defaultdict(str)
        """What answers gave to each place, one below the other."""
        for candidate in candidates:
            found = (
                self._path(call, candidate, step)
                if candidate.path
                else self._value(call, candidate, step, source_scores)
            )
            for edge in found:
                value = str(edge.value)
                if value in given[edge.consumer_pointer]:  # a part of what an answer gave as a whole
                    continue
                edges.append(edge)
                if edge.producer_place == "answer":
                    given[edge.consumer_pointer] += f"\x00\x00{value}"
        yield from edges

    def _path(self, call: Call, candidate: CandidateValue, step: int) -> Iterator[DataEdge]:
        path, history = candidate.text, self._history
        maker = self._maker(path, step)
        recreated = maker is not None and history.recreates(call, path, maker.call)
        if maker is not None and not recreated:
            yield _edge_from_output(call, candidate, maker, path)
            return
        first = history.first(path, step)
        if first is not None and first.place == "answer":
            if not self._is_given_by_question(path):
                yield _edge_from_answer(call, candidate, first, path, "certain")
            return
        yield from self._directory(call, candidate, step)
        if not recreated:
            yield from self._file_name(call, candidate, step)

    def _is_given_by_question(self, path: str) -> bool:
        """A directory of the workspace that the question names."""
        directory, _, name = path.rpartition("/")
        return directory in self._roots and "." not in name and self._history.is_in_question(name)

    def _maker(self, path: str, step: int) -> Output | None:
        """Who made a path, unless its place was known before and the maker only changed it, or was a program."""
        maker = self._history.maker(path, step)
        if maker is None or (_is_inside_a_program(maker) and self._is_given_by_question(path)):
            return None
        if is_maker(maker.call):
            return maker
        for value in (path, path.rpartition("/")[2]):
            first = None if self._history.is_in_question(value) else self._history.first(value, maker.step)
            if first is not None and (
                first.place == "answer" or (_is_inside_a_program(maker) and first.call.name != maker.call.name)
            ):
                return None
        return maker

    def _directory(self, call: Call, candidate: CandidateValue, step: int) -> Iterator[DataEdge]:
        for above in ancestors(candidate.text):
            if (
                above in self._roots
                or self._history.is_in_question(above)
                or is_uninformative(above)
                or above.endswith(":/")
            ):
                return
            maker = self._maker(above, step)
            if maker is not None:
                yield _edge_from_output(call, candidate, maker, above)
                return
            first = self._history.first(above, step)
            if self._is_given_by_question(above):
                return
            if first is not None and first.place == "answer" and above.startswith(("/", "~", "http")):
                yield _edge_from_answer(call, candidate, first, above, "certain")
                return

    def _file_name(self, call: Call, candidate: CandidateValue, step: int) -> Iterator[DataEdge]:
        """A listing gives names, or paths that start further down."""
        names = candidate.text.strip("/").split("/")
        for start in range(1 if candidate.text.startswith(("/", "~", ".")) else 0, len(names)):
            tail = "/".join(names[start:])
            if tail == candidate.text or is_uninformative(tail) or self._history.is_in_question(tail):
                continue
            first = self._history.first(tail, step)
            if first is not None and first.place == "answer":
                if _is_listed(first, tail):
                    yield _edge_from_answer(call, candidate, first, tail, "likely")
                return

    def _value(
        self, call: Call, candidate: CandidateValue, step: int, source_scores: Counter[str]
    ) -> Iterator[DataEdge]:
        text = candidate.text
        first = self._history.first(text, step)
        if first is None:
            return
        if first.place == "arguments":
            maker = self._history.maker(text, step)
            if maker is not None and not self._history.recreates(call, text, maker.call):
                yield _edge_from_output(call, candidate, maker, candidate.value)
            return
        if text.isalpha() and self._history.was_in_arguments(text, first.step):
            return
        source = (
            self._best_source(text, step, source_scores) if is_common_number(text) else self._source(candidate, step)
        )
        if source is not None and _is_plausible(candidate, source):
            sure = source.document.is_scalar(text) or is_random(text) or (candidate.whole and is_id(text))
            certainty: Literal["certain", "likely"] = "certain" if sure and not is_common_number(text) else "likely"
            yield _edge_from_answer(call, candidate, source, candidate.value, certainty)

    def _source(self, candidate: CandidateValue, step: int) -> Entry | None:
        """The first answer that holds the value in a way that can be believed, before any arguments do."""
        for entry in self._history.holders(candidate.text, step):
            if entry.place == "arguments":
                return None
            if _is_plausible(candidate, entry):
                return entry
        return None

    def _source_scores(self, candidates: list[CandidateValue], step: int) -> Counter[str]:
        """For how many of a call's values each earlier answer could be the source."""
        weak = {candidate.text for candidate in candidates if not candidate.path and is_common_number(candidate.text)}
        scores: Counter[str] = Counter()
        for text in weak:
            scores.update(entry.call.position for entry in self._history.holders(text, step) if entry.place == "answer")
        return scores

    def _best_source(self, text: str, step: int, scores: Counter[str]) -> Entry | None:
        holders = [entry for entry in self._history.holders(text, step) if entry.place == "answer"]
        best_source = max(holders, key=lambda entry: scores[entry.call.position], default=None)
        if best_source is None or best_source.document.is_scalar(text) or scores[best_source.call.position] > 1:
            return best_source
        return best_source if len(best_source.document.text) <= _MAX_LENGTH_FOR_COMMON_NUMBERS else None


def _is_inside_a_program(output: Output) -> bool:
    """Whether the path was found inside a program, which may as well read it."""
    text = output.call.arguments or {}
    return any(
        (isinstance(value, str) and len(value) > 500) or key in {"command", "code"} for key, value in text.items()
    )


def _is_plausible(candidate: CandidateValue, entry: Entry) -> bool:
    text, document = candidate.text, entry.document
    if document.is_scalar(text):
        return candidate.whole or not is_plain_word(text)
    if candidate.whole:
        return not is_plain_word(text) or _NAMES_AN_ID.search(candidate.pointer) is not None
    return is_id(text)


def _is_listed(entry: Entry, name: str) -> bool:
    """A name like any other word counts only where it stands as a listing would have it."""
    if re.search(r"[\d_.-]|/", name) or entry.document.is_scalar(name):
        return True
    return re.search(_LISTING_LINE.format(re.escape(name)), entry.document.text) is not None


def _edge_from_output(call: Call, candidate: CandidateValue, maker: Output, value: Any) -> DataEdge:
    whole = maker.call.arguments is not None and candidate.path
    return DataEdge(
        producer=maker.call.position,
        producer_place="arguments",
        producer_pointer=maker.pointer,
        consumer=call.position,
        consumer_pointer=candidate.pointer,
        value=value,
        certainty="certain" if whole and not _is_inside_a_program(maker) else "likely",
    )


def _edge_from_answer(
    call: Call, candidate: CandidateValue, entry: Entry, value: Any, certainty: Literal["certain", "likely"]
) -> DataEdge:
    return DataEdge(
        producer=entry.call.position,
        producer_pointer=entry.document.find(str(value).strip()) or "",
        consumer=call.position,
        consumer_pointer=candidate.pointer,
        value=value,
        certainty=certainty,
    )


def roots_of(history: ValueHistory) -> frozenset[str]:
    """The workspace roots, with every directory above them."""
    import re2  # not at the top: the command's help need not load it

    roots, announced = set(_COMMON_ROOTS), re2.compile(_ANNOUNCED_ROOT)
    for entry in history.entries:
        if entry.place == "answer":
            head = entry.document.text[:4000].encode("utf-8", "replace").decode()
            roots.update(found[1].rstrip("/.,;:)") for found in announced.finditer(head))
    paths = {
        candidate.text
        for candidates in history.candidates.values()
        for candidate in candidates
        if candidate.path and candidate.text.startswith(("/", "./"))
    }
    roots.update(_shared_directory(paths))
    return frozenset(above for root in roots for above in (root, *ancestors(root)))


def _shared_directory(paths: Collection[str]) -> Iterator[str]:
    """The deepest directory that most paths lie in, unless its name is one that a tool made up."""
    if len(paths) < _MIN_PATHS:
        return
    counts = Counter(above for path in paths for above in (path, *ancestors(path)))
    shared = [path for path, count in counts.items() if count >= _MIN_SHARE * len(paths) and count >= _MIN_PATHS]
    children: Counter[str] = Counter()
    for path in set(counts):
        children[path.rpartition("/")[0]] += 1
    branching = [
        path for path in shared if (children[path] > 1 or path in paths) and not is_random(path.rpartition("/")[2])
    ]
    if branching:
        yield min(branching, key=len)
