"""`replay servers`: is every server of the fleet there, and what can it do?"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import anyio
import click

from replay.cli.options import DEFAULT_FLEET, fleet_option, json_option
from replay.cli.terminal import echo_err, is_interactive, run_in_order
from replay.cli.trust import say_what_starts
from replay.errors import FleetError, FoundFailuresError, NoServerReachedError, UsageError
from replay.interpreter import Fleet, Interpreter, ServerEvent
from replay.interpreter.config.fleet import VariableScope
from replay.records import JsonObject, Server, Tool
from replay.safety.redaction import Redactor
from replay.safety.text import one_line, printable

_MAX_NOTES: Final = 5
_MAX_NAME_LENGTH: Final = 80
_DISABLED: Final = "disabled"


EXAMPLES = """\b
Examples:
  replay servers check
  replay servers check excel --servers mcp_servers.json
  replay servers tools excel --json
  replay servers login tracker
"""


@click.group(epilog=EXAMPLES)
def servers() -> None:
    """Check a fleet's servers, list their tools, and log in to them."""


@servers.command(epilog=EXAMPLES)
@fleet_option
@json_option
@click.argument("names", nargs=-1, metavar="[NAME]...")
def check(fleet_path: Path | None, as_json: bool, names: tuple[str, ...]) -> None:
    """Start every server, or those named, and say what it is, or why it does not start.

    Exit code 1 where some could not be reached, 4 where none could.
    """
    fleet, server_records = _start(fleet_path, names)
    if as_json:
        click.echo(_document(server_records, with_schemas=False))
    else:
        for line in _check_lines(fleet, server_records):
            click.echo(line)
    wanted = [server for server in server_records if not fleet.servers[server.name].disabled]
    failed = [server for server in wanted if server.error is not None]
    if wanted and len(failed) == len(wanted):
        none = "the server could not" if len(wanted) == 1 else f"none of the {len(wanted)} servers could"
        raise NoServerReachedError(f"{none} be reached")
    if failed:
        raise FoundFailuresError(
            f"{len(failed)} of {len(wanted)} servers failed: {', '.join(_shown(server.name) for server in failed)}"
        )


@servers.command(epilog=EXAMPLES)
@fleet_option
@json_option
@click.argument("name", required=False)
def tools(fleet_path: Path | None, as_json: bool, name: str | None) -> None:
    """List the tools of every server, or of the one named, with the arguments they require."""
    fleet, server_records = _start(fleet_path, (name,) if name else ())
    reached = [server for server in server_records if server.error is None]
    for server in server_records:
        if server.error is not None and not fleet.servers[server.name].disabled:
            echo_err(f"{server.name}: {server.error}")
    if as_json:
        click.echo(_document(reached, with_schemas=True))
    else:
        for line in _tool_lines(reached):
            click.echo(line)
    if not reached:
        raise NoServerReachedError("no server could be reached")


@servers.command(epilog=EXAMPLES)
@fleet_option
@click.argument("name")
def login(fleet_path: Path | None, name: str) -> None:
    """Log in to a server in the browser, once: later replays use the tokens.

    For servers whose `auth` has the grant authorization_code. The tokens are kept in your data directory, readable by
    you alone.
    """
    from replay.interpreter.session.launch import CannotStartError, launch_of
    from replay.interpreter.session.oauth import log_in

    fleet = Fleet.load(fleet_path or DEFAULT_FLEET)
    auth = fleet.spec(name).auth
    if auth is None or auth.grant != "authorization_code":
        why = "it has no auth with the grant authorization_code, so there is nothing to log in to"
        raise FleetError(str(fleet.path), why, f"servers.{name}")
    if os.environ.get("CI") or not sys.stdin.isatty():
        raise UsageError(
            f'a login needs a person and a browser: run "replay servers login {name}" in a terminal of your own; '
            "where there is none, use the grant client_credentials"
        )
    say_what_starts(fleet, named=fleet_path is not None, names=(name,))
    try:
        launch = launch_of(name, fleet.resolve(name, VariableScope()), fleet.directory, fleet.directory)
        kept = anyio.run(log_in, launch, _open_in_browser)
    except CannotStartError as problem:
        raise NoServerReachedError(f"{name}: {problem}") from None
    echo_err(f"logged in to {name}; the tokens are kept in {kept}")


def _open_in_browser(address: str) -> None:
    echo_err(f"log in here: {address}")
    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()  # some browsers stay in the terminal


def _start(fleet_path: Path | None, names: Iterable[str]) -> tuple[Fleet, list[Server]]:
    """Start servers, and keep how they described themselves."""
    fleet = Fleet.load(fleet_path or DEFAULT_FLEET)
    wanted = tuple(names) or tuple(fleet.servers)
    for name in wanted:
        fleet.spec(name)
    if not wanted:
        raise FleetError(str(fleet.path), "it names no servers", "servers")
    say_what_starts(fleet, named=fleet_path is not None, names=wanted)
    server_records = run_in_order(_connect_all, fleet, wanted)
    redactor = Redactor(fleet.secrets())
    return fleet, [
        # what a server says of itself may hold the secrets that it was given; its name is the fleet file's
        Server.model_validate(redactor.record(server_records[name]) | {"name": name})
        for name in dict.fromkeys(wanted)
    ]


async def _connect_all(fleet: Fleet, names: tuple[str, ...]) -> dict[str, Server]:
    with tempfile.TemporaryDirectory(prefix="replay-logs-") as logs:
        async with Interpreter(fleet, names=names, logs=Path(logs), on_event=_show_progress) as interpreter:
            await interpreter.start()
            return interpreter.servers


def _show_progress(event: ServerEvent) -> None:
    if is_interactive() and event.kind == "starting":
        echo_err(f"starting {event.server}")


def _check_lines(fleet: Fleet, server_records: list[Server]) -> Iterator[str]:
    rows = [_row(server) for server in server_records if server.error is None]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)] if rows else []
    first = max(len(_shown(server.name)) for server in server_records)
    for server in server_records:
        if server.error is None:
            cells = "  ".join(cell.ljust(width) for cell, width in zip(_row(server), widths, strict=True))
            yield f"{_shown(server.name):{first}}  {cells}".rstrip()
        elif fleet.servers[server.name].disabled:
            yield f"{_shown(server.name):{first}}  {_DISABLED}"
        else:
            yield f"{_shown(server.name):{first}}  failed: {printable(server.error)}"
            yield from (f"    | {line}" for line in printable(server.stderr_tail or "").splitlines())
        yield from (f"    note: {one_line(note)}" for note in server.notes[:_MAX_NOTES])
        if len(server.notes) > _MAX_NOTES:
            yield f"    note: and {len(server.notes) - _MAX_NOTES} more; --json has them all"


def _row(server: Server) -> tuple[str, ...]:
    count = len(server.tools)
    return (
        _title(server),
        f"MCP {_shown(server.protocol or '?')}",
        f"{count} tool" + "s" * (count != 1),
        f"{server.seconds or 0:.1f} s",
    )


def _tool_lines(server_records: list[Server]) -> Iterator[str]:
    for index, server in enumerate(server_records):
        if index:
            yield ""
        yield f"{_shown(server.name)}: {_title(server)}"
        width = max((len(_shown(tool.name)) for tool in server.tools), default=0)
        for tool in server.tools:
            mark = "  read-only" if tool.read_only else ""
            yield f"  {_shown(tool.name):{width}}  {_requirements(tool)}{mark}".rstrip()


def _requirements(tool: Tool) -> str:
    """`path: string, limit: integer`, and how many more may be given."""
    schema = tool.input_schema if isinstance(tool.input_schema, dict) else {}
    known = schema.get("properties")
    properties = known if isinstance(known, dict) else {}
    listed = schema.get("required")
    required = [str(name) for name in listed] if isinstance(listed, list) else []
    shown = [f"{_shown(name)}: {_type_of(properties.get(name), schema)}" for name in required]
    optional = len(properties.keys() - set(required))
    return ", ".join(shown) + (f"{' ' * bool(shown)}(+{optional} optional)" if optional else "")


def _type_of(schema: Any, root: JsonObject) -> str:
    """A schema's type in a few words."""
    if not isinstance(schema, dict):
        return "any"
    reference = schema.get("$ref")
    if isinstance(reference, str):
        target = root.get(reference.removeprefix("#/").partition("/")[0])
        name = reference.rpartition("/")[2]
        schema = target.get(name, {}) if isinstance(target, dict) and isinstance(target.get(name), dict) else {}
    if isinstance(schema.get("enum"), list):
        return one_line(" | ".join(json.dumps(choice, ensure_ascii=False) for choice in schema["enum"]), 60)
    if isinstance(schema.get("type"), list):
        return _shown(" | ".join(map(str, schema["type"])))
    choices = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(choices, list) and "type" not in schema:
        kinds = (choice.get("type", "any") for choice in choices if isinstance(choice, dict))
        return _shown(" | ".join(dict.fromkeys(map(str, kinds))))
    items = schema.get("items")
    if schema.get("type") == "array" and isinstance(items, dict) and isinstance(items.get("type"), str):
        return f"array of {_shown(items['type'])}"
    return _shown(str(schema.get("type", "any")))


def _document(server_records: list[Server], *, with_schemas: bool) -> str:
    from replay.reports.json_ import SERVERS_FORMAT, SERVERS_VERSION

    listed = []
    for server in server_records:
        data = server.model_dump(mode="json", exclude_none=True, exclude={"tools"} if not with_schemas else None)
        listed.append(data if with_schemas else {**data, "tools": [tool.name for tool in server.tools]})
    return json.dumps({"format": SERVERS_FORMAT, "version": SERVERS_VERSION, "servers": listed}, indent=1)


def _title(server: Server) -> str:
    return _shown(" ".join(part for part in (server.title, server.version) if part) or "(nameless)")


def _shown(text: str) -> str:
    return one_line(text, _MAX_NAME_LENGTH)
