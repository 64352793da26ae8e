"""All that a run knows of one trajectory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple, Self

from rapidfuzz import fuzz

from replay.dag import Graph
from replay.dag.candidate_values import candidate_values_of
from replay.dag.rebinding import with_rebound
from replay.diagnosis.failure_words import drawn_values
from replay.diagnosis.named_arguments import Argument, arguments_of
from replay.outcomes.call_facts import ArgumentIndex
from replay.outcomes.error_report import program_words
from replay.outcomes.literals import structure_in
from replay.outcomes.residue import read_json
from replay.records import Answer, Call, Certainty, Outcome, Server, Tool, Trajectory, texts_of
from replay.records.alignment import AlignedTask
from replay.records.files import CallRow
from replay.records.finding import CallRef, Finding
from replay.runfile import Run, call_rows
from replay.runfile.alignment_queries import aligned_task_of
from replay.runfile.rows import answers_of
from replay.runfile.run_inputs import NOT_KNOWN, RunCommand, load_command
from replay.runfile.trajectory_queries import TrajectoryPlace, trajectory_record

_READS: Final = re.compile(
    r"(?:^|[/_.-])(?:get|list|read|search|find|query|describe|show|fetch|lookup|count|view)(?:[_-]|[A-Z]|$)"
)
_MAX_CHARACTERS: Final = 20_000
"""Characters of an answer that findings look at."""
MAX_SEARCHED: Final = 200_000
"""Characters of a call in which values are looked for."""
_MAX_CHARACTERS_WITH_NAMES: Final = 50_000
_MAX_COMPARED: Final = 2000
_ALIKE: Final = 85.0
_TOKEN: Final = re.compile(r"[^\s\"'`,;:(){}\[\]<>|]{3,160}")


class KnownName(NamedTuple):
    """A name, and the call whose answer held it."""

    call: str
    value: str
    folded: str
    """Its last segment, in lower case."""


def last_segment(name: str) -> str:
    """The last segment of a path."""
    return name.rstrip("/.").rpartition("/")[2]


@dataclass(frozen=True)
class TrajectoryContext:
    """One trajectory with its verdicts and answers.

    Args:
        trajectory: as it was replayed, with its data edges.
        rows: the verdicts, by position, in the order of the steps; calls that were not asked for have none.
        answers: the replayed answers, by position.
        servers: of the run.
        file: the results file.
        command: what the run was made with.
        aligned: what `replay align` found of it; None where the run was not aligned with a reference.
    """

    trajectory: Trajectory
    rows: Mapping[str, CallRow]
    answers: Mapping[str, Answer]
    servers: Mapping[str, Server]
    file: str
    command: RunCommand = NOT_KNOWN
    aligned: AlignedTask | None = None

    @classmethod
    def load(
        cls,
        run: Run,
        place: TrajectoryPlace,
        servers: Mapping[str, Server] | None = None,
        trajectory: Trajectory | None = None,
    ) -> Self:
        """Read a trajectory from a run.

        Args:
            run: open for reading or writing.
            place: which trajectory.
            servers: what `run.servers()` gave, where many trajectories are loaded.
            trajectory: as the run holds it; by default it is read.
        """
        return cls(
            trajectory=trajectory or trajectory_record(run.connection, place.row),
            rows={row.call: row for row in call_rows(run, trajectory=place.row)},
            answers=answers_of(run.connection, place.row),
            servers=run.servers() if servers is None else servers,
            file=place.file,
            command=load_command(run.connection),
            aligned=aligned_task_of(run.connection, place.row),
        )

    @cached_property
    def calls(self) -> dict[str, Call]:
        """The calls by position, in the order of the steps."""
        return {call.position: call for call in self.trajectory.calls()}

    @cached_property
    def order(self) -> dict[str, int]:
        """The place of each call in the trajectory, from 0."""
        return {position: place for place, position in enumerate(self.calls)}

    @cached_property
    def graph(self) -> Graph:
        """The data edges."""
        return Graph(self.trajectory)

    @cached_property
    def mentions(self) -> dict[str, frozenset[str]]:
        """By position: the values in a call's arguments, but for those that anybody could have come up with."""
        return {
            position: frozenset(candidate.text for candidate in candidate_values_of(call))
            for position, call in self.calls.items()
        }

    @cached_property
    def step_of(self) -> dict[str, int]:
        """The step of each call, from 0."""
        return {call.position: number for number, step in enumerate(self.trajectory.steps) for call in step.calls}

    def ref(self, position: str) -> CallRef:
        """A call's place in the run."""
        return CallRef(file=self.file, model=self.trajectory.model, trajectory=self.trajectory.id, call=position)

    def refs(self, *positions: str) -> tuple[CallRef, ...]:
        """The places of several calls."""
        return tuple(map(self.ref, positions))

    def finding_together(
        self,
        kind: str,
        sentence: str,
        positions: Iterable[str],
        suggestion: str | None = None,
        *,
        certainty: Certainty = "certain",
        **details: Any,
    ) -> Finding:
        """A finding about calls of the trajectory, or all of it."""
        return Finding(
            kind=kind,
            scope="trajectory",
            sentence=sentence,
            suggestion=suggestion,
            calls=self.refs(*positions),
            certainty=certainty,
            details=details,
        )

    def finding(self, position: str, kind: str, sentence: str, suggestion: str | None = None, **more: Any) -> Finding:
        """A finding about one call, as sure as the call's verdict where nothing else is said."""
        fields: dict[str, Any] = {"certainty": self.rows[position].certainty, "calls": self.refs(position)} | more
        said = sentence.removesuffix(".") if sentence.endswith("….") else sentence
        return Finding(kind=kind, scope="call", sentence=said, suggestion=suggestion, **fields)

    def outcome(self, position: str) -> Outcome | None:
        """What a call was judged to be; None without a verdict."""
        row = self.rows.get(position)
        return row.outcome if row else None

    def is_of_harness(self, position: str) -> bool:
        """Whether a tool of the harness was called, so that the recorded answer is all that there will ever be."""
        return self.calls[position].local and self.rows[position].evidence == "recorded"

    def tool(self, position: str) -> Tool | None:
        """The description of a call's tool, where its server gave one."""
        row = self.rows.get(position)
        server = self.servers.get(row.server or "") if row else None
        if row is None or server is None or row.tool is None:
            return None
        return server.tool(row.tool.removeprefix(f"{row.server}/"))

    def answer(self, position: str) -> Answer | None:
        """The answer that the verdict rests on: the replayed one where it decided, else the recorded one."""
        row = self.rows.get(position)
        if row is not None and row.evidence in ("replay", "stored") and position in self.answers:
            return self.answers[position]
        return self.calls[position].answer or self.answers.get(position)

    def earlier(self, position: str) -> Iterator[Call]:
        """The calls of earlier steps."""
        step = self.step_of[position]
        return (call for call in self.calls.values() if self.step_of[call.position] < step)

    def arguments(self, position: str) -> dict[str, Any]:
        """A call's arguments as they were recorded; empty where they could not be read."""
        return self.calls[position].arguments or {}

    def sent(self, position: str) -> dict[str, Any]:
        """The arguments that the answer of `answer` speaks of: with rebound values where it is the replayed one."""
        rebound = self.rows[position].rebound if position in self.rows else ()
        if not rebound or self.answer(position) is not self.answers.get(position):
            return self.arguments(position)
        return with_rebound(self.arguments(position), rebound)

    @cached_property
    def drawn(self) -> frozenset[str]:
        """The values that the servers draw anew each time."""
        rebound = (value for row in self.rows.values() for value in row.rebound)
        return drawn_values(self.trajectory, self.answers, rebound)

    def answer_text(self, position: str) -> str:
        """The text of the answer that the verdict rests on, without what only wraps it or repeats the arguments."""
        answer = self.answer(position)
        if answer is None:
            return ""
        text = program_words("\n".join(texts_of(answer))[:_MAX_CHARACTERS])
        if not text.startswith("{"):
            return text
        error = read_json(structure_in(text), ArgumentIndex(self.sent(position))).error
        return program_words(error.message) if error is not None and error.message else text

    @cached_property
    def searched_texts(self) -> dict[str, str]:
        """By position: the arguments and answers of a call, in lower case."""
        return {position: self._searched_text(position) for position in self.calls}

    def _searched_text(self, position: str) -> str:
        texts = [str(scalar.value) for scalar in self.scalars[position]]
        for answer in (self.calls[position].answer, self.answers.get(position)):
            if answer is not None:
                structured = [repr(answer.structured)] if answer.kind == "result" and answer.structured else []
                texts = [*texts, *texts_of(answer), *structured]
        return "\n".join(texts)[:MAX_SEARCHED].casefold()

    @cached_property
    def names_in_answers(self) -> tuple[KnownName, ...]:
        """What may be names in the answers of successful calls, each where it stood first."""
        first: dict[str, str] = {}
        for position, call in self.calls.items():
            if call.answer is not None and self.outcome(position) is Outcome.SUCCESS:
                for token in _TOKEN.findall("\n".join(texts_of(call.answer))[:_MAX_CHARACTERS_WITH_NAMES]):
                    first.setdefault(token, position)
        return tuple(KnownName(position, token, last_segment(token).lower()) for token, position in first.items())

    @cached_property
    def scalars(self) -> dict[str, list[Argument]]:
        """By position: the strings and numbers in a call's arguments, with their places."""
        return {position: arguments_of(self.arguments(position)) for position in self.calls}

    def only_reads(self, position: str) -> bool:
        """Whether a call's tool changes nothing: it is annotated so, or its name says it."""
        tool = self.tool(position)
        return (tool is not None and tool.read_only) or _READS.search(self.calls[position].name or "") is not None

    @cached_property
    def first_unsent(self) -> int:
        """The step of the first call that was not re-issued although it may have done something when recorded."""
        steps = (
            self.step_of[position]
            for position, row in self.rows.items()
            if row.replayed is None and row.outcome not in (Outcome.ILLEGAL_FORMAT, Outcome.UNKNOWN_TOOL)
        )
        return min(steps, default=len(self.trajectory.steps))


def explains(context: TrajectoryContext, cause: str, position: str) -> bool:
    """Whether a failure can be what another follows from.

    It cannot where it failed because the thing was there already, where the other's error does not speak of what it was
    to make, or where both failed with nearly the same words.
    """
    if cause not in context.rows or context.rows[cause].rule == "answer.exists-already":
        return False
    first, later = (context.answer_text(call).strip()[:_MAX_COMPARED] for call in (cause, position))
    made = _to_be_made(context, cause, position)
    if made is not None and not any(value in later for value in made):
        return False
    return not (first and later) or fuzz.ratio(first, later) < _ALIKE


def _to_be_made(context: TrajectoryContext, cause: str, position: str) -> set[str] | None:
    """What a failed call may have been to make, of that which another needs; None where nobody can tell."""
    edges = [edge for edge in context.graph.into(position) if edge.producer == cause]
    if edges:
        return {str(edge.value) for edge in edges if edge.producer_place == "arguments"}
    if context.rows[cause].server is not None:
        return None
    looked = context.outcome(cause) is Outcome.NOT_FOUND
    return set() if looked else {value for value in context.mentions[cause] if "/" in value}
