"""The fields of one JSON object: which tell of an error, which of a success, and which say nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from replay.outcomes.call_facts import ArgumentIndex, looks_up, name_words
from replay.records import JsonObject
from replay.safety.text import cut

MAX_PARTS = 20
"""Parts of an error that are looked at."""


def _words_in(text: str) -> frozenset[str]:
    return frozenset(text.split())


ERROR_KEYS = tuple(
    """
    error errors err exception error_message errormessage error_description error_msg errmsg fault failure
    errormessages error_details
    """.split()  # noqa: SIM905 a list would take a line a word
)
PROBLEM_KEYS = ("problem", "problems")
"""Fields of an error that may as well hold the question to an answer beside it."""
REASON_KEYS = ("because", "why")
"""Fields that say why something was not done, where nothing but words stands beside them."""
_MESSAGE_KEYS = tuple(
    """
    message msg detail details reason description title hint result text explanation cause statustext status_text
    """.split()  # noqa: SIM905
)
TO_READER = ("message", "msg", "detail", "reason")
MESSAGE_FIELDS = ("message", "msg", "detail", "reason", "title", "explanation", "cause", "details")
STATUS_KEYS = tuple(
    "status statuscode status_code code cod http http_status httpstatus error_code errorcode errcode".split()  # noqa: SIM905
)
_RETURN_CODES = (
    "rc",
    "ret",
    "errno",
    "errcode",
    "retcode",
    "ret_code",
    "returncode",
    "return_code",
    "resultcode",
    "result_code",
)
_STATE_KEYS = ("status", "object", "type", "state", "result", "outcome", "stat", "resultcode", "result_code")
SUCCESS_KEYS = ("success", "ok", "succeeded", "successful", "is_success", "issuccess", "ack", "acknowledged")
_FAILURE_KEYS = ("iserror", "is_error", "timed_out", "timedout")
_BOOKKEEPING = frozenset((*ERROR_KEYS, *PROBLEM_KEYS, *_MESSAGE_KEYS, *STATUS_KEYS, *SUCCESS_KEYS)) | _words_in(
    """
    object type kind name iserror is_error request_id requestid trace_id timestamp time date path url uri
    documentation_url docs help suggestion resolution suggestions stack stacktrace traceback trace tool
    tool_name toolname server server_name servername retryable retry_after instance level domain metadata meta
    _meta meta_data context category id jsonrpc data state error_type errortype action operation query input available
    recoverable severity headers body response_text response_body issue issues
    resourcetype duration elapsed took latency session session_id
    sessionid version usage next_step next_steps next_action nextsteps tip tips
    recommendation warning params arguments args
    parameters annotations call_id model
    """
)
_BOOKKEEPING_STARTS = (
    "available", "valid_", "invalid_", "supported", "expected", "required", "accepted", "error", "suggest", "allowed",
    "duration", "elapsed",
)  # fmt: skip
_BOOKKEEPING_ENDS = (
    "_status", "url", "uri", "timestamp", "_at", "_id", "hint", "help", "version", "_ms", "_seconds", "_time",
    "_params", "msg", "message", "__type", "_page", "_pages", "_parameters", "_options", "_choices",
)  # fmt: skip
WRAPPING = _words_in(
    """
    metadata meta_data
    jsonrpc id meta _meta type role name tool tool_name toolname server server_name servername call_id tool_call_id
    tool_use_id duration duration_ms durationms elapsed elapsed_ms took latency latency_ms timestamp time ts start end
    started_at ended_at created_at finished_at success ok iserror is_error status arguments args params input session_id
    model usage cached annotations __class__ error index step message_id latencyms execution_time executiontime
    request_id requestid trace_id traceid correlation_id correlationid http_status httpstatus status_code statuscode
    """
)
"""What stands beside the one field of substance of a wrapper."""
CARRIERS = _words_in(
    """
    result results output outputs response responses content data text message msg answer body payload value items
    outcomes return return_value returnvalue stdout summary note info reply observation feedback raw
    """
)
"""Fields that carry an answer, whatever it is."""
_CHECKING_VERBS = _words_in("validate check verify test lint assert")
_EMPTY_WORDS = _words_in("none null nil no false ok 0 n/a - undefined") | {"", "no error", "no errors"}
_FAILED_STATE_ENDS = (
    "_not_found",
    "_error",
    "_failed",
    "_denied",
    "_invalid",
    "_refused",
    "-not-found",
    "-error",
    "-failed",
)
_FAILED_STATES = _words_in(
    "error failed failure fail exception invalid not_found denied rejected err refused declined ko nok not_implemented"
    " unsupported unauthorized forbidden timeout timed_out bad_request"
)
FINE_STATES = _words_in("ok success successful succeeded completed complete done created updated deleted accepted")
SUCCESS_CODES = frozenset((0, 1, *range(100, 400)))
_STATUS_TEXT = re.compile(r"-?[0-9]{3,5}")
_CODE_WORD = re.compile(r"[A-Z][A-Z_]{3,40}")
"""A code that is a word: `TAKEN`, `NO_SUCH_SLOT`."""
_CODE_OF_WORDS = re.compile(r"[a-z]+(?:_[a-z]+)+")
_ERROR_NAME = re.compile(r"[a-z](?:Error|Exception)\Z")
_ERROR_KEY_END = re.compile(r"_errors?$")
_ERROR_KEY = re.compile(
    r"^(?:\w*_)?(?:err(?:or)?|exception|fault|failure|decline|rejection|refusal|violation)s?"
    r"_?(?:message|msg|text|string|detail|reason|description|desc|code|type)?$|^[a-z]+errors$"
)
"""How large APIs name what went wrong: `errmsg`, `userErrors`, `faultstring`, `decline_reason`, `ExceptionMessage`."""
_REFUSES_FIELD = re.compile(
    r"\bthis field\b|\b(?:is|are) (?:required|missing|invalid|empty|too \w+|not (?:a )?valid)\b"
    r"|\b(?:may ?not|can ?not|can't|must|should) be\b|\balready (?:exists|taken|been taken|in use)\b"
    r"|\b(?:not a valid|ensure this|enter a valid|limit of)\b",
    re.IGNORECASE,
)
"""How the checks of Django, Rails and ASP.NET complain of one field."""
ENVELOPE_KEYS = _words_in("data result message msg")


def is_nothing(part: Any, depth: int = 0) -> bool:
    """Whether a value is null, empty, zero, or a word for that; or holds nothing else."""
    if isinstance(part, str):
        return part.strip().casefold() in _EMPTY_WORDS
    if isinstance(part, dict) and part and depth < 4:
        return all(is_nothing(inner, depth + 1) for inner in list(part.values())[:MAX_PARTS])
    return not part


def is_error_alone(value: Any) -> bool:
    """Whether a value is an object that has an error and nothing else."""
    return isinstance(value, dict) and set(ERROR_KEYS).issuperset(folded_keys(value))


def folded_keys(body: JsonObject) -> JsonObject:
    """The object with its names in lower case, as all functions here ask for it."""
    return {str(key).casefold(): part for key, part in body.items()}


def denies_success(body: JsonObject) -> bool:
    """Whether it says that it is no success; what was checked may be invalid in one."""
    if "valid" in body or "is_valid" in body:
        return False
    return any(body.get(key) is False for key in SUCCESS_KEYS) or any(body.get(key) is True for key in _FAILURE_KEYS)


def affirms(body: JsonObject) -> bool:
    """Whether it says that all went well."""
    state = body.get("status")
    return any(body.get(key) is True for key in SUCCESS_KEYS) or (
        isinstance(state, str) and state.casefold() in FINE_STATES
    )


def named_error(body: JsonObject, *, loosely: bool = True) -> Any:
    """What stands under a name of an error; None where nothing does.

    Args:
        body: with its names in lower case.
        loosely: also under names that end in one (`decline_reason`); who checks something has them in its answer.
    """
    for key in (*ERROR_KEYS, *PROBLEM_KEYS):
        if not is_nothing(body.get(key)):
            return body[key]
    named = (
        part
        for key, part in body.items()
        if isinstance(part, str | list | dict) and (_ERROR_KEY if loosely else _ERROR_KEY_END).search(key)
    )
    sole = (part for key, part in body.items() if len(body) == 1 and key.endswith(("error", "exception")))
    return next((part for part in (*named, *sole) if not is_nothing(part)), None)


def says_failed(body: JsonObject) -> bool:
    """Whether its state is a failure, and something explains it."""
    explained = any(not is_nothing(body.get(key)) for key in (*ERROR_KEYS, *_MESSAGE_KEYS, "resultmsg", "result_msg"))
    explained = explained or (isinstance(data := body.get("data"), dict) and refuses_fields(data))
    states = (
        str(part).casefold().partition(":")[0]
        for key, part in body.items()
        if key in _STATE_KEYS or key.endswith("_status")
    )
    failed = [
        state
        for state in states
        if state in _FAILED_STATES or state.endswith(_FAILED_STATE_ENDS) or state.startswith("invalid_")
    ]
    alone = sum(not is_nothing(part) for part in body.values()) == 1
    return bool(failed) and (
        explained or alone or any(f"{failed[0]}:" in str(part).casefold() for part in body.values())
    )


def refuses_fields(body: JsonObject) -> bool:
    """Whether all that it has is complaints of some fields, by name: `{"quantity": ["This field is required."]}`."""
    complaints = [part if isinstance(part, list) else [part] for part in body.values()]
    return bool(complaints) and all(
        texts and all(isinstance(text, str) and _REFUSES_FIELD.search(text) for text in texts) for texts in complaints
    )


def fails_without_an_id(body: JsonObject) -> bool:
    """Whether its state is a failure, and what was to be made has no id: `{"order_id": null, "state": "REJECTED"}`."""
    failed = any(isinstance(part := body.get(key), str) and part.casefold() in _FAILED_STATES for key in _STATE_KEYS)
    return failed and any(part is None and (key == "id" or key.endswith("_id")) for key, part in body.items())


def reports(body: JsonObject, error: Any, status: int | None) -> bool:
    """Whether it has an error, or explains a status or a code that is none of a success."""
    if error is not None:
        return True
    explained = any(isinstance(body.get(key), str | list) and body[key] for key in MESSAGE_FIELDS)
    if explained and (status is not None and (400 <= status < 600 or -32800 < status <= -32000)):
        return True
    named = _ERROR_NAME.search(str(body.get("name", ""))) if (status or 0) >= 400 else None
    if _is_refused_by_code(body) or named or (explained and _ERROR_NAME.search(str(body.get("__type", "")))):
        return True
    return explained and (set(body) == {"detail"} or (len(body) == 2 and _code_of(body) not in SUCCESS_CODES))


def _is_refused_by_code(body: JsonObject) -> bool:
    """Whether a body has a code that is a word, and a sentence: `{"code": "FULL", "detail": "it takes four"}`.

    Or a return code that is not zero and, beside it, one sentence and nothing else.
    """
    if _is_refused_by_return_code(body):
        return True
    code = body.get("code", body.get("error_code"))
    if not isinstance(code, str) or not (_CODE_WORD.fullmatch(code) or _CODE_OF_WORDS.fullmatch(code)):
        return False
    said = any(isinstance(text := body.get(key), str) and len(text.split()) > 2 for key in TO_READER)
    return said and FINE_STATES.isdisjoint(code.casefold().split("_"))


def _is_refused_by_return_code(body: JsonObject) -> bool:
    """Whether a body has a return code that is not zero and, beside it, one sentence and nothing else."""
    code = next((body[key] for key in _RETURN_CODES if key in body), 0)
    if type(code) is not int or code in SUCCESS_CODES - {1}:
        return False
    beside = [part for key, part in body.items() if key not in _RETURN_CODES and not is_nothing(part)]
    return len(beside) == 1 and isinstance(beside[0], str) and len(beside[0].split()) > 1


def is_bare_envelope(body: JsonObject) -> bool:
    """Whether all that a body has beside its status is an envelope with nothing in it."""
    beside = {key for key in body if key not in STATUS_KEYS}
    return beside <= ENVELOPE_KEYS and all(is_nothing(body[key]) for key in beside)


def has_payload(body: JsonObject, arguments: ArgumentIndex, error: Any = None) -> bool:
    """Whether a body holds data beside what belongs to an error; scalars after a leading error belong to it."""
    if not body:
        return False
    leads = next(iter(body)) in ERROR_KEYS or _is_refused_by_code(body) or any(key in body for key in REASON_KEYS)
    checks = not _CHECKING_VERBS.isdisjoint(name_words(arguments.tool_name)) or not leads
    if checks and any(isinstance(body.get(key), bool) for key in ("valid", "is_valid", "passed")):
        return True
    made = error is not None and not looks_up(arguments)  # whose state may be that of the thing looked up
    own_state = (made or next(iter(body)) == "status") and str(body.get("status")).casefold() in _FAILED_STATES
    for key, part in body.items():
        if is_nothing(part) or part is True or key in _BOOKKEEPING or arguments.repeats_argument(key, part):
            continue
        if leads and key not in CARRIERS and isinstance(next(iter(body.values())), str):
            continue
        if not isinstance(part, list | dict) and (own_state or leads or key.endswith("id") or _is_address(part)):
            continue
        if key.startswith(_BOOKKEEPING_STARTS) or key.endswith(_BOOKKEEPING_ENDS) or arguments.explained_by(part):
            continue
        if key in _STATE_KEYS or (isinstance(part, str) and _ERROR_KEY.search(key)) or part is error:
            continue
        if not (isinstance(part, dict) and refuses_fields(part)) and not (leads and _are_texts(part)):
            return True
    data = body.get("data")
    told = isinstance(data, dict) and refuses_fields(data)
    return isinstance(data, list | dict) and not (is_nothing(data) or told or "code" in body)


def _are_texts(part: Any) -> bool:
    """Whether a part is a list of texts: what was tried, or what there is."""
    return isinstance(part, list) and all(isinstance(item, str) for item in part)


def _is_address(part: Any) -> bool:
    return isinstance(part, str) and part.startswith(("http://", "https://"))


def _code_of(body: JsonObject) -> int:
    return code if isinstance(code := body.get("code", 0), int) else 0


def status_of(body: JsonObject) -> int | None:
    """Its HTTP status of 400 and above, or its JSON-RPC code."""
    for key in STATUS_KEYS:
        part = body.get(key)
        if isinstance(part, str) and _STATUS_TEXT.fullmatch(part):
            part = int(part)
        if isinstance(part, int) and not isinstance(part, bool) and (400 <= part < 600 or -33000 < part <= -32000):
            return part
    return None


def message_of(body: JsonObject, error: Any) -> str:
    """What it says to the reader, the error first."""
    parts = [
        *strings_in(error),
        *(strings_in(list(body.values())) if _is_refused_by_return_code(body) else ()),
        *(
            text
            for key in (*_MESSAGE_KEYS, "code", "name", "body")
            if key != "hint" or error is None
            for text in strings_in(body.get(key))
        ),
        *(body[key] for key in ("status", "type") if isinstance(body.get(key), str) and body[key].isupper()),
    ]
    return ": ".join(dict.fromkeys(parts))[:4000] or cut(json.dumps(body, default=str), 400)


def in_words(text: str) -> str:
    """A text that is or begins with a code of words, `no_such_room: 12`, with these words instead."""
    code, colon, rest = text.partition(": ")
    return f"{code.replace('_', ' ')}{colon}{rest}" if _CODE_OF_WORDS.fullmatch(code) else text


def strings_in(part: Any, depth: int = 0) -> Iterator[str]:
    """The texts in a part of it, a few levels deep."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict) and depth < 4:
        for inner in part.values():
            yield from strings_in(inner, depth + 1)
    elif isinstance(part, list) and depth < 4:
        for inner in part[:MAX_PARTS]:
            yield from strings_in(inner, depth + 1)


def scalars(part: Any, depth: int = 0) -> Iterator[Any]:
    """The values of a JSON value that hold no others."""
    if isinstance(part, dict | list) and depth < 6:
        for inner in part.values() if isinstance(part, dict) else part:
            yield from scalars(inner, depth + 1)
    else:
        yield part
