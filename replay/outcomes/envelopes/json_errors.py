"""Answers that are a JSON object whose only substance is an error."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from replay.json_values import bounded, known_json
from replay.records import JsonObject
from replay.safety.text import cut

MAX_ERROR_LENGTH = 60_000


def _words_in(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_ERROR_KEYS = _words_in("""
    error errors err exception error_message errormessage error_description fault errormessages
""")
_MESSAGE_KEYS = _words_in("message msg detail details reason description title hint result text")
_STATUS_TEXT = re.compile(r"-?[0-9]{3,5}")
_STATUS_KEYS = _words_in("""
    status statuscode status_code code cod http_status httpstatus error_code errorcode errcode
""")
_SUCCESS_KEYS = _words_in("success ok succeeded successful")
_DETAIL_KEYS = frozenset((*_ERROR_KEYS, *_MESSAGE_KEYS, *_STATUS_KEYS, *_SUCCESS_KEYS)) | frozenset(
    _words_in("""
    object type kind name iserror is_error request_id requestid trace_id timestamp time path url uri
    documentation_url docs help suggestion resolution suggestions stack stacktrace traceback trace tool
    tool_name retryable retry_after instance level domain metadata context category id jsonrpc data
    error_type errortype action operation query input available recoverable severity headers body
""")
)
_DETAIL_KEY_STARTS = ("available", "valid_", "supported", "error", "suggest", "allowed")
_DETAIL_KEY_ENDS = ("url", "uri", "timestamp", "_at", "_id", "hint", "help", "version")
_EMPTY_WORDS = frozenset(
    {"", "none", "null", "nil", "no", "false", "ok", "0", "n/a", "-", "undefined", "no error", "no errors"}
)
_FAILED_STATE_ENDS = _words_in("_not_found _error _failed _denied _invalid -not-found -error -failed")
_FAILED_STATES = frozenset(_words_in("error failed failure fail exception invalid not_found denied rejected err"))
_SUCCESS_CODES = frozenset((0, 1, *range(100, 400)))
_ERROR_NAME = re.compile(r"(?:Error|Exception)\Z")
_MAX_LEAVES, _MAX_PARTS = 60, 20
_ENVELOPE_KEYS = frozenset(_words_in("data result message msg"))
_NOT_FOUND = re.compile(
    r"\W*(?:(?:[\w-]{1,30} ){0,3}not found|nothing found|no (?:[\w-]{1,30} ){0,3}found)\W*$", re.IGNORECASE
)


class JsonError(NamedTuple):
    """The error that a JSON body reports."""

    message: str
    status: int | None
    """HTTP status, or JSON-RPC code, where it holds one."""


def parse_json(text: str) -> Any:
    """The JSON value that is the whole text, or the Python literal of a dict; None where it is neither, or large."""
    stripped = text.strip()
    if len(stripped) > MAX_ERROR_LENGTH or stripped[:1] not in ("{", "[", '"'):
        return None
    try:
        return known_json(stripped)
    except ValueError:
        pass
    if stripped[:2] not in ("{'", "[{") or len(stripped) > MAX_ERROR_LENGTH // 4:
        return None
    try:
        return bounded(ast.literal_eval(stripped))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def error_in_json(value: Any, echoed: tuple[str, ...] = ()) -> JsonError | None:
    """The error that a JSON value is, if it is nothing else.

    Args:
        value: what `parse_json` gave.
        echoed: names of fields that only repeat the call's arguments.
    """
    if _lists_issues(value):
        return JsonError("Invalid arguments: " + _message_of({}, value), None)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict) or not value:
        return None
    return next(iter(_reports_of_parts(value, echoed)), None) or _error_in_object(value, echoed)


def _error_in_object(value: JsonObject, echoed: tuple[str, ...]) -> JsonError | None:
    body = {str(key).casefold(): part for key, part in value.items()}
    inner = body.get("result", body.get("response"))
    if isinstance(inner, dict) and all(key in ("result", "response", "jsonrpc", "id", "status") for key in body):
        return error_in_json(inner, echoed)
    error = next((body[key] for key in _ERROR_KEYS if not _is_nothing(body.get(key))), None)
    inner_parts = (part for part in (error, body.get("data")) if isinstance(part, dict))
    status = next(filter(None, (_status_of(part) for part in (body, *map(_folded, inner_parts)))), None)
    if _denies_success(body):
        return JsonError(_message_of(body, error), status)
    if not _has_data(body, echoed) and (_says_failed(body) or _reports(body, error, status)):
        return JsonError(_message_of(body, error), status)
    return None


def _reports_of_parts(value: JsonObject, echoed: tuple[str, ...]) -> list[JsonError]:
    """The errors of the things that an object lists by name, where each of them failed and says so in words."""
    parts = list(value.values())
    if len(parts) > _MAX_PARTS or not all(isinstance(part, dict) and _says_failed(_folded(part)) for part in parts):
        return []
    if any(str(key).casefold() in (*_ERROR_KEYS, *_ENVELOPE_KEYS) for key in value):
        return []
    return [report for report in (error_in_json(part, echoed) for part in parts) if report is not None]


def only_words(value: Any) -> str | None:
    """The one text that an answer's fields hold between them, where the others are empty, or numbers."""
    words: set[str] = set()
    empty = 0
    for count, leaf in enumerate(_leaves(value)):
        if count > _MAX_LEAVES:
            return None
        if leaf in (None, ""):
            empty += 1
        elif isinstance(leaf, str):
            words.add(leaf)
    return words.pop() if len(words) == 1 and empty > 1 else None


def sole_text(value: Any) -> str | None:
    """The string that an object of one field holds (`{"result": "..."}`), or a bare JSON string."""
    if isinstance(value, dict) and len(value) == 1:
        value = next(iter(value.values()))
    return value if isinstance(value, str) else None


def sole_message(value: Any, echoed: tuple[str, ...] = ()) -> str | None:
    """What an object says whose only substance is a message to the reader (`{"message": "...", "url": "..."}`)."""
    if not isinstance(value, dict) or not any(isinstance(value.get(key), str) for key in ("message", "msg", "detail")):
        return None
    body = _folded(value)
    return None if _has_data(body, echoed) else _message_of(body, None)


def found_nothing(value: Any) -> bool:
    """Whether a body of an empty list calls itself a success and says that nothing was found."""
    if not isinstance(value, dict):
        return False
    body = _folded(value)
    codes = [body[key] for key in _STATUS_KEYS if isinstance(body.get(key), int)]
    fine = bool(codes) and all(code in _SUCCESS_CODES for code in codes)
    well = fine or any(body.get(key) is True for key in _SUCCESS_KEYS)
    lists = [part for part in body.values() if isinstance(part, list)]
    return well and bool(lists) and not any(lists) and _NOT_FOUND.match(_message_of(body, None)) is not None


def is_empty(value: Any) -> bool:
    """Whether a JSON value holds no result: nothing at all, or empty lists, zeros and words beside them."""
    if not isinstance(value, dict):
        return value is None or value in ("", [])
    parts = {str(key).casefold(): part for key, part in value.items()}
    containers = [part for part in parts.values() if isinstance(part, list | dict)]
    if not parts:
        return True
    figures = [
        part for key, part in parts.items() if (isinstance(part, int | float) and "count" in key) or "total" in key
    ]
    return bool(containers) and not any(containers) and not any(figures) and len(parts) <= len(containers) + 5


def _folded(body: JsonObject) -> JsonObject:
    return {str(key).casefold(): part for key, part in body.items()}


def _is_nothing(part: Any) -> bool:
    return not part or (isinstance(part, str) and part.strip().casefold() in _EMPTY_WORDS)


def _lists_issues(value: Any) -> bool:
    """Whether a list holds nothing but the issues of a schema check, or a value is one such issue."""
    if isinstance(value, dict) and isinstance(value.get("path"), list) and {"code", "message"} <= set(value):
        return isinstance(value["code"], str) and bool({"expected", "received"} & set(value))
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(part, dict) and {"code", "path", "message"} <= set(part) for part in value)
    )


def _denies_success(body: JsonObject) -> bool:
    if "valid" in body or "is_valid" in body:
        return False
    return any(body.get(key) is False for key in _SUCCESS_KEYS) or True in (body.get("iserror"), body.get("is_error"))


def _says_failed(body: JsonObject) -> bool:
    explained = any(not _is_nothing(body.get(key)) for key in (*_ERROR_KEYS, *_MESSAGE_KEYS))
    states = (str(body.get(key, "")).casefold() for key in ("status", "object", "type", "state", "result", "outcome"))
    return explained and any(state in _FAILED_STATES or state.endswith(_FAILED_STATE_ENDS) for state in states)


def _reports(body: JsonObject, error: Any, status: int | None) -> bool:
    if error is not None:
        return True
    explained = any(
        isinstance(body.get(key), str | list) and body[key] for key in ("message", "msg", "detail", "reason", "title")
    )
    if explained and (status is not None and (400 <= status < 600 or -32800 < status <= -32000)):
        return True
    if status is not None and status >= 400 and _ERROR_NAME.search(str(body.get("name", ""))):
        return True
    if status is not None and status >= 400 and "code" in body and _is_bare_envelope(body):
        return True
    return explained and (set(body) == {"detail"} or (len(body) == 2 and _code_of(body) not in _SUCCESS_CODES))


def _is_bare_envelope(body: JsonObject) -> bool:
    """Whether all that a body has beside its status is an envelope with nothing in it."""
    beside = {key for key in body if key not in _STATUS_KEYS}
    return bool(beside) and beside <= _ENVELOPE_KEYS and all(_is_nothing(body[key]) for key in beside)


def _has_data(body: JsonObject, echoed: tuple[str, ...]) -> bool:
    """Whether the body holds data beside what belongs to an error; scalars after a leading error belong to it."""
    names = {name.casefold() for name in echoed}
    if any(isinstance(body.get(key), bool) for key in ("valid", "is_valid", "passed")):
        return True
    leads = next(iter(body)) in _ERROR_KEYS
    for key, part in body.items():
        beside = (
            key in _DETAIL_KEYS or key in names or key.startswith(_DETAIL_KEY_STARTS) or key.endswith(_DETAIL_KEY_ENDS)
        )
        if not beside and not _is_nothing(part) and not (leads and not isinstance(part, list | dict)):
            return True
    return isinstance(body.get("data"), list | dict) and bool(body["data"]) and "code" not in body


def _code_of(body: JsonObject) -> int:
    code = body.get("code", 0)
    return code if isinstance(code, int) else 0


def _status_of(body: JsonObject) -> int | None:
    for key in _STATUS_KEYS:
        part = body.get(key)
        if isinstance(part, str) and _STATUS_TEXT.fullmatch(part):
            part = int(part)
        if isinstance(part, int) and not isinstance(part, bool) and (400 <= part < 600 or -33000 < part <= -32000):
            return part
    return None


def _message_of(body: JsonObject, error: Any) -> str:
    parts = [
        *_strings(error),
        *(text for key in (*_MESSAGE_KEYS, "code", "name", "body") for text in _strings(body.get(key))),
    ]
    return ": ".join(dict.fromkeys(parts))[:4000] or cut(json.dumps(body, default=str), 400)


def _strings(part: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict) and depth < 4:
        for inner in part.values():
            yield from _strings(inner, depth + 1)
    elif isinstance(part, list) and depth < 4:
        for inner in part[:20]:
            yield from _strings(inner, depth + 1)


def _leaves(part: Any, depth: int = 0) -> Iterator[Any]:
    if isinstance(part, dict | list) and depth < 6:
        for inner in part.values() if isinstance(part, dict) else part:
            yield from _leaves(inner, depth + 1)
    else:
        yield part
