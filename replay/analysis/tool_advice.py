"""Which line of a tool's description or schema to write otherwise, from what models made of it.

Every piece of advice rests on calls, or on the schema alone; none on what a name or a message is known to mean.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from rapidfuzz import fuzz

from replay.dag.documents import join, parts, resolve
from replay.diagnosis.phrasing import counted, ended, listed, plain, quoted, types_of
from replay.diagnosis.schema_violations import SchemaLocation, field_location
from replay.records import Tool
from replay.records.tool_usage import (
    Advice,
    AdviceTarget,
    FailureCause,
    FieldProblem,
    RefusedValue,
    RepeatedCall,
    SchemaDisagreement,
    Sighting,
    ToolUsage,
)

_MAX_CURRENT: Final = 400
"""Characters of what stands there now."""
_MIN_ALIKE: Final = 2
"""Calls that failed alike for what no schema says, from which the description may be at fault and not the one call."""
_UNSAID: Final = frozenset({"refused", "not-found", "exists-already"})
"""Kinds of failures that no argument explains: something had to be so before the call."""


_SAME: Final = 80.0
"""Likeness of two nouns, such as `order` and `orders`, from which they are one."""
_KEYWORDS: Final = frozenset(
    {"type", "enum", "const", "required", "additionalProperties", "minimum", "maximum", "minLength", "maxLength"}
)
"""Keywords of JSON Schema that a server's own check may be told by; others are names of its own."""


def advice_on(usage: ToolUsage, tool: Tool | None) -> tuple[Advice, ...]:
    """What to write otherwise; that for which most calls speak first.

    Args:
        usage: what was gathered of the tool.
        tool: as its server lists it; None where that is not known, and then places are where they would be.
    """
    found = [
        *_of_schema(tool),
        *_of_names(usage),
        *(advice for problem in usage.fields for advice in _of_field(problem, tool)),
        *(advice for fault in usage.schema_faults for advice in _of_disagreement(fault, usage, tool)),
        *(advice for value in usage.values for advice in _of_value(value, usage, tool)),
        *(advice for cause in usage.causes for advice in _of_cause(cause, usage)),
        *(_of_repeats(repeats, usage) for repeats in usage.repeats if repeats.trajectories >= _MIN_ALIKE),
    ]
    return tuple(sorted(found, key=lambda advice: -advice.calls))


def _make(
    seen: Sighting | None,
    target: AdviceTarget,
    pointer: str,
    rewrite: str,
    why: str,
    *,
    current: Any = None,
) -> Advice:
    return Advice(
        target=target,
        pointer=pointer,
        current=_shortened(current),
        rewrite=rewrite,
        why=why,
        calls=seen.calls if seen else 0,
        models=seen.models if seen else (),
        example=seen.example if seen else None,
    )


def _shortened(value: Any) -> Any:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return value if len(text) <= _MAX_CURRENT else plain(text, _MAX_CURRENT)


def _who(seen: Sighting) -> str:
    """`3 calls of 2 models`."""
    return f"{counted(seen.calls, 'call')} of {counted(len(seen.models), 'model')}"


def _of_schema(tool: Tool | None) -> Iterator[Advice]:
    """What the specification asks of an inputSchema."""
    if tool is None:
        return
    schema = tool.input_schema
    if not isinstance(schema, dict):
        rewrite = 'Write a JSON Schema for an object: {"type": "object", "properties": {...}}.'
        yield _make(None, "inputSchema", "", rewrite, "It is not a JSON object.", current=schema)
    elif schema.get("type") != "object":
        why = "The MCP specification asks for it; clients may leave a tool out that lacks it."
        yield _make(None, "inputSchema", "/type", 'Write "type": "object".', why, current=schema.get("type"))


def _of_names(usage: ToolUsage) -> Iterator[Advice]:
    for name in usage.names_instead:
        if name.name.endswith(usage.tool) or _is_of_another_thing(name.name, usage.tool):
            continue
        written = quoted(name.name.removeprefix(f"{usage.server}/"), 60)
        rewrite = f"Call the tool so that it is not taken for {written}, or take that name as well."
        why = f"{_who(name)} wrote {written}, {_SHOWN_BY[name.shown_by]}."
        yield _make(name, "name", "", rewrite, why, current=usage.tool)


def _is_of_another_thing(name: str, tool: str) -> bool:
    """Whether two names do the same to different things, as `delete_note` and `delete_order` do."""
    (verb, *thing), (own_verb, *own_thing) = _words_of(name.rpartition("/")[2]), _words_of(tool)
    return verb == own_verb and bool(thing and own_thing) and fuzz.ratio(" ".join(thing), " ".join(own_thing)) < _SAME


def _words_of(name: str) -> list[str]:
    return re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()) or [""]


_SHOWN_BY: Final = {
    "later-call": "and a later call to this tool succeeded",
    "nearest-name": "the nearest to this one",
}


def _of_field(problem: FieldProblem, tool: Tool | None) -> Iterator[Advice]:
    """Fields that the server refused to do without, or to take."""
    if problem.accepted == problem.calls:
        return
    schema = tool.input_schema if tool is not None else None
    place = field_location(schema, problem.pointer)
    parent = field_location(schema, problem.pointer.rpartition("/")[0])
    field = quoted(problem.field, 60)
    if problem.fault == "misnamed":
        written = quoted(problem.written, 60)
        rewrite = f"Rename the field to {written} or take that name as well; at least say that {written} is not taken."
        why = f"{_who(problem)} wrote {written} for {field}."
        yield _make(problem, "inputSchema", place.pointer, rewrite, why, current=place.schema or None)
    elif problem.fault == "unexpected":
        rewrite = f"Say in the description that there is no {field}, or what stands in for it."
        why = f"{_who(problem)} gave {field}, which the tool does not take."
        yield _make(problem, "inputSchema", join(parent.pointer, "properties"), rewrite, why)
    else:
        yield _of_missing(problem, place, parent)


def _of_missing(problem: FieldProblem, place: SchemaLocation, parent: SchemaLocation) -> Advice:
    field, why = quoted(problem.field, 60), f"{_who(problem)} left it out."
    required = parent.schema.get("required")
    if "default" in place.schema:
        rewrite = f"Take {field} out of the required fields: it has a default."
        return _make(problem, "inputSchema", join(parent.pointer, "required"), rewrite, why, current=required)
    if isinstance(required, list) and problem.field not in required:
        rewrite = f"Add {field} to the required fields: the server demands it."
        return _make(problem, "inputSchema", join(parent.pointer, "required"), rewrite, why, current=required)
    described = place.schema.get("description")
    rewrite = (
        f"Say in the description that {field} must be given, and where its value comes from; or give it a default."
        if described
        else f"Describe {field}: what goes there, with an example; or give it a default."
    )
    return _make(problem, "inputSchema", join(place.pointer, "description"), rewrite, why, current=described)


def _of_disagreement(fault: SchemaDisagreement, usage: ToolUsage, tool: Tool | None) -> Iterator[Advice]:
    schema = tool.input_schema if tool is not None else None
    current = _at(schema, fault.pointer)
    if fault.fault == "too-strict":
        rewrite = f"Let the schema allow it, or let the server refuse it: {quoted(fault.keyword)} is not held to."
        why = f"{_who(fault)} broke it, and the server took it: {_after_colon(fault.sentence)}"
    else:
        wanted = next((value for value in usage.values if _about(value, fault, schema)), None)
        rewrite = _keyword_to_add(fault, wanted)
        why = f"{_who(fault)} kept to the schema, and the server refused it: {ended(plain(fault.sentence, 200))}"
    yield _make(fault, "inputSchema", fault.pointer, rewrite, why, current=current)


def _about(value: RefusedValue, fault: SchemaDisagreement, schema: Any) -> bool:
    return field_location(schema, value.pointer).pointer == fault.pointer


def _keyword_to_add(fault: SchemaDisagreement, value: RefusedValue | None) -> str:
    if value is not None and value.keyword is not None and value.expected is not None:
        return f"Write what the server demands: {quoted(value.keyword)}: {quoted(value.expected, 160)}."
    if fault.keyword in _KEYWORDS:
        return f"Write what the server demands, as {quoted(fault.keyword)}."
    return "Write what the server demands: a pattern, a format, bounds or choices; else say it in the description."


def _of_value(value: RefusedValue, usage: ToolUsage, tool: Tool | None) -> Iterator[Advice]:
    """Values that the schema, or the thing that they name, does not allow."""
    schema = tool.input_schema if tool is not None else None
    told = any(fault.fault == "too-lax" and _about(value, fault, schema) for fault in usage.schema_faults)
    template = _REWRITES.get(value.kind)
    if told or template is None or (value.kind == "missing-thing" and value.calls < _MIN_ALIKE):
        return
    place = field_location(schema, value.pointer)
    demanded = _demanded(value.message) if value.kind == "refused-value" else ""
    gave = f" gave {listed(list(value.values[:3]), 'or')}" if len(value.values) > 1 else ""
    why = f"{_who(value)}{gave}: {ended(plain(value.message, 240))}"
    if demanded:
        rewrite = f"Declare it: {demanded}. The server demands it, and the schema does not say so."
        yield _make(value, "inputSchema", place.pointer, rewrite, why, current=place.schema or None)
        return
    described = place.schema.get("description")
    rewrite = template.format(field=quoted(_last_part(value.pointer), 60), detail=_detail(value))
    yield _make(value, "inputSchema", join(place.pointer, "description"), rewrite, why, current=described)


_BETWEEN: Final = re.compile(r"\bbetween (?P<low>-?\d+(?:\.\d+)?) and (?P<high>-?\d+(?:\.\d+)?)")
_ONE_OF: Final = re.compile(r"\b(?:one of|either):? (?P<choices>[\w'\" -]+(?:, (?!got\b|not\b)[\w'\" -]+)+)")
_BETWEEN_CHOICES: Final = re.compile(r", (?:or |and )?| or | and ")


def _demanded(message: str) -> str:
    """What an error demands of a value, as keywords of JSON Schema; empty where it names neither bounds nor choices."""
    if bounds := _BETWEEN.search(message):
        return f'"minimum": {bounds["low"]}, "maximum": {bounds["high"]}'
    if choices := _ONE_OF.search(message):
        words = [choice.strip(" '\"") for choice in _BETWEEN_CHOICES.split(choices["choices"])]
        names = [int(word) for word in words] if all(map(str.isdecimal, words)) else words
        return f'"enum": {json.dumps(names, ensure_ascii=False)}'
    return ""


def _of_cause(cause: FailureCause, usage: ToolUsage) -> Iterator[Advice]:
    if cause.kind == "unexplained":
        rewrite = "Let the error say which argument is wrong and what was expected: as it is, it tells a model nothing."
        yield _make(cause, "error", "", rewrite, f"{_who(cause)} got it. {ended(plain(cause.sentence, 240))}")
    elif cause.kind == "server-fault":
        rewrite = "Catch it, and let the error say which argument is wrong and what was expected: the tool crashed."
        yield _make(cause, "error", "", rewrite, f"{_who(cause)} met it. {ended(plain(cause.sentence, 240))}")
    elif cause.kind in _UNSAID and cause.calls >= _MIN_ALIKE:
        rewrite = "Say in the tool's description what must be so before it is called, or what its own error asks for."
        why = f"{_who(cause)} failed alike. {ended(plain(cause.sentence, 240))}"
        yield _make(cause, "description", "", rewrite, why, current=usage.description)


def _of_repeats(repeats: RepeatedCall, usage: ToolUsage) -> Advice:
    """The same call in several trajectories, made again although nothing else could come of it."""
    rewrite = (
        "Let the error say what to change: models make the same call again."
        if repeats.kind == "repeated-failure"
        else "Let the answer say that it is whole, and until when it holds: models ask for it again."
    )
    why = f"{_who(repeats)}, in {repeats.trajectories} trajectories. {ended(plain(repeats.sentence, 240))}"
    if repeats.kind == "repeated-failure":
        return _make(repeats, "error", "", rewrite, why)
    return _make(repeats, "description", "", rewrite, why, current=usage.description)


_EXAMPLE: Final = "Give an example of a well-formed {field} in its description."
_ALLOWED: Final = "Say in the description of {field} what is allowed, and what is not."
_REWRITES: Final = {
    "wrong-type": "Say in the description of {field} that it is {detail}, with an example.",
    "not-a-choice": "Name the choices of {field} in its description{detail}.",
    "out-of-bounds": "Name the bounds of {field} in its description{detail}.",
    "schema-violation": _EXAMPLE,
    "malformed-value": _EXAMPLE,
    "refused-value": _ALLOWED,
    "refused-by-policy": _ALLOWED,
    "missing-thing": "Say in the description of {field} where its values come from: which tool lists them, or that "
    "none is given.",
}


def _detail(value: RefusedValue) -> str:
    """What the schema, or the server, said of the value."""
    if value.kind == "wrong-type":
        return f"of type {types_of(value.expected)}" if value.expected else "of one type"
    if value.kind == "not-a-choice" and isinstance(value.expected, list) and value.expected:
        return f": {listed([quoted(choice, 40) for choice in value.expected], 'or', 8)}"
    if value.kind == "out-of-bounds" and value.expected is not None:
        return f" ({value.keyword}: {quoted(value.expected, 60)})"
    return ""


def _last_part(pointer: str) -> str:
    """The name of the field that a pointer in arguments leads to; of an element, that of its list."""
    names = [part for part in parts(pointer) if part != "*"]
    return names[-1] if names else ""


def _after_colon(sentence: str) -> str:
    return sentence.partition(": ")[2] or sentence


def _at(schema: Any, pointer: str) -> Any:
    try:
        return resolve(schema, pointer)
    except LookupError:
        return None
