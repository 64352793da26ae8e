"""`replay cassette`."""

from __future__ import annotations

from pathlib import Path

import click

from replay.cli.options import FILE, read_run_option, run_to_read
from replay.cli.terminal import echo_err
from replay.cli.trust import say_what_starts
from replay.diagnosis.phrasing import counted
from replay.errors import FoundFailuresError, UsageError
from replay.interpreter import Fleet
from replay.runfile import Run

EXAMPLES = """\b
Examples:
  replay cassette export tests/answers.jsonl
  replay cassette export --run nightly.db tests/answers.jsonl
  replay classify results/*.json --cassette tests/answers.jsonl --cassette-strict
  replay cassette serve tests/answers.jsonl --server excel
  replay cassette serve tests/answers.jsonl --http 8000 --servers servers.yaml
  replay cassette serve tests/answers.jsonl --http 8000 --host 0.0.0.0 --token "$TOKEN"
"""


@click.group(epilog=EXAMPLES)
def cassette() -> None:
    """Export the answers of a run, to replay them without servers, or serve them."""


@cassette.command(epilog=EXAMPLES)
@read_run_option
@click.argument("file", required=False, type=FILE)
@click.option("--force", is_flag=True, help="Overwrite FILE.")
def export(run_argument: Path | None, run_path: Path | None, file: Path | None, force: bool) -> None:
    """Write the answers that a run holds to FILE, as JSON Lines without secrets."""
    from replay.replayer.cassette import export_cassette

    if file is None:
        run_argument, file = None, run_argument
    if file is None:
        raise UsageError("say where to: replay cassette export FILE")
    with Run.read(run_to_read(run_path, run_argument)) as opened:
        count = export_cassette(opened, file, force=force)
    echo_err(f"{file}: {count} answers")


@cassette.command(epilog=EXAMPLES)
@click.argument("file", type=FILE)
@click.option("--server", "only", metavar="NAME", help="Offer this server alone, its tools under their own names.")
@click.option("--http", "port", type=click.IntRange(0, 65535), help="Serve on PORT, not stdio.")
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="With --http: the address to listen on; others need --token."
)
@click.option("--token", help="With --http: what clients must send, as the header Authorization: Bearer TOKEN.")
@click.option("--servers", "fleet_path", type=FILE, help="Pass calls that have no answer on to this fleet's servers.")
def serve(
    file: Path, only: str | None, port: int | None, host: str, token: str | None, fleet_path: Path | None
) -> None:
    """Serve the answers in FILE as an MCP server.

    Without --servers it is strict: a call that has no answer gets an error that names the nearest one, and the exit
    code is 1. A server with state answers by the calls before, as they were recorded. With --http and --servers a token
    is asked for even if none is given: it is printed once on stderr.
    """
    from replay.recorder.cassette_host import serve_cassette
    from replay.replayer.cassette import read_cassette

    if port is None and token is not None:
        raise UsageError("--token goes with --http")
    fleet = Fleet.load(fleet_path) if fleet_path is not None else None
    recorded = read_cassette(file)
    if fleet is not None:
        say_what_starts(fleet, named=True, names=[name for name in recorded.servers if name in fleet.servers])
    misses = serve_cassette(recorded, only, fleet, port, host, token)
    if misses and fleet is None:
        raise FoundFailuresError(f"{file}: {counted(misses, 'call')} had no answer in it")
