"""A server's tools/list, used as far as it can be: what breaks the specification is noted, and kept as it was sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from replay.interpreter.channel import Unreadable
from replay.interpreter.handshake import Identity
from replay.interpreter.launch import CannotStartError
from replay.interpreter.peer import Closed, Failed, Peer, Returned
from replay.records import JsonObject, Tool
from replay.text import one_line

_MOST_PAGES: Final = 1000
_METHOD_NOT_FOUND: Final = -32601
_NAME_LENGTH: Final = 60

Note = Callable[[str], None]


async def list_tools(peer: Peer, identity: Identity, note: Note) -> tuple[Tool, ...]:
    """All pages of tools/list.

    Raises:
        CannotStartError: the server gives no list though it has tools.
    """
    entries: list[Any] = []
    cursor: str | None = None
    seen: set[str] = set()
    for _ in range(_MOST_PAGES):
        page = await _page(peer, identity, cursor)
        if page is None:
            return ()
        entries += _entries_of(page, note)
        cursor = page.get("nextCursor")
        if not cursor or not isinstance(cursor, str):
            break
        if cursor in seen:
            note("tools/list gives the same nextCursor again; the rest of the list was not read")
            break
        seen.add(cursor)
    else:
        note(f"tools/list has more than {_MOST_PAGES} pages; the rest was not read")
    return _tools_of(entries, note)


async def _page(peer: Peer, identity: Identity, cursor: str | None) -> JsonObject | None:
    params, headers = identity.stamp("tools/list", {} if cursor is None else {"cursor": cursor})
    outcome = await peer.request("tools/list", params or None, headers)
    if isinstance(outcome, Returned) and isinstance(outcome.result, dict):
        return outcome.result
    if isinstance(outcome, Failed):
        if outcome.error.get("code") == _METHOD_NOT_FOUND and "tools" not in identity.capabilities:
            return None
        raise CannotStartError(f"tools/list failed: {one_line(str(outcome.error.get('message')), 200)}")
    if isinstance(outcome, Unreadable):
        raise CannotStartError(f"its answer to tools/list cannot be used: {outcome.why}")
    if isinstance(outcome, Closed):
        raise CannotStartError(f"{outcome.why} before it answered tools/list")
    raise CannotStartError("its answer to tools/list cannot be used: the result is no JSON object")


def _entries_of(page: JsonObject, note: Note) -> list[Any]:
    entries = page.get("tools")
    if isinstance(entries, list):
        return entries
    note('tools/list has no list "tools"')
    return []


def _tools_of(entries: list[Any], note: Note) -> tuple[Tool, ...]:
    tools: dict[str, Tool] = {}
    for entry in entries:
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(name, str) or not name:
            note("tools/list has an entry without a name")
            continue
        if name in tools:
            note(f"tools/list has {one_line(name, _NAME_LENGTH)} more than once; the first was taken")
            continue
        tools[name] = _tool(name, entry, note)
    return tuple(tools.values())


def _tool(name: str, entry: JsonObject, note: Note) -> Tool:
    description, annotations = entry.get("description"), entry.get("annotations")
    schema = entry.get("inputSchema")
    shown = one_line(name, _NAME_LENGTH)
    if not isinstance(schema, dict):
        note(f"{shown}: no inputSchema" if schema is None else f"{shown}: inputSchema is no object")
    elif schema.get("type") != "object":
        wrong = "has no type" if "type" not in schema else f"is of type {one_line(str(schema['type']), 20)}"
        note(f'{shown}: inputSchema {wrong}, and must be of type "object"')
    if annotations is not None and not isinstance(annotations, dict):
        note(f"{shown}: annotations are no object")
    return Tool(
        name=name,
        description=description if isinstance(description, str) else None,
        input_schema=schema,
        output_schema=entry.get("outputSchema"),
        annotations=annotations if isinstance(annotations, dict) else None,
    )
