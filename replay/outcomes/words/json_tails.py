"""The JSON body with which the text of an error may end: `Request failed: {"status": 503, ...}`."""

from __future__ import annotations

from typing import Any

from replay.outcomes.envelopes.json_errors import error_in_json, parse_json
from replay.outcomes.words.error_phrases import http_status

_MAX_BEFORE = 600


def without_empty_tail(text: str) -> str:
    """The text without a JSON body at its end whose fields hold nothing but zeros and empty values."""
    start, body = _tail(text)
    return text[:start] if body is not None and not _says_anything(body) else text


def status_in_tail(text: str) -> int | None:
    """The HTTP status of the error that the JSON body at the end of a text is."""
    body = _tail(text)[1]
    found = error_in_json(body) if isinstance(body, dict) else None
    if found is None:
        return None
    return found.status if found.status is not None and found.status > 0 else http_status(found.message)


def _tail(text: str) -> tuple[int, Any]:
    start = text.find("{", 0, _MAX_BEFORE)
    body = parse_json(text[start:]) if start >= 0 and text.rstrip().endswith("}") else None
    return start, body


def _says_anything(part: Any) -> bool:
    if isinstance(part, dict | list):
        return any(map(_says_anything, part.values() if isinstance(part, dict) else part))
    return bool(part)
