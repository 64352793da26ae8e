"""`replay cassette`."""

from __future__ import annotations

from pathlib import Path

import click

from replay.cli.options import echo_err

EXAMPLES = """\b
Examples:
  replay cassette export replay-run.db tests/answers.jsonl
  replay classify results/*.json --cassette tests/answers.jsonl
"""


@click.group(epilog=EXAMPLES)
def cassette() -> None:
    """Export the answers of a run, to replay them without servers."""


@cassette.command(epilog=EXAMPLES)
@click.argument("run", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--force", is_flag=True, help="Overwrite FILE.")
def export(run: Path, file: Path, force: bool) -> None:
    """Write the answers that RUN holds to FILE, as JSON Lines without secrets."""
    from replay.cassette import export_cassette
    from replay.runfile import Run

    with Run.read(run) as opened:
        count = export_cassette(opened, file, force=force)
    echo_err(f"{file}: {count} answers")
