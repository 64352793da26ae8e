"""What is left of a JSON answer once all that says nothing is taken out: payload, or an error.

Taken out are what repeats the call's arguments, what is null, empty or zero, bookkeeping (ids, times, the names of
server and tool) and advice. An error in words, or a status of 400 and above, with no payload beside it is an error at
any depth: an object with one field of substance is a wrapper, whatever the field is called.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from replay.outcomes.call_facts import (
    ArgumentIndex,
    asks_about_errors,
    asks_yes_or_no,
    changes_something,
    looks_up,
    name_words,
    names_a_web_address,
    searches,
)
from replay.outcomes.json_fields import (
    CARRIERS,
    ENVELOPE_KEYS,
    ERROR_KEYS,
    MAX_PARTS,
    MESSAGE_FIELDS,
    REASON_KEYS,
    STATUS_KEYS,
    SUCCESS_CODES,
    SUCCESS_KEYS,
    TO_READER,
    WRAPPING,
    affirms,
    denies_success,
    fails_without_an_id,
    folded_keys,
    has_payload,
    in_words,
    is_bare_envelope,
    is_error_alone,
    is_nothing,
    message_of,
    named_error,
    refuses_fields,
    reports,
    says_failed,
    scalars,
    status_of,
    strings_in,
)
from replay.outcomes.literals import json_at_end, structure_in
from replay.records import JsonObject
from replay.safety.text import cut

_MAX_DEPTH, _MAX_ITEMS = 12, 2_000
"""Levels of wrappers, and items of a batch, that are looked at."""


_OF_A_RECORD = frozenset({"id", "name", "type", "index", "model", "created_at", "time"})


_DONE_KEY = re.compile(
    r"(?:num_|n_|total_|is_|was_)?(?:created|updated|deleted|accepted|imported|inserted|added|sent|processed|succeeded"
    r"|successful|saved|applied|written|removed|moved|uploaded|modified|enrolled|registered|published|scheduled)"
    r"(?:_?count|_?rows|_?items|_?ids)?"
)
_FAILED_KEY = re.compile(
    r"(?:num_|n_|total_)?(?:failed|failures|failure|rejected|errors|errored|error|not_?found|invalid|refused|declined"
    r"|problems?|not_[a-z]+ed)"
    r"(?:_?count|_?rows|_?items|_?ids)?"
)
_NOT_FOUND = re.compile(
    r"\W*(?:(?:[\w-]{1,30} ){0,3}not found|nothing found|no (?:[\w-]{1,30} ){0,3}found)\W*$", re.IGNORECASE
)


_NOT_DONE = re.compile(r"done|accepted|approved|allowed|permitted|possible|confirmed|confirmation|result|id|\w+_id")
_COUNTED = frozenset({"summary", "counts", "stats", "totals"})
_MIN_REASON = 2
"""Words of a reason where nothing says that none was done."""
_MISSING_KEY = re.compile(r"unknown|missing|not_?found|non_?existent|absent")


class JsonError(NamedTuple):
    """The error that a JSON body reports."""

    message: str
    status: int | None
    """HTTP status, or JSON-RPC code, where it holds one."""


class JsonReading(NamedTuple):
    """What a JSON value is, once all that says nothing is taken out."""

    error: JsonError | None = None
    words: str | None = None
    """The one text that is left, where nothing else is."""
    message: bool = False
    """Whether that text stood in a field for messages to the reader."""
    partial: tuple[str, ...] = ()
    """What failed of a batch of which some was done."""
    affirmed: bool = False
    """Whether it says of itself that all went well (`"success": true`)."""


def error_in_json(value: Any) -> JsonError | None:
    """The error that a JSON value is, if it is nothing else; of a call of which nothing is known."""
    return read_json(value, ArgumentIndex(None)).error


def read_json(value: Any, arguments: ArgumentIndex, depth: int = 0) -> JsonReading:
    """Take out of a JSON value all that says nothing.

    Args:
        value: what `structure_in` gave.
        arguments: of the call: what repeats them is taken out.
        depth: of wrappers that were opened before.
    """
    if depth > _MAX_DEPTH:
        return JsonReading()
    if isinstance(value, str):
        inner = structure_in(value) if value.lstrip()[:1] in ("{", "[") else None
        return JsonReading(words=value) if inner is None else read_json(inner, arguments, depth + 1)
    if _lists_issues(value):
        return JsonReading(JsonError("Invalid arguments: " + message_of({}, value), None))
    if isinstance(value, list):
        return _read_list(value, arguments, depth)
    return _read_object(value, arguments, depth) if isinstance(value, dict) and value else JsonReading()


def _read_list(items: Sequence[Any], arguments: ArgumentIndex, depth: int) -> JsonReading:
    """A batch: every item failed, or some did; or the content blocks of a result."""
    sole = items[0] if len(items) == 1 else None
    if isinstance(sole, dict) and sole.get("type") == "text":
        return read_json(sole.get("text"), arguments, depth + 1)
    nested = isinstance(sole, str) and structure_in(sole) is not None
    if nested or is_error_alone(sole):
        return read_json(sole, arguments, depth + 1)
    records = items[:_MAX_ITEMS]
    if asks_about_errors(arguments) or not records or not all(isinstance(item, dict) for item in records):
        return JsonReading()
    if isinstance(sole, dict) and _explains(folded_keys(sole)):
        return read_json(sole, arguments, depth + 1)._replace(words=None)
    return _read_batch_of(records, arguments)


def _read_batch_of(records: Sequence[JsonObject], arguments: ArgumentIndex) -> JsonReading:
    errors = [_error_of_item(folded_keys(record), arguments) for record in records]
    failed = [error for error in errors if error is not None]
    if failed and len(failed) == len(errors):
        messages = "; ".join(dict.fromkeys(error.message for error in failed[:MAX_PARTS]))
        return JsonReading(failed[0]._replace(message=messages[:4000]))
    return JsonReading(partial=tuple(error.message for error in failed))


def _error_of_item(body: JsonObject, arguments: ArgumentIndex) -> JsonError | None:
    """The error that an item of a batch is: it explains one, or has a status of 400 and above and names the item."""
    if _explains(body) or says_failed(body):
        return _error_in(body, arguments)
    status = status_of(body)
    alone = all(key in STATUS_KEYS or isinstance(part, str | int) for key, part in body.items()) and len(body) < 4
    told = bool(status) and alone and not looks_up(arguments)  # else the status may be what was asked for
    return JsonError(cut(json.dumps(body, default=str), 200), status) if told else None


def _read_object(value: JsonObject, arguments: ArgumentIndex, depth: int) -> JsonReading:
    body = _with_counts(folded_keys(value))
    batch = _read_batch(body, arguments)
    if batch is not None:
        return batch
    parts = _errors_of_parts(value, arguments)
    if parts:
        return JsonReading(parts[0])
    error = _error_in(body, arguments)
    affirmed = affirms(body)
    if error is not None:
        return JsonReading(error)
    left = _without_counts(body, _left(body, arguments))
    if len(left) == 1 and _may_wrap(body, left[0], arguments):
        inner = read_json(body[left[0]], arguments, depth + 1)
        words = inner.words if left[0] in CARRIERS or left[0] in TO_READER else None
        to_reader = inner.message or left[0] in MESSAGE_FIELDS
        return inner._replace(words=words, message=to_reader, affirmed=inner.affirmed or affirmed)
    words = _sole_message(body, arguments)
    return JsonReading(words=words, message=words is not None, partial=_errors_beside(body), affirmed=affirmed)


def _with_counts(body: JsonObject) -> JsonObject:
    """An object with the counts that stand in a part of it: `{"summary": {"booked": 0}, "rooms": [...]}`."""
    flat: JsonObject = {}
    for key, part in body.items():
        counts = key in _COUNTED and isinstance(part, dict) and all(type(count) is int for count in part.values())
        flat.update(folded_keys(part) if counts else {key: part})
    return flat


def _may_wrap(body: JsonObject, key: str, arguments: ArgumentIndex) -> bool:
    """Whether an object is a wrapper of its one field; a list of records is payload, unless the call changes things."""
    if key not in CARRIERS and not is_bare_wrapper(body):
        return False
    if isinstance(body[key], list) and key not in CARRIERS and not changes_something(arguments):
        return False
    return isinstance(body[key], dict | list | str)


def _are_issues(value: Any) -> bool:
    """Whether a list holds nothing but errors that say how severe they are."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(part, dict) and part.get("severity") in ("error", "fatal") for part in value[:MAX_PARTS])
    )


def is_bare_wrapper(body: JsonObject) -> bool:
    """Whether nothing stands beside the one field of an object that names or counts a record."""
    return _OF_A_RECORD.isdisjoint(map(str.casefold, body))


def _explains(body: JsonObject) -> bool:
    return any(not is_nothing(body.get(key)) for key in (*ERROR_KEYS, *MESSAGE_FIELDS))


def _left(body: JsonObject, arguments: ArgumentIndex) -> list[str]:
    """The fields of an object that say anything: neither a wrapper's bookkeeping, nor what repeats the call."""
    counted = [key for key, part in body.items() if not is_nothing(part) and not arguments.echoed_by(key, part)]
    if isinstance(body.get("data"), dict | list) and body["data"]:  # beside it a code and its name are the envelope's
        fine = {key for key in counted if key in STATUS_KEYS and body[key] in range(200, 300)}
        counted = [key for key in counted if key not in fine and not (fine and key in MESSAGE_FIELDS)]
    return [key for key in counted if key not in WRAPPING or (key == "status" and isinstance(body[key], dict))] or [
        key for key in ("message", "text", "input", "name", "error") if len(body) == 1 and key in body
    ]


def _without_counts(body: JsonObject, left: list[str]) -> list[str]:
    """Without how many items of the one list failed, and how many it has: `{"total": 2, "failed": 2, "items": []}`."""
    lists = [key for key in left if isinstance(body[key], list)]
    if len(lists) != 1:
        return left
    failed = {key for key in left if type(body[key]) is int and _FAILED_KEY.fullmatch(key)}
    whole = {key for key in left if type(body[key]) is int and body[key] == len(body[lists[0]])}
    return [key for key in left if key not in failed | whole]


def _read_batch(body: JsonObject, arguments: ArgumentIndex) -> JsonReading | None:
    """An object that counts or lists what was done and what failed; None where it does not."""
    failed = [key for key, part in body.items() if _FAILED_KEY.fullmatch(key) and not is_nothing(part)]
    beside = {key for key in body if failed and key.endswith("ed") and not _FAILED_KEY.fullmatch(key)}  # `booked`
    verbs = tuple(word[:4] for word in name_words(arguments.tool_name))
    denied = {key for key, part in body.items() if part is False and key.startswith(verbs) and key.endswith("ed")}
    done = {key: part for key, part in body.items() if _DONE_KEY.fullmatch(key) or key in beside | denied}
    left_out = _items_refused(body, arguments)
    if left_out is not None or not done:
        return left_out
    anything_done = not all(map(is_nothing, done.values()))
    said = tuple(cut(text, 200) for key in failed for text in strings_in(body[key])) or tuple(
        f"{key}: {body[key]}" for key in failed if not isinstance(body[key], dict | list)
    )
    if anything_done:
        return JsonReading(partial=said) if said and not isinstance(body.get("error"), str) else None
    why = next((body[key] for key in (*MESSAGE_FIELDS, *REASON_KEYS) if isinstance(body.get(key), str)), "")
    refused = any(part is False and (why or key.startswith(verbs)) for key, part in done.items())
    if (failed or refused) and not has_payload(
        {key: part for key, part in body.items() if key not in failed and key not in done}, arguments
    ):
        message = (
            ": ".join(filter(None, [why, *said[:5]])) or f"nothing was done: {cut(json.dumps(body, default=str), 300)}"
        )
        return JsonReading(JsonError(message, status_of(body)))
    return None


def _items_refused(body: JsonObject, arguments: ArgumentIndex) -> JsonReading | None:
    """An object of which one part is empty and a later one holds each item of the call, or each item has its reason.

    `{"moved": 0, "left": {"a7": "it is on loan"}}`, `{"taken": [], "turned_away": [{"title": "A", "why": "is full"}]}`,
    `{"gone": [], "never_heard_of": ["a7"]}`. A tool that looks things up has other empty parts.
    """
    parts = list(body.items())
    nothing_done = [
        at
        for at, (key, part) in enumerate(parts)
        if part in (0, [], {}) and part is not False and not _FAILED_KEY.fullmatch(key)
    ]
    if not nothing_done or looks_up(arguments):
        return None
    verbs = tuple(word[:4] for word in name_words(arguments.tool_name)[:2] if len(word) > 3)
    by_verb = bool(verbs) and any(parts[at][0].startswith(verbs) for at in nothing_done)
    counted = by_verb and any(parts[at][0].isalpha() and parts[at][1] == 0 for at in nothing_done)
    for key, part in parts[nothing_done[0] + 1 :]:
        negates = any(key in (f"not_{parts[at][0]}", f"un{parts[at][0]}") for at in nothing_done)
        if any(verb in key for verb in verbs) and not negates:  # what would have been done, by a dry run
            continue
        if arguments.repeats_argument(key, part):  # what the call gave, as it is kept now
            continue
        reasons = _reasons_by_item(key, part, arguments, 1 if counted else _MIN_REASON)
        if not reasons or len(reasons) != arguments.listed_items:
            reasons = _reasons_alone(part) if by_verb or negates else []
        if reasons:
            return JsonReading(JsonError("; ".join(dict.fromkeys(reasons))[:4000], None))
    return None


def _reasons_alone(part: Any) -> list[str]:
    """The reasons that a list has, of which each item has one: `[{"id": "p-7", "reason": "LOCKED"}]`."""
    if not isinstance(part, list) or not all(isinstance(item, dict) for item in part):
        return []
    told = [next((text for key in ("reason", *REASON_KEYS) if (text := item.get(key))), None) for item in part]
    return [text for text in told if isinstance(text, str)] if all(told) else []


def _reasons_by_item(key: str, part: Any, arguments: ArgumentIndex, words: int) -> list[str]:
    """Why each item of the call was left out; empty where a part of an answer does not list them.

    Args:
        key: of the part.
        part: of the answer.
        arguments: of the call.
        words: that a reason has at least.
    """
    if isinstance(part, dict):
        known = all(item in arguments.texts and isinstance(text, str) for item, text in part.items())
        return [f"{text}: {item}" for item, text in part.items()] if known else []
    if not isinstance(part, list):
        return []
    if all(isinstance(item, str) and item in arguments.texts for item in part):
        said = "not found" if _MISSING_KEY.search(key) else key.replace("_", " ")
        return [f"{said}: {item}" for item in part]
    texts = [[text for text in item.values() if isinstance(text, str)] for item in part if isinstance(item, dict)]
    named = [next((text for text in own if text in arguments.texts), None) for own in texts]
    told = [
        max(
            (in_words(text) for text in own if text not in arguments.texts),
            key=lambda text: len(text.split()),
            default="",
        )
        for own in texts
    ]
    told = [text if len(text.split()) >= words else "" for text in told]
    reasons = [f"{text}: {item}" for text, item in zip(told, named, strict=True) if text and item]
    return reasons if len(reasons) == len(part) else []


def _error_in(body: JsonObject, arguments: ArgumentIndex) -> JsonError | None:
    """The error that an object is, if it has no payload beside it."""
    error = named_error(body, loosely=not asks_yes_or_no(arguments))
    if error is None and not any(isinstance(part, int | float | list | dict) for part in body.values()):
        error = next((body[key] for key in REASON_KEYS if isinstance(body.get(key), str) and body[key]), None)
    if error is None and _are_issues(body.get("issue", body.get("issues"))):
        error = body.get("issue", body.get("issues"))
    metas = (folded_keys(part) for key in ("meta", "metadata", "meta_data") if isinstance(part := body.get(key), dict))
    error = error or next((meta for meta in metas if (status_of(meta) or 0) > 0 or denies_success(meta)), None)
    inner_parts = (part for part in (error, body.get("data")) if isinstance(part, dict))
    status = next(filter(None, (status_of(part) for part in (body, *map(folded_keys, inner_parts)))), None)
    if denies_success(body):
        return JsonError(message_of(body, error), status)
    fields = refuses_fields(body) and all(isinstance(part, list) for part in body.values())
    if (fields or fails_without_an_id(body)) and not (looks_up(arguments) or asks_yes_or_no(arguments)):
        return JsonError(": ".join(dict.fromkeys(strings_in(list(body.values()))))[:4000], status)
    bare = is_bare_envelope(body) and not names_a_web_address(arguments)  # whose status may be the answer
    if body.get("found") is False and looks_up(arguments) and not (searches(arguments) or asks_yes_or_no(arguments)):
        return (
            None if has_payload(body, arguments, error) else JsonError(f"not found: {message_of(body, error)}", status)
        )
    said = says_failed(body) or reports(body, error, status) or (bare and (status or 0) >= 400)
    named = isinstance(error, str) and (status or 0) >= 400 and not any(map(_is_payload, body.items()))
    if said and (named or not has_payload(body, arguments, error)):
        return JsonError(message_of(body, error), status)
    return None


def _errors_beside(body: JsonObject) -> tuple[str, ...]:
    """What an object with payload lists as errors."""
    listed = body.get("errors")
    if not isinstance(listed, list) or not listed or not any(map(_is_payload, body.items())):
        return ()
    return tuple(cut(text, 200) for text in strings_in(listed[:MAX_PARTS]))


def _is_payload(item: tuple[str, Any]) -> bool:
    key, part = item
    return key != "errors" and isinstance(part, list | dict) and not is_nothing(part)


def _errors_of_parts(value: JsonObject, arguments: ArgumentIndex) -> list[JsonError]:
    """The errors of the things that an object lists by name, where each of them failed and says so in words."""
    parts = list(value.values())
    if len(parts) > MAX_PARTS or not all(isinstance(part, dict) and part for part in parts):
        return []
    if any(str(key).casefold() in (*ERROR_KEYS, *ENVELOPE_KEYS, "response", "output") for key in value):
        return []
    bodies = [folded_keys(part) for part in parts]
    if len(parts) == 1 and not says_failed(bodies[0]):
        return []
    errors = [_error_in(body, arguments) for body in bodies]
    return [error for error in errors if error is not None] if all(errors) else []


def words_of_a_refusal(value: Any, arguments: ArgumentIndex) -> str | None:
    """The one sentence beside what a call was to make, or to do, and did not: `{"booking": null, "comment": "..."}`."""
    if not isinstance(value, dict) or looks_up(arguments) or asks_yes_or_no(arguments):
        return None
    body = {key: part for key, part in folded_keys(value).items() if not arguments.repeats_argument(key, part)}
    texts = [part for part in body.values() if isinstance(part, str)]
    verbs = tuple(word[:4] for word in name_words(arguments.tool_name) if len(word) > 3)
    undone = [key for key, part in body.items() if part in (False, None, 0, [], {})]
    told = any(_NOT_DONE.fullmatch(key) or (verbs and key.startswith(verbs)) for key in undone)
    alone = len(texts) == 1 and len(texts) + len(undone) == len(body) and len(texts[0].split()) > 2
    return texts[0] if told and alone else None


def _sole_message(body: JsonObject, arguments: ArgumentIndex) -> str | None:
    """What an object says whose only substance is a message to the reader (`{"message": "...", "url": "..."}`)."""
    said = any(isinstance(body.get(key), str) for key in TO_READER)
    return message_of(body, None) if said and not has_payload(body, arguments) else None


def is_sentence_alone(value: Any) -> bool:
    """Whether all that an object or a list has is one text of some words: `{"note": "we have none of these"}`."""
    parts = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return len(parts) == 1 and isinstance(parts[0], str) and len(parts[0].split()) > 2


def only_words(value: Any) -> str | None:
    """The one text that an answer's fields hold between them, where the others are empty, or numbers."""
    words: set[str] = set()
    empty = 0
    for count, leaf in enumerate(scalars(value)):
        if count > 60:
            return None
        if leaf in (None, ""):
            empty += 1
        elif isinstance(leaf, str):
            words.add(leaf)
    return words.pop() if len(words) == 1 and empty > 1 else None


def found_nothing(value: Any) -> bool:
    """Whether a body of an empty list calls itself a success and says that nothing was found."""
    if not isinstance(value, dict):
        return False
    body = folded_keys(value)
    codes = [body[key] for key in STATUS_KEYS if isinstance(body.get(key), int)]
    fine = bool(codes) and all(code in SUCCESS_CODES for code in codes)
    well = fine or any(body.get(key) is True for key in SUCCESS_KEYS)
    lists = [part for part in body.values() if isinstance(part, list)]
    return well and bool(lists) and not any(lists) and _NOT_FOUND.match(message_of(body, None)) is not None


def is_empty(value: Any) -> bool:
    """Whether a JSON value holds no result: nothing at all, or empty lists, zeros and words beside them."""
    if not isinstance(value, dict):
        return value is None or value in ("", [])
    parts = folded_keys(value)
    containers = [part for part in parts.values() if isinstance(part, list | dict)]
    if not parts:
        return True
    figures = [
        part for key, part in parts.items() if (isinstance(part, int | float) and "count" in key) or "total" in key
    ]
    if figures and all(part in (0, False, None, "", [], {}) for part in parts.values()):
        return True
    return bool(containers) and not any(containers) and not any(figures) and len(parts) <= len(containers) + 5


def error_in_tail(text: str) -> JsonError | None:
    """The error that the JSON body at the end of a text is: `Request failed: {"status": 503, ...}`."""
    body = json_at_end(text)
    return error_in_json(body) if isinstance(body, dict) else None


def _lists_issues(value: Any) -> bool:
    """Whether a list holds nothing but the issues of a schema check, or a value is one such issue."""
    if isinstance(value, dict) and isinstance(value.get("path"), list) and {"code", "message"} <= set(value):
        return isinstance(value["code"], str) and bool({"expected", "received"} & set(value))
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(part, dict) and {"code", "path", "message"} <= set(part) for part in value[:_MAX_ITEMS])
    )
