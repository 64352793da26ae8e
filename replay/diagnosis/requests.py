"""What the calls of a trajectory ask for, and which of them got what another one had asked for in vain."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from replay.dag.documents import answer_tree, as_json, leaves, resolve
from replay.diagnosis.phrasing import listed
from replay.diagnosis.sql import Statement, covered, reads_of_the_same, statements_of
from replay.diagnosis.trajectory_context import TrajectoryContext
from replay.outcomes.call_facts import ArgumentIndex, name_words, runs_commands
from replay.records import Outcome, texts_of
from replay.records.audit import Bearing
from replay.records.files import CallRow

Effect: TypeAlias = Literal["reads", "writes", "program", "unknown"]

_READING: Final = frozenset(
    """
    check count describe download fetch find get inspect list lookup query read retrieve search show view
    """.split()  # noqa: SIM905 a list would take a line a word
)
_WRITING: Final = frozenset(
    """
    add append apply commit copy create delete drop edit fill insert make merge modify move patch post publish push put
    remove rename replace save send set share update upload write
    """.split()  # noqa: SIM905 a list would take a line a word
)
_NO_NOUNS: Final = _READING.union(
    _WRITING,
    """
    a all and by execute for from in info many multiple of on or query run sql statement the to with
    """.split(),  # noqa: SIM905 a list would take a line a word
)
_MAKING: Final = frozenset(["create", "push", "put", "save", "upload", "write"])
"""Of a tool that writes the whole of a thing."""
_COUNT: Final = re.compile(r"(?:count|total)$", re.IGNORECASE)
_ACTION: Final = re.compile(r"/(?:action|function|method|operation|tool)(?:_?name)?$", re.IGNORECASE)
"""An argument by which a tool that does many things is told which."""
_IDENTIFIER: Final = re.compile(r"[A-Za-z][\w.-]{1,60}")
_AMOUNT: Final = re.compile(r"(?:count|cursor|limit|max|offset|page|range|rows|size|timeout)[^/]*$", re.IGNORECASE)
"""In the name of an argument that says how much is wanted, and not of what."""
_TIMEOUT: Final = re.compile(r"timeout[^/]*$", re.IGNORECASE)
_CATALOG: Final = re.compile(
    r"\b(?:from|join)\s+(?:information_schema\.|pg_|sqlite_master|sqlite_schema)", re.IGNORECASE
)
_LIST_ITEM: Final = re.compile(r"/\d+(?:/|$)")
_WORD: Final = re.compile(r"[^\W\d_]{4,}")
MIN_NAMED: Final = 0.5
"""Share of an argument's words that the task must hold to have asked for it."""
_FEW: Final = 2
_MAX_PHRASE: Final = 60
_WITH_DIGIT: Final = re.compile(r"(?<![\w.@:/-])[\w.@:-]*\d[\w.@:-]*\w(?![\w@/-])")
_WORDS_ALONE: Final = re.compile(r"[a-z_]+")
"""A name that the model may have made up for what it makes: another call that makes the same gives it another."""
_CELLS: Final = re.compile(r"(?:.*!)?\$?[A-Z]{1,3}\$?(?:\d+|\d*:\$?[A-Z]{1,3}\$?\d*)")
_FILE: Final = re.compile(r"[^/]\.[A-Za-z]\w{0,5}$")
"""Of a call that names a file and where to look for it, such as a branch, the file is what it wants."""
_MIN_ALIAS: Final = 5
"""Characters of a name that stands for one thing wherever it stands."""


class Request(NamedTuple):
    """What one call asks for."""

    tool: str
    """With the action that an argument names."""
    effect: Effect
    nouns: frozenset[str]
    """Of the tool's name."""
    arguments: Mapping[str, Any]
    """Strings and numbers by their pointers."""
    statements: tuple[Statement, ...]
    """Of SQL."""
    whole: frozenset[str]
    """Arguments that are a path, an id, an address, a number, a code of capitals; cells only say how much of it."""
    values: frozenset[str]
    """Those, what of that kind stands inside longer texts, the last parts of paths, short texts of several words."""
    words: frozenset[str]
    text: str
    """Of all arguments, and of files that a program names and the model had written."""

    @property
    def tables(self) -> frozenset[str]:
        """What its SQL reads and changes; the tables that describe tables are one, the catalog."""
        named = [name for statement in self.statements for name in (*statement.tables, statement.target)]
        catalog = ["the catalog"] if named and _CATALOG.search(self.text) else []
        return frozenset([*named, *catalog]) - {""}


@dataclass(frozen=True)
class Requests:
    """The requests of a trajectory's judged calls."""

    context: TrajectoryContext

    def __getitem__(self, position: str) -> Request:
        return self._by_position[position]

    @cached_property
    def _by_position(self) -> dict[str, Request]:
        requests, written = {}, dict[str, str]()
        for position in self.context.rows:
            request = _request(self.context, position)
            if request.effect == "program":
                scripts = [text for name, text in written.items() if holds(request.text, name)]
                request = request._replace(text="\n".join([request.text, *scripts]))
            elif request.effect == "writes":
                written.update({value.rpartition("/")[2]: request.text for value in request.whole})
            requests[position] = request
        return requests

    @cached_property
    def _uses(self) -> Counter[str]:
        return Counter(value for request in self._by_position.values() for value in request.whole)

    @cached_property
    def question(self) -> str:
        """The task, in its own words."""
        return question_of(self.context)

    @cached_property
    def question_words(self) -> frozenset[str]:
        """The words of the task."""
        return text_words(self.question)

    def successes_alike(self, position: str) -> list[str]:
        """The calls that may have got what a call wants: none that only reads for one that writes, or the other way
        round, and none that reads and was shown nothing.
        """
        own = self[position]

        def may(its: Request) -> bool:
            writes = its.effect in ("writes", "program") if own.effect == "writes" else its.effect != "writes"
            return writes or its.tool == own.tool

        good = [other for other, row in self.context.rows.items() if did_its_work(row) and may(self[other])]
        return [other for other in good if own.effect != "reads" or not self._shows_nothing(other)]

    def got(self, position: str, passed: bool | None = None) -> tuple[Bearing, str] | None:
        """How what a failed call wants was had all the same, and by which call; None where it clearly was by none.

        Args:
            position: of the call.
            passed: whether the task is reported as passed: then the model must have had what it needed.
        """
        step = self.context.step_of
        alike = [other for other in self.successes_alike(position) if other != position]
        later = [other for other in alike if step[other] >= step[position]]
        for other in later:
            if self._asks_the_same(position, other):
                return "recovered", f"{other} asked for the same and got it."
        if (parts := self._parts(position, later, exactly=True)) is not None:
            return "recovered", f"{listed(parts, most=4)} asked for all of it and got it."
        if (parts := self._parts(position, later, exactly=False)) is not None:
            return "worked-around", f"{listed(parts, most=4)} made most of it."
        for other in later:
            if self._deals_with_the_same(position, other):
                return "worked-around", f"{other} dealt with the same in another way and was answered."
        if passed and (went_on := self._went_on(position, later)) is not None:
            return went_on
        made = [other for other in self.context.rows if step[other] < step[position] and self._made(position, other)]
        return ("beside", f"It looks at what {made[-1]} had written.") if made else None

    def _went_on(self, position: str, later: Sequence[str]) -> tuple[Bearing, str] | None:
        """The call with SQL that shares most tables; the first of these."""
        shared = {other: self[position].tables & self[other].tables for other in later}
        other = max(shared, key=lambda other: len(shared[other]), default=None)
        if other is None or not shared[other]:
            return None
        tables = listed(sorted(shared[other]), most=2)
        return "worked-around", f"{other} went on with {tables} in another way."

    def _made(self, position: str, other: str) -> bool:
        """Whether a call reads what another one wrote."""
        own, its = self[position], self[other]
        if own.effect != "reads" or its.effect != "writes" or not did_its_work(self.context.rows[other]):
            return False
        if own.statements or its.statements:
            read = {table for statement in own.statements for table in statement.tables}
            filled = {statement.target for statement in its.statements if statement.verb == "insert"}
            return bool(read) and read <= filled
        few = self._few(position)
        return bool(few) and few <= its.whole and not _MAKING.isdisjoint(name_words(its.tool))

    def _asks_the_same(self, position: str, other: str) -> bool:
        """Whether a call wants just what another one does: by the same arguments, or by SQL."""
        own, its = self[position], self[other]
        if own.statements:
            executed = own.effect == "writes" or own.nouns == its.nouns
            covered_by_it = _all_covered(own, self._lasting(other), exactly=True)
            return executed and covered_by_it and not self._differs(position, other)
        return own.tool == its.tool and all(
            self._says_the_same(position, other, at) for at in own.arguments.keys() | its.arguments.keys()
        )

    def _says_the_same(self, position: str, other: str, pointer: str) -> bool:
        """Whether two calls of a tool have the same argument, or one that makes no less of the second one's answer."""
        mine, theirs = (self[at].arguments.get(pointer) for at in (position, other))
        if mine == theirs or _TIMEOUT.search(pointer):
            return True
        if mine and set(str(mine).splitlines()) <= set(str(theirs).splitlines()):
            return True
        limit = _AMOUNT.search(pointer) or _CELLS.fullmatch(str(mine))
        return mine in self._aliases(other) if theirs is not None else limit is not None

    def _deals_with_the_same(self, position: str, other: str) -> bool:
        """Whether a call is about the same thing, by another tool or with other arguments."""
        own, its, few = self[position], self[other], self._few(position)
        if own.statements:
            alike = (reads_of_the_same(statement, its.statements) for statement in own.statements)
            return own.nouns == its.nouns and all(alike)
        named = {value for value in few if _FILE.search(value)} or few
        if own.tool != its.tool and not named.isdisjoint(self._aliases(other) - set(its.arguments.values())):
            return True
        text = "\n".join([its.text, *self._aliases(other)])
        held = bool(few) and own.effect == "reads" and all(holds(text, value) for value in few)
        same = held or self._covers(position, text)
        return same and self._is_another_way(position, other) and not self._differs(position, other)

    def _lasting(self, position: str) -> tuple[Statement, ...]:
        """A call's statements, without those whose work a later one dropped."""
        dropped = {
            statement.target
            for other, row in self.context.rows.items()
            if did_its_work(row) and self.context.step_of[other] > self.context.step_of[position]
            for statement in self[other].statements
            if statement.verb == "drop"
        }
        return tuple(statement for statement in self[position].statements if statement.target not in dropped)

    def _is_another_way(self, position: str, other: str) -> bool:
        """Whether a tool may lead to the same thing: another one of the same server is there for other things."""
        own, its = self[position], self[other]
        elsewhere = self.context.rows[position].server != self.context.rows[other].server
        return elsewhere or its.effect == "program" or own.tool == its.tool or not own.nouns.isdisjoint(its.nouns)

    def _parts(self, position: str, later: Sequence[str], *, exactly: bool) -> list[str] | None:
        """The first calls that together made what one with SQL was to make; None where they did not make all of it."""
        own = self[position]
        if not own.statements or own.effect != "writes":
            return None
        targets = {statement.target for statement in own.statements}
        parts, made = list[str](), list[Statement]()
        for other in later:
            lasting = self._lasting(other)
            parts += [other] * any(its.target in targets and its.verb != "drop" for its in lasting)
            made += lasting
            if _all_covered(own, made, exactly=exactly):
                return parts
        return None

    def _covers(self, position: str, text: str) -> bool:
        """Whether a text has the arguments that few calls have, and all that the task names."""
        own = self[position]
        words = own.words & self.question_words
        few = self._few(position)
        wanted = {value for value in few if self._uses[value] > 1 or not _WORDS_ALONE.fullmatch(value)}
        wanted |= {value for value in own.values if holds(self.question, value)}
        if not (wanted or words):
            return False
        return all(holds(text, value) for value in wanted) and len(words & text_words(text)) >= MIN_NAMED * len(words)

    def _few(self, position: str) -> set[str]:
        most = max(_FEW, len(self.context.calls) // 2)
        return {value for value in self[position].whole if self._uses[value] <= most}

    def _differs(self, position: str, other: str) -> bool:
        """Whether an argument that both have names another thing in the other: no longer text, range or amount."""
        own, its, aliases = self[position], self[other], self._aliases(other)
        for pointer in (own.arguments.keys() & its.arguments.keys()) if own.tool == its.tool or own.statements else ():
            mine, theirs = (_document(str(request.arguments[pointer])).rstrip("/") for request in (own, its))
            made_up = own.effect == "writes" and (_is_word(mine) or _WORDS_ALONE.fullmatch(mine))
            free = " " in mine or _CELLS.fullmatch(mine) or _LIST_ITEM.search(pointer) or _AMOUNT.search(pointer)
            if mine != theirs and not (free or made_up) and mine not in aliases:
                return True
        return False

    def _aliases(self, position: str) -> frozenset[str]:
        """Other names of what a call asks for: what stands beside an id of its in the answer that gave the id."""
        aliases = set()
        for edge in self.context.graph.into(position):
            record, _, key = edge.producer_pointer.rpartition("/")
            answer = self.context.calls[edge.producer].answer if edge.producer_place == "answer" else None
            with suppress(LookupError):
                siblings = resolve(answer_tree(answer), record)
                siblings = as_json(siblings) if isinstance(siblings, str) else siblings
                if isinstance(siblings, dict) and siblings.get(key) == edge.value:
                    aliases |= {value for name, value in siblings.items() if name != key and isinstance(value, str)}
        return frozenset(value for value in aliases if len(value) >= _MIN_ALIAS)

    def _shows_nothing(self, position: str) -> bool:
        """Whether an answer says that nothing was there, or a program no more than stands in it."""
        if "empty" in self.context.rows[position].findings or self.says_only_itself(position):
            return True
        answer = self.context.answer(position)
        found = dict(leaves(answer_tree(answer))) if answer is not None else {}
        none = [at.rpartition("/")[0] for at, value in found.items() if value == 0 and _COUNT.search(at)]
        beside = [value for at, value in found.items() if any(at.startswith(f"{part}/") for part in none)]
        return answer is not None and all(value in ("", 0) for value in beside or found.values())

    def says_only_itself(self, position: str) -> bool:
        """Whether a program says no more than stands in it, and what every answer of its tool says that worked."""
        own, rows = self[position], self.context.rows
        if own.effect != "program":
            return False
        good = [at for at, row in rows.items() if did_its_work(row) and self[at].tool == own.tool and at != position]
        frame = frozenset.intersection(*map(self._said.__getitem__, good)) if good else frozenset()
        return self._said[position] <= text_words(own.text.replace("\\n", " ")) | frame

    @cached_property
    def _said(self) -> dict[str, frozenset[str]]:
        """The words of each answer."""
        return {position: text_words(full_text(self.context, position)) for position in self.context.rows}


def did_its_work(row: CallRow) -> bool:
    """Whether a call succeeded, by its verdict or when it was recorded."""
    return row.outcome is Outcome.SUCCESS or row.recorded is Outcome.SUCCESS


def question_of(context: TrajectoryContext) -> str:
    """The task, in its own words."""
    return context.trajectory.task.question or ""


def text_words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(_WORD.findall(text.casefold()))


def holds(text: str, value: str) -> bool:
    """Whether a text holds a value as a word of its own; a code of capitals as it is written."""
    flags = re.NOFLAG if value.isupper() else re.IGNORECASE
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text, flags) is not None


def full_text(context: TrajectoryContext, position: str) -> str:
    """The recorded and the replayed answer of a call."""
    answers = (context.calls[position].answer, context.answers.get(position))
    return "\n".join(text for answer in answers if answer is not None for text in texts_of(answer))


def _request(context: TrajectoryContext, position: str) -> Request:
    given = dict(leaves(context.arguments(position)))
    actions = [at for at, value in given.items() if _ACTION.search(at) and _IDENTIFIER.fullmatch(str(value))]
    action = str(given[actions[0]]) if actions else ""
    arguments = {at: value for at, value in given.items() if at not in actions[:1]}
    texts = [str(value) for value in arguments.values()]
    spoken = {at: text for at, text in zip(arguments, texts, strict=True) if " " in text or _is_word(text)}
    said = [text for at, text in spoken.items() if " " in text or not _LIST_ITEM.search(at)]
    inside = {word for text in texts for word in _WITH_DIGIT.findall(text) if len(word) > _FEW}
    capitals = (text for text in texts if text.isalpha() and text.isupper())
    values = {*context.mentions[position] - {action}, *inside, *capitals}
    values = {value for value in values if not (_is_word(value) or " " in value or _CELLS.fullmatch(value))}
    names = {value.rpartition("/")[2] for value in values} - {""}
    tool = context.rows[position].tool or context.calls[position].name or ""
    statements = tuple(statement for text in texts for statement in statements_of(text))
    return Request(
        tool=f"{tool}/{action}",
        effect=_effect(context, position, action or tool, statements),
        nouns=frozenset(word.rstrip("s") for word in name_words(action or tool.rpartition("/")[2])) - _NO_NOUNS,
        arguments=arguments,
        statements=statements,
        whole=frozenset(_document(value) for value in values if value in texts or f"{value}/" in texts),
        values=frozenset(values | names | {text for text in texts if " " in text and len(text) <= _MAX_PHRASE}),
        words=frozenset(word for text in said for word in text_words(text)),
        text="\n".join(texts),
    )


def _effect(context: TrajectoryContext, position: str, name: str, statements: Sequence[Statement]) -> Effect:
    """What a call does: its SQL says it, else how its tool is annotated, else the first verb in the tool's name."""
    if statements:
        return "writes" if any(statement.changes for statement in statements) else "reads"
    tool = context.tool(position)
    if tool is not None and tool.read_only:
        return "reads"
    if runs_commands(ArgumentIndex(context.calls[position].arguments, tool_name=name)):
        return "program"
    verb = next((word for word in name_words(name) if word in _READING | _WRITING), "")
    return "reads" if verb in _READING else "writes" if verb in _WRITING else "unknown"


def _all_covered(own: Request, statements: Sequence[Statement], *, exactly: bool) -> bool:
    return all(covered(statement, statements, exactly=exactly) for statement in own.statements)


def _is_word(text: str) -> bool:
    return text.isalpha() and not text.isupper()


def _document(value: str) -> str:
    """A value; of an address on the web what stands behind the host, since mirrors have the same."""
    path = value.partition("://")[2].partition("/")[2]
    return path if "/" in path else value
