"""`replay cassette`."""

from __future__ import annotations

from pathlib import Path

import click

from replay.cli.options import FILE, read_run_option, run_to_read
from replay.cli.terminal import echo_err

EXAMPLES = """\b
Examples:
  replay cassette export tests/answers.jsonl
  replay cassette export --run nightly.db tests/answers.jsonl
  replay classify results/*.json --cassette tests/answers.jsonl
"""


@click.group(epilog=EXAMPLES)
def cassette() -> None:
    """Export the answers of a run, to replay them without servers."""


@cassette.command(epilog=EXAMPLES)
@read_run_option
@click.argument("file", required=False, type=FILE)
@click.option("--force", is_flag=True, help="Overwrite FILE.")
def export(run_argument: Path | None, run_path: Path | None, file: Path | None, force: bool) -> None:
    """Write the answers that a run holds to FILE, as JSON Lines without secrets."""
    from replay.errors import UsageError
    from replay.replayer.cassette import export_cassette
    from replay.runfile import Run

    if file is None:
        run_argument, file = None, run_argument
    if file is None:
        raise UsageError("say where to: replay cassette export FILE")
    with Run.read(run_to_read(run_path, run_argument)) as opened:
        count = export_cassette(opened, file, force=force)
    echo_err(f"{file}: {count} answers")
