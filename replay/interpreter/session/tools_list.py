"""A server's tools/list, used as far as it can be: what breaks the specification is noted, and kept as it was sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from replay.interpreter.session.handshake import ServerIdentity
from replay.interpreter.session.json_rpc import Closed, Failed, JsonRpcClient, Returned, Unreadable
from replay.interpreter.session.launch import CannotStartError
from replay.records import JsonObject, Tool
from replay.safety.text import one_line

_MAX_PAGES: Final = 1000
_MAX_TOOLS: Final = 100_000
_METHOD_NOT_FOUND: Final = -32601
_MAX_NAME_LENGTH: Final = 60
_MAX_NAMES: Final = 3

Note = Callable[[str], None]


async def list_tools(client: JsonRpcClient, identity: ServerIdentity, note: Note) -> tuple[tuple[Tool, ...], bool]:
    """All pages of tools/list, and whether that is all: each was a list, and the last one was reached.

    Raises:
        CannotStartError: the server gives no list though it has tools.
    """
    entries: list[Any] = []
    cursor: str | None = None
    seen: set[str] = set()
    complete = True
    for _ in range(_MAX_PAGES):
        page = await _page(client, identity, cursor)
        if page is None:
            return (), True
        listed = page.get("tools")
        if isinstance(listed, list):
            entries += listed
        else:
            note('tools/list has no list "tools"')
            complete = False
        cursor = page.get("nextCursor")
        if not cursor:
            break
        why = _cannot_go_on(cursor, seen, len(entries))
        if why is not None:
            note(f"tools/list {why}; the rest of the list was not read")
            complete = False
            break
        seen.add(cursor)
    else:
        note(f"tools/list has more than {_MAX_PAGES} pages; the rest was not read")
        complete = False
    return _tools_of(entries[:_MAX_TOOLS], note), complete and len(entries) <= _MAX_TOOLS


async def _page(client: JsonRpcClient, identity: ServerIdentity, cursor: str | None) -> JsonObject | None:
    reply = await client.request("tools/list", None if cursor is None else {"cursor": cursor})
    if isinstance(reply, Returned) and isinstance(reply.result, dict):
        return reply.result
    if isinstance(reply, Failed):
        if reply.error.get("code") == _METHOD_NOT_FOUND and "tools" not in identity.capabilities:
            return None
        raise CannotStartError(f"tools/list failed: {one_line(str(reply.error.get('message')), 200)}")
    if isinstance(reply, Unreadable):
        raise CannotStartError(f"its answer to tools/list cannot be used: {reply.why}")
    if isinstance(reply, Closed):
        raise CannotStartError(f"{reply.why} before it answered tools/list")
    raise CannotStartError("its answer to tools/list cannot be used: the result is not a JSON object")


def _cannot_go_on(cursor: Any, seen: set[str], count: int) -> str | None:
    if not isinstance(cursor, str):
        return "has a nextCursor that is not text"
    if cursor in seen:
        return "gives the same nextCursor again"
    return f"has more than {_MAX_TOOLS} tools" if count > _MAX_TOOLS else None


def _tools_of(entries: list[Any], note: Note) -> tuple[Tool, ...]:
    tools: dict[str, Tool] = {}
    breaches: dict[str, list[str]] = {}
    for entry in entries:
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(name, str) or not name:
            note("tools/list has an entry without a name")
            continue
        if name in tools:
            note(f"tools/list has {one_line(name, _MAX_NAME_LENGTH)} more than once; the first was taken")
            continue
        tools[name] = tool_of(name, entry)
        for breach in _breaches_of(entry):
            breaches.setdefault(breach, []).append(name)
    for breach, names in breaches.items():
        note(f"{_few_of(names)}: {breach}")
    return tuple(tools.values())


def tool_of(name: str, entry: JsonObject) -> Tool:
    """A tool as a list names it; what breaks the specification is kept as it was sent."""
    description, annotations = entry.get("description"), entry.get("annotations")
    return Tool(
        name=name,
        description=description if isinstance(description, str) else None,
        input_schema=entry.get("inputSchema"),
        output_schema=entry.get("outputSchema"),
        annotations=annotations if isinstance(annotations, dict) else None,
    )


def _breaches_of(entry: JsonObject) -> Iterator[str]:
    """How a tool breaks the specification."""
    schema, annotations = entry.get("inputSchema"), entry.get("annotations")
    if schema is None:
        yield "no inputSchema"
    elif not isinstance(schema, dict):
        yield "inputSchema is not an object"
    elif schema.get("type") != "object":
        wrong = "has no type" if "type" not in schema else f"is of type {one_line(str(schema['type']), 20)}"
        yield f'inputSchema {wrong}, and must be of type "object"'
    if annotations is not None and not isinstance(annotations, dict):
        yield "annotations are not an object"


def _few_of(names: list[str]) -> str:
    rest = len(names) - _MAX_NAMES
    shown = (one_line(name, _MAX_NAME_LENGTH) for name in names[:_MAX_NAMES])
    return ", ".join(shown) + (f" and {rest} more" if rest > 0 else "")
