"""`replay record`: capture what a model does, from any MCP client."""

from __future__ import annotations

from pathlib import Path

import click

from replay.cli.trust import say_what_starts
from replay.errors import UsageError
from replay.interpreter import Fleet

EXAMPLES = """\b
Examples:
  replay record -o run.trajectory.json -- uvx mcp-server-time
  replay record -o run.trajectory.json --name time --task "What time is it?" --model gpt-5 -- uvx mcp-server-time
  replay record -o run.trajectory.json --servers servers.yaml
  replay record -o run.trajectory.json --servers servers.yaml --http 8000
  replay record --recover run.trajectory.json.partial
"""


@click.command("record", context_settings={"allow_interspersed_args": False}, epilog=EXAMPLES)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The trajectory file to write.")
@click.option("--servers", type=click.Path(path_type=Path), help="Offer all tools of this fleet file.")
@click.option("--http", "port", type=click.IntRange(0, 65535), help="Serve the fleet on 127.0.0.1:PORT, not stdio.")
@click.option("--no-auth", is_flag=True, help="With --http: ask clients for no token.")
@click.option(
    "--origin", "origins", multiple=True, metavar="URL", help="With --http: a web page that may use it. Repeatable."
)
@click.option("--name", help="The server's name in your fleet file; by default the name it gives of itself.")
@click.option("--task", help="The question that the model was asked.")
@click.option("--model", default="unknown", show_default=True, help="The model's name.")
@click.option("--id", "identifier", default="", help="The trajectory's id; by default the file's name.")
@click.option("--redact", multiple=True, metavar="REGEX", help="Take out what this matches. May be given repeatedly.")
@click.option("--recover", type=click.Path(path_type=Path), help="Finish a recording that was cut off (FILE.partial).")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def record(
    context: click.Context,
    output: Path | None,
    servers: Path | None,
    port: int | None,
    no_auth: bool,
    origins: tuple[str, ...],
    name: str | None,
    task: str | None,
    model: str,
    identifier: str,
    redact: tuple[str, ...],
    recover: Path | None,
    command: tuple[str, ...],
) -> None:
    """Record a trajectory from any MCP client.

    Put `replay record -o FILE --` before a server's command in the client's configuration; everything is passed on
    unchanged. Or offer a whole fleet through one server with --servers. Each session of the client becomes a trajectory
    of its own: FILE, then FILE-2 and so on; nothing is overwritten. With --http the header that clients must send,
    which holds a token, is printed once on stderr.
    """
    from replay.recorder.recording import RecordingInfo, print_notice

    _check(output, servers, port, recover, command, no_auth=no_auth, origins=origins)
    if recover is not None:
        from replay.recorder.recording_store import recover as finish_interrupted

        print_notice(f"recovered {finish_interrupted(recover)}")
        return
    assert output is not None
    info = RecordingInfo(identifier, model, task)
    if servers is not None:
        from replay.recorder.fleet_host import record_fleet
        from replay.recorder.http_server import Access

        access = Access(None, origins) if no_auth else Access(origins=origins)
        fleet = Fleet.load(servers)
        say_what_starts(fleet, named=True, names=fleet.servers)
        record_fleet(fleet, output, info, redact, port, access)
        return
    from replay.recorder.stdio_proxy import record_server

    context.exit(record_server(command, output, info, redact, name))


def _check(
    output: Path | None,
    servers: Path | None,
    port: int | None,
    recover: Path | None,
    command: tuple[str, ...],
    *,
    no_auth: bool,
    origins: tuple[str, ...],
) -> None:
    """What goes together and what does not."""
    if recover is not None:
        if output or servers or command or port is not None:
            raise UsageError("--recover FILE.partial stands alone; the trajectory is written beside it")
        return
    if output is None:
        raise UsageError("say where to write: -o FILE")
    if servers is None and not command:
        raise UsageError("say what to record: -- COMMAND of one server, or --servers servers.yaml")
    if servers is not None and command:
        raise UsageError("--servers and -- COMMAND do not go together")
    if port is not None and servers is None:
        raise UsageError("--http goes with --servers")
    if port is None and (no_auth or origins):
        raise UsageError("--no-auth and --origin go with --http")
