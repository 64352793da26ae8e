"""Who was to make what a call names, also where no value flowed.

A data edge needs a value. A call that was to make a file and lost its path passes none on, and a path that the question
gave is not a data edge; yet everything that works on the file fails with it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from replay.dag.candidate_values import ancestors, is_path
from replay.dag.documents import leaves, name_at
from replay.dag.history import is_maker, makes_part, outputs_of, words_of_tool
from replay.records import Call, DataEdge, Outcome, Trajectory, texts_of

_CREATION_VERBS: Final = frozenset(
    "create new make write save init generate upload copy move clone download mkdir".split()  # noqa: SIM905
)
_STANDALONE_VERBS: Final = frozenset(["create", "new", "make", "init", "clone", "download", "mkdir"])
"""Words of tools that need nothing to be there."""
_OPENING_VERBS: Final = frozenset(["add", "open", "start", "load"])
"""Words of tools that take up what is there; they make it for later calls only under the very same parameter."""
_PATH_KEY: Final = re.compile(r"(path|file|filename|uri)$", re.IGNORECASE)
_NAME_KEY: Final = re.compile(r"(?P<noun>\w*?)_?(?:id|name)", re.IGNORECASE)
_ALREADY_EXISTS: Final = re.compile(r"already exist|file exists|EEXIST", re.IGNORECASE)
_MAX_TEXT_LENGTH: Final = 4000
_NEVER_RAN: Final = frozenset([Outcome.UNKNOWN_TOOL, Outcome.ILLEGAL_FORMAT])


def passes_failure_on(producer: Call, outcome: Outcome, edges: Iterable[DataEdge]) -> bool:
    """Whether a call with this outcome can have failed because an earlier one, which failed, did not do its work.

    Only what is missing can be missing on another's account. A call that failed otherwise did so by itself, unless it
    took a value from the failed call's answer.

    Args:
        producer: the earlier call.
        outcome: of the later call.
        edges: the data edges between the two.
    """
    if outcome in _NEVER_RAN:
        return False
    if any(edge.producer_place == "answer" for edge in edges):
        return True
    return outcome is Outcome.NOT_FOUND and not _already_existed(producer)


def missing_paths(call: Call) -> tuple[str, ...]:
    """The paths in a failed call's arguments that its answer names too: what was missing, where anything was."""
    texts = _answer_texts(call)
    paths = (value.rstrip("/") for _, value in _named_values(call) if is_path(value))
    return tuple(dict.fromkeys(path for path in paths if path and any(path in text for text in texts)))


def cause_links(trajectory: Trajectory) -> dict[str, tuple[str, ...]]:
    """For each call, the earlier calls that were to make what it works on, in order.

    Only of use between calls that failed: a maker that succeeded explains nothing. Where the answer says which path is
    missing, they are those that were to make that path, of the same step too; of whatever else the call names, none.
    """
    makers: dict[str, list[str]] = defaultdict(list)
    nameless: dict[str, list[Call]] = defaultdict(list)
    links: dict[str, tuple[str, ...]] = {}
    outputs = {call.position: tuple(outputs_of(call)) for call in trajectory.calls()}
    named = {call.position: _named_things(call, outputs[call.position]) for call in trajectory.calls()}
    for step in trajectory.steps:
        in_step: dict[str, list[str]] = defaultdict(list)
        for call in step.calls:
            missing = missing_paths(call)
            found = [position for name in missing for position in (*makers[name], *in_step[name])] or [
                position
                for name in missing or named[call.position]
                for place in (name, *ancestors(name))
                for position in makers[place]
            ]
            for _, value in outputs[call.position]:
                in_step[value].append(call.position)
            if not found and not (is_maker(call) and words_of_tool(call) & _STANDALONE_VERBS):
                found = [
                    maker.position for maker in nameless[_server_of(call)] if _names_what_was_to_be_made(call, maker)
                ]
            if found:
                links[call.position] = tuple(dict.fromkeys(found))
        for call in step.calls:
            for _, value in outputs[call.position]:
                makers[value].append(call.position)
            if words_of_tool(call) & (_CREATION_VERBS | _OPENING_VERBS) and not named[call.position]:
                nameless[_server_of(call)].append(call)
    return links


def _names_what_was_to_be_made(call: Call, maker: Call) -> bool:
    """Whether an argument of a call is what a maker, which named nothing, was to be given."""
    if not words_of_tool(maker) & _CREATION_VERBS:
        return any(is_path(value) and _takes_parameter(maker, key) for key, value in _named_values(call))
    return any(
        (is_path(value) and _PATH_KEY.search(key) is not None and not makes_part(maker))
        or _is_name_of(key, call, maker)
        for key, value in _named_values(call)
    )


def _is_name_of(key: str, call: Call, maker: Call) -> bool:
    """`presentation_id` names what create_presentation makes; a bare `id` does in a tool that is about the same."""
    match = _NAME_KEY.fullmatch(key)
    if match is None:
        return False
    things = words_of_tool(maker) - _CREATION_VERBS
    noun = match["noun"].lower()
    return noun in things if noun else bool(things & words_of_tool(call) - {(maker.server or "").lower()})


def _takes_parameter(maker: Call, key: str) -> bool:
    """Whether a call was given a parameter of this name, or was told that it lacks it."""
    told = re.search(rf"\b{re.escape(key)}\b", " ".join(_answer_texts(maker)))
    return key in (maker.arguments or {}) or told is not None


def _already_existed(maker: Call) -> bool:
    return any(map(_ALREADY_EXISTS.search, _answer_texts(maker)))


def _answer_texts(call: Call) -> list[str]:
    """The beginnings of the texts of its recorded answer."""
    return [text[:_MAX_TEXT_LENGTH] for text in texts_of(call.answer)] if call.answer is not None else []


def _named_values(call: Call) -> Iterator[tuple[str, str]]:
    """The names of parameters with the texts that they hold."""
    for pointer, value in leaves(call.arguments or {}, enter_texts=False):
        if isinstance(value, str) and value.strip() and (name := name_at(pointer)):
            yield name, value.strip()


def _named_things(call: Call, outputs: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The paths and made names in a call's arguments."""
    given = leaves(call.arguments or {}, enter_texts=False)
    values = (value.strip() for _, value in given if isinstance(value, str))
    made = [value for _, value in outputs]
    return tuple(dict.fromkeys([*(value.rstrip("/") for value in values if is_path(value) or len(value) < 100), *made]))


def _server_of(call: Call) -> str:
    """The server, or what stands for it in the name."""
    if call.server:
        return call.server
    name = call.name or ""
    for separator in ("/", "__", "-", ".", ":"):
        if separator in name:
            return name.rsplit(separator, 1)[0]
    return ""
